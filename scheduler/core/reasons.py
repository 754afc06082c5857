"""The closed list of reasons why a job waits, in the order in which they dominate."""

from enum import StrEnum


class Reason(StrEnum):
    """A waiting job has exactly one: the first of this list that holds."""

    IMPOSSIBLE = "impossible"
    HELD = "held"
    NOT_BEFORE = "not_before"
    DEPENDS = "depends"
    RETRYING = "retrying"
    NOT_ALLOWED = "not_allowed"
    TEAM_LIMIT = "team_limit"
    NOTHING_TO_BORROW = "nothing_to_borrow"
    UNREACHABLE = "unreachable"
    MAINTENANCE = "maintenance"
    CAPACITY_DOWN = "capacity_down"
    STOPPING_OTHERS = "stopping_others"
    FULL = "full"
    SCATTERED = "scattered"
    RESERVED = "reserved"
    ORDER = "order"
    NOT_REACHED = "not_reached"

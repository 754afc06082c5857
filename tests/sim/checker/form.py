"""Whether every line of EVENTS.jsonl has the fields, types and names that the contract gives it."""

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

from tests.sim.checker.case import CHOSEN, Case, Event

STATES = ("down", "up", "drain")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_seat(value: Any) -> bool:
    if not isinstance(value, dict) or not _is_text(value.get("node")):
        return False
    gpus = value.get("gpus")
    return isinstance(gpus, list) and bool(gpus) and all(map(_is_count, gpus))


def _are_seats(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_seat, value))


# The fields that each event has at least ("they change only by adding optional fields").
FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "submit": {"job": _is_text},
    "estimate": {"job": _is_text, "p50_s": _is_number, "p90_s": _is_number},
    "start": {"job": _is_text, "run": _is_count, "seats": _are_seats},
    "ask": {"job": _is_text, "run": _is_count, "why": _is_text, "for": _is_text},
    "stop": {"job": _is_text, "run": _is_count, "why": _is_text},
    "swap": {"job": _is_text, "run": _is_count, "out": _is_text, "in": _is_seat, "lost_gpu_s": _is_number},
    "finish": {"job": _is_text, "run": _is_count},
    "impossible": {"job": _is_text, "why": _is_text},
    "unfinished": {"job": _is_text},
    "node": {"node": _is_text, "state": _is_text},
}


def violations(case: Case) -> Iterator[str]:
    """Nothing else is checked on a file that breaks one of these."""
    for index, event in enumerate(case.events):
        wrong = _wrong_fields(event) or _wrong_why(event) or _unknown_name(case, event)
        if wrong:
            yield f"line {index + 1} ({event!r:.120}): {wrong}"


def _wrong_fields(event: Any) -> str:
    if not isinstance(event, dict) or not _is_number(event.get("t")):
        return "is not an object with a time `t`"
    fields = FIELDS.get(event.get("event", ""))
    if fields is None:
        return f"`{event.get('event')}` is no event of the contract"
    for field, is_right in fields.items():
        if not is_right(event.get(field)):
            return f"`{field}` is missing or of the wrong kind"
    return ""


def _wrong_why(event: Event) -> str:
    """ "`why` of a stop: preempted …, limit, node_lost. All but the last two name the job they are `for`." """
    match event["event"]:
        case "ask" if event["why"] not in CHOSEN:
            return f"nobody is asked because of `{event['why']}`"
        case "stop" if event["why"] in CHOSEN and not _is_text(event.get("for")):
            return f"a stop as {event['why']} names the job it is `for`"
        case "stop" if event["why"] not in (*CHOSEN, "limit", "node_lost"):
            return f"`{event['why']}` is no reason to stop a run"
        case "stop" if event["why"] != "limit" and not _is_number(event.get("lost_gpu_s")):
            return "a stop says `lost_gpu_s`"
        case "stop" if event.get("acked") not in (None, True, False):
            return "`acked` is true or false"
        case "node" if event["state"] not in STATES:
            return f"`{event['state']}` is no state of a node"
    return ""


def _unknown_name(case: Case, event: Event) -> str:
    for key in ("job", "for"):
        if event.get(key) is not None and event[key] not in case.jobs:
            return f"there is no job {event[key]} in the input"
    named = [event.get("node"), event.get("out"), (event.get("in") or {}).get("node")]
    named += [seat["node"] for seat in event.get("seats", ())]
    unknown = [name for name in named if name is not None and name not in case.nodes]
    return f"there is no node {unknown[0]} in the cluster" if unknown else ""

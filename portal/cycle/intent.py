"""What one plan leaves to the next, as JSON values and back: places being made, and planned starts."""

from collections.abc import Iterable
from typing import Any

from portal.cycle.models import Intent
from scheduler.core.model import Claim, Promise, Seat
from scheduler.core.verbs import Plan

Kept = tuple[tuple[Claim, ...], tuple[Promise, ...]]


def kept(*, waiting: Iterable[int], stopping: Iterable[int]) -> Kept:
    """As the plan before left them, for the jobs that still wait or stop in order to move; one query."""
    row = Intent.objects.filter(pk=Intent.ONLY).first()
    if row is None:
        return (), ()
    there, leaving = set(waiting), set(stopping)
    moves = {each["job"] for each in row.claims if each["job"] in leaving and each["job"] in each["victims"]}
    claims = (_claim(each) for each in row.claims if each["job"] in there | moves)
    promises = (_promise(each) for each in row.promises if each["job"] in there)
    return tuple(claims), tuple(promises)


def plain(plan: Plan) -> dict[str, Any]:
    """The same as values that a row keeps."""
    return {
        "claims": [
            {"job": claim.job, "seats": _seats(claim.seats), "victims": list(claim.victims), "since": claim.since}
            for claim in plan.claims
        ],
        "promises": [
            {"job": each.job, "at": each.at, "seats": _seats(each.seats), "protected": each.protected}
            for each in plan.promises
        ],
    }  # fmt: skip


def _seats(seats: Iterable[Seat]) -> list[list[Any]]:
    return [[seat.node, list(seat.slots)] for seat in seats]


def _placed(seats: Iterable[list[Any]]) -> tuple[Seat, ...]:
    return tuple(Seat(node, tuple(slots)) for node, slots in seats)


def _claim(told: dict[str, Any]) -> Claim:
    return Claim(told["job"], _placed(told["seats"]), tuple(told["victims"]), told["since"])


def _promise(told: dict[str, Any]) -> Promise:
    return Promise(told["job"], told["at"], _placed(told["seats"]), told["protected"])

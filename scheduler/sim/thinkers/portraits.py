"""What never changes of a job, worked out once: its request, its owner, and who it is to history."""

from dataclasses import dataclass

from scheduler.core.model import Request
from scheduler.sim.history import Kin
from scheduler.sim.thinkers.prospects import Sort
from scheduler.sim.thinkers.wording import request_of, user_of
from scheduler.sim.work import answer
from scheduler.sim.world import World


@dataclass(frozen=True, slots=True)
class Portrait:
    """One job, as long as it is not over."""

    request: Request
    user: str
    sort: Sort

    @property
    def saves(self) -> bool:
        """Whether it saves its work when asked, and acknowledges in time."""
        return self.sort.saves


class Portraits:
    """By job; equal requests are one object, for the core looks them up all the time."""

    def __init__(self) -> None:
        self._portraits: dict[int, Portrait] = {}
        self._requests: dict[Request, Request] = {}

    def of(self, world: World, job: int) -> Portrait:
        """Its portrait, drawn when it is first asked for."""
        known = self._portraits.get(job)
        if known is None:
            ask = world.asks[job]
            request = request_of(ask)
            saves = answer(ask.checkpoint_s, world.policy.grace_s)[1]
            kin = Kin(ask.team, ask.user, ask.gpus)
            request = self._requests.setdefault(request, request)
            known = self._portraits[job] = Portrait(request, user_of(ask), Sort(kin, saves))
        return known

    def forget(self, job: int) -> None:
        """It is over."""
        self._portraits.pop(job, None)

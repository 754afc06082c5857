"""The books as they will be when all have gone who make way, and which pledges a start would break then.

A start counts at its own team and at every level above it. Of somebody in another branch of the tree it changes
only the levels from where both branches meet. So pledges are asked once for each amount that arrives at such a
level, whichever team it comes from: thousands of questions are a few dozen.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scheduler.core.model import Job
from scheduler.core.quota import Books, Holding, Standing

NO_OWN = -1  # the start lives on a share below the meeting


class Pledge(NamedTuple):
    """A job, and what it will hold."""

    job: Job
    gpus: int
    returns: bool


class Arrival(NamedTuple):
    """What of a start counts at a level and above it."""

    place: int
    gpus: int
    claims: tuple[int, int]  # what is kept and what is promised grow by so much: see ledger.py
    own: int  # the share that it lives on; NO_OWN = one below this level
    lasts: bool  # it lives on a share up here, and would not be back within the promise


class Afterwards:
    """For one GPU type and one version of the books."""

    def __init__(
        self, books: Books, kind: str, leaving: Iterable[Holding], pledges: Sequence[Pledge]
    ) -> None:
        """`pledges`: those of a kind only once, for quota treats them alike."""
        self._kind, self._pledges = kind, pledges
        self._books = books.only(kind)
        for team, gpus, returns in leaving:
            self._books.give(team, kind, gpus, returns=returns)
        self._paths = [self._books.lineage.path(pledge.job.team) for pledge in pledges]
        self._now: dict[int, Standing] = {}
        self._arrivals: dict[Arrival, list[int]] = {}

    def breaks(self, changes: Sequence[Holding]) -> list[Pledge]:
        """The pledges that would not be honoured any more with these changes, the oldest first."""
        levels = sorted({place for team, _, _ in changes for place in self._books.lineage.path(team)})
        before = self._bounds(levels)
        for team, gpus, returns in changes:
            self._books.take(team, self._kind, gpus, returns=returns)
        then = {}
        if _give_way(before, self._bounds(levels)):
            then = {number: self._standing(number) for number in range(len(self._pledges))}
        for team, gpus, returns in changes:
            self._books.give(team, self._kind, gpus, returns=returns)
        return [self._pledges[number] for number in self._fallen(then)]

    def breaks_by_start(self, team: str, gpus: int, *, returns: bool) -> list[Pledge]:
        """The same for one start."""
        path, page = self._books.lineage.path(team), self._books.page(self._kind)
        own, before = page.terms.own[path[0]], None
        broken: list[int] = []
        for level, claims in enumerate(page.arrivals(path, gpus)):
            shared = own in path[level:]
            arrival = Arrival(path[level], gpus, claims, own if shared else NO_OWN, shared and not returns)
            # Who stands below the level before has met the start there.
            broken += (number for number in self._broken(arrival) if before not in self._paths[number])
            before = path[level]
        return [self._pledges[number] for number in sorted(broken)]

    def _broken(self, arrival: Arrival) -> list[int]:
        """Of all that are at this level or below it, as if each met the start there."""
        if arrival not in self._arrivals:
            lineage, then = self._books.lineage, dict[int, Standing]()
            levels = lineage.path(lineage.name(arrival.place))
            before = self._bounds(levels)
            self._count(arrival, 1)
            if _give_way(before, self._bounds(levels)):
                here = [number for number, path in enumerate(self._paths) if arrival.place in path]
                then = {number: self._standing(number) for number in here}
            self._count(arrival, -1)
            self._arrivals[arrival] = self._fallen(then)
        return self._arrivals[arrival]

    def _bounds(self, levels: Iterable[int]) -> list[bool]:
        """What the rules ask of these levels: pledges are asked one by one only where some of it gives way."""
        page, lasting = self._books.page(self._kind), self._books.lasting(self._kind)
        return [
            bound
            for place in levels
            for bound in (*page.bounds(place), lasting.itself[place] <= lasting.terms.inside(place))
        ]

    def _count(self, arrival: Arrival, sign: int) -> None:
        """It arrives, or is taken back."""
        place, gpus, (kept, promised), own, lasts = arrival
        lineage, page = self._books.lineage, self._books.page(self._kind)
        page.arrive(lineage.path(lineage.name(place)), sign * gpus, (sign * kept, sign * promised))
        if own != NO_OWN:
            page.itself[own] += sign * gpus
        if lasts:
            self._books.lasting(self._kind).itself[own] += sign * gpus

    def _fallen(self, then: dict[int, Standing]) -> list[int]:
        """Those that would stand worse then than now: not start, or on loan."""
        return [number for number, standing in then.items() if _falls(self._standing_now(number), standing)]

    def _standing_now(self, number: int) -> Standing:
        if number not in self._now:
            self._now[number] = self._standing(number)
        return self._now[number]

    def _standing(self, number: int) -> Standing:
        """What its start would be, with what is on these books now; its own place is on them, too."""
        job, gpus, returns = self._pledges[number]
        place = ((job.team, -gpus, returns),)
        firm = not job.preemptible
        return self._books.standing_after(place, job.team, self._kind, gpus, returns=returns, firm=firm)


def _give_way(before: Sequence[bool], then: Sequence[bool]) -> bool:
    return any(held and not holds for held, holds in zip(before, then, strict=True))


def _falls(now: Standing, then: Standing) -> bool:
    # What is taken back for an owner stays its own: on loan, others would have made way for a borrower.
    return (now.starts and not then.starts) or (now is Standing.INSIDE and then is not now)

"""Who comes first: tier, own quota before borrowed, fair share at every level, deadline, submission."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from scheduler.core.ahead import Ahead
from scheduler.core.heat import Heat
from scheduler.core.hurry import arranged
from scheduler.core.merits import Merits
from scheduler.core.model import Job, Snapshot, Tier
from scheduler.core.quota import Books
from scheduler.core.race import all_start
from scheduler.core.rule import Rule, Turn, rule
from scheduler.core.share import Owner


class FairLine:
    """Gives the waiting jobs one by one in fair order, which follows what starts meanwhile.

    For each tier two heats: first what is inside its team's nominal at its turn, then all the rest.
    Jobs with a gate are not in it; `jobs` leaves out what can never run.
    """

    def __init__(self, snap: Snapshot, books: Books, jobs: Iterable[Job] | None = None) -> None:
        waiting = snap.waiting if jobs is None else jobs
        self._books = books
        self._jobs = arranged(job for job in waiting if job.gate is None)
        owners: dict[Owner, int] = {}  # numbered: a queue for each user of each team
        self._queue_of: list[int] = []
        self._tiers: dict[Tier, list[int]] = {}
        for place, job in enumerate(self._jobs):
            self._queue_of.append(owners.setdefault((job.team, job.user), len(owners)))
            self._tiers.setdefault(job.tier, []).append(place)
        self._owners = owners
        self._merits = Merits(snap, books, tuple(owners))
        self._heat: Heat | None = None
        self._borrows = True
        self._later: list[int] = []  # of this tier, above nominal
        self._turns: dict[int, Turn] = {}  # by job: how it stood when its turn came
        self._ahead = Ahead()

    def next(self) -> Job | None:
        """Whose turn it is; None = all had theirs."""
        while True:
            heat = self._heat or self._next_heat()
            if heat is None:
                return None
            place = heat.next()
            if place is None:
                self._heat = None
                continue
            job = self._jobs[place]
            if self._borrows or self._merits.inside(job):
                self._turns[job.id] = self._borrows, heat.key
                return job
            self._later.append(place)

    def in_turn(self, kind_of: Callable[[Job], str]) -> Iterator[Job]:
        """The whole line at once, as if everybody in it started at its turn; these books are counted along."""
        while (places := self._next_places()) is not None:
            if self._borrows or not self._merits.limited:
                yield from self._all_start(places, kind_of)
                continue
            heat = self._race(places)
            while (place := heat.next()) is not None:
                job = self._jobs[place]
                if not self._merits.inside(job):
                    self._later.append(place)
                    continue
                yield job
                self._books.take(job.team, kind_of(job), job.request.gpus)
                self._merits.started(job, job.request.gpus)

    def _all_start(self, places: Sequence[int], kind_of: Callable[[Job], str]) -> list[Job]:
        """Nobody is refused: one race, and what it takes in all."""
        if not places:
            return []
        queues = {self._merits.owners[queue]: mine for queue, mine in self._queues(places).items()}
        order = all_start(self._merits.scale, queues, self._penalties, borrows=self._borrows)
        turns, held = [self._jobs[place] for place in order], Counter[tuple[str, str]]()
        if self._tiers:  # else nobody asks any more
            for job in turns:
                held[job.team, kind_of(job)] += job.request.gpus
        for (team, kind), gpus in held.items():
            self._books.take(team, kind, gpus)
        return turns

    @cached_property
    def _penalties(self) -> list[float]:
        """By place: GPU-seconds that its start counts at once."""
        return [self._merits.penalty(job.request.gpus) for job in self._jobs]

    def started(self, job: Job, kind: str, gpus: int) -> None:
        """It starts: from now on its user and team stand further back. The books are the caller's."""
        self._merits.started(job, gpus)
        self._ahead.started(kind, gpus)

    def passed(self, job: Job) -> None:
        """It goes on waiting, ahead of all that come after it."""
        self._ahead.passed(job)

    def ahead(self, job: Job) -> tuple[int, int]:
        """Jobs passed so far that accept a GPU type this one accepts, and the GPUs they ask for."""
        return self._ahead.of(job)

    @property
    def took(self) -> dict[str, tuple[int, int]]:
        """What started so far, by GPU type: jobs and GPUs."""
        return self._ahead.took

    def rule(self, ours: Job, theirs: Job) -> Rule:
        """Why one of two jobs comes before the other, as they stood at their turns."""
        return rule((ours, self._turn(ours)), (theirs, self._turn(theirs)), self._merits.scale)

    def _turn(self, job: Job) -> Turn:
        borrows, key = self._turns.get(job.id) or (not self._merits.inside(job), ())
        queue = self._owners[job.team, job.user]
        return borrows, key or self._merits.key(queue, borrows=borrows)

    def _next_heat(self) -> Heat | None:
        places = self._next_places()
        self._heat = None if places is None else self._race(places)
        return self._heat

    def _race(self, places: Sequence[int]) -> Heat:
        return Heat(self._queues(places), self._queue_of, self._merits, borrows=self._borrows)

    def _queues(self, places: Sequence[int]) -> dict[int, list[int]]:
        queues: dict[int, list[int]] = {}
        for place in sorted(places):  # some of the borrowers came later, when their nominal was full
            queues.setdefault(self._queue_of[place], []).append(place)
        return queues

    def _next_places(self) -> list[int] | None:
        """The borrowers of this tier, then the next tier; None = that was the last."""
        places, self._later = self._later, []
        self._borrows = not self._borrows
        if not self._borrows:
            if not self._tiers:
                return None
            places = self._split(self._tiers.pop(max(self._tiers)))
        return places

    def _split(self, places: list[int]) -> list[int]:
        """Those inside nominal; what is above it already will not come inside while others start."""
        if not self._merits.limited:
            return places
        inside = [self._merits.inside(self._jobs[place]) for place in places]
        self._later = [place for place, own in zip(places, inside, strict=True) if not own]
        return [place for place, own in zip(places, inside, strict=True) if own]

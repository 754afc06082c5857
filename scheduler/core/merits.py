"""How waiting jobs stand while a round lasts: inside their team's nominal or not, and used against share."""

from collections.abc import Sequence

from scheduler.core.model import Job, Snapshot
from scheduler.core.quota import Books
from scheduler.core.scale import Key, Scale
from scheduler.core.share import Owner


class Merits:
    """Worked out when asked for, and kept until something starts."""

    def __init__(self, snap: Snapshot, books: Books, owners: Sequence[Owner]) -> None:
        self._snap, self._books, self.owners = snap, books, owners
        self._penalty_s = snap.policy.entry_penalty_s
        self.limited = any(books.lineage.terms(kind).shared for kind in books.capacity)
        self._scale: Scale | None = None
        self._starts: list[tuple[Owner, int]] = []  # of this round, until the scale is needed
        self._keys: dict[tuple[int, bool], tuple[int, Key]] = {}
        self._rooms: dict[tuple[str, tuple[str, ...]], int] = {}
        self._books_then = books.version

    @property
    def scale(self) -> Scale:
        """Everybody's use; where nobody is compared with anybody it is never looked at."""
        if self._scale is None:
            snap = self._snap
            self._scale = Scale(self._books.lineage, snap.usage)
            self._scale.penalise(snap.running, snap.taken_at, snap.policy)
            for owner, gpus in self._starts:
                self._scale.add(owner, gpus * self._penalty_s)
            for owner in self.owners:
                self._scale.add(owner, 0.0)  # who waits is a user of the team, too
        return self._scale

    def penalty(self, gpus: int) -> float:
        """GPU-seconds that a start with so many counts at once."""
        return gpus * self._penalty_s

    def started(self, job: Job, gpus: int) -> None:
        """A start counts at once: nobody floods between two rounds."""
        owner = (job.team, job.user)
        if self._scale is None:
            self._starts.append((owner, gpus))
        else:
            self._scale.add(owner, gpus * self._penalty_s)

    def key(self, queue: int, *, borrows: bool) -> Key:
        """Where a user of a team stands now."""
        scale = self.scale
        then, key = self._keys.get((queue, borrows), (-1, ()))
        if then != scale.version:
            key = scale.key(self.owners[queue], borrows=borrows)
            self._keys[queue, borrows] = scale.version, key
        return key

    def inside(self, job: Job) -> bool:
        """Whether it would start inside its team's nominal of a GPU type that it accepts."""
        if not self.limited:
            return True
        books = self._books
        if self._books_then != books.version:
            self._rooms.clear()
            self._books_then = books.version
        kind = (job.team, job.request.gpu_types)
        room = self._rooms.get(kind)
        if room is None:
            accepted = (each for each in books.capacity if not kind[1] or each in kind[1])
            room = self._rooms[kind] = max((books.room(job.team, each) for each in accepted), default=0)
        return job.request.least <= room

"""What is free at this point of the plan, and the tallies kept along with it."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Self

import numpy as np

from scheduler.core.burden import Burden, Needs, each_gpu
from scheduler.core.ground import Ground
from scheduler.core.layout import Layout
from scheduler.core.model import Request, Seat
from scheduler.core.tally import Meter, Tally
from scheduler.core.tree import Bools

MANY = 48  # tallies to keep; an older one is made anew when it is asked again
Key = tuple[int, int, bool | None]  # the number of a ground, the stage, spot or steady nodes or both


class Slate:
    """The free slots, and one tally for each ground that somebody asked about."""

    def __init__(
        self, layout: Layout, free: Bools, burden: Burden | None = None, *, mended: bool = False
    ) -> None:
        """`free` may have slots on nodes that must not be used now; `mended`: as if all of them might."""
        self.layout = layout
        self.works = layout.exists if mended else layout.works
        self.free: Bools = free[:, : self.works.shape[1]] & self.works
        self.burden = Burden(len(layout.nodes)) if burden is None else burden
        self._lent = True  # somebody else may read the burden: copy it before writing
        self.meter = Meter()
        self.full: set[int] = set()  # queries that found no room since something was given back
        self._tallies: dict[Key, Tally] = {}
        self._log: dict[str, list[int]] = {kind: [] for kind in layout.fields}  # rows that changed, by type

    @property
    def steps(self) -> int:
        """What the search on this paper and its copies has cost so far."""
        return self.meter.steps

    def copy(self) -> Self:
        """For what-if: undo is dropping the copy."""
        twin = object.__new__(type(self))
        twin.layout, twin.works, twin.meter = self.layout, self.works, self.meter
        twin.free, twin.burden, twin.full = self.free.copy(), self.burden, self.full.copy()
        self._lent = twin._lent = True
        for tally in self._tallies.values():
            tally.shared = True
        twin._tallies = self._tallies.copy()
        twin._log = {kind: log.copy() for kind, log in self._log.items()}
        return twin

    def without(self, seats: Sequence[Seat]) -> Self:
        """A copy where these seats are taken and stay so, whoever leaves them."""
        twin = self.copy()
        twin.take(seats)
        twin.works = self.works.copy()
        for seat in seats:
            twin.works[self.layout.row[seat.node], list(seat.slots)] = False
        return twin

    def take(self, seats: Iterable[Seat], request: Request | None = None, *, firm: bool = False) -> None:
        """Give these seats away, and with them what the request needs of CPUs, memory and scratch."""
        self._put(seats, each_gpu(request, firm=firm), free=False)

    def expect(self, seats: Sequence[Seat], request: Request, *, firm: bool = False) -> None:
        """Give these seats to who is coming: what goes with it is needed also where somebody else still sits."""
        needs = each_gpu(request, firm=firm)
        for seat in seats if needs else ():
            row = self.layout.row[seat.node]
            if coming := sum(self.works[row, slot] and not self.free[row, slot] for slot in seat.slots):
                self._load(row, int(coming), needs)
                self._log[self.layout.nodes[row].gpu_type].append(row)
        self.take(seats, request, firm=firm)

    def give(self, seats: Iterable[Seat], request: Request | None = None, *, firm: bool = False) -> None:
        """These seats come back; what must not be used now stays taken."""
        self._put(seats, each_gpu(request, firm=firm), free=True)
        self.full.clear()

    def supplies(self, seats: Iterable[Seat], request: Request) -> bool:
        """Whether the nodes have the CPUs, memory and scratch that go with these seats."""
        needs = each_gpu(request, firm=False)
        for seat in seats if needs else ():
            row = self.layout.row[seat.node]
            capacity = self.layout.fields[self.layout.nodes[row].gpu_type].capacity
            has = capacity[:, self.layout.position[row]] - self.burden.used[:3, row]
            if any(has[kind] < amount * len(seat.slots) for kind, amount in needs):
                return False
        return True

    def tally(self, ground: Ground, stage: int | None = None, *, spot: bool | None = None) -> Tally:
        """What the nodes of a ground can give now: up to a stage or all, spot or steady ones or both."""
        stage = ground.stages - 1 if stage is None else stage
        key = (ground.number, stage, spot)
        log = self._log[ground.tree.gpu_type]
        tally = self._tallies.get(key)
        # Many changes one by one cost more than counting all nodes at once.
        if tally is None or len(log) - tally.seen > 8 + len(ground.able) // 64:
            tally = self._count(ground, ground.among(stage, spot))
            self._keep(key, tally)
        elif tally.seen < len(log):
            if tally.shared:
                tally = self._tallies[key] = tally.copy()
            self._catch_up(tally, log)
        return tally

    def _put(self, seats: Iterable[Seat], needs: Needs, *, free: bool) -> None:
        """Slots that are so already change nothing, and neither do seats on nodes that nobody knows any more."""
        known = self.layout.row
        here = [(known[seat.node], seat.slots) for seat in seats if seat.slots and seat.node in known]
        if not here:
            return
        sizes = [len(slots) for _, slots in here]
        rows = np.repeat([row for row, _ in here], sizes)
        slots = np.array([slot for _, each in here for slot in each], dtype=np.int64)
        changing = self.works[rows, slots] & (self.free[rows, slots] != free)
        self.free[rows[changing], slots[changing]] = free
        counts = np.add.reduceat(changing, [0, *accumulate(sizes[:-1])], dtype=np.int64).tolist()
        for (row, _), many in zip(here, counts, strict=True):
            if many:
                self._log[self.layout.nodes[row].gpu_type].append(row)
                if needs:
                    self._load(row, -many if free else many, needs)

    def _load(self, row: int, gpus: int, needs: Needs) -> None:
        if self._lent:
            self.burden, self._lent = self.burden.copy(), False
        self.burden.add(row, gpus, needs)

    def _count(self, ground: Ground, nodes: Bools) -> Tally:
        rows = ground.tree.rows
        free = self.free.take(rows, axis=0)[:, : ground.field.slots]
        rooms = ground.rooms(free, self.burden.used)
        tally = Tally(ground, nodes, np.where(nodes, rooms, 0), self.meter)
        tally.seen = len(self._log[ground.tree.gpu_type])
        return tally

    def _catch_up(self, tally: Tally, log: list[int]) -> None:
        for row in log[tally.seen :]:
            position = self.layout.position[row]
            if tally.nodes[position]:
                free = self.free[row].tolist()
                used = self.burden.used[:3, row].tolist()
                tally.put(position, tally.ground.room(position, free, used))
        tally.seen = len(log)

    def _keep(self, key: Key, tally: Tally) -> None:
        self._tallies.pop(key, None)
        if len(self._tallies) >= MANY:
            del self._tallies[next(iter(self._tallies))]
        self._tallies[key] = tally

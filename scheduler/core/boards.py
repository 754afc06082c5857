"""The board of a round, and the same without what is promised to others or closes for maintenance too soon."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from scheduler.core.board import Board
from scheduler.core.model import Moment, Promise, Request, Seat, Snapshot


class Boards:
    """What is taken is taken on all of them."""

    def __init__(self, board: Board, snap: Snapshot) -> None:
        self.board = board  # free now, and kept for nobody
        self._now, self._windows = snap.taken_at, snap.windows
        self._beside: dict[tuple[frozenset[int], frozenset[int]], Board] = {}

    def windows(self, until: Moment) -> frozenset[int]:
        """The numbers of the windows that begin before then."""
        windows = enumerate(self._windows)
        return frozenset(number for number, one in windows if one.begins < until and one.ends > self._now)

    def closes(self, seats: Iterable[Seat], until: Moment) -> bool:
        """Whether maintenance begins on one of these nodes before then."""
        nodes = {seat.node for seat in seats}
        return any(nodes & self._windows[number].nodes for number in self.windows(until))

    def shut(self, until: Moment) -> Sequence[Seat]:
        """All seats that close before then."""
        return tuple(self._seats(self.windows(until)))

    def beside(self, promises: Mapping[int, Promise], bound: frozenset[int], until: Moment) -> Board:
        """The board where these promises and what closes before then stay taken, whoever leaves it."""
        shut = self.windows(until)
        if not bound and not shut:
            return self.board
        key = (bound, shut)
        if key not in self._beside:
            kept = (seat for number in bound for seat in promises[number].seats)
            self._beside[key] = self.board.without((*kept, *self._seats(shut)))
        return self._beside[key]

    def take(self, seats: Sequence[Seat], request: Request | None = None, *, firm: bool = False) -> None:
        """Give free seats away."""
        for board in self._all():
            board.take(seats, request, firm=firm)

    def expect(self, seats: Sequence[Seat], request: Request, *, firm: bool) -> None:
        """Give seats to who is coming."""
        for board in self._all():
            board.expect(seats, request, firm=firm)

    def forget(self) -> None:
        """Promises have changed."""
        self._beside.clear()

    def _all(self) -> Iterator[Board]:
        yield self.board
        yield from self._beside.values()

    def _seats(self, windows: Iterable[int]) -> Iterator[Seat]:
        slots = tuple(range(self.board.free.shape[1]))
        nodes = frozenset[int]().union(*(self._windows[number].nodes for number in windows))
        return (Seat(node, slots) for node in sorted(nodes & self.board.layout.row.keys()))

"""A race of queues: the queue with the smallest key goes first, and keys may grow while it lasts."""

from collections.abc import Mapping, Sequence

from scheduler.core.behind import Behind
from scheduler.core.merits import Merits
from scheduler.core.scale import Key

SEVERAL = -1
Fresh = tuple[Key, int, list[int]]  # key, queue, places of its jobs


class Heat:
    """Gives the places of jobs one by one; the smaller of two places goes first where keys are even.

    While nothing starts, the order is the one of the beginning: queues by their keys, even ones merged.
    A queue whose key has grown is found when its turn comes, and runs with those behind from then on.
    """

    def __init__(
        self, queues: Mapping[int, list[int]], queue_of: Sequence[int], merits: Merits, *, borrows: bool
    ) -> None:
        self._queue_of, self._merits, self._borrows = queue_of, merits, borrows
        self.key: Key = ()  # of the last one given
        self._stream, self._at = 0, 0
        self._behind: Behind | None = None  # with one queue there is nobody to compare with
        if len(queues) < 2:
            self._fresh: list[Fresh] = [((), queue, places) for queue, places in queues.items()]
            return
        even: dict[Key, list[int]] = {}
        for queue in queues:
            even.setdefault(merits.key(queue, borrows=borrows), []).append(queue)
        self._fresh = [_merged(key, even[key], queues) for key in sorted(even)]
        self._behind = Behind(merits.scale, merits.owners, borrows=borrows)
        self._begun = merits.scale.version

    def next(self) -> int | None:
        """The place of the job whose turn it is; None = all are through."""
        behind = self._behind
        while self._stream < len(self._fresh):
            key, queue, places = self._fresh[self._stream]
            place = places[self._at]
            if behind is not None and behind.scale.version != self._begun:
                if self._merits.key(self._queue_of[place], borrows=self._borrows) != key:
                    self._fall_behind(behind, queue, places)
                    continue
                best = behind.best()
                if best and best < (*key, place):
                    return self._pop(behind, best)
            self._step(places, 1)
            self.key = key
            return place
        return self._pop(behind, best) if behind and (best := behind.best()) else None

    def _pop(self, behind: Behind, best: Key) -> int:
        self.key = best[:-1]
        return behind.pop()

    def _fall_behind(self, behind: Behind, queue: int, places: list[int]) -> None:
        """All that is left of a queue, or the next job of one that was even with others."""
        left = places[self._at :] if queue != SEVERAL else places[self._at : self._at + 1]
        behind.join(self._queue_of[left[0]], left)
        self._step(places, len(left))

    def _step(self, places: list[int], by: int) -> None:
        self._at += by
        if self._at == len(places):
            self._stream, self._at = self._stream + 1, 0


def _merged(key: Key, same: Sequence[int], queues: Mapping[int, list[int]]) -> Fresh:
    if len(same) == 1:
        return key, same[0], queues[same[0]]
    return key, SEVERAL, sorted(place for queue in same for place in queues[queue])

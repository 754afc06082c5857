"""Which moments are worth a look when a place is sought: in between, too little is free for it, booked or not."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scheduler.core.model import Moment

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Holds: TypeAlias = Callable[[Bools], bool]  # whether there is a place on what is free
Taken: TypeAlias = Callable[
    [Moment], tuple[Bools, Moment]
]  # what is booked then, and when the first of it ends


def worth_a_look(moments: Floats, comes: Floats, holds: Holds, taken: Taken) -> Iterator[Moment]:
    """One after the other, until whoever asks has found a place.

    Until the first booking in the way ends only what nobody has booked can become enough, and that only grows.
    """
    nothing = np.zeros(comes.shape, dtype=np.bool_)
    place = _first(moments, comes, holds, (0, len(moments), nothing))
    while place < len(moments):
        at = float(moments[place])
        yield at
        shut, ends = taken(at)
        until = int(np.searchsorted(moments, ends))
        place = _first(moments, comes, holds, (place + 1, max(place + 1, until), shut))


def _first(moments: Floats, comes: Floats, holds: Holds, within: tuple[int, int, Bools]) -> int:
    """The first in this part at which there is a place beside what is shut; else the end of the part."""
    low, high, shut = within
    while low < high:
        middle = (low + high) // 2
        if holds((comes <= moments[middle]) & ~shut):
            high = middle
        else:
            low = middle + 1
    return low

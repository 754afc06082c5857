"""What jobs wait for: every `after` must name another job, and nothing may wait for itself in the end."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scheduler.sim.workload import Ask


class Broken(NamedTuple):
    """The line of the job whose `after` cannot be, and why."""

    line: int
    sentence: str


def broken(asks: Sequence[Ask]) -> Broken | None:
    """The first `after` that names nothing, itself, or a circle."""
    line_of = {ask.job: ask.line for ask in asks}
    for ask in asks:
        for other in ask.after:
            if other == ask.job:
                return Broken(ask.line, f"job {ask.job} waits for itself; take it out of its own list")
            if other not in line_of:
                return Broken(
                    ask.line, f"there is no job {other}; name jobs of this file, with | between them"
                )
    if circle := cycle({ask.job: ask.after for ask in asks if ask.after}):
        way = " -> ".join(shortened(circle))
        return Broken(line_of[circle[0]], f"these jobs wait for each other: {way}; break the circle")
    return None


def cycle(follows: Mapping[str, Sequence[str]]) -> list[str]:
    """A circle of names, the first one again at its end; empty where there is none."""
    done: set[str] = set()
    for start in follows:
        path: list[str] = []
        depth: dict[str, int] = {}
        stack = [(start, False)]  # no recursion: a chain may be longer than Python's stack
        while stack:
            name, left = stack.pop()
            if left:
                depth.pop(path.pop())
                done.add(name)
            elif name in depth:
                return [*path[depth[name] :], name]
            elif name not in done:
                depth[name] = len(path)
                path.append(name)
                stack.append((name, True))
                stack += ((other, False) for other in reversed(follows.get(name, ())))
    return []


def shortened(circle: list[str]) -> list[str]:
    """A long circle with its middle left out."""
    return circle if len(circle) <= 8 else [*circle[:4], "...", *circle[-3:]]

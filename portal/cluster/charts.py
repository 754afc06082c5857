"""The map: lines of cells to racks, with the numbers and the words that go with them. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from portal import words
from portal.cluster.cells import PATTERNED, PHASES, Colour, Holder, Line, by_team, colour_of, line
from portal.cluster.models import Node

# What the key calls them, in the order of interest.
WORDS = {
    "running": "running", "starting": "starting", "finishing": "stopping", "free": "free",
    "drained": "drained", "unknown": "silent", "failed": "lost",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rack:
    """The nodes of one rack."""

    name: str
    about: str
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Room:
    """What would start right now, of one GPU type."""

    gpu_type: str
    one_node: int
    all_nodes: int


@dataclass(frozen=True, slots=True)
class Picture:
    """The whole map with its numbers: every GPU is held, free or out of service, and never two of them."""

    lines: list[Line]
    racks: list[Rack]
    room: list[Room]
    key: list[tuple[str, str, int]]  # look, word, number of cells

    @property
    def total(self) -> int:
        return self.held + self.free + self.out

    @property
    def held(self) -> int:
        return sum(line.held for line in self.lines)

    @property
    def free(self) -> int:
        return sum(line.free for line in self.lines)

    @property
    def out(self) -> int:
        return sum(line.out for line in self.lines)

    @property
    def largest(self) -> str:
        """What fits into one node: 4 H100, 8 A100."""
        return ", ".join(f"{one.one_node} {one.gpu_type}" for one in self.room if one.one_node)

    @property
    def activity(self) -> float | None:
        """The mean over all GPUs that jobs hold."""
        utils = [util for line in self.lines for util in line.held_utils]
        return sum(utils) / len(utils) if utils else None

    @property
    def power_kw(self) -> str | None:
        watts = [line.watts for line in self.lines if line.watts is not None]
        return words.decimal(sum(watts) / 1000, 1 if sum(watts) < 100_000 else 0) if watts else None

    @property
    def hottest(self) -> Line | None:
        """The node with the hottest GPU."""
        warm = [line for line in self.lines if line.hottest is not None]
        return max(warm, key=lambda line: line.hottest or 0.0, default=None)


def picture(
    nodes: Iterable[Node], holders: Mapping[int, Holder], *, now: datetime, colour: Colour = by_team
) -> Picture:
    """Approved nodes, in the order given, with their GPUs loaded; holders by GPU id."""
    lines = [line(node, holders, now=now, colour=colour) for node in nodes]
    return Picture(lines, _racks(lines), _room(lines), _key(lines, holders, colour))


def _racks(lines: Iterable[Line]) -> list[Rack]:
    found = []
    for _, group in groupby(lines, key=_place):
        mine = list(group)
        node = mine[0].node
        name = " · ".join(part for part in (node.block, node.rack) if part) or "No rack"
        kinds = Counter((len(one.cells), one.node.gpu_type) for one in mine)
        (number, kind), _ = kinds.most_common(1)[0]
        per_node = f"{words.gpus(number, kind)} per node" if len(kinds) == 1 else "mixed nodes"
        pools = sorted({one.node.pool.name for one in mine})
        found.append(Rack(name, f"{words.listed(pools)}, {per_node}", mine))
    return found


def _place(one: Line) -> tuple[int, str, str]:
    return (one.node.pool.cluster_id, one.node.block, one.node.rack)


def _room(lines: Iterable[Line]) -> list[Room]:
    free: dict[str, list[int]] = {}
    for one in lines:
        free.setdefault(one.node.gpu_type, []).append(one.free)
    return [Room(kind, max(each), sum(each)) for kind, each in sorted(free.items())]


def _key(lines: Iterable[Line], holders: Mapping[int, Holder], colour: Colour) -> list[tuple[str, str, int]]:
    """What each look means and how often it is on the map; looks that are not there need no words."""
    counted = Counter(cell.look for one in lines for cell in one.cells)
    found = []
    if colour is by_team:
        teams = Counter((holder.team, holder.kind) for holder in holders.values())
        found = [
            (f"is-running k{colour_of(kind)}", team, number) for (team, kind), number in sorted(teams.items())
        ]
        counted.update(f"is-{PHASES[one.phase]}" for one in holders.values() if one.phase in PATTERNED)
    for look, word in WORDS.items():
        if counted[f"is-{look}"]:
            found.append((f"is-{look}", word, counted[f"is-{look}"]))
    return found


def heard(lines: Sequence[Line], now: datetime) -> str:
    """How the agents are, in a few words; in coarse steps, so that it does not change at every look."""
    parts = []
    for state, verb in (
        (Node.State.LOST, "lost"),
        (Node.State.SILENT, "silent"),
        (Node.State.DRAINED, "drained"),
    ):
        names = [one.node.name for one in lines if one.state == state]
        if names:
            parts.append(f"{words.listed(names)} {verb}")
    if parts or not lines:
        return ", ".join(parts)
    oldest = max(
        (now - one.node.last_seen_at for one in lines if one.node.last_seen_at), default=timedelta(0)
    )
    return f"every agent answered within {words.duration(10 if oldest.total_seconds() <= 10 else 30)}"

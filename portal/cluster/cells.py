"""One node in cells: who holds each GPU, how that looks, and what the newest beat said of it. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from portal import words
from portal.cluster.models import Gpu, Node

LATE_AFTER = timedelta(seconds=15)  # a reading older than this is marked late
# The look of a cell by the phase of the job that holds it.
PHASES = {"starting": "starting", "running": "running", "stopping": "finishing"}
PATTERNED = ("starting", "stopping")  # seen as a pattern, whatever the colour
KINDS = 7
# The look of a cell that nobody holds, by the state of its node.
STATES = {
    Node.State.READY: "free",
    Node.State.DRAINED: "drained",
    Node.State.SILENT: "unknown",
    Node.State.LOST: "failed",
}


@dataclass(frozen=True, slots=True)
class Holder:
    """The job that holds a GPU, as far as the reader may know it."""

    job: int
    team: str
    kind: int
    tier: str
    gpus: int
    phase: str
    mine: bool = False
    name: str = ""  # empty for other teams' jobs: of those everybody sees size, tier and team


@dataclass(frozen=True, slots=True)
class Cell:
    """One GPU on the map."""

    look: str
    joins: bool = False
    mine: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One node on the map and in the table."""

    node: Node
    state: Node.State
    cells: list[Cell]
    held: int
    free: int
    out: int
    note: str
    late: bool  # its newest readings are not new
    activity: float | None = None
    hottest: float | None = None
    watts: float | None = None
    held_utils: tuple[float, ...] = ()  # of the GPUs that a job holds
    findings: list[str] = field(default_factory=list)

    @property
    def needs_a_look(self) -> bool:
        return self.state != Node.State.READY or bool(self.findings)


Colour = Callable[[Holder], str]


def by_team(holder: Holder) -> str:
    """Teams keep their colour everywhere; how far the job is stays visible as the pattern."""
    return f"is-{PHASES.get(holder.phase, 'unknown')} k{colour_of(holder.kind)}"


def colour_of(kind: int) -> int:
    """Seven colours can be told apart; whoever comes later is one of the others."""
    return kind if kind <= KINDS else 0


def by_state(holder: Holder) -> str:
    return f"is-{PHASES.get(holder.phase, 'unknown')}"


def line(node: Node, holders: Mapping[int, Holder], *, now: datetime, colour: Colour = by_team) -> Line:
    """A node with a cell for each of its GPUs."""
    state = node.state(now)
    gpus = list(node.gpus.all())
    held = [gpu for gpu in gpus if gpu.pk in holders]
    idle = len(gpus) - len(held)
    told = node.latest.get("gpus", []) if state in (Node.State.READY, Node.State.DRAINED) else []
    utils = _told(told, "util")
    watts = _told(told, "power_w")
    mine = {gpu.uuid for gpu in held}
    return Line(
        node=node,
        state=state,
        cells=_cells(gpus, holders, state, colour),
        held=len(held),
        free=idle if state == Node.State.READY else 0,
        out=0 if state == Node.State.READY else idle,
        note=_note(state, held=len(held), free=idle),
        late=node.last_seen_at is None or now - node.last_seen_at > LATE_AFTER,
        activity=sum(utils) / len(utils) if utils else None,
        hottest=max(_told(told, "temp_c"), default=None),
        watts=sum(watts) if watts else None,
        held_utils=tuple(_told([one for one in told if one["uuid"] in mine], "util")),
        findings=findings(node),
    )


def _told(readings: Iterable[Mapping[str, Any]], key: str) -> list[float]:
    """What was measured; what was not is left out, never zero."""
    return [one[key] for one in readings if one.get(key) is not None]


def _cells(
    gpus: Sequence[Gpu], holders: Mapping[int, Holder], state: Node.State, colour: Colour
) -> list[Cell]:
    found: list[Cell] = []
    before: Holder | None = None
    for gpu in gpus:
        holder = holders.get(gpu.pk)
        # What a silent or lost node does is not known, whatever was booked there.
        known = holder if state in (Node.State.READY, Node.State.DRAINED) else None
        look = colour(known) if known else f"is-{STATES[state]}"
        joins = holder is not None and before is not None and holder.job == before.job
        found.append(Cell(look, joins=joins, mine=holder is not None and holder.mine))
        before = holder
    return found


def _note(state: Node.State, *, held: int, free: int) -> str:
    if state == Node.State.DRAINED:
        return "draining" if held else "drained"
    if state != Node.State.READY:
        return state.value
    return f"{free} free" if free else ""


def findings(node: Node) -> list[str]:
    """What a person should look into, most urgent first, one sentence each."""
    found = []
    if node.hardware_changed:
        found.append("Reports other hardware than was approved")
    if trespass := node.latest.get("trespass"):
        found.append(f"{words.many(len(trespass), 'process', 'processes')} on GPUs outside any hold")
    return found + [str(finding) for finding in node.latest.get("findings", [])]


@dataclass(frozen=True, slots=True)
class GpuLine:
    """One GPU on the page of its node."""

    gpu: Gpu
    cell: Cell
    holder: Holder | None
    util: float | None
    memory_used_mib: int | None
    temp_c: float | None
    power_w: float | None


MEASURED = ("util", "memory_used_mib", "temp_c", "power_w")


def gpus(one: Line, holders: Mapping[int, Holder]) -> list[GpuLine]:
    """The GPUs in slot order with what the newest beat said of each; what it did not say is empty."""
    told = {seen["uuid"]: seen for seen in one.node.latest.get("gpus", [])}
    return [
        GpuLine(gpu, cell, holders.get(gpu.pk), *(told.get(gpu.uuid, {}).get(key) for key in MEASURED))
        for gpu, cell in zip(one.node.gpus.all(), one.cells, strict=True)
    ]


def jobs(holders: Iterable[Holder]) -> list[tuple[Holder, int]]:
    """Each job once, with how many GPUs it holds here."""
    return list(Counter(holders).items())


def trespass(node: Node) -> list[tuple[int | None, int, str]]:
    """Processes that NVML saw on a GPU outside its hold: (slot, process id, name)."""
    slots = {gpu.uuid: gpu.slot for gpu in node.gpus.all()}
    return [(slots.get(one["uuid"]), one["pid"], one["name"]) for one in node.latest.get("trespass", [])]

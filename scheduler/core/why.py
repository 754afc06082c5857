"""Why a job does not start: the first reason of the closed list that holds, with its numbers."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from scheduler.core.board import Board
from scheduler.core.model import Fact, Facts, Job, Node, Snapshot
from scheduler.core.possible import able_kinds, every_slot, obstacle
from scheduler.core.quota import Books
from scheduler.core.reasons import Reason
from scheduler.core.timeline import Timeline
from scheduler.core.tree import Tree

STATES = ("drained", "silent", "lost")
Because = tuple[Reason, Facts]
Took = Mapping[str, tuple[int, int]]  # by GPU type: jobs and GPUs that start before it in this round


class Inquiry:
    """What a round knows about the jobs that it cannot start."""

    def __init__(self, snap: Snapshot, layout: Mapping[str, Tree], start: Board, books: Books) -> None:
        self.empty = Board(layout, every_slot(snap))
        self.start = start  # as the round began: what jobs ahead take now is `order`, not `full`
        self.books = books  # as they stand at the job's turn
        self.down = _down(snap)
        self.helped: Collection[int] = ()  # who would start if those nodes were back
        self.where = {kind: _where(tree.nodes) for kind, tree in layout.items()}
        self.timeline = Timeline(snap.running, taken_at=snap.taken_at, start=start, books=books)
        self._able: dict[tuple[tuple[int, int, str], str], tuple[str, ...]] = {}
        self._shortage: dict[tuple[int, int, tuple[str, ...]], Because] = {}

    @property
    def steps(self) -> int:
        """What the questions have cost so far."""
        return self.empty.steps + self.start.steps

    def why(self, job: Job, *, took: Took, ahead: int) -> Because:
        """Ask in the order of the list; the first answer counts. `ahead` jobs go on waiting before it."""
        able = self._able.get((job.shape, job.team))
        if able is None:
            able = self._able[job.shape, job.team] = able_kinds(job, self.empty, self.books)
        if not able:
            return Reason.IMPOSSIBLE, obstacle(job, self.empty, self.books)
        inside = tuple(kind for kind in able if self.books.reached(job.team, kind, job.gpus) is None)
        if not inside:
            return Reason.TEAM_LIMIT, self._team_limit(job, able)
        if job.id in self.helped:
            return Reason.CAPACITY_DOWN, self._capacity_down(job, inside, ahead)
        fitted = [kind for kind in inside if self.start.holds(kind, job.nodes, job.gpus_per_node)]
        if fitted:
            return Reason.ORDER, _order(job, fitted, took)
        reason, numbers = self._no_room(job, inside)
        return reason, {**numbers, "ahead_jobs": ahead}

    def _team_limit(self, job: Job, able: Sequence[str]) -> Facts:
        """Of several types the one with the fewest GPUs too many: it comes back first."""
        excess, kind, level = min(
            (self.books.held[level.name, kind] + job.gpus - level.nominal[kind], kind, level)
            for kind in able
            if (level := self.books.reached(job.team, kind, job.gpus)) is not None
        )
        return {
            "asked": job.gpus,
            "gpu_type": kind,
            "team": level.name,
            "own_team": job.team,
            "held": self.books.held[level.name, kind],
            "nominal": level.nominal[kind],
            **self.timeline.quota(level.name, kind, excess),
        }

    def _capacity_down(self, job: Job, inside: Sequence[str], ahead: int) -> Facts:
        down = sum((self.down.get(kind, Counter()) for kind in inside), Counter())
        # A node of another type can help too: a job ahead would move there and leave its place.
        down = down or sum(self.down.values(), Counter())
        return {
            "asked": job.gpus,
            "down_nodes": down.total(),
            **{state: down[state] for state in sorted(down)},
            **self._room(job, inside),
            "ahead_jobs": ahead,
        }

    def _no_room(self, job: Job, inside: tuple[str, ...]) -> Because:
        key = (job.nodes, job.gpus_per_node, inside)
        if key not in self._shortage:
            # Of several types the one with the most free GPUs in one cluster: it lacks the least.
            kind = max(inside, key=lambda kind: self.start.tallies[kind].most_free())
            enough = self.start.tallies[kind].most_free() >= job.gpus
            numbers = self._count(job, kind) | self._room(job, inside) | {"types": list(inside)}
            self._shortage[key] = (Reason.SCATTERED if enough else Reason.FULL), numbers
        return self._shortage[key]

    def _count(self, job: Job, kind: str) -> dict[str, Fact]:
        tally = self.start.tallies[kind]
        return {
            "asked": job.gpus,
            "nodes": job.nodes,
            "gpus_per_node": job.gpus_per_node,
            "gpu_type": kind,
            "free": tally.most_free(),
            "largest": int(tally.node_free.max()),
            "fitting_nodes": tally.most_nodes(job.gpus_per_node),
            **self.where[kind],
        }

    def _room(self, job: Job, inside: Sequence[str]) -> dict[str, Fact]:
        return self.timeline.room(inside, job.nodes, job.gpus_per_node)


def _order(job: Job, fitted: Sequence[str], took: Took) -> Facts:
    jobs = sum(took[kind][0] for kind in fitted if kind in took)
    gpus = sum(took[kind][1] for kind in fitted if kind in took)
    return {"asked": job.gpus, "took_jobs": jobs, "took_gpus": gpus}


def _down(snap: Snapshot) -> dict[str, Counter[str]]:
    """By type: how many nodes are out for which reason, among those that would bring free GPUs back."""
    down: dict[str, Counter[str]] = {}
    for node, free in zip(snap.nodes, snap.free, strict=True):
        if not node.usable and node.why_not != "pending" and free.any():
            down.setdefault(node.gpu_type, Counter())[node.why_not if node.why_not in STATES else "down"] += 1
    return down


def _where(nodes: Sequence[Node]) -> dict[str, Fact]:
    """The narrowest name for where all nodes of a type stand: their pool, else their cluster."""
    clusters = sorted({node.cluster for node in nodes})
    pools = {node.pool for node in nodes}
    return {
        "pool": pools.pop() if len(clusters) == len(pools) == 1 else "",
        "cluster": clusters[0] if len(clusters) == 1 else "",
        "clusters": len(clusters),
    }

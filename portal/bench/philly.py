"""Philly's virtual clusters as teams that lend: against one pool without walls, and against each of them alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from portal.bench import recorded
from portal.bench.rows import Options, Row
from portal.replay.running import run
from scheduler.core.policy import DAY
from scheduler.sim.clock import Case
from scheduler.sim.score import Tale
from scheduler.sim.traces import convert, uniform
from scheduler.sim.traces.shares import crews, gpu_seconds, nodes_for, split
from scheduler.sim.traces.uniform import GPU_TYPE
from scheduler.sim.workload import Ask, Cluster, Machine

LOAD = 0.8
GPUS = 8  # of a node
# Before its twentieth day the trace has 71 jobs, after it 52,778: scaled to load 0.8 over all days, it would be
# overloaded on every day on which something happens.
BUSY_FROM, QUICK_FROM = 20.0, 44.0
QUICK_DAYS = 7.0
NO_WORSE = 1.0  # times the mean JCT that a team has alone


@dataclass(frozen=True, slots=True)
class Team:
    """How one team fares with the others and alone, over the jobs that its own quota could hold."""

    name: str
    jobs: int
    too_large: int
    wait: tuple[float, float]  # mean seconds, together and alone
    jct: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Mean JCT together over alone: it counts waits and what reclaims threw away."""
        return self.jct[0] / self.jct[1] if self.jct[1] else 1.0


def philly(options: Options) -> Iterator[Row]:
    """Waits with walls that lend, without walls, and alone."""
    texts = recorded.texts(options.traces, jobs=recorded.PHILLY_JOBS)
    if texts is None:
        return
    first, days = (BUSY_FROM, 365.0) if options.whole else (QUICK_FROM, QUICK_DAYS)
    asks = window(convert("philly", texts).asks, first, days * options.scale)
    if not asks:
        print(f"{recorded.PHILLY_JOBS} has no jobs with a virtual cluster from day {first:g} on", flush=True)
        return
    cluster = uniform(nodes_for(asks, LOAD), gpus=GPUS)
    nominal = split(cluster.gpus, gpu_seconds(asks))
    note = f"{len(asks):,} jobs from day {first:g} on, {len(cluster.machines)} nodes of {GPUS}"
    pool = run(Case(cluster, asks), "one pool").report["wait_s"]["mean"]
    yield Row("Philly, one pool without walls: mean wait", pool, note=note)
    shared = run(Case(replace(cluster, crews=crews(nominal, GPU_TYPE)), asks), "teams that lend")
    found = shared.report
    wait, stops = found["wait_s"]["mean"], f"{found['reclaims']:,} reclaims, {found['recalls']:,} recalls"
    yield Row("Philly, teams that lend: mean wait", wait, goal=2 * pool, note=stops)
    tales = list(shared.score.tales.values())
    teams = [alone(name, gpus, tales) for name, gpus in nominal.items() if gpus]
    yield from told(teams)


def window(asks: Sequence[Ask], first_day: float, days: float) -> tuple[Ask, ...]:
    """The jobs submitted in these days, from second 0 on."""
    start, end = first_day * DAY, (first_day + days) * DAY
    return tuple(replace(ask, submit_s=ask.submit_s - start) for ask in asks if start <= ask.submit_s < end)


def alone(name: str, gpus: int, together: Sequence[Tale]) -> Team:
    """The same team on a cluster of its quota: whole nodes, and what is left over as one smaller node."""
    mine = [tale for tale in together if tale.ask.team == name]
    known = [tale for tale in mine if tale.ask.gpus <= gpus]
    asks = tuple(tale.ask for tale in known)
    ran = list(run(Case(of_size(gpus), asks), f"{name} alone").score.tales.values())
    waits, jcts = (means(known), means(ran)), (jct(known), jct(ran))
    return Team(name, len(known), len(mine) - len(known), waits, jcts)


def of_size(gpus: int) -> Cluster:
    """So many GPUs, exactly."""
    whole, rest = divmod(gpus, GPUS)
    sizes = [GPUS] * whole + [rest] * bool(rest)
    return Cluster(
        tuple(Machine(f"n{at:03d}", "default", GPU_TYPE, size, size) for at, size in enumerate(sizes, 1))
    )


def means(tales: Sequence[Tale]) -> float:
    """The mean wait of those that started."""
    return fmean([tale.start - tale.ask.submit_s for tale in tales if tale.start is not None] or [0.0])


def jct(tales: Sequence[Tale]) -> float:
    """The mean time from submission to the finish."""
    return fmean([tale.finish - tale.ask.submit_s for tale in tales if tale.finish is not None] or [0.0])


def told(teams: Sequence[Team]) -> Iterator[Row]:
    """The teams by how much worse they fare together, the worst first."""
    for place, team in enumerate(sorted(teams, key=lambda team: -team.ratio)):
        jct_s, wait_s = (f"{pair[0]:,.0f} s against {pair[1]:,.0f} s" for pair in (team.jct, team.wait))
        large = f", {team.too_large} larger than its quota left out" if team.too_large else ""
        yield Row(
            f"Philly, {'worst ' if not place else ''}team {team.name}: mean JCT against alone",
            team.ratio,
            "x",
            goal=NO_WORSE,
            note=f"JCT {jct_s}, wait {wait_s}, {team.jobs:,} jobs{large}",
        )

"""One replay laid out for the rules: the input, the events, and which run every event is about."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.sim.checker import reading
from tests.sim.checker.reading import Fault, Job, Node, Policy, Team

Event = Mapping[str, Any]
Seats = dict[str, tuple[int, ...]]
# Stops that the planner chose; the other two (limit, node_lost) happen to it.
CHOSEN = ("preempted", "reclaimed", "recalled", "moved")


@dataclass(slots=True, eq=False)
class Run:
    """One attempt of a job, from its start to its end, by the numbers of its events."""

    job: Job
    number: int
    start: int
    seats: Seats
    swaps: list[int] = field(default_factory=list)
    ask: int | None = None
    end: int | None = None
    ended: str = ""

    @property
    def gpus(self) -> int:
        return sum(map(len, self.seats.values()))


@dataclass(slots=True)
class Change:
    """What one event takes and gives back, and how its run sits afterwards."""

    run: Run
    taken: Seats = field(default_factory=dict)
    released: Seats = field(default_factory=dict)
    seated: Seats = field(default_factory=dict)


@dataclass(slots=True)
class Case:
    """All that a rule may look at."""

    nodes: dict[str, Node]
    teams: dict[str, Team] | None
    jobs: dict[str, Job]
    faults: list[Fault]
    policy: Policy
    events: list[Event]
    report: Mapping[str, Any] | None = None
    runs: list[Run] = field(default_factory=list)
    run_at: list[Run | None] = field(default_factory=list)
    changes: dict[int, Change] = field(default_factory=dict)
    by_job: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def gpu_type(self, run: Run) -> str:
        return self.nodes[next(iter(run.seats))].gpu_type

    def runs_of(self, job: str) -> list[Run]:
        return [self.changes[index].run for index in self.by_job[job] if self.starts(index)]

    def starts(self, index: int) -> bool:
        return bool(self.events[index]["event"] == "start")

    def say(self, index: int, sentence: str) -> str:
        """A violation, with its time, its job and its line of the file."""
        event = self.events[index]
        about = f"job {event['job']}" if "job" in event else f"node {event.get('node')}"
        run = f", run {event['run']}" if "run" in event else ""
        return f"t={event['t']}, {about}{run} (line {index + 1}): {sentence}"


def lay_out(
    cluster: Mapping[str, Any],
    jobs: Iterable[Mapping[str, str]],
    events: list[Event],
    *,
    faults: Iterable[Mapping[str, str]] = (),
    policy: Mapping[str, Any] | None = None,
    report: Mapping[str, Any] | None = None,
) -> Case:
    """Reads the input; the runs are told by `tell`, once the events are known to be well formed."""
    figures = reading.policy(policy)
    return Case(
        nodes=reading.nodes(cluster),
        teams=reading.teams(cluster),
        jobs=reading.limited(reading.jobs(jobs), figures),
        faults=reading.faults(faults),
        policy=figures,
        events=events,
        report=report,
    )


def tell(case: Case) -> None:
    """Matches every event to its run; an event about no open run gets None, and `life` complains."""
    open_runs: dict[str, Run] = {}
    for index, event in enumerate(case.events):
        name = event.get("job")
        run: Run | None = None
        if name is not None:
            case.by_job[name].append(index)
            run = (
                _start(case, index, open_runs)
                if event["event"] == "start"
                else _go_on(case, index, open_runs)
            )
        case.run_at.append(run)


def _start(case: Case, index: int, open_runs: dict[str, Run]) -> Run:
    event = case.events[index]
    seats: Seats = {}
    for seat in event["seats"]:
        seats[seat["node"]] = (*seats.get(seat["node"], ()), *seat["gpus"])
    run = Run(case.jobs[event["job"]], event["run"], index, seats)
    case.runs.append(run)
    case.changes[index] = Change(run, taken=seats, seated=seats)
    open_runs[event["job"]] = run
    return run


def _go_on(case: Case, index: int, open_runs: dict[str, Run]) -> Run | None:
    event = case.events[index]
    run = open_runs.get(event["job"])
    if run is None or run.number != event.get("run"):
        return None
    match event["event"]:
        case "ask":
            run.ask = index if run.ask is None else run.ask
        case "swap":
            _swap(case, index, run)
        case "stop" | "finish" as kind:
            run.end, run.ended = index, event["why"] if kind == "stop" else "finish"
            seats = _seated(case, run)
            case.changes[index] = Change(run, released=seats)
            del open_runs[event["job"]]
        case _:
            pass
    return run


def _swap(case: Case, index: int, run: Run) -> None:
    event, before = case.events[index], _seated(case, run)
    node, gpus = event["in"]["node"], tuple(event["in"]["gpus"])
    released = {event["out"]: before[event["out"]]} if event["out"] in before else {}
    after = {name: held for name, held in before.items() if name != event["out"]}
    after[node] = (*after.get(node, ()), *gpus)
    run.swaps.append(index)
    case.changes[index] = Change(run, taken={node: gpus}, released=released, seated=after)


def _seated(case: Case, run: Run) -> Seats:
    """How the run sits after its newest swap."""
    return case.changes[run.swaps[-1]].seated if run.swaps else run.seats

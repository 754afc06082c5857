"""Tiny replays by hand: rows and events in few words, and the checker's opinion of them."""

from dataclasses import dataclass, field, replace
from typing import Any

from tests.sim.checker import check

Event = dict[str, Any]
Row = dict[str, str]


def node(name: str, gpus: int = 4, **more: Any) -> dict[str, Any]:
    return {"name": name, "gpu_type": "A100", "gpus": gpus, **more}


def job(name: str, gpus: int = 4, **more: Any) -> Row:
    """Submitted at 0, 100 s of work on 4 GPUs, unless told otherwise."""
    row = {"job": name, "gpus": str(gpus), "submit_s": "0", "duration_s": "100"}
    return row | {column: str(value) for column, value in more.items()}


def submit(t: float, name: str) -> Event:
    return {"t": t, "event": "submit", "job": name}


def estimate(t: float, name: str, p50: float, p90: float) -> Event:
    return {"t": t, "event": "estimate", "job": name, "p50_s": p50, "p90_s": p90}


def start(t: float, name: str, run: int = 1, **seats: list[int]) -> Event:
    sits = [{"node": where, "gpus": gpus} for where, gpus in seats.items()]
    return {"t": t, "event": "start", "job": name, "run": run, "seats": sits}


def ask(t: float, name: str, why: str, winner: str, run: int = 1) -> Event:
    return {"t": t, "event": "ask", "job": name, "run": run, "why": why, "for": winner}


def stop(
    t: float, name: str, why: str, winner: str = "", *, run: int = 1, lost: float = 0.0, acked: bool = False
) -> Event:
    named = {"for": winner} if winner else {}
    return {
        "t": t,
        "event": "stop",
        "job": name,
        "run": run,
        "why": why,
        "acked": acked,
        "lost_gpu_s": lost,
    } | named


def swap(t: float, name: str, out: str, lost: float, run: int = 1, **seat: list[int]) -> Event:
    [(where, gpus)] = seat.items()
    into = {"node": where, "gpus": gpus}
    return {"t": t, "event": "swap", "job": name, "run": run, "out": out, "in": into, "lost_gpu_s": lost}


def finish(t: float, name: str, run: int = 1) -> Event:
    return {"t": t, "event": "finish", "job": name, "run": run}


def impossible(t: float, name: str, why: str = "needs more than there is") -> Event:
    return {"t": t, "event": "impossible", "job": name, "why": why}


def machine(t: float, name: str, state: str) -> Event:
    return {"t": t, "event": "node", "node": name, "state": state}


def fault(t: float, name: str, state: str, gpus: str = "") -> Row:
    return {"t_s": str(t), "node": name, "event": state, "gpus": gpus}


@dataclass(frozen=True)
class Tape:
    """A whole replay; `told` adds the submissions and estimates, so that a test shows only what it is about."""

    jobs: list[Row]
    events: list[Event]
    nodes: list[dict[str, Any]] = field(default_factory=lambda: [node("n1"), node("n2")])
    teams: list[dict[str, Any]] | None = None
    faults: list[Row] = field(default_factory=list)
    policy: dict[str, Any] | None = None
    report: dict[str, Any] | None = None

    def but(self, **changed: Any) -> "Tape":
        return replace(self, **changed)

    def without(self, place: int) -> "Tape":
        return replace(self, events=self.events[:place] + self.events[place + 1 :])

    def wrong(self, *only: str) -> list[str]:
        """What the checker says, of these rules or of all."""
        cluster: dict[str, Any] = {"nodes": self.nodes}
        if self.teams is not None:
            cluster["teams"] = self.teams
        return check(
            cluster,
            self.jobs,
            self.events,
            faults_rows=self.faults,
            policy=self.policy,
            report=self.report,
            only=only or None,
        )


def told(jobs: list[Row], *events: Event, **more: Any) -> Tape:
    """Submissions come behind the faults and ends of their instant, before the decisions."""
    tape = list(events)
    for row in sorted(jobs, key=lambda row: -float(row["submit_s"])):
        at, name = float(row["submit_s"]), row["job"]
        behind = [
            place
            for place, event in enumerate(tape)
            if event["t"] > at or (event["t"] == at and event["event"] not in {"node", "stop", "finish"})
        ]
        cut = behind[0] if behind else len(tape)
        tape[cut:cut] = [submit(at, name), estimate(at, name, at + 10, at + 20)]
    return Tape(jobs, tape, **more)


def team(name: str, nominal: int | None = None, parent: str | None = None, **more: int) -> dict[str, Any]:
    quota = {} if nominal is None else {"A100": {"nominal": nominal, **more}}
    return {"name": name, "parent": parent, "weight": 1.0, "quota": quota}

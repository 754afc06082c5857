"""Promises kept in replays, with the checker looking on: owners get back from one person, production is regrouped."""

from typing import Any

from scheduler.sim import events
from scheduler.sim.clock import Case, Watch, replay
from scheduler.sim.files import read_cluster, read_jobs, read_policy
from scheduler.sim.thinkers.berth import Berth
from tests.sim.checker import check
from tests.sim.worlds import World

FIGURES: dict[str, Any] = {
    "min_runtime_s": {"production": 0, "standard": 600, "opportunistic": 300},
    "grace_s": 120,
    "cycle_s": 30,
    "max_preemptions_per_day": 3,
}
BOUND_S = 600 + 120 + 30
COME_S = 5000.0


def world(nodes: int, teams: dict[str, int], jobs: list[dict[str, str]]) -> World:
    machines = [{"name": f"n{at:02}", "gpu_type": "A100", "gpus": 8} for at in range(nodes)]
    quota = [{"name": name, "quota": {"A100": {"nominal": gpus}}} for name, gpus in teams.items()]
    return World({"nodes": machines, "teams": quota}, jobs, [], FIGURES)


def job(name: str, team: str, submit: float, gpus: int, **more: object) -> dict[str, str]:
    row = {"job": name, "team": team, "submit_s": f"{submit:g}", "gpus": f"{gpus}", "duration_s": "20000"}
    return row | {column: str(value) for column, value in more.items()}


def played(world: World) -> list[dict[str, Any]]:
    """What happened, and nothing that the checker objects to."""
    texts = world.texts()
    case = Case(
        read_cluster(texts["CLUSTER.json"], "CLUSTER.json"),
        read_jobs(texts["JOBS.csv"], "JOBS.csv"),
        (),
        read_policy(texts["POLICY.json"], "POLICY.json"),
    )
    told: list[events.Event] = []
    replay(case, Berth(), Watch(told.append))
    lines = [events.plain(event) for event in told]
    assert check(world.cluster, world.jobs, lines, faults_rows=[], policy=world.policy) == []
    return lines


def waits(lines: list[dict[str, Any]], prefix: str) -> list[float]:
    starts: dict[str, float] = {}
    for line in lines:
        if line["event"] == "start" and line["job"].startswith(prefix):
            starts.setdefault(line["job"], line["t"] - COME_S)
    return list(starts.values())


def lent_to_one(owners: list[dict[str, str]]) -> World:
    """One person has borrowed all eight nodes with jobs of one GPU."""
    more = {"user": "ada", "tier": "opportunistic", "checkpoint_s": 60}
    return world(
        8, {"own": 64, "guests": 0}, [*(job(f"o{at}", "guests", 0, 1, **more) for at in range(64)), *owners]
    )


def test_an_owner_has_its_own_back_in_time_whatever_one_person_suffers() -> None:
    firm = {"tier": "production", "duration_s": 100}
    gang = job("p", "own", COME_S, 64, **firm)
    many = [job(f"p{at}", "own", COME_S, 1, user=f"b{at}", **firm) for at in range(40)]
    for owners in ([gang], many):
        found = waits(played(lent_to_one(owners)), "p")
        assert len(found) == len(owners)
        assert max(found) <= BOUND_S


def test_production_whose_gpus_lie_in_pieces_has_its_node_in_time_and_who_sits_between_goes_on() -> None:
    halves = [
        job(f"{team}{at}", team, 10 * at + (team == "other"), 4, checkpoint_s=600)
        for at in range(2)
        for team in ("own", "other")
    ]
    lines = played(
        world(
            2,
            {"own": 8, "other": 8},
            [*halves, job("p", "own", COME_S, 8, tier="production", nodes=1, gpus_per_node=8)],
        )
    )
    assert waits(lines, "p") == [5.0]
    stops = {line["job"]: line for line in lines if line["event"] == "stop" and line["t"] < COME_S + 60}
    assert sorted(line["why"] for line in stops.values()) == ["moved", "preempted", "preempted"]
    (mover,) = (name for name, line in stops.items() if line["why"] == "moved")
    assert [line["t"] for line in lines if line["event"] == "start" and line["job"] == mover][1] == COME_S + 5

"""The checker accuses only where it can prove that there was room: places, promises to production, chains of moves."""

from typing import Any

import pytest

from tests.sim.checker import bounds, reading
from tests.sim.checker.places import has_place
from tests.sim.tiny import Event, Row, Tape, ask, finish, impossible, job, node, start, stop, team, told

ALL = [0, 1, 2, 3]
LOW: dict[str, Any] = {"tier": "opportunistic"}
HIGH: dict[str, Any] = {"tier": "production"}
RED: dict[str, Any] = {"team": "red"}

MIXED = [
    node("n1", 8, nvlink_domain=4, cpus=32, memory_gib=64, rack="r1"),
    node("n2", 4, spot=True, rack="r2", features=["ib"]),
    node("n3", 4, gpu_type="H100", gpu_memory_gib=80, pool="new", rack="r2"),
]
FITS: dict[str, tuple[dict[str, Any], bool]] = {
    "all of a type": ({"gpus": 12}, True),
    "more than there are of one type": ({"gpus": 13}, False),
    "elastic down to what there is": ({"gpus": 16, "min_gpus": 12}, True),
    "elastic, but in too large groups": ({"gpus": 16, "min_gpus": 13, "tp": 4}, False),
    "an elastic least that no group divides": ({"gpus": 6, "min_gpus": 5, "tp": 4}, False),
    "two nodes of four": ({"gpus": "", "nodes": 2, "gpus_per_node": 4}, True),
    "two nodes of five": ({"gpus": "", "nodes": 2, "gpus_per_node": 5}, False),
    "a shape with broken groups": ({"gpus": "", "nodes": 1, "gpus_per_node": 6, "tp": 4}, False),
    "a node of eight in groups of four": ({"gpus": 8, "tp": 4, "topology": "node:required"}, True),
    "a group larger than a domain": ({"gpus": 8, "tp": 8}, False),
    "a rack too small": ({"gpus": 9, "topology": "rack:required"}, False),
    "CPUs for four on each node": ({"gpus": 12, "cpus_per_gpu": 8}, False),
    "CPUs enough": ({"gpus": 12, "cpus_per_gpu": 4}, True),
    "memory for two groups": ({"gpus": 12, "memory_gib_per_gpu": 9, "tp": 4}, False),
    "spot for a third": ({"gpus": 12, "spot_share": 0.34}, True),
    "no spot": ({"gpus": 12, "spot_share": 0}, False),
    "one of three shapes on spot": ({"gpus": "", "nodes": 2, "gpus_per_node": 4, "spot_share": 0.4}, False),
    "a pool": ({"gpus": 4, "pool": "new"}, True),
    "a pool too small": ({"gpus": 5, "pool": "new"}, False),
    "a feature": ({"gpus": 5, "features": "ib"}, False),
}


@pytest.mark.parametrize(("columns", "fits"), FITS.values(), ids=FITS)
def test_a_place_exists_or_not(columns: dict[str, Any], fits: bool) -> None:
    [asked] = reading.jobs([job("a", **columns)]).values()
    nodes = reading.nodes({"nodes": MIXED})
    assert has_place(nodes, asked, {name: range(one.gpus) for name, one in nodes.items()}) is fits


def test_a_quota_may_make_a_job_impossible_or_not() -> None:
    for columns, teams, accused in (
        ({}, [team("red", 4, borrow=4)], True),
        ({}, [team("red", 4, borrow=3)], False),
        ({}, [team("red", 4), team("blue", 4, lend=3)], False),
        (HIGH, [team("red", 8)], True),
        # A loan to work that may not be preempted can be refused for good.
        (HIGH | {"limit_s": 10}, [team("red", 4)], False),
    ):
        wrong = told([job("a", 8, **RED, **columns)], impossible(0.0, "a"), teams=teams).wrong("ends")
        assert bool(wrong) is accused


MIA: dict[str, Any] = {"user": "mia"}
LOANS: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "anybody": ({}, MIA, True),
    "whom nobody may stop": ({"max_preemptions_per_day": 0}, MIA, False),
    "whose person nobody may stop": ({"max_user_stops_per_day": 0}, MIA, False),
    "of no person": ({"max_user_stops_per_day": 0}, {}, True),
    "who could be stopped too late": ({"min_runtime_s": {"standard": 4000}}, MIA, False),
    "who has to be gone sooner": ({"return_promise_s": 100}, MIA, False),
    "whose answer may take long": ({"grace_s": 4000}, MIA, False),
}


@pytest.mark.parametrize(("policy", "columns", "accused"), LOANS.values(), ids=LOANS)
@pytest.mark.parametrize("ending", [[impossible(0.0, "a")], []], ids=["impossible", "unfinished"])
def test_no_loan_is_owed_to_one(
    policy: dict[str, Any], columns: dict[str, Any], ending: list[Event], *, accused: bool
) -> None:
    """Red owns nothing, and blue lends all it has."""
    tape = told([job("a", **RED, **columns)], *ending, teams=[team("red", 0), team("blue", 8)])
    assert bool(tape.but(policy=policy).wrong("ends")) is accused


def test_a_policy_with_limits_of_its_own_may_call_anything_impossible() -> None:
    tape = told([job("a", 8)], impossible(0.0, "a"))
    assert tape.but(policy={"max_duration_s": {"standard": 50}}).wrong() == []
    assert tape.but(policy={"peaks": [{"from_hour": 0, "until_hour": 24, "gpus": 8}]}).wrong() == []
    assert tape.but(policy={"max_duration_s": {}}).wrong() != []


FIGURES = {"min_runtime_s": {"production": 0, "standard": 10, "opportunistic": 0}, "grace_s": 5, "cycle_s": 5}


def waits(
    *between: Event, more: tuple[Row, ...] = (), winner: dict[str, Any] | None = None, **rest: Any
) -> Tape:
    """w comes at 50 and starts on n1 at 100; its bound is over at 70. n2 is another of the same size."""
    jobs = [job("v", preemptible=0), job("x", 1, submit_s=71, duration_s=1), *more]
    jobs.append(job("w", **({"submit_s": 50} | HIGH | (winner or {}))))
    events = [
        start(0.0, "v", n1=ALL),
        *between,
        start(71.0, "x", n3=[0]),
        finish(72.0, "x"),
        finish(100.0, "v"),
    ]
    return told(jobs, *events, start(100.0, "w", n1=ALL), **({"nodes": pair(), "policy": FIGURES} | rest))


def pair(**second: Any) -> list[dict[str, Any]]:
    return [node("n1"), node("n2", **second), node("n3", 1)]


def test_an_idle_node_is_room() -> None:
    assert len(waits().wrong("bounds")) == 1


HONEST: dict[str, Tape] = {
    "room in another pool": waits(nodes=pair(pool="b"), winner={"pool": "default"}),
    "room on spot": waits(nodes=pair(spot=True), winner={"spot_share": 0.5}),
    "room in two halves": waits(nodes=pair(nvlink_domain=2), winner={"tp": 4}),
    "room that somebody else took": waits(start(60.0, "q", n2=[0]), more=(job("q", 1, preemptible=0),)),
    "a quota that somebody else used": waits(
        start(60.0, "q", n3=[0]),
        more=(job("q", 1, submit_s=60, **RED, **HIGH),),
        winner=RED,
        teams=[team("red", 4)],
    ),
    "a promise that nothing backs": waits(
        winner=RED, teams=[team("red", 8), team("pink", 4, "red"), team("rose", 8, "pink")]
    ),
    "what is its own is lent until a limit, and another keeps the rest": waits(
        winner=RED, teams=[team("red", 4), team("blue", 4, lend=0)]
    ),
    "a job that asks for CPUs": waits(winner={"cpus_per_gpu": 1}),
    "a policy with limits of its own": waits(policy=FIGURES | {"max_running": 1}),
    "a policy that does not say": waits(policy={"grace_s": 5}),
}


@pytest.mark.parametrize("tape", HONEST.values(), ids=HONEST)
def test_where_there_was_no_room_nobody_is_accused(tape: Tape) -> None:
    assert tape.wrong("bounds") == []


def test_a_victim_stopped_often_enough_today_is_no_room() -> None:
    jobs = [
        job("v", user="mia", duration_s=400, **LOW),
        job("p", submit_s=10, **HIGH),
        job("w", submit_s=150, **HIGH),
    ]
    events = [
        start(0.0, "v", n1=ALL),
        ask(10.0, "v", "preempted", "p"),
        stop(10.0, "v", "preempted", "p", lost=40.0),
    ]
    events += [
        start(10.0, "p", n1=ALL),
        finish(110.0, "p"),
        start(110.0, "v", 2, n1=ALL),
        finish(570.0, "v", 2),
    ]
    tape = told(jobs, *events, start(570.0, "w", n1=ALL), finish(670.0, "w"), nodes=[node("n1")])
    assert tape.but(policy=FIGURES | {"max_preemptions_per_day": 1}).wrong("bounds") == []
    assert len(tape.but(policy=FIGURES | {"max_preemptions_per_day": 2}).wrong("bounds")) == 1


def test_a_person_s_stops_are_counted_apart_from_those_of_each_job() -> None:
    """Two jobs of hers make way, each once; v is back on n1 while w waits beyond its bound."""
    mine = [job(name, user="mia", duration_s=400, **LOW) for name in ("v", "u")]
    jobs = [*mine, *(job(name, submit_s=10, **HIGH) for name in ("p", "q")), job("w", submit_s=150, **HIGH)]
    events: list[Event] = []
    for victim, winner, where in (("v", "p", "n1"), ("u", "q", "n2")):
        seats = {where: ALL}
        events += [
            start(0.0, victim, **seats),
            ask(10.0, victim, "preempted", winner),
            stop(10.0, victim, "preempted", winner, lost=40.0),
            start(10.0, winner, **seats),
            finish(110.0, winner),
            start(110.0, victim, 2, **seats),
            finish(570.0, victim, 2),
        ]
    events.sort(key=lambda event: float(event["t"]))
    tape = told(jobs, *events, start(570.0, "w", n1=ALL), finish(670.0, "w"))
    for figures, accused in (
        ({"max_preemptions_per_day": 2}, 1),
        ({"max_preemptions_per_day": 1}, 0),
        ({"max_preemptions_per_day": 2, "max_user_stops_per_day": 2}, 0),
        ({"max_preemptions_per_day": 2, "max_user_stops_per_day": 3}, 1),
    ):
        assert len(tape.but(policy=FIGURES | figures).wrong("bounds")) == accused


def test_late_jobs_beyond_those_watched_are_looked_at_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "WATCHED", 1)
    jobs = [job(name, 1, submit_s=50, **HIGH) for name in ("a", "b")] + [
        job("c", 1, submit_s=85),
        job("d", 1, submit_s=75),
    ]
    events = [
        start(75.0, "d", n2=[0]),
        start(80.0, "b", n1=[1]),
        start(85.0, "c", n2=[1]),
        start(200.0, "a", n1=[0]),
    ]
    [wrong] = told(jobs, *events, policy=FIGURES).wrong("bounds")
    assert "job a" in wrong


def test_a_neighbour_may_be_stopped_for_its_cpus() -> None:
    jobs = [job("v", 2, cpus_per_gpu=4), job("w", 2, submit_s=50, cpus_per_gpu=4, **HIGH)]
    events = [
        start(0.0, "v", n1=[0, 1]),
        ask(50.0, "v", "preempted", "w"),
        stop(50.0, "v", "preempted", "w", lost=100.0),
    ]
    events += [
        start(50.0, "w", n1=[2, 3]),
        finish(150.0, "w"),
        start(150.0, "v", 2, n1=[0, 1]),
        finish(310.0, "v", 2),
    ]
    tape = told(jobs, *events, nodes=[node("n1", cpus=8)])
    assert tape.wrong() == []
    bare = [{key: value for key, value in row.items() if key != "cpus_per_gpu"} for row in jobs]
    assert "without what it freed" in tape.but(jobs=bare).wrong("needs")[0]


def test_moves_may_stand_in_a_chain() -> None:
    """w needs n1 whole: a leaves it for n2, which b leaves for n3."""
    jobs = [job("a", 2), job("b", 1), job("w", submit_s=50, topology="node:required")]
    events = [start(0.0, "a", n1=[0, 1]), start(0.0, "b", n2=[0])]
    events += [ask(50.0, name, "moved", "w") for name in "ab"]
    events += [stop(50.0, "a", "moved", "w", lost=100.0), stop(50.0, "b", "moved", "w", lost=50.0)]
    events += [start(50.0, "w", n1=ALL), start(50.0, "a", 2, n2=[0, 1]), start(50.0, "b", 2, n3=[0])]
    events += [finish(150.0, "w"), finish(210.0, "a", 2), finish(210.0, "b", 2)]
    nodes = [node("n1"), node("n2", 2), node("n3", 1)]
    assert told(jobs, *events, nodes=nodes).wrong() == []
    events[-4] = start(50.0, "b", 2, n4=[0])
    events[-5] = start(50.0, "a", 2, n3=[0, 1])
    wrong = told(jobs, *events, nodes=[*nodes[:2], node("n3", 2), node("n4", 1)]).wrong("needs")
    assert [sentence for sentence in wrong if "job b" in sentence and "without what it freed" in sentence]

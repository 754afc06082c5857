"""The longest duration of a tier is the limit of its jobs that ask for none, from their first start on."""

from typing import Any

import pytest

from scheduler.core.model import Tier
from scheduler.core.policy import Policy
from scheduler.sim.clock import Case, Watch, replay
from scheduler.sim.events import Event, plain
from scheduler.sim.thinker import Thinker
from scheduler.sim.thinkers.berth import Berth
from scheduler.sim.thinkers.easy import Easy
from scheduler.sim.thinkers.fifo import Fifo
from scheduler.sim.workload import Ask, Cluster, Crew, Fault, Share
from tests.sim.stage import ask, nodes, play
from tests.sim.tiny import Tape, finish, job, node, start, stop, told

HALF_HOUR = Policy.of({"max_duration_s": {"production": 1800}})
FIRM: dict[str, Any] = {"tier": Tier.PRODUCTION, "preemptible": False}


def of_b_and_a() -> list[Ask]:
    """B owns nothing and borrows all there is, for as long as its tier may; then A comes for its own."""
    return [
        ask("b", duration=100_000.0, team="B", **FIRM),
        ask("a", submit=60.0, duration=100.0, team="A", **FIRM),
    ]


def test_a_loan_comes_back_when_the_longest_duration_is_over() -> None:
    crews = (Crew("A", quota={"GPU": Share(4)}), Crew("B", quota={"GPU": Share(0)}))
    heard: list[Event] = []
    case = Case(Cluster(nodes(1), crews), tuple(of_b_and_a()), policy=HALF_HOUR)
    replay(case, Berth(), Watch(heard.append))
    last = [(e["t"], e["event"], e["job"], e.get("why")) for e in map(plain, heard)]
    assert last[-3:] == [
        (1800.0, "stop", "b", "limit"),
        (1800.0, "start", "a", None),
        (1900.0, "finish", "a", None),
    ]


@pytest.mark.parametrize("thinker", [Fifo(), Easy()], ids=["fifo", "easy"])
def test_plain_policies_know_no_tiers_and_give_no_limits(thinker: Thinker) -> None:
    played = play(of_b_and_a(), nodes(1), thinker=thinker, policy=HALF_HOUR)
    assert played.starts() == {"b": 0.0, "a": 100_000.0}


def test_what_is_given_bounds_each_run_and_only_jobs_of_the_tier_that_ask_for_none() -> None:
    asks = [
        ask("given", 4, duration=5000.0, restart_s=10.0, **FIRM),
        ask("own", 2, duration=5000.0, limit_s=700.0, **FIRM),
        ask("standard", 2, duration=5000.0),
    ]
    lost = (Fault(100.0, "n1", "down"), Fault(100.0, "n1", "up"))
    played = play(asks, nodes(2), lost, thinker=Berth(), policy=HALF_HOUR)
    assert played.tape("stop", "finish") == [
        "100 stop given",
        "700 stop own",
        "1910 stop given",
        "5000 finish standard",
    ]


def test_a_job_that_was_given_a_limit_keeps_it_while_it_waits_again() -> None:
    lost = (Fault(100.0, "n1", "down"),)
    world = play([ask("a", **FIRM)], nodes(1), lost, thinker=Berth(), policy=HALF_HOUR).record.world
    assert [(life.phase.value, life.limit_s) for life in world.lives] == [("unfinished", 1800.0)]


def cut_short(at: float) -> Tape:
    """A job without a limit is stopped at one."""
    events = start(0.0, "a", n1=[0, 1, 2, 3]), stop(at, "a", "limit")
    return told([job("a", duration_s=5000)], *events, nodes=[node("n1")], policy={"max_duration_s": 1800})


def test_the_checker_knows_the_longest_duration_as_a_limit() -> None:
    assert cut_short(1800.0).wrong() == []
    assert "its limit was reached at t=1800.0" in cut_short(1900.0).wrong("work")[0]
    of_others = cut_short(1800.0).but(policy={"max_duration_s": {"production": 1800, "standard": None}})
    assert "its work is done at t=5000.0" in of_others.wrong("work")[0]


def test_the_checker_knows_that_plain_policies_give_none() -> None:
    ends = told([job("a", duration_s=5000)], start(0.0, "a", n1=[0, 1, 2, 3]), finish(5000.0, "a"))
    by_the_book = ends.but(policy={"name": "fifo", "max_duration_s": 1800})
    assert by_the_book.wrong("work") == []
    assert "its limit was reached" in ends.but(policy={"max_duration_s": 1800}).wrong("work")[0]

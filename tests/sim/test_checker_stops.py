"""The checker knows who may hold how much and who may be stopped for whom, and catches who does not."""

from typing import Any

import pytest

from tests.sim.tiny import (
    Event,
    Row,
    Tape,
    ask,
    fault,
    finish,
    impossible,
    job,
    machine,
    node,
    start,
    stop,
    team,
    told,
)

ALL, TWO = [0, 1, 2, 3], [0, 1]
RED: dict[str, Any] = {"team": "red"}
BLUE: dict[str, Any] = {"team": "blue"}
PINK: dict[str, Any] = {"team": "pink"}
LOW: dict[str, Any] = {"tier": "opportunistic"}
HIGH: dict[str, Any] = {"tier": "production"}


def run(t: float, name: str, number: int = 1, lasts: float = 100.0, **seats: list[int]) -> list[Event]:
    return [start(t, name, number, **seats), finish(t + lasts, name, number)]


def both(*events: Event, teams: list[dict[str, Any]], first: dict[str, Any], second: dict[str, Any]) -> Tape:
    """Two jobs of four GPUs on two nodes of four."""
    return told([job("a", **first), job("b", **second)], *events, teams=teams)


def side_by_side(*, teams: list[dict[str, Any]], first: Any = RED, second: Any = RED) -> Tape:
    [start_a, end_a], [start_b, end_b] = run(0.0, "a", n1=ALL), run(0.0, "b", n2=ALL)
    return both(start_a, start_b, end_a, end_b, teams=teams, first=first, second=second)


IN_ORDER: dict[str, Tape] = {
    "a team borrows what another lends": side_by_side(teams=[team("red", 4), team("blue", 4)]),
    "a team borrows what nobody owns": side_by_side(teams=[team("red", 4), team("blue", 0)]),
    "a team borrows up to its limit": side_by_side(teams=[team("red", 4, borrow=4), team("blue", 4)]),
    "a team that nobody knows runs on what others lend": side_by_side(
        teams=[team("blue", 8)], first={"team": "x"}, second={"team": "x"}
    ),
    "one team without limits": side_by_side(teams=[team("red", 0)]).but(teams=None),
    "its own, while a sister has borrowed": side_by_side(
        teams=[team("all", 4), team("red", 4, "all"), team("pink", 0, "all"), team("blue", 4, lend=0)],
        first=PINK,
    ),
    "a sister lends inside the parent": side_by_side(
        teams=[
            team("all", 8, lend=0),
            team("red", 4, "all"),
            team("pink", 4, "all"),
            team("blue", 4, lend=0),
        ],
    ),
    "no preemption, but a limit": side_by_side(
        teams=[team("red", 4), team("blue", 4)],
        second=RED | {"preemptible": 0, "limit_s": 100},
    ),
    "no preemption and no limit, inside what is left when preemptible work goes": side_by_side(
        teams=[team("red", 4), team("blue", 4)], second=RED | HIGH
    ),
    "no preemption and no limit on what nobody owns": side_by_side(
        teams=[team("red", 4)], first=RED | HIGH, second={"team": "x"} | HIGH
    ),
    "a parent's jobs on what it promised nobody": side_by_side(
        teams=[team("red", 8, lend=0), team("pink", 4, "red", lend=0), team("blue", 0)],
        first={"team": "pink"},
    ),
    "a reference policy that ignores quotas": side_by_side(teams=[team("red", 0, borrow=0)]).but(
        policy={"name": "fifo"}
    ),
}


@pytest.mark.parametrize("tape", IN_ORDER.values(), ids=IN_ORDER)
def test_quotas_in_order_pass_every_rule(tape: Tape) -> None:
    assert tape.wrong() == []


OVER: dict[str, tuple[Tape, str]] = {
    "above nominal + borrow": (
        side_by_side(teams=[team("red", 4, borrow=3), team("blue", 4)]),
        "team red holds 8 A100; nominal 4 + borrow 3",
    ),
    "a parent above nominal + borrow": (
        side_by_side(teams=[team("all", 6, borrow=1), team("red", 8, "all")]),
        "team all holds 8 A100; nominal 6 + borrow 1",
    ),
    "a loan that nobody gives": (
        side_by_side(teams=[team("red", 4), team("blue", 4, lend=3)]),
        "team red borrows A100 that nobody lends: claims of 9 on 8 of the cluster",
    ),
    "a loan from a sister that does not lend": (
        side_by_side(teams=[team("all", 8, borrow=0), team("red", 4, "all"), team("pink", 4, "all", lend=0)]),
        "team red borrows A100 that nobody lends: claims of 12 on 8 of team all",
    ),
    "a parent's jobs on what a team below does not lend": (
        side_by_side(teams=[team("red", 8, borrow=0), team("pink", 4, "red", lend=0)]),
        "team red itself borrows A100 that nobody lends: claims of 12 on 8 of team red",
    ),
    "a stranger on what nobody lends": (
        side_by_side(teams=[team("blue", 8, lend=4)], first={"team": "x"}, second={"team": "x"}),
        "team x borrows A100 that nobody lends",
    ),
    "no preemption and no limit above nominal": (
        side_by_side(
            teams=[team("red", 4), team("blue", 4)], first=RED | {"preemptible": 0}, second=RED | HIGH
        ),
        "may not be preempted and has no limit",
    ),
}


@pytest.mark.parametrize(("tape", "said"), OVER.values(), ids=OVER)
def test_a_broken_quota_is_caught(tape: Tape, said: str) -> None:
    assert said in tape.wrong("quota")[0]


def test_a_loan_inside_a_parent_asks_nothing_of_others() -> None:
    full = [team("all", 8, lend=0), team("red", 4, "all"), team("pink", 4, "all"), team("blue", 8, lend=0)]
    assert side_by_side(teams=full).wrong("quota") == []


def fight(why: str, victim: dict[str, Any], winner: dict[str, Any], **more: Any) -> Tape:
    """Two nodes, both held: n2 by the victim since 0. The winner comes at 50, gets n2, and all end well."""
    jobs = [
        job("c", **({"tier": "production", "limit_s": 100} | more.pop("third", {}))),
        job("v", **victim),
        job("w", **({"submit_s": 50} | winner)),
    ]
    events = [
        *[start(0.0, "c", n1=ALL), start(0.0, "v", n2=ALL), ask(50.0, "v", why, "w")],
        *[stop(50.0, "v", why, "w", lost=200.0), start(50.0, "w", n2=ALL), finish(100.0, "c")],
        *[start(100.0, "v", 2, n1=ALL), finish(150.0, "w"), finish(260.0, "v", 2)],
    ]
    return told(jobs, *events, **more)


QUOTAS = [team("red", 4), team("blue", 4)]
LEGAL: dict[str, Tape] = {
    "preempted inside one team": fight("preempted", {}, HIGH),
    "opportunistic work of another team": fight("preempted", RED | LOW, BLUE | HIGH, teams=QUOTAS, third=RED),
    "work of a team above its nominal": fight("preempted", RED, BLUE | HIGH, teams=QUOTAS, third=RED),
    "reclaimed from a team above its nominal": fight("reclaimed", RED, BLUE, teams=QUOTAS, third=RED),
    "reclaimed for a team that lives on the quota above it": fight(
        "reclaimed",
        RED,
        BLUE,
        teams=[team("all", 8), team("red", 4, "all"), team("blue", None, "all")],
        third=RED,
    ),
    "reclaimed for a team of an owner": fight(
        "reclaimed",
        RED,
        {"team": "sky"},
        teams=[team("red", 2), team("blue", 4), team("sky", None, "blue")],
        third=RED,
    ),
    "reclaimed from a stranger": fight("reclaimed", {"team": "x"}, BLUE, teams=QUOTAS, third=RED),
    "recalled for an older job": fight("recalled", {"submit_s": 0}, {"submit_s": 0}).but(
        jobs=[job("c"), job("w"), job("v")]
    ),
}


def earlier(tape: Tape) -> Tape:
    """The recall's winner is older than its victim: it was submitted first, in the same instant."""
    if tape.jobs[1]["job"] != "w":
        return tape
    events = [event for event in tape.events if event["event"] not in {"submit", "estimate"}]
    return told(tape.jobs, *events)


@pytest.mark.parametrize("tape", LEGAL.values(), ids=LEGAL)
def test_legal_stops_pass_every_rule(tape: Tape) -> None:
    assert earlier(tape).wrong() == []


ILLEGAL: dict[str, tuple[Tape, str]] = {
    "of the same tier": (fight("preempted", {}, {}), "which is of no higher tier"),
    "that may not be preempted": (fight("preempted", {"preemptible": 0}, HIGH), "it may not be preempted"),
    "of a team within its nominal": (
        fight("preempted", RED, BLUE | HIGH, teams=QUOTAS, third=BLUE),
        "of another team, but team red is within its nominal",
    ),
    "reclaimed from its own": (
        fight("reclaimed", RED, BLUE, teams=QUOTAS, third=BLUE),
        "is within its nominal",
    ),
    "reclaimed from what a parent left itself": (
        fight("reclaimed", RED, PINK, teams=[team("red", 8), team("pink", 4, "red")], third=PINK),
        "team red is within its nominal",
    ),
    "reclaimed inside one team": (
        fight("reclaimed", RED, RED, teams=QUOTAS, third=RED),
        "is within its nominal",
    ),
    "reclaimed for a borrower": (
        fight("reclaimed", RED, BLUE, teams=[team("red", 2), team("blue", 2)], third=BLUE),
        "team blue is above its nominal",
    ),
    "recalled for a younger job": (fight("recalled", {}, {}), "which is not older"),
    "recalled for another tier": (fight("recalled", LOW, {}), "which is of another tier"),
    "by a reference policy": (fight("preempted", {}, HIGH).but(policy={"name": "easy"}), "easy stops nobody"),
}


@pytest.mark.parametrize(("tape", "said"), ILLEGAL.values(), ids=ILLEGAL)
def test_a_stop_of_the_wrong_one_is_caught(tape: Tape, said: str) -> None:
    assert any(said in wrong for wrong in tape.wrong("stops"))


def test_a_team_at_its_nominal_without_those_already_asked_is_left_alone() -> None:
    jobs = [*(job(name, 2, **RED) for name in "abcd"), job("w", 8, submit_s=50, **BLUE, **HIGH)]
    seats = [
        start(0.0, "a", n1=TWO),
        start(0.0, "b", n1=[2, 3]),
        start(0.0, "c", n2=TWO),
        start(0.0, "d", n2=[2, 3]),
    ]
    asks = [ask(50.0, name, "preempted", "w") for name in "abcd"]
    wrong = told(jobs, *seats, *asks, teams=[team("red", 4), team("blue", 8)]).wrong("stops")
    assert [sentence.split()[2] for sentence in wrong] == ["c,", "d,"]


def test_nobody_is_stopped_for_one_that_does_not_wait() -> None:
    tape = fight("preempted", {}, HIGH)
    late = tape.but(events=[*tape.events[:-1], ask(150.0, "v", "preempted", "w", 2)])
    assert any("for w, which does not wait" in wrong for wrong in late.wrong("stops"))


def test_nobody_is_recalled_for_one_that_ran_when_it_started() -> None:
    jobs = [job("w"), job("v", submit_s=10)]
    events = [start(0.0, "w", n1=ALL), start(10.0, "v", n2=ALL), stop(20.0, "w", "node_lost", lost=80.0)]
    tape = told(jobs, *events, ask(30.0, "v", "recalled", "w"))
    assert "which was running when it started" in tape.wrong("stops")[0]


def test_the_minimum_runtime_is_kept() -> None:
    tape = fight("preempted", {}, HIGH)
    assert tape.but(policy={"min_runtime_s": {"standard": 50}}).wrong() == []
    early = tape.but(policy={"min_runtime_s": {"standard": 51}}).wrong("patience")
    assert "asked after 50 s; the minimum runtime of standard is 51 s" in early[0]


def test_nobody_is_stopped_too_often_a_day() -> None:
    tape = fight("preempted", {}, HIGH)
    assert tape.but(policy={"max_preemptions_per_day": 1}).wrong() == []
    assert (
        "for the 1th time in a day; 0 is the most"
        in tape.but(policy={"max_preemptions_per_day": 0}).wrong("patience")[0]
    )


def test_two_jobs_do_not_stop_each_other_in_turns() -> None:
    jobs = [job("a"), job("b")]
    first = [start(0.0, "a", n1=ALL), ask(10.0, "a", "moved", "b"), stop(10.0, "a", "moved", "b", lost=40.0)]
    second = [
        start(10.0, "b", n1=ALL),
        ask(20.0, "b", "moved", "a"),
        stop(20.0, "b", "moved", "a", lost=40.0),
    ]
    [wrong] = told(jobs, *first, *second).wrong("patience")
    assert "which was stopped for it, and nothing is new since" in wrong
    arrived = told([*jobs, job("c", submit_s=15)], *first, *second)
    assert arrived.wrong("patience") == []


def test_a_stop_enables_a_start() -> None:
    tape = fight("preempted", {}, HIGH)
    never = tape.but(
        events=[event for event in tape.events if event["t"] <= 50 and event != tape.events[-4]][:-1]
    )
    assert "for w, which never starts afterwards" in never.wrong("needs")[0]


def idle_elsewhere(winner: Row, *, teams: list[dict[str, Any]] | None = None, **more: Any) -> Tape:
    """n1 is idle all along; the victim on n2 is stopped, and the winner starts on n1."""
    events = [
        start(0.0, "v", n2=ALL),
        ask(50.0, "v", "preempted", "w"),
        stop(50.0, "v", "preempted", "w", lost=200.0),
    ]
    events += run(50.0, "w", n1=ALL) + run(160.0, "v", 2, 160.0, n2=ALL)
    return told([job("v", **more), winner], *events, teams=teams)


def test_a_needless_stop_is_caught() -> None:
    winner = job("w", submit_s=50, **HIGH)
    assert "which started without what it freed" in idle_elsewhere(winner).wrong("needs")[0]


def test_a_stop_that_only_frees_quota_is_not_needless() -> None:
    tight = [team("red", 4, borrow=0), team("blue", 4)]
    assert idle_elsewhere(job("w", submit_s=50, **HIGH, **RED), teams=tight, **RED).wrong() == []


@pytest.mark.parametrize(("most", "needless"), [(1, False), (9, True)])
def test_who_was_stopped_so_often_that_nobody_may_stop_it_needs_its_own_quota(
    most: int, needless: bool
) -> None:
    """Nothing would bring a loan back from it, so a lower tier of its team makes room inside nominal."""
    jobs = [job("v", **LOW, **RED), job("w", **RED), job("x", submit_s=10, **HIGH, **BLUE)]
    events = [start(0.0, "v", n2=ALL), start(0.0, "w", n1=ALL), ask(10.0, "w", "preempted", "x")]
    events += [stop(10.0, "w", "preempted", "x", lost=40.0), *run(10.0, "x", n1=ALL)]
    events += [ask(110.0, "v", "preempted", "w"), stop(110.0, "v", "preempted", "w", lost=440.0)]
    events += run(110.0, "w", 2, 160.0, n1=ALL) + run(270.0, "v", 2, 160.0, n2=ALL)
    tape = told(jobs, *events, teams=[team("red", 4), team("blue", 4)])
    wrong = tape.but(policy={"max_preemptions_per_day": most}).wrong("needs")
    assert any("which started without what it freed" in each for each in wrong) is needless


@pytest.mark.parametrize(("asked_at", "needless"), [(40.0, False), (60.0, True)])
def test_quota_of_one_for_whom_a_place_is_being_made_is_taken(asked_at: float, needless: bool) -> None:
    """x of the same team has victims that are still saving: with x counted, w is above what red may hold."""
    jobs = [job("u", **BLUE), job("v", **LOW, **RED)]
    jobs += [job("x", submit_s=40, **HIGH, **RED), job("w", submit_s=50, **HIGH, **RED)]
    events = [start(0.0, "u", n2=ALL), start(0.0, "v", n1=ALL), ask(asked_at, "u", "reclaimed", "x")]
    events += [ask(50.0, "v", "preempted", "w"), stop(50.0, "v", "preempted", "w", lost=200.0)]
    events += [start(50.0, "w", n3=ALL), stop(70.0, "u", "reclaimed", "x", lost=200.0)]
    events += [start(70.0, "x", n2=ALL), finish(150.0, "w"), finish(170.0, "x")]
    nodes = [node("n1"), node("n2"), node("n3")]
    tape = told(
        jobs,
        *sorted(events, key=lambda event: float(event["t"])),
        nodes=nodes,
        teams=[team("red", 8, borrow=0), team("blue", 0)],
    )
    assert (
        any("v, run 1" in each and "without what it freed" in each for each in tape.wrong("needs"))
        is needless
    )


def test_a_stop_is_not_needless_when_another_place_came_free_meanwhile() -> None:
    jobs = [job("c", 4), job("v"), job("w", submit_s=95, **HIGH)]
    events = [start(0.0, "c", n1=ALL), start(0.0, "v", n2=ALL), ask(95.0, "v", "preempted", "w")]
    events += [finish(100.0, "c"), start(100.0, "w", n1=ALL), stop(105.0, "v", "preempted", "w", lost=380.0)]
    events += [start(105.0, "v", 2, n2=ALL), finish(200.0, "w"), finish(265.0, "v", 2)]
    assert told(jobs, *events).wrong() == []


def moved(again: float) -> Tape:
    """Two half-empty nodes; one run moves to the other so that four GPUs are together."""
    jobs = [job("a", 2), job("b", 2), job("w", submit_s=50, topology="node:required")]
    events = [start(0.0, "a", n1=TWO), start(0.0, "b", n2=TWO), ask(50.0, "b", "moved", "w")]
    events += [stop(50.0, "b", "moved", "w", lost=100.0), start(50.0, "w", n2=ALL)]
    rest = [
        start(again, "b", 2, n1=[2, 3]),
        finish(100.0, "a"),
        finish(150.0, "w"),
        finish(again + 160, "b", 2),
    ]
    return told(jobs, *events, *sorted(rest, key=lambda event: event["t"]))


def test_who_is_moved_has_a_new_place_at_once() -> None:
    assert moved(50.0).wrong() == []
    assert "is moved for w, but has no new place" in moved(60.0).wrong("needs")[0]


def theft(takes: list[int], seats: dict[str, list[int]], gpus: int, **more: Any) -> Tape:
    """Two victims are asked for w; when the first has gone, a thief sits down there before w does."""
    jobs = [
        job("a"),
        job("b"),
        job("thief", len(takes), submit_s=50, **more),
        job("w", gpus, submit_s=40, **HIGH),
    ]
    events = [start(0.0, "a", n1=ALL), start(0.0, "b", n2=ALL)]
    events += [ask(50.0, name, "preempted", "w") for name in "ab"]
    events += [stop(50.0, "a", "preempted", "w", lost=200.0), start(50.0, "thief", n1=takes)]
    events += [
        stop(60.0, "b", "preempted", "w", lost=200.0),
        finish(150.0, "thief"),
        start(150.0, "w", 1, **seats),
    ]
    return told(jobs, *events)


def test_what_victims_free_is_held_for_whom_it_was_freed() -> None:
    whole = {"n1": ALL, "n2": ALL}
    assert "takes what job a was stopped for w to have" in theft([0], whole, 8).wrong("kept")[0]
    assert len(theft([0], {"n2": ALL}, 4).wrong("kept")) == 1
    assert theft([0], whole, 8, limit_s=10).wrong("kept") == []
    assert theft([0], whole, 8, tier="production").wrong("kept") != []


def test_what_victims_free_beyond_what_is_needed_is_anybodys() -> None:
    assert theft([0, 1], {"n1": [3], "n2": ALL}, 5).wrong("kept") == []


def test_a_job_that_would_fit_is_not_impossible() -> None:
    assert "alone on the cluster it would fit" in told([job("a", 8)], impossible(0.0, "a")).wrong("ends")[0]
    assert told([job("a", 9)], impossible(0.0, "a")).wrong() == []
    assert told([job("a", 8, topology="node:required")], impossible(0.0, "a")).wrong() == []
    assert told([job("a", 8, tp=3)], impossible(0.0, "a")).wrong() == []
    assert told([job("a", 8, **RED)], impossible(0.0, "a"), teams=[team("red", 4, borrow=3)]).wrong() == []


def test_a_job_that_would_fit_on_what_is_up_is_not_unfinished() -> None:
    faults, down = [fault(0.0, "n1", "down")], machine(0.0, "n1", "down")
    assert told([job("a", 8)], down, faults=faults).wrong() == []
    assert "is unfinished, but it would fit" in told([job("a", 4)], down, faults=faults).wrong("ends")[0]


FIGURES = {"min_runtime_s": {"production": 0, "standard": 10, "opportunistic": 0}, "grace_s": 5, "cycle_s": 5}


def late(victim: dict[str, Any], winner: dict[str, Any], **more: Any) -> Tape:
    """The winner comes at 50 and gets n1 when the run there ends at 100; the bound is over at 70."""
    jobs = [
        job("v", **victim),
        job("x", 1, submit_s=71, duration_s=1),
        job("w", **({"submit_s": 50} | winner)),
    ]
    events = [start(0.0, "v", n1=ALL), start(71.0, "x", n2=[0]), finish(72.0, "x"), finish(100.0, "v")]
    nodes = more.pop("nodes", [node("n1"), node("n2", 1)])
    events[1:1] = more.pop("between", [])
    return told(jobs, *events, *run(100.0, "w", n1=ALL), nodes=nodes, policy=FIGURES, **more)


def lodging(nominal: int) -> Tape:
    """Blue has no quota of its own and lives on that of red, which is above it."""
    teams = [team("red", nominal), team("blue", None, "red"), team("green", 4, "red")]
    nodes = [node("n1"), node("n2"), node("n3")]
    return late(BLUE | {"preemptible": 0}, RED | HIGH, nodes=nodes, teams=teams)


BROKEN: dict[str, Tape] = {
    "behind opportunistic work": late(LOW, HIGH),
    "behind lower work of its own team": late(RED, RED | HIGH, teams=[team("red", 8)]),
    "inside its quota": late(RED | LOW, BLUE | HIGH, teams=[team("red", 1), team("blue", 4)]),
    "next to an idle node": late({"preemptible": 0}, HIGH, nodes=[node("n1"), node("n2")]),
    "with enough for itself and a team that lives on its quota": lodging(12),
}


@pytest.mark.parametrize("tape", BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_to_production_is_caught(tape: Tape) -> None:
    [wrong] = tape.wrong("bounds")
    assert wrong.startswith("t=70.0, job w: production inside its quota waits longer than the bound of 20 s")


HONEST: dict[str, Tape] = {
    "no production": late(LOW, {}),
    "behind work that may not be stopped": late({"preemptible": 0}, HIGH),
    "behind another team's own": late(RED, BLUE | HIGH, teams=[team("red", 4), team("blue", 4)]),
    "outside its quota": late(RED | LOW, BLUE | HIGH, teams=[team("red", 8), team("blue", 3)]),
    "beside a team that lives on its quota": lodging(8),
    "not yet": late(LOW, HIGH | {"not_before_s": 85}),
    "behind one that it comes after": late(LOW, HIGH | {"after": "v"}),
    "after a fault": late(
        LOW, HIGH, faults=[fault(60.0, "n2", "drain")], between=[machine(60.0, "n2", "drain")]
    ),
}


@pytest.mark.parametrize("tape", HONEST.values(), ids=HONEST)
def test_a_wait_that_the_promise_does_not_cover_is_not_told(tape: Tape) -> None:
    assert tape.wrong("bounds") == []


def test_production_on_whole_nodes_has_the_promise_too() -> None:
    jobs = [job("v", **LOW), job("x", 1, submit_s=71), job("w", 8, submit_s=50, **HIGH)]
    nodes = [node("n1"), node("n2"), node("n3", 3)]
    events = [
        start(0.0, "v", n1=ALL),
        start(71.0, "x", n3=[0]),
        finish(100.0, "v"),
        start(100.0, "w", n1=ALL, n2=ALL),
    ]
    tape = told(jobs, *events, nodes=nodes, policy=FIGURES)
    assert "though n1, n2 had room" in tape.wrong("bounds")[0]
    jobs[2]["topology"] = "block:required"
    assert tape.wrong("bounds") == []

"""The checker knows the contract's arithmetic of work, and catches a replay that does not."""

from typing import Any

import pytest

from tests.sim.tiny import Event, Row, Tape, ask, fault, finish, job, machine, node, start, stop, swap, told

ALL = [0, 1, 2, 3]
BOSS = job("boss", 4, submit_s=50, tier="production", duration_s=10)


def stopped(*events: Event, why: str = "preempted", boss: Row = BOSS, **columns: Any) -> Tape:
    """An opportunistic job on the only node from 0 on; the boss comes at 50 and runs for 10 s."""
    victim = job("a", tier="opportunistic", **columns)
    return told([victim, boss], start(0.0, "a", n1=ALL), *events, nodes=[node("n1")])


def boss_runs(t: float) -> list[Event]:
    return [start(t, "boss", n1=ALL), finish(t + 10, "boss")]


def asked(t: float = 50.0) -> Event:
    return ask(t, "a", "preempted", "boss")


def gone(t: float = 50.0, lost: float = 0.0, acked: bool = False) -> Event:
    return stop(t, "a", "preempted", "boss", lost=lost, acked=acked)


RIGHT: dict[str, Tape] = {
    "an acknowledged stop keeps all work up to the ask": stopped(
        *[asked(), gone(55.0, acked=True), *boss_runs(55.0)],
        *[start(65.0, "a", 2, n1=ALL), finish(65.0 + 60 + 50, "a", 2)],
        checkpoint_s=30,
    ),
    "without an acknowledgement the last checkpoint counts": stopped(
        *[asked(), gone(55.0, lost=80.0), *boss_runs(55.0)],
        *[start(65.0, "a", 2, n1=ALL), finish(65.0 + 60 + 70, "a", 2)],
        checkpoint_s=30,
    ),
    "who never checkpoints starts again": stopped(
        *[asked(), gone(lost=200.0), *boss_runs(50.0)],
        *[start(60.0, "a", 2, n1=ALL), finish(60.0 + 5 + 100, "a", 2)],
        restart_s=5,
    ),
    "a checkpoint that falls on the ask may count": stopped(
        *[asked(), gone(lost=0.0), *boss_runs(50.0)],
        *[start(60.0, "a", 2, n1=ALL), finish(170.0, "a", 2)],
        checkpoint_s=25,
    ),
    "a checkpoint that falls on the ask may just not count": stopped(
        *[asked(), gone(lost=100.0), *boss_runs(50.0)],
        *[start(60.0, "a", 2, n1=ALL), finish(195.0, "a", 2)],
        checkpoint_s=25,
    ),
    "checkpoints are counted from where the run began": stopped(
        *[asked(), gone(lost=0.0, acked=True), *boss_runs(50.0), start(60.0, "a", 2, n1=ALL)],
        *[ask(165.0, "a", "preempted", "second", 2), stop(165.0, "a", "preempted", "second", run=2, lost=4 * 15.0)],
        *[start(165.0, "second", n1=ALL), finish(265.0, "second")],
        *[start(265.0, "a", 3, n1=ALL), finish(265.0 + 60 + 20, "a", 3)],
        checkpoint_s=30,
    ),
    "a limit bounds one run, and restarts don't count": stopped(
        *[asked(), gone(acked=True), *boss_runs(50.0)],
        *[start(60.0, "a", 2, n1=ALL), finish(170.0, "a", 2)],
        checkpoint_s=30,
        limit_s=60,
    ),
    "work that ends exactly at the limit finishes": told(
        [job("a", limit_s=100)], start(0.0, "a", n1=ALL), finish(100.0, "a"), nodes=[node("n1")]
    ),
    "half of the GPUs work at half the rate": told(
        [job("a", min_gpus=2, limit_s=200)], start(0.0, "a", n1=[0, 1]), finish(200.0, "a"), nodes=[node("n1")]
    ),
}  # fmt: skip


def with_second(tape: Tape) -> Tape:
    """The tape that speaks of a second winner gets its row."""
    if not any(event.get("for") == "second" for event in tape.events):
        return tape
    row = job("second", 4, submit_s=165, tier="production", user="eve")
    events = [event for event in tape.events if event["event"] not in {"submit", "estimate"}]
    return told([*tape.jobs, row], *events, nodes=tape.nodes)


@pytest.mark.parametrize("tape", RIGHT.values(), ids=RIGHT)
def test_work_that_is_told_right_passes_every_rule(tape: Tape) -> None:
    assert with_second(tape).wrong() == []


WRONG: dict[str, tuple[Tape, str]] = {
    "a finish too early": (
        told([job("a")], start(0.0, "a", n1=ALL), finish(99.0, "a")),
        "finishes, but its work is done at t=100",
    ),
    "a finish too late": (
        told([job("a")], start(0.0, "a", n1=ALL), finish(100.001, "a")),
        "its work was done at t=100",
    ),
    "a rate that ignores missing GPUs": (
        told([job("a", min_gpus=2)], start(0.0, "a", n1=[0, 1]), finish(100.0, "a")),
        "its work is done at t=200",
    ),
    "a restart for nothing": (
        stopped(*[asked(), gone(lost=200.0), *boss_runs(50.0), start(60.0, "a", 2, n1=ALL), finish(160.0, "a", 2)]),
        "its work is done at t=220",
    ),
    "a loss that is not told": (stopped(asked(), gone(lost=0.0)), "lost_gpu_s is 0.0; by the events it is 200"),
    "a loss in spite of a checkpoint": (
        stopped(asked(), gone(lost=200.0), checkpoint_s=30),
        "by the events it is 80",
    ),
    "a loss in spite of an acknowledgement": (
        stopped(asked(), gone(lost=80.0, acked=True), checkpoint_s=30),
        "by the events it is 0",
    ),
    "work during the grace": (
        stopped(asked(), gone(55.0, lost=220.0)),
        "by the events it is 200",
    ),
    "a finish after an ask": (stopped(asked(), finish(100.0, "a")), "was asked at t=50.0 and works no more"),
    "a stop after the work was done": (stopped(asked(120.0), gone(120.0, lost=400.0)), "its work was done at t=100"),
    "a limit stop too late": (
        told([job("a", limit_s=50)], start(0.0, "a", n1=ALL), stop(51.0, "a", "limit")),
        "its limit was reached at t=50",
    ),
    "a limit stop too early": (
        told([job("a", limit_s=50)], start(0.0, "a", n1=ALL), stop(49.0, "a", "limit")),
        "that is reached at t=50",
    ),
    "a limit that is ignored": (
        told([job("a", limit_s=50)], start(0.0, "a", n1=ALL), finish(100.0, "a")),
        "its limit was reached at t=50",
    ),
    "a limit stop after an ask": (
        stopped(asked(), stop(60.0, "a", "limit"), limit_s=60),
        "stopped at its limit, but it was asked at t=50.0",
    ),
    "a limit stop of work that just ends there": (
        told([job("a", limit_s=100)], start(0.0, "a", n1=ALL), stop(100.0, "a", "limit")),
        "but its work is done at t=100",
    ),
    "a limit stop that loses": (
        told([job("a", limit_s=50)], start(0.0, "a", n1=ALL), stop(50.0, "a", "limit", lost=200.0)),
        "loses nothing",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("tape", "said"), WRONG.values(), ids=WRONG)
def test_work_that_is_told_wrong_is_caught(tape: Tape, said: str) -> None:
    assert said in tape.wrong("work")[0]


def broken(*events: Event, **columns: Any) -> Tape:
    """Eight GPUs on n1 and n2; both go down at 50."""
    row = job("a", 8, **columns)
    faults = [fault(50.0, "n1", "down"), fault(50.0, "n2", "down")]
    down = [machine(50.0, "n1", "down"), machine(50.0, "n2", "down")]
    nodes = [node(f"n{number}") for number in range(1, 5)]
    return told([row], start(0.0, "a", n1=ALL, n2=ALL), *down, *events, nodes=nodes, faults=faults)


def swaps(first: float, second: float) -> list[Event]:
    return [swap(50.0, "a", "n1", first, n3=ALL), swap(50.0, "a", "n2", second, n4=ALL)]


def test_several_swaps_of_one_instant_lose_and_restart_once() -> None:
    assert broken(*swaps(160.0, 0.0), finish(50.0 + 60 + 70, "a"), checkpoint_s=30).wrong() == []
    twice = broken(*swaps(160.0, 160.0), finish(180.0, "a"), checkpoint_s=30)
    assert "it stands on the first" in twice.wrong("work")[0]
    late = broken(*swaps(160.0, 0.0), finish(240.0, "a"), checkpoint_s=30)
    assert "its work was done at t=180" in late.wrong("work")[0]


def test_a_lost_node_loses_the_work_since_the_last_checkpoint() -> None:
    again = [start(50.0, "a", 2, n3=ALL, n4=ALL), finish(50.0 + 60 + 70, "a", 2)]
    assert broken(stop(50.0, "a", "node_lost", lost=160.0), *again, checkpoint_s=30).wrong() == []
    wrong = broken(stop(50.0, "a", "node_lost", lost=400.0), *again, checkpoint_s=30).wrong("work")
    assert "lost_gpu_s is 400.0; by the events it is 160" in wrong[0]


def test_rolled_back_work_does_not_count_against_the_limit() -> None:
    swapped = [*swaps(400.0, 0.0), finish(50.0 + 60 + 100, "a")]
    assert broken(*swapped, limit_s=100).wrong() == []
    assert "limit was reached" in broken(*swapped, limit_s=90).wrong("work")[0]


def test_who_was_asked_is_not_swapped() -> None:
    tape = told(
        [job("a", 4), job("boss", 8, tier="production")],
        start(0.0, "a", n1=ALL),
        ask(40.0, "a", "preempted", "boss"),
        machine(50.0, "n1", "down"),
        swap(50.0, "a", "n1", 160.0, n2=ALL),
        faults=[fault(50.0, "n1", "down")],
    )
    assert "is about to stop" in tape.wrong("work")[0]


ASKS: dict[str, tuple[Tape, str]] = {
    "nobody asked": (stopped(gone(lost=200.0)), "is stopped as preempted without an ask"),
    "asked twice": (stopped(asked(), asked(51.0), gone(52.0, lost=200.0)), "is asked twice"),
    "asked for one, stopped for another": (
        stopped(ask(50.0, "a", "recalled", "boss"), gone(lost=200.0)),
        "was asked as recalled for boss, but is stopped as preempted",
    ),
    "asked, and nothing follows": (stopped(asked()), "no stop follows: it goes on"),
    "an acknowledgement without checkpoints": (stopped(asked(), gone(acked=True)), "never checkpoints"),
    "an acknowledged loss of a node": (
        stopped(asked(), stop(55.0, "a", "node_lost", acked=True), checkpoint_s=30),
        "acknowledges a stop as node_lost",
    ),
    "grace that is overdrawn": (
        stopped(asked(), gone(61.0, lost=200.0)).but(policy={"grace_s": 10}),
        "after the grace of 10 s",
    ),
}


@pytest.mark.parametrize(("tape", "said"), ASKS.values(), ids=ASKS)
def test_a_stop_without_its_courtesy_is_caught(tape: Tape, said: str) -> None:
    assert any(said in wrong for wrong in tape.wrong("asks"))


def test_a_node_lost_during_the_grace_ends_the_run_at_once() -> None:
    down = [asked(), machine(55.0, "n1", "down"), stop(55.0, "a", "node_lost", lost=80.0)]
    back = [machine(60.0, "n1", "up"), *boss_runs(60.0), start(70.0, "a", 2, n1=ALL), finish(200.0, "a", 2)]
    faults = [fault(55.0, "n1", "down"), fault(60.0, "n1", "up")]
    assert stopped(*down, *back, checkpoint_s=30).but(faults=faults, policy={"grace_s": 10}).wrong() == []

"""The pretend clock: what happens at one instant in which order, and how jobs come, wait, run and end."""

from collections.abc import Sequence
from dataclasses import replace
from math import isnan

import pytest

from scheduler.core.model import Seat
from scheduler.core.policy import Policy
from scheduler.sim.decisions import Act, AskStop, Decisions, Illegal, Start, Swap
from scheduler.sim.thinkers.fifo import Fifo
from scheduler.sim.work import ANSWER_S
from scheduler.sim.workload import Ask, Fault
from scheduler.sim.world import World
from tests.sim.stage import Script, ask, nodes, number, play, seat


def phases(world: World) -> dict[str, str]:
    return {ask.job: life.phase.value for ask, life in zip(world.asks, world.lives, strict=True)}


def test_at_one_instant_come_faults_then_ends_then_submissions_then_decisions() -> None:
    played = play(
        [ask("b", 4, submit=100), ask("a", 8)],
        faults=[Fault(100, "n1", "drain"), Fault(100, "n1", "up")],
    )
    assert played.tape("node", "finish", "submit", "estimate", "start")[3:] == [
        "100 node n1",
        "100 node n1",
        "100 finish a",
        "100 submit b",
        "100 estimate b",
        "100 start b",
        "200 finish b",
    ]


def test_equal_submit_times_go_in_file_order() -> None:
    played = play([ask("z", 8), ask("y", 8), ask("x", 8, submit=0)])
    assert played.tape("submit") == ["0 submit z", "0 submit y", "0 submit x"]
    assert played.starts() == {"z": 0, "y": 100, "x": 200}


def test_a_job_without_work_ends_in_the_instant_it_starts_and_the_next_one_starts_then() -> None:
    played = play([ask("a", 8, duration=0), ask("b", 8, duration=0), ask("c", 8)])
    assert played.tape() == [
        "0 start a",
        "0 finish a",
        "0 start b",
        "0 finish b",
        "0 start c",
        "100 finish c",
    ]


def test_an_estimate_comes_once_for_each_job_right_after_its_submission() -> None:
    played = play([ask("a", 8), ask("b", 99), ask("c", 8, submit=5)])
    told = played.tape("submit", "estimate")
    assert told == [
        *("0 submit a", "0 estimate a", "0 submit b", "0 estimate b"),
        *("5 submit c", "5 estimate c"),
    ]
    assert all(line["t"] <= line["p50_s"] <= line["p90_s"] for line in played.lines("estimate"))


def test_a_limit_ends_the_job_and_nothing_counts_as_lost() -> None:
    played = play([ask("a", 8, duration=100, limit_s=60.0), ask("b", 8, duration=50, limit_s=50.0)])
    assert played.tape() == ["0 start a", "60 stop a", "60 start b", "110 finish b"]
    stop = played.lines("stop")[0]
    assert stop == {
        "t": 60.0,
        "event": "stop",
        "job": "a",
        "run": 1,
        "why": "limit",
        "acked": False,
        "lost_gpu_s": 0.0,
    }
    assert phases(played.record.world) == {"a": "limit", "b": "finished"}


# What follows what


def test_a_job_waits_for_those_it_follows_and_keeps_its_place_in_line() -> None:
    played = play(
        [
            ask("b", 8, after=("a",)),
            ask("a", 4),
            ask("c", 8, submit=50),
            ask("d", 8, submit=1, after=("a", "b")),
        ]
    )
    assert played.starts() == {"a": 0, "b": 100, "d": 200, "c": 300}


def test_who_follows_a_limit_stop_or_an_impossible_job_is_impossible_at_that_moment() -> None:
    played = play(
        [
            ask("a", 4, limit_s=10.0),
            ask("b", 4, after=("a",)),
            ask("c", 4, after=("b",)),
            ask("z", 99),
            ask("y", 4, submit=20, after=("z",)),
            ask("x", 4, submit=20, after=("a",)),
        ]
    )
    told = {line["job"]: (line["t"], line["why"]) for line in played.lines("impossible")}
    assert told == {
        "z": (0.0, "needs 99 GPUs in the cluster; there are at most 8 of one type that it accepts"),
        "b": (10.0, "follows a, which was stopped at its time limit"),
        "c": (10.0, "follows b, which can never run"),
        "y": (20.0, "follows z, which can never run"),
        "x": (20.0, "follows a, which was stopped at its time limit"),
    }
    assert len(played.lines("estimate")) == 6


def test_a_job_that_must_not_start_before_a_time_starts_then_and_holds_nobody_up() -> None:
    played = play([ask("a", 8, not_before_s=150.0), ask("b", 8), ask("c", 8, submit=120)])
    assert played.starts() == {"b": 0, "c": 120, "a": 220}


# Faults


def test_a_run_on_a_node_that_goes_down_loses_what_it_did_since_its_last_checkpoint() -> None:
    played = play(
        [ask("a", 8, checkpoint_s=30.0, restart_s=10.0)],
        faults=[Fault(70, "n2", "down"), Fault(200, "n2", "up")],
    )
    assert played.tape() == [
        *("0 start a", "70 node n2", "70 stop a", "200 node n2", "200 start a", "250 finish a")
    ]
    stop = played.lines("stop")[0]
    assert (stop["why"], stop["acked"], stop["lost_gpu_s"]) == ("node_lost", False, 10.0 * 8)
    assert "for" not in stop
    assert played.lines("start")[1]["run"] == 2


def test_a_fault_beats_an_end_of_the_same_instant() -> None:
    played = play([ask("a", 8)], faults=[Fault(100, "n1", "down"), Fault(100, "n1", "up")])
    assert played.tape() == [
        *("0 start a", "100 node n1", "100 node n1", "100 stop a", "100 start a", "260 finish a")
    ]


def test_a_job_that_lost_its_node_stands_where_it_stood() -> None:
    asks = [ask("a", 8), ask("b", 8, submit=10), ask("c", 4, submit=20)]
    played = play(asks, faults=[Fault(50, "n1", "down"), Fault(60, "n1", "up")])
    assert played.tape("start") == ["0 start a", "60 start a", "220 start b", "320 start c"]


def test_a_fault_of_some_gpus_hits_only_the_runs_on_them() -> None:
    played = play([ask("a", 2), ask("b", 2)], nodes(1), [Fault(50, "n1", "down", (2, 3))])
    assert played.tape() == [
        *("0 start a", "0 start b", "50 node n1", "50 stop b"),
        *("100 finish a", "100 start b", "260 finish b"),
    ]
    assert played.lines("node")[0] == {
        "t": 50.0,
        "event": "node",
        "node": "n1",
        "state": "down",
        "gpus": [2, 3],
    }
    assert played.lines("start")[2]["seats"] == [{"node": "n1", "gpus": [0, 1]}]


def test_on_a_drained_node_nothing_starts_and_what_runs_goes_on() -> None:
    played = play(
        [ask("a", 4), ask("b", 4), ask("c", 4, submit=20)],
        faults=[Fault(10, "n1", "drain"), Fault(300, "n1", "up")],
    )
    assert played.starts() == {"a": 0, "b": 0, "c": 100}
    assert played.lines("start")[2]["seats"][0]["node"] == "n2"
    assert played.tape()[-1] == "300 node n1"  # every fault of the file is told


def test_faults_of_one_instant_happen_in_file_order() -> None:
    played = play(
        [ask("a", 8, submit=5)], faults=[Fault(1, "n1", "up"), Fault(1, "n1", "down"), Fault(9, "n1", "up")]
    )
    assert played.starts() == {"a": 9}


def test_what_nodes_that_stay_down_make_unplaceable_ends_as_unfinished() -> None:
    asks = [ask("a", 4), ask("b", 8, submit=20), ask("c", 4, submit=30, after=("b",))]
    played = play(asks, faults=[Fault(10, "n2", "down")])
    assert played.tape() == ["0 start a", "10 node n2", "100 finish a"]
    assert phases(played.record.world) == {"a": "finished", "b": "unfinished", "c": "unfinished"}


def test_a_swap_replaces_the_lost_node_alone_and_rolls_back_once() -> None:
    def replace(world: World) -> Sequence[Act]:
        job = number(world, "a")
        assert world.broken == {job: (0, 1)}
        return [Swap(job, 0, seat(3, 0, 1, 2, 3)), Swap(job, 1, seat(4, 0, 1, 2, 3))]

    played = play(
        [ask("a", 12, checkpoint_s=30.0, restart_s=5.0), ask("b", 4, submit=71)],
        nodes(6),
        [Fault(70, "n1", "down"), Fault(70, "n2", "down")],
        thinker=Script(mends=replace),
    )
    assert played.tape() == [
        *("0 start a", "70 node n1", "70 node n2", "70 swap a", "70 swap a"),
        *("71 start b", "115 finish a", "171 finish b"),
    ]
    assert played.lines("swap")[0] == {
        "t": 70.0,
        "event": "swap",
        "job": "a",
        "run": 1,
        "out": "n1",
        "in": {"node": "n4", "gpus": [0, 1, 2, 3]},
        "lost_gpu_s": 10.0 * 12,
    }
    assert played.lines("swap")[1]["lost_gpu_s"] == 0.0
    assert played.lines("start")[1]["seats"][0]["node"] == "n6"


def test_a_run_that_was_asked_to_go_and_loses_its_node_is_gone_at_once() -> None:
    script = Script(moves={10: lambda world: [AskStop(0, "preempted", 1)]}, hold={"b"})
    played = play(
        [ask("a", 8, checkpoint_s=60.0), ask("b", 4, submit=10)],
        faults=[Fault(12, "n1", "down"), Fault(40, "n1", "up")],
        thinker=script,
    )
    assert played.tape()[1:4] == ["10 ask a", "12 node n1", "12 stop a"]
    assert played.lines("stop")[0]["why"] == "node_lost"
    assert played.lines("stop")[0]["lost_gpu_s"] == 80.0


# Stops


def ask_first_to_go(world: World) -> Sequence[Act]:
    return [AskStop(number(world, "a"), "preempted", number(world, "b"))]


def test_who_is_asked_works_no_more_saves_and_goes() -> None:
    script = Script(moves={50: ask_first_to_go}, hold={"b"})
    asks = [ask("a", 8, checkpoint_s=40.0, restart_s=10.0), ask("b", 4, submit=50)]
    played = play(asks, thinker=script)
    gone = 50 + ANSWER_S
    assert played.tape()[:4] == ["0 start a", "50 ask a", f"{gone:g} stop a", f"{gone:g} start a"]
    assert played.lines("stop")[0] == {
        "t": gone,
        "event": "stop",
        "job": "a",
        "run": 1,
        "why": "preempted",
        "for": "b",
        "acked": True,
        "lost_gpu_s": 0.0,
    }
    assert played.tape()[4] == f"{gone + 10 + 50:g} finish a"  # what was done until the ask is kept


def test_who_never_checkpoints_goes_at_once_and_loses_everything() -> None:
    script = Script(moves={50: ask_first_to_go})
    played = play([ask("a", 8, restart_s=10.0), ask("b", 4, submit=50)], thinker=script)
    assert played.tape() == [
        *("0 start a", "50 ask a", "50 stop a", "50 start a", "160 finish a", "160 start b", "260 finish b")
    ]
    assert (played.lines("stop")[0]["acked"], played.lines("stop")[0]["lost_gpu_s"]) == (False, 400.0)


def test_without_grace_the_last_checkpoint_counts() -> None:
    script = Script(moves={50: ask_first_to_go})
    asks = [ask("a", 8, checkpoint_s=40.0, restart_s=10.0), ask("b", 4, submit=50)]
    played = play(asks, thinker=script, policy=Policy(grace_s=0.0))
    assert (played.lines("stop")[0]["t"], played.lines("stop")[0]["lost_gpu_s"]) == (50.0, 80.0)


def test_the_world_remembers_who_was_stopped_for_others() -> None:
    script = Script(moves={50: ask_first_to_go})
    world = play([ask("a", 8, user="ada"), ask("b", 8, submit=50)], thinker=script).record.world
    assert world.lives[0].stops == [50.0]
    assert world.lives[0].runs == 2
    assert world.user_stops == {("default", "ada"): [50.0]}


def test_what_was_freed_for_a_job_is_remembered_until_it_starts() -> None:
    seen: list[dict[int, list[Seat]]] = []
    script = Script(moves={50: ask_first_to_go}, look=lambda world: seen.append(dict(world.freed_for)))
    script.moves[0] = lambda world: [Start(0, (seat(1, 0, 1, 2, 3),))]
    script.hold = {"a"}
    played = play([ask("a", 4), ask("b", 4, submit=50)], thinker=script)
    assert played.starts() == {"a": 0, "b": 50}
    assert [each for each in seen if each] == [{1: [seat(1, 0, 1, 2, 3)]}]
    assert played.record.world.freed_for == {}


# What a thinker sees, and what it may not do


def test_no_thinker_learns_how_long_a_job_will_run() -> None:
    lengths: list[float] = []
    script = Script(look=lambda world: lengths.extend(ask.duration_s for ask in world.asks))
    play([ask("a", 8), ask("b", 8)], thinker=script)
    assert lengths
    assert all(isnan(length) for length in lengths)


def test_history_tells_how_long_jobs_ran_once_they_are_over() -> None:
    asks = [ask("a", 8, duration=30), ask("b", 8, duration=50, limit_s=20.0)]
    past = play(asks).record.world.history
    assert [(each.job, each.useful_s, each.finished, each.at) for each in past] == [
        (0, 30.0, True, 30.0),
        (1, 20.0, False, 50.0),
    ]


def test_a_restless_thinker_thinks_at_least_every_cycle_while_something_waits() -> None:
    times: list[float] = []
    script = Script(look=lambda world: times.append(world.now), restless=True)
    play([ask("a", 8), ask("b", 8)], thinker=script, policy=Policy(cycle_s=30.0))
    assert times == [0.0, 30.0, 60.0, 90.0, 100.0]


def test_a_thinker_can_ask_to_be_woken_and_that_alone_keeps_a_replay_going() -> None:
    asleep = Script(hold={"a"}, wakes={0.0: 500.0})
    asleep.moves[500.0] = lambda world: [Start(0, (seat(0, 0, 1, 2, 3),))]
    assert play([ask("a")], thinker=asleep).tape() == ["500 start a", "600 finish a"]


START = (seat(0, 0, 1, 2, 3), seat(1, 0, 1, 2, 3))


@pytest.mark.parametrize(
    ("acts", "why"),
    [
        pytest.param([Start(0, START[:1])], "4 GPUs are not its gang", id="half a gang"),
        pytest.param([Start(0, (START[0], START[0]))], "two seats on one node", id="two seats on one node"),
        pytest.param([Start(0, START), Start(1, START[:1])], "not free", id="a GPU twice"),
        pytest.param([Start(2, START[:1])], "c does not wait", id="a job that has not come yet"),
        pytest.param([Start(1, (seat(0, 0, 1, 2, 2),))], "one GPU twice", id="a GPU twice in a seat"),
        pytest.param([AskStop(0, "preempted", 1)], "no run", id="stop what does not run"),
        pytest.param([Start(0, START), AskStop(0, "bored", 1)], "is no reason", id="stop for no reason"),
        pytest.param([Start(1, START[1:]), AskStop(1, "moved", 0)], "may not be", id="stop the unstoppable"),
        pytest.param([Start(0, START), Swap(0, 0, seat(0, 0))], "has lost nothing", id="swap the healthy"),
    ],
)
def test_what_cannot_be_is_refused(acts: list[Act], why: str) -> None:
    asks = [ask("a", 8), ask("b", 4, preemptible=False), ask("c", 4, submit=9)]
    with pytest.raises(Illegal, match=why):
        play(asks, thinker=Script(moves={0: lambda world: acts}))


MIXED = (*nodes(1, nvlink_domain=2, cpus=8.0), *nodes(2, rack="r2", gpu_type="H100", spot=True)[1:])
BOTH = (seat(0, 0, 1), seat(1, 0, 1))


@pytest.mark.parametrize(
    ("wanted", "seats", "why"),
    [
        (ask("a"), BOTH, "two GPU types"),
        (ask("a", gpu_types=("H100",)), START[:1], "does not accept"),
        (ask("a", pool="other"), START[:1], "does not accept"),
        (ask("a", features=frozenset({"ib"})), START[:1], "does not accept"),
        (ask("a", 2, tp=2), (seat(0, 1, 2),), "torn tensor-parallel"),
        (ask("a", cpus_per_gpu=3.0), START[:1], "too few CPUs"),
        (ask("a", nodes=2, gpus_per_node=2), START[:1], "not the shape"),
        (ask("a", spot_share=0.5), START[1:], "spot"),
        (ask("a", min_gpus=2), (seat(0, 0),), "not its gang"),
    ],
)
def test_the_constraints_of_a_job_bind_every_thinker(wanted: Ask, seats: tuple[Seat, ...], why: str) -> None:
    with pytest.raises(Illegal, match=why):
        play([wanted], MIXED, thinker=Gullible(moves={0: lambda world: [Start(0, seats)]}))


def test_a_required_domain_binds_every_thinker() -> None:
    machines = (*nodes(1), *nodes(2, rack="r2")[1:])
    script = Gullible(moves={0: lambda world: [Start(0, BOTH)]})
    with pytest.raises(Illegal, match="not in one rack"):
        play([ask("a", level="rack", required=True)], machines, thinker=script)


class Gullible(Script):
    """Believes that everything can run."""

    def impossible(self, world: World, job: int) -> str:
        return ""


def test_a_thinker_that_goes_round_in_circles_is_stopped() -> None:
    def again(world: World) -> Sequence[Act]:
        script.moves[0] = again
        return [Start(0, START), AskStop(0, "preempted", 1)]

    script = Script(moves={0: again})
    with pytest.raises(Illegal, match="does not come to an end"):
        play([ask("a", 8), ask("b", 8)], thinker=script)


class Sleepless(Fifo):
    """Wants to think again every second."""

    def think(self, world: World) -> Decisions:
        return replace(super().think(world), wake_s=world.now + 1.0)


def test_a_wait_of_years_costs_no_thought_for_every_second_of_it() -> None:
    played = play([ask("a", 8, duration=1e15), ask("b", 8, submit=10, duration=5)], thinker=Sleepless())
    assert played.tape()[-2:] == ["1e+15 start b", "1e+15 finish b"]
    assert len(played.record.thoughts_s) < 10_000


def test_a_wait_of_minutes_is_thought_about_as_often_as_the_thinker_wants() -> None:
    played = play([ask("a", 8, duration=250), ask("b", 8, duration=5)], thinker=Sleepless())
    assert len(played.record.thoughts_s) == 1 + 250  # at the start, and at every second until b starts

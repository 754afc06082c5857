"""The checker catches what is planted: form, order, the life of a job, seats, gangs, hosts and faults."""

from typing import Any

import pytest

from tests.sim.tiny import (
    Event,
    Tape,
    estimate,
    fault,
    finish,
    impossible,
    job,
    machine,
    node,
    start,
    stop,
    submit,
    swap,
    told,
)

GOOD = told(
    [job("a"), job("b", 8, submit_s=5)],
    start(0.0, "a", n1=[0, 1, 2, 3]),
    finish(100.0, "a"),
    start(100.0, "b", n1=[0, 1, 2, 3], n2=[0, 1, 2, 3]),
    finish(200.0, "b"),
)


def one(*seats: Event, columns: dict[str, Any] | None = None, **more: Any) -> Tape:
    """A tape with one job of four GPUs that sits like this."""
    return told([job("a", **(columns or {}))], *seats, finish(100.0, "a"), **more)


def test_a_correct_replay_passes_every_rule() -> None:
    assert GOOD.wrong() == []


def test_a_rule_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no such rule: sets"):
        GOOD.wrong("sets")


MALFORMED: dict[str, tuple[Event, str]] = {
    "no time": ({"event": "submit", "job": "a"}, "time `t`"),
    "a time that is no number": ({"t": "0", "event": "submit", "job": "a"}, "time `t`"),
    "an event of its own": ({"t": 0, "event": "pause", "job": "a"}, "no event of the contract"),
    "no job": ({"t": 0, "event": "submit"}, "`job` is missing"),
    "an unknown job": (submit(0, "x"), "no job x"),
    "an unknown node": (start(0, "a", n9=[0]), "no node n9"),
    "an empty seat": (start(0, "a", n1=[]), "`seats` is missing"),
    "no seats": (start(0, "a"), "`seats` is missing"),
    "a limit stop by another name": (stop(0, "a", "timeout"), "no reason to stop"),
    "a preemption for nobody": (stop(0, "a", "preempted"), "names the job"),
    "an estimate without a date": (
        {"t": 0, "event": "estimate", "job": "a", "p50_s": None, "p90_s": 1},
        "`p50_s`",
    ),
    "impossible for no reason": (impossible(0, "a", ""), "`why` is missing"),
    "a node that is tired": (machine(0, "n1", "tired"), "no state of a node"),
}


@pytest.mark.parametrize(("event", "said"), MALFORMED.values(), ids=MALFORMED)
def test_an_event_that_is_not_well_formed_is_told_and_nothing_else(event: Event, said: str) -> None:
    [wrong] = GOOD.but(events=[*GOOD.events, event]).wrong("seats")
    assert said in wrong
    assert "line 9" in wrong


def swapped(tape: Tape, one: int, other: int) -> Tape:
    events = list(tape.events)
    events[one], events[other] = events[other], events[one]
    return tape.but(events=events)


def test_time_never_goes_back() -> None:
    assert any("comes after an event of t=200" in wrong for wrong in swapped(GOOD, 6, 7).wrong("order"))


INSTANTS: dict[str, tuple[list[Event], str]] = {
    "an end behind a submission": (
        [start(0, "a", n1=[0, 1, 2, 3]), submit(100, "b"), finish(100, "a")],
        "an end comes behind a submission",
    ),
    "a submission behind a decision": (
        [start(100, "a", n1=[0, 1, 2, 3]), submit(100, "b")],
        "a submission comes behind a decision",
    ),
    "a fault behind an end": (
        [start(0, "a", n1=[0, 1, 2, 3]), finish(100, "a"), machine(100, "n2", "down")],
        "a fault comes behind an end",
    ),
}


@pytest.mark.parametrize(("events", "said"), INSTANTS.values(), ids=INSTANTS)
def test_an_instant_out_of_order_is_caught(events: list[Event], said: str) -> None:
    [wrong] = GOOD.but(events=events).wrong("order")
    assert said in wrong


def test_work_without_length_may_end_in_the_instant_it_starts() -> None:
    tape = one(start(0.0, "a", n1=[0, 1, 2, 3]), columns={"duration_s": 0})
    assert tape.but(events=[*tape.events[:-1], finish(0.0, "a")]).wrong() == []


def planted(place: int, *events: Event) -> Tape:
    """The good tape with one event replaced."""
    return GOOD.but(events=[*GOOD.events[:place], *events, *GOOD.events[place + 1 :]])


LIVES: dict[str, tuple[Tape, str]] = {
    "no submit": (GOOD.without(0), "job a: has no submit"),
    "no estimate": (GOOD.without(1), "job a: has no estimate"),
    "two submits": (planted(0, submit(0.0, "a"), submit(0.0, "a")), "a second submit"),
    "two estimates": (planted(1, *[estimate(0.0, "a", 10.0, 20.0)] * 2), "a second estimate"),
    "a submit at another time": (planted(0, submit(1.0, "a")), "submit_s is 0"),
    "a late estimate": (planted(4, estimate(6.0, "b", 10.0, 20.0)), "submit_s is 5"),
    "an estimate behind the start": (swapped(GOOD, 1, 2), "the estimate is event number 3"),
    "p50 behind p90": (planted(1, estimate(0.0, "a", 20.0, 10.0)), "is later than p90_s"),
    "an estimate in the past": (planted(4, estimate(5.0, "b", 4.0, 10.0)), "lies in the past"),
    "a run that skips a number": (planted(6, start(100.0, "b", 2, n1=[0])), "this is run 1"),
    "a run that never ends": (GOOD.without(7), "this run never ends"),
    "two runs at a time": (planted(2, *[start(0.0, "a", run, n1=[0]) for run in (1, 2)]), "has not ended"),
    "a finish of no run": (planted(7, finish(200.0, "b", 3)), "no such run is open"),
    "a start before its time": (
        GOOD.but(jobs=[job("a", not_before_s=7), GOOD.jobs[1]]),
        "its not_before_s 7",
    ),
    "a start before what it comes after": (
        GOOD.but(jobs=[job("a", after="b"), GOOD.jobs[1]]),
        "starts before b, which it comes after",
    ),
    "two ends": (planted(7, finish(200.0, "b"), impossible(200.0, "b")), "had ended before"),
    "a start after the end": (planted(7, finish(200.0, "b"), start(200.0, "b", 2, n1=[0])), "that had ended"),
    "impossible, yet started": (planted(7, impossible(200.0, "b")), "yet it started"),
}


@pytest.mark.parametrize(("tape", "said"), LIVES.values(), ids=LIVES)
def test_a_life_that_cannot_be_is_caught(tape: Tape, said: str) -> None:
    assert any(said in wrong for wrong in tape.wrong("life"))


def test_a_job_behind_one_that_never_finishes_is_impossible() -> None:
    jobs = [job("a", limit_s=50), job("b", after="a"), job("c", after="b")]
    events = [start(0.0, "a", n1=[0, 1, 2, 3]), stop(50.0, "a", "limit")]
    good = told(jobs, *events, impossible(50.0, "b"), impossible(50.0, "c"))
    assert good.wrong() == []
    assert any("job b: is behind a" in wrong for wrong in told(jobs, *events).wrong("life"))
    assert any(
        "job c: is behind b" in wrong for wrong in told(jobs, *events, impossible(50.0, "b")).wrong("life")
    )


SEATS: dict[str, tuple[Tape, str]] = {
    "a GPU held twice": (
        told([job("a"), job("b", 1)], start(0.0, "a", n1=[0, 1, 2, 3]), start(0.0, "b", n1=[3])),
        "takes GPU 3 of n1, which job a holds",
    ),
    "a GPU twice in one seat": (one(start(0.0, "a", n1=[0, 1, 1, 2])), "takes a GPU of n1 twice"),
    "a GPU that does not exist": (one(start(0.0, "a", n1=[1, 2, 3, 4])), "GPU 4 of n1, which has 4"),
    "a node that is down": (
        one(machine(0.0, "n1", "down"), start(0.0, "a", n1=[0, 1, 2, 3]), faults=[fault(0.0, "n1", "down")]),
        "GPU 0 of n1, which is down",
    ),
    "a node that drains": (
        one(
            machine(0.0, "n1", "drain"), start(0.0, "a", n1=[0, 1, 2, 3]), faults=[fault(0.0, "n1", "drain")]
        ),
        "GPU 0 of n1, which is drain",
    ),
    "a GPU that is down": (
        one(
            machine(0.0, "n1", "down"),
            start(0.0, "a", n1=[0, 1, 2, 3]),
            faults=[fault(0.0, "n1", "down", "2|3")],
        ),
        "GPU 2 of n1, which is down",
    ),
    "a run that stays on a node lost last of all": (
        told([job("a")], start(0.0, "a", n1=[0, 1, 2, 3]), machine(50.0, "n1", "down")),
        "job a is neither swapped nor stopped",
    ),
    "a run that stays on a lost node": (
        one(
            start(0.0, "a", n1=[0, 1, 2, 3]), machine(50.0, "n1", "down"), faults=[fault(50.0, "n1", "down")]
        ),
        "job a is neither swapped nor stopped",
    ),
}


@pytest.mark.parametrize(("tape", "said"), SEATS.values(), ids=SEATS)
def test_a_seat_that_cannot_be_is_caught(tape: Tape, said: str) -> None:
    assert said in tape.wrong("seats")[0]


def test_a_fault_of_other_gpus_and_a_drain_leave_a_run_alone() -> None:
    faults = [fault(50.0, "n1", "down", "3"), fault(60.0, "n1", "drain")]
    events = [start(0.0, "a", n1=[0, 1]), machine(50.0, "n1", "down"), machine(60.0, "n1", "drain")]
    assert told([job("a", 2)], *events, finish(100.0, "a"), faults=faults).wrong() == []


def test_seats_are_free_again_after_a_swap() -> None:
    faults = [fault(50.0, "n1", "down", "0")]
    events = [
        start(0.0, "a", n1=[0, 1]),
        machine(50.0, "n1", "down"),
        swap(50.0, "a", "n1", 100.0, n2=[0, 1]),
    ]
    events += [start(50.0, "b", n1=[1]), finish(150.0, "b"), finish(210.0, "a")]
    tape = told([job("a", 2), job("b", 1)], *events, faults=faults)
    assert tape.wrong() == []


WIDE = [
    node("n1", 8, nvlink_domain=4, rack="r1", block="b1"),
    node("n2", 8, rack="r2", block="b1", spot=True),
]
ODD = [node("n1", pool="train", gpu_memory_gib=40), node("n2", gpu_type="H100", features=["ib"])]
PLACES: dict[str, tuple[Tape, str]] = {
    "a gang with too few": (one(start(0.0, "a", n1=[0, 1, 2])), "holds 3 GPUs; asked were 4 to 4"),
    "a gang with too many": (one(start(0.0, "a", n1=[0, 1], n2=[0, 1, 2])), "holds 5 GPUs"),
    "an elastic gang below its least": (
        one(start(0.0, "a", n1=[0]), columns={"min_gpus": 2}),
        "holds 1 GPUs; asked were 2 to 4",
    ),
    "another shape": (
        one(start(0.0, "a", n1=[0, 1, 2], n2=[0]), columns={"gpus": "", "nodes": 2, "gpus_per_node": 2}),
        "asked were 2 nodes with 2 GPUs each",
    ),
    "an elastic gang with a broken group": (
        one(start(0.0, "a", n1=[0, 1, 2]), columns={"min_gpus": 2, "tp": 2}),
        "holds 3 GPUs, no multiple of 2",
    ),
    "a group across NVLink domains": (
        one(start(0.0, "a", n1=[2, 3, 4, 5]), columns={"tp": 4}, nodes=WIDE),
        "no whole groups of 4",
    ),
    "a group across nodes": (
        one(start(0.0, "a", n1=[0, 1, 2], n2=[0]), columns={"tp": 2}, nodes=WIDE),
        "no whole groups of 2",
    ),
    "two nodes for one": (
        one(start(0.0, "a", n1=[0, 1], n2=[0, 1]), columns={"topology": "node:required"}, nodes=WIDE),
        "its topology is node:required",
    ),
    "two racks for one": (
        one(start(0.0, "a", n1=[0, 1], n2=[0, 1]), columns={"topology": "rack:required"}, nodes=WIDE),
        "its topology is rack:required",
    ),
    "too much on spot": (
        one(start(0.0, "a", n1=[0], n2=[0, 1, 2]), columns={"spot_share": 0.5}, nodes=WIDE),
        "3 of 4 GPUs are on spot nodes",
    ),
    "two GPU types": (one(start(0.0, "a", n1=[0, 1], n2=[0, 1]), nodes=ODD), "several types: A100, H100"),
    "another GPU type": (
        one(start(0.0, "a", n2=[0, 1, 2, 3]), columns={"gpu_type": "A100|B200"}, nodes=ODD),
        "which has H100; asked was A100|B200",
    ),
    "another pool": (
        one(start(0.0, "a", n2=[0, 1, 2, 3]), columns={"pool": "train"}, nodes=ODD),
        "in the pool default; asked was train",
    ),
    "a missing feature": (
        one(start(0.0, "a", n1=[0, 1, 2, 3]), columns={"features": "ib"}, nodes=ODD),
        "which lacks ib",
    ),
    "too little GPU memory": (
        one(start(0.0, "a", n1=[0, 1, 2, 3]), columns={"gpu_memory_gib": 80}, nodes=ODD),
        "have 40.0 GiB; asked were 80.0",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("tape", "said"), PLACES.values(), ids=PLACES)
def test_a_gang_in_the_wrong_place_is_caught(tape: Tape, said: str) -> None:
    assert said in tape.wrong("gang")[0]


def test_gangs_that_sit_as_they_asked_pass() -> None:
    elastic = told([job("a", min_gpus=2)], start(0.0, "a", n1=[0, 1]), finish(200.0, "a"))
    assert elastic.wrong() == []
    columns = {"tp": 2, "topology": "block:required", "spot_share": 0.5}
    assert one(start(0.0, "a", n1=[2, 3], n2=[0, 1]), columns=columns, nodes=WIDE).wrong() == []


def lost(*events: Event, nodes: list[dict[str, Any]] | None = None, **columns: Any) -> Tape:
    """A job on n1 and n2; n1 goes down at 50."""
    seated = start(0.0, "a", n1=[0, 1], n2=[0, 1])
    cluster = nodes or [node("n1"), node("n2"), node("n3"), node("n4", gpu_type="H100", rack="r9")]
    faults = [fault(50.0, "n1", "down")]
    return told(
        [job("a", **columns)], seated, machine(50.0, "n1", "down"), *events, nodes=cluster, faults=faults
    )


SWAPS: dict[str, tuple[Event, str]] = {
    "a node it does not hold": (
        swap(50.0, "a", "n3", 200.0, n3=[0, 1]),
        "swaps out n3, where it has no seat",
    ),
    "a smaller seat": (swap(50.0, "a", "n1", 200.0, n3=[0]), "swaps 2 GPUs for 1"),
    "another type": (swap(50.0, "a", "n1", 200.0, n4=[0, 1]), "swaps A100 for H100"),
    "a healthy node": (swap(50.0, "a", "n2", 200.0, n3=[0, 1]), "where all its GPUs are healthy"),
}


@pytest.mark.parametrize(("event", "said"), SWAPS.values(), ids=SWAPS)
def test_a_swap_that_is_none_is_caught(event: Event, said: str) -> None:
    assert said in lost(event, finish(160.0, "a")).wrong("gang")[0]


def test_a_node_that_was_down_for_no_time_at_all_is_lost_like_any() -> None:
    tape = lost(machine(50.0, "n1", "up"), swap(50.0, "a", "n1", 200.0, n3=[0, 1]), finish(210.0, "a"))
    assert tape.but(faults=[fault(50.0, "n1", "down"), fault(50.0, "n1", "up")]).wrong() == []


def test_a_swap_keeps_the_topology() -> None:
    racks = [node("n1", rack="r1"), node("n2", rack="r1"), node("n3", rack="r2"), node("n4", rack="r1")]
    out = lost(swap(50.0, "a", "n1", 200.0, n3=[0, 1]), nodes=racks, topology="rack:required")
    assert "sits in 2 domains" in out.wrong("gang")[0]
    swapped = swap(50.0, "a", "n1", 200.0, n4=[0, 1])
    assert lost(swapped, finish(210.0, "a"), nodes=racks, topology="rack:required").wrong() == []


@pytest.mark.parametrize(("column", "said"), [("cpus", "CPUs"), ("memory_gib", "GiB")])
def test_a_node_gives_no_more_cpus_and_memory_than_it_has(column: str, said: str) -> None:
    nodes = [node("n1", **{column: 16})]
    events = [start(0.0, "a", n1=[0, 1]), start(0.0, "b", n1=[2]), finish(100.0, "a"), finish(100.0, "b")]
    jobs = [job("a", 2, **{f"{column}_per_gpu": 4}), job("b", 1, **{f"{column}_per_gpu": 8})]
    assert told(jobs, *events, nodes=nodes).wrong() == []
    jobs[1][f"{column}_per_gpu"] = "9"
    assert f"brings n1 to 17 of its 16 {said}" in told(jobs, *events, nodes=nodes).wrong("hosts")[0]


UPS = ("1", "")


@pytest.mark.parametrize("rows", [UPS, UPS[::-1]], ids=["a GPU first", "the node first"])
@pytest.mark.parametrize("events", [UPS, UPS[::-1]], ids=["told first", "told last"])
@pytest.mark.parametrize("silent", [False, True], ids=["with indices", "without"])
def test_a_node_and_one_of_its_gpus_may_come_up_at_one_instant(
    rows: tuple[str, ...], events: tuple[str, ...], *, silent: bool
) -> None:
    faults = [fault(0.0, "n1", "down"), *(fault(5.0, "n1", "up", gpus) for gpus in rows)]
    ups = [machine(5.0, "n1", "up") | ({"gpus": [1]} if gpus and not silent else {}) for gpus in events]
    tape = told(
        [job("a")],
        machine(0.0, "n1", "down"),
        *ups,
        start(5.0, "a", n1=[0, 1, 2, 3]),
        finish(105.0, "a"),
        nodes=[node("n1")],
        faults=faults,
    )
    assert tape.wrong() == []


def test_node_events_are_the_faults_of_the_input() -> None:
    faults = [fault(10.0, "n2", "down", "0"), fault(20.0, "n2", "up"), fault(900.0, "n2", "drain")]
    seated = start(0.0, "a", n1=[0, 1, 2, 3])
    down, up = machine(10.0, "n2", "down"), machine(20.0, "n2", "up")
    assert one(seated, down | {"gpus": [0]}, up, faults=faults).wrong() == []
    assert "the input says up" in one(seated, down, faults=faults).wrong("health")[0]
    assert "no fault of the input says so" in one(seated, down, up, up, faults=faults).wrong("health")[0]
    assert "names other GPUs" in one(seated, down | {"gpus": [1]}, up, faults=faults).wrong("health")[0]

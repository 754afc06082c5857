"""The lines of the events file: the contract's words, its fields, their order."""

import json

import pytest

from scheduler.sim.events import (
    Asked,
    Estimated,
    Event,
    Finished,
    Impossible,
    NodeChanged,
    Place,
    Started,
    Stopped,
    Submitted,
    Swapped,
    line,
)

SEAT = Place("n001", (0, 1, 2, 3))
# The example of the contract, line for line.
CONTRACT = [
    (Submitted(0.0, "a"), '{"t": 0.0, "event": "submit", "job": "a"}'),
    (
        Estimated(0.0, "a", 120.0, 600.0),
        '{"t": 0.0, "event": "estimate", "job": "a", "p50_s": 120.0, "p90_s": 600.0}',
    ),
    (
        Started(90.0, "a", 1, (SEAT,)),
        '{"t": 90.0, "event": "start", "job": "a", "run": 1, "seats": [{"node": "n001", "gpus": [0, 1, 2, 3]}]}',
    ),
    (
        Asked(92.0, "b", 1, "preempted", "a"),
        '{"t": 92.0, "event": "ask", "job": "b", "run": 1, "why": "preempted", "for": "a"}',
    ),
    (
        Stopped(95.0, "b", 1, "preempted", "a", True, 0.0),
        '{"t": 95.0, "event": "stop", "job": "b", "run": 1, "why": "preempted", "for": "a", "acked": true, "lost_gpu_s": 0.0}',
    ),
    (
        Swapped(99.0, "a", 1, "n001", Place("n007", (0, 1, 2, 3)), 12.0),
        '{"t": 99.0, "event": "swap", "job": "a", "run": 1, "out": "n001", "in": {"node": "n007", "gpus": [0, 1, 2, 3]}, "lost_gpu_s": 12.0}',
    ),
    (Finished(500.0, "a", 1), '{"t": 500.0, "event": "finish", "job": "a", "run": 1}'),
    (
        Impossible(500.0, "z", "needs 16 GPUs in one node; the largest node has 8"),
        '{"t": 500.0, "event": "impossible", "job": "z", "why": "needs 16 GPUs in one node; the largest node has 8"}',
    ),
    (NodeChanged(700.0, "n001", "down"), '{"t": 700.0, "event": "node", "node": "n001", "state": "down"}'),
]


@pytest.mark.parametrize(("event", "expected"), CONTRACT, ids=[text[12:30] for _, text in CONTRACT])
def test_each_event_is_written_as_in_the_contract(event: Event, expected: str) -> None:
    assert line(event) == expected + "\n"


def test_a_stop_for_nobody_names_nobody() -> None:
    told = json.loads(line(Stopped(5.0, "b", 2, "node_lost", "", False, 40.0)))
    assert told == {
        "t": 5.0,
        "event": "stop",
        "job": "b",
        "run": 2,
        "why": "node_lost",
        "acked": False,
        "lost_gpu_s": 40.0,
    }


def test_a_fault_of_some_gpus_names_them() -> None:
    assert json.loads(line(NodeChanged(5.0, "n1", "down", (2, 3))))["gpus"] == [2, 3]


def test_a_line_is_one_line_whatever_a_job_is_called() -> None:
    written = line(Submitted(0, 'a"\né\u2028'))
    assert written.count("\n") == 1
    assert json.loads(written) == {"t": 0.0, "event": "submit", "job": 'a"\né\u2028'}


def test_no_time_is_infinite() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        line(Estimated(0.0, "a", float("inf"), float("inf")))

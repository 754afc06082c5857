"""The words of the planner as values: looked up by what they say, wherever they were made."""

import pickle
from dataclasses import replace

from scheduler.core.model import Request, Seat
from tests.core.builders import request, run


def test_a_request_is_found_by_what_it_asks_for() -> None:
    known = {request("2x8"): "here"}
    assert known[Request(16, nodes=2, gpu_types=("H100",))] == "here"
    assert replace(request("2x8"), spread=True) not in known


def test_a_request_from_another_process_is_found_too() -> None:
    """Names have another hash there, so what was worked out there must not come along."""
    far = request("2x8")
    object.__setattr__(far, "_hash", 4711)
    assert {request("2x8"): "here"}[pickle.loads(pickle.dumps(far))] == "here"


def test_a_run_knows_how_many_gpus_it_holds_also_when_it_is_changed() -> None:
    one = run(1, [Seat(1, (0, 1)), Seat(2, (5,))])
    assert one.gpus == 3
    assert replace(one, seats=one.seats[:1]).gpus == 2

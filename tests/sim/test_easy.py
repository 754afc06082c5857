"""EASY backfill: what may overtake the head, and that it does exactly what a slow second writing of it does."""

import csv
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.sim.thinkers.easy import Easy
from scheduler.sim.thinkers.fifo import Fifo
from scheduler.sim.workload import Ask, Fault
from tests.sim.slow import Slow
from tests.sim.stage import ask, nodes, play

EXTRACT = Path(__file__).parent / "extracts" / "lingjun_jobs.csv"


def starts(asks: list[Ask], count: int = 2, size: int = 4, thinker: type[Fifo] = Easy) -> dict[str, float]:
    return play(asks, nodes(count, size), thinker=thinker()).starts()


HEAD = [ask("a", 4, limit_s=100.0), ask("head", 8, submit=1, limit_s=100.0)]


@pytest.mark.parametrize(
    ("behind", "start"),
    [
        pytest.param(ask("b", 4, submit=2, duration=98, limit_s=98.0), 2, id="it ends by the shadow"),
        pytest.param(
            ask("b", 4, submit=2, duration=98, limit_s=98.5), 200, id="it might not end by the shadow"
        ),
        pytest.param(ask("b", 4, submit=2, duration=1), 200, id="a blank limit never ends"),
        pytest.param(ask("b", 8, submit=2, duration=1, limit_s=1.0), 200, id="it has no place now"),
    ],
)
def test_a_job_behind_the_head_starts_if_it_is_gone_by_the_shadow(behind: Ask, start: float) -> None:
    assert starts([*HEAD, behind]) == {"a": 0, "head": 100, "b": start}


def test_a_job_may_stay_past_the_shadow_where_the_head_still_finds_some_place() -> None:
    asks = [*(ask(name, 4, limit_s=100.0) for name in "ab"), ask("head", 8, submit=1, limit_s=50.0)]
    assert starts([*asks, ask("c", 4, submit=2, duration=500, limit_s=500.0)], 3) == {
        "a": 0,
        "b": 0,
        "c": 2,
        "head": 100,  # on the nodes of a and b: nothing was pinned
    }


def test_what_leaves_the_head_a_place_is_counted_together() -> None:
    asks = [*(ask(name, 4, limit_s=100.0) for name in "ab"), ask("head", 12, limit_s=50.0)]
    asks += [ask(name, 4, duration=500, limit_s=500.0) for name in "cd"]
    assert starts(asks, 4) == {"a": 0, "b": 0, "c": 0, "head": 100, "d": 150}


def test_a_start_may_move_the_next_job_out_of_the_way() -> None:
    asks = [ask("a", 3, limit_s=100.0), ask("b", 2, duration=900), ask("head", 8, limit_s=50.0)]
    asks += [ask("c", 1, duration=500), ask("d", 1, duration=50, limit_s=50.0), ask("e", 1, duration=500)]
    # c would sit beside a, where the head will; when d has taken that place until then, e sits beside b.
    assert starts(asks, 3) == {"a": 0, "b": 0, "d": 0, "e": 0, "head": 100, "c": 100}


def test_the_placement_counts_not_the_number_of_gpus() -> None:
    asks = [ask("a", 4, limit_s=100.0), ask("b", 1, duration=500, limit_s=500.0)]
    asks += [ask("head", 8, submit=1, limit_s=50.0), ask("c", 4, submit=2, duration=300, limit_s=300.0)]
    # At 100 s eight of the twelve GPUs would be free beside c, but b sits on one of the nodes: only one is whole.
    assert starts(asks, 3) == {"a": 0, "b": 0, "head": 100, "c": 150}


def test_a_run_that_ends_before_its_limit_lets_the_head_start_early() -> None:
    asks = [
        ask("a", 4, duration=30, limit_s=100.0),
        ask("head", 8, submit=1),
        ask("b", 4, submit=2, duration=90, limit_s=90.0),
    ]
    assert starts(asks) == {"a": 0, "b": 2, "head": 92}


def test_behind_a_head_that_no_planned_end_lets_in_only_jobs_with_limits_start() -> None:
    asks = [
        ask("a", 4),
        ask("head", 8, submit=1),
        ask("b", 4, submit=2),
        ask("c", 4, submit=3, duration=9, limit_s=9.0),
    ]
    assert starts(asks) == {"a": 0, "c": 3, "head": 100, "b": 200}


def test_runs_without_limits_never_end_by_any_plan() -> None:
    asks = [*(ask(name, 4) for name in "ab"), ask("head", 8, submit=1), ask("c", 4, submit=2)]
    assert starts(asks, 3) == {"a": 0, "b": 0, "head": 100, "c": 100}


def test_a_job_that_starts_again_needs_its_restart_before_it_can_be_gone() -> None:
    asks = [ask("a", 8, limit_s=100.0), ask("b", 4, duration=20, limit_s=20.0, restart_s=90.0)]
    faults = [Fault(10, "n3", "down"), Fault(20, "n3", "up")]
    asks += [ask("head", 12, submit=15, limit_s=50.0)]
    # b, older than the head, starts at once on the node that comes back.
    assert play(asks, nodes(3), faults, thinker=Easy()).tape("start")[2:] == ["20 start b", "130 start head"]
    later = [asks[0], ask("head", 12, submit=5, limit_s=50.0), replace(asks[1], submit_s=6)]
    # Behind the head it would be gone at 26 s; started again at 20 s only at 130 s, after the shadow at 100 s.
    assert play(later, nodes(3), faults, thinker=Easy()).tape("start")[1:] == [
        *("6 start b", "100 start head", "150 start b")
    ]


def test_planned_ends_of_later_runs_include_their_restart() -> None:
    asks = [ask("a", 4, limit_s=100.0, restart_s=50.0), ask("head", 8, submit=1, limit_s=50.0)]
    asks += [ask("b", 4, submit=20, duration=140, limit_s=140.0)]
    faults = [Fault(10, "n1", "down"), Fault(10, "n1", "up")]
    played = play(asks, nodes(2), faults, thinker=Easy())
    # a starts again at 10 s and is gone at 10 + 50 + 100 s, so b ends just in time.
    assert played.starts() == {"a": 0, "b": 20, "head": 160}


def crowded(seed: int) -> tuple[list[Ask], int, int]:
    """More work than the nodes can do at once, so that heads wait and others slip past them or may not."""
    dice = Random(seed)
    count, size = dice.randint(1, 8), dice.choice((1, 2, 4, 8))
    whole = count * size
    sizes = [
        gpus for gpus in (1, 1, 2, size // 2, size, size, size + 1, 2 * size, whole) if 1 <= gpus <= whole
    ]
    asks = []
    for number in range(dice.randint(5, 40)):
        duration, factor = (
            dice.choice((0.0, 10.0, 25.0, 40.0, 200.0)),
            dice.choice((None, 1.0, 1.0, 0.5, 2.0)),
        )
        limit = None if factor is None else max(1.0, duration * factor)
        asks.append(
            ask(f"j{number}", dice.choice(sizes), dice.choice((0, 0, 0, 7, 20)), duration, limit_s=limit)
        )
    return asks, count, size


@pytest.mark.parametrize("thinker", [Fifo, Easy])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_every_start_is_where_the_slow_referee_has_it(thinker: type[Fifo], seed: int) -> None:
    asks, count, size = crowded(seed)
    slow = Slow(asks, count, size, backfill=thinker is Easy).run()
    assert starts(asks, count, size, thinker) == slow


@pytest.mark.parametrize("thinker", [Fifo, Easy])
def test_on_real_gangs_too(thinker: type[Fifo]) -> None:
    with EXTRACT.open() as rows:
        real = [(row["job_id"], int(row["gpus"]), *_times(row)) for row in csv.DictReader(rows)]
    asks = [ask(*each, limit_s=max(1.0, each[-1])) for each in real if each[1] <= 128]
    found = starts(asks, 16, 8, thinker)
    assert found == Slow(asks, 16, 8, backfill=thinker is Easy).run()
    assert sum(found[each.job] > each.submit_s for each in asks) > 30, (
        "too few of them waited to show anything"
    )


def _times(row: dict[str, str]) -> tuple[float, float]:
    return float(row["submit_s"]) / 8, float(row["duration_s"])

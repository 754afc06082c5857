"""Tests of scheduler.sim.thinkers.rhythm: when time alone opens something, and that a replay ends when it does not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler.core import planner
from scheduler.core.model import Snapshot
from scheduler.core.policy import DAY, HOUR, Peak, Policy
from scheduler.core.table import Desk
from scheduler.core.verbs import Plan
from scheduler.sim.thinkers.berth import Berth
from scheduler.sim.workload import Ask, Fault, Machine
from tests.sim.stage import Played, ask, nodes, play

RUSH = Peak(8, 18, gpus=4)
DOWN = (Fault(0.0, "n1", "down"),)


@dataclass
class Noted:
    """The real planner, and the moments at which it was asked."""

    moments: list[float] = field(default_factory=list)

    def __call__(self, snap: Snapshot, desk: Desk) -> Plan:
        self.moments.append(snap.taken_at)
        return planner.plan(snap, desk, evidence=False)


def run(
    *asks: Ask, machines: Sequence[Machine] = (), faults: Sequence[Fault] = DOWN, **policy: Any
) -> tuple[Played, list[float]]:
    """What happens, and when the planner was asked."""
    noted = Noted()
    played = play(asks, machines or nodes(2), faults, thinker=Berth(noted), policy=Policy(**policy))
    return played, noted.moments


def test_peaks_wake_nobody_whom_they_do_not_hold_back() -> None:
    """At ten in the morning of a Thursday; the job is below the peak, and its nodes stay down."""
    played, moments = run(ask("a", 8, submit=10 * HOUR), peaks=(Peak(8, 18, gpus=64),))
    assert (played.starts(), moments) == ({}, [10 * HOUR])


def test_who_waits_for_a_peak_to_end_starts_then() -> None:
    late = run(ask("a", 4, submit=10 * HOUR), peaks=(RUSH,))
    assert (late[0].starts(), late[1]) == ({"a": 18 * HOUR}, [10 * HOUR, 18 * HOUR])


def test_who_finds_no_place_after_a_peak_ends_as_unfinished() -> None:
    played, moments = run(ask("a", 8, submit=10 * HOUR), peaks=(RUSH,))
    assert (played.starts(), moments) == ({}, [10 * HOUR, 18 * HOUR])


def test_peaks_that_follow_one_another_hold_back_until_the_week_opens() -> None:
    round_the_clock = (RUSH, Peak(18, 8, gpus=2))
    friday = DAY + 10 * HOUR
    played, moments = run(ask("a", 4, submit=friday), peaks=round_the_clock)
    assert (played.starts(), len(moments)) == ({"a": 2 * DAY + 8 * HOUR}, 2)


def test_who_was_not_looked_at_starts_when_its_age_protects_it() -> None:
    """The first finds no place and is all that the fill may look at; nothing else ever happens."""
    for depth in (0, 1):
        played, _ = run(ask("a", 8), ask("b", 4, submit=1), backfill_depth=depth, protect_after_s=5000.0)
        assert played.starts() == {"b": 5001.0}


def test_who_has_no_place_at_any_age_is_not_waited_for() -> None:
    assert run(ask("a", 8), protect_after_s=5000.0)[1] == [0.0]


def test_who_waits_for_a_better_place_takes_any_when_its_patience_ends() -> None:
    """One rack of two holds it while all is well; with a node down it is spread over both."""
    racks = (*nodes(2, rack="r1"), Machine("n3", gpus=4, nvlink_domain=4, rack="r2"))
    for submit in (0.1, 0.7, 33.3):
        spread = ask("a", 8, submit=submit, level="rack")
        played, moments = run(spread, machines=racks, relax_after_s=333.3)
        assert submit + 333.3 <= played.starts()["a"] < submit + 333.4
        assert len(moments) == 2


def test_a_moment_so_late_that_seconds_do_not_count_is_no_end() -> None:
    late = [ask(name, 8, submit=1e17) for name in "ab"]
    assert run(*late, faults=(), cycle_s=1.0)[0].starts() == {"a": 1e17, "b": 1e17 + 96}

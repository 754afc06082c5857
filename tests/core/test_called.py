"""Protected promises where no end is known: they exist, and they bind."""

from scheduler.core.model import Job, Running, Tier
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from scheduler.core.recall import reaches
from scheduler.core.verbs import Plan
from tests.core.builders import DAY, HOUR, NOW, drawn, job, run, snapshot, spot

SPOTS = [spot("a"), spot("b", "ssssssss")]
POLICY = Policy(protect_after_s=4 * HOUR, guard_share=0.5)
GRACE_S, LEAST_S = POLICY.grace_s, POLICY.min_runtime_s["standard"]


def endless(**more: object) -> Running:
    """A run of which nobody knows the end; it started after the gang was submitted."""
    told: dict[str, object] = {"submitted_at": NOW - 60, "started_at": NOW - 60}
    return run(9, drawn(SPOTS, "s"), None, **(told | more))


def waited(hours: float, *young: Job, running: Running | None = None) -> Plan:
    gang = job(1, "2x8", submitted_at=NOW - hours * HOUR)
    return plan(snapshot(SPOTS, [gang, *young], [running or endless()], policy=POLICY))


def test_one_of_unknown_length_is_short_until_the_moment_is_here() -> None:
    assert [reaches(job(1), NOW + ahead, NOW) for ahead in (1.0, 0.0, -1.0)] == [False, True, True]


def test_what_can_be_called_back_is_gone_when_the_older_job_is_due() -> None:
    made = waited(3)
    assert [(one.job, one.at, one.protected) for one in made.promises] == [(1, NOW + HOUR + GRACE_S, True)]
    assert waited(1).promises == ()  # its age does not protect it yet


def test_who_is_due_waits_for_the_minimum_runtime_and_the_grace_at_most() -> None:
    assert [one.at for one in waited(5).promises] == [NOW - 60 + LEAST_S + GRACE_S]


def test_nobody_is_promised_what_may_not_be_called_back() -> None:
    told: tuple[dict[str, object], ...] = (
        {"preemptible": False},
        {"stops": 3},
        {"tier": Tier.PRODUCTION},
        {"submitted_at": NOW - DAY},
    )
    for spared in told:
        assert waited(5, running=endless(**spared)).promises == ()


def test_the_younger_starts_before_the_older_is_due_and_not_after() -> None:
    for tier in (Tier.STANDARD, Tier.OPPORTUNISTIC):
        young = job(2, submitted_at=NOW - 30, tier=tier)
        assert [start.job for start in waited(3, young).starts] == [2]
        assert [start.job for start in waited(5, young, running=endless(started_at=NOW - 500)).starts] == []


def test_a_lower_tier_that_could_be_gone_by_then_starts() -> None:
    low = job(2, submitted_at=NOW - 30, tier=Tier.OPPORTUNISTIC)
    assert [start.job for start in waited(5, low).starts] == [2]


def test_nothing_is_certain_of_who_would_be_called_back() -> None:
    (told,) = (one for one in waited(3).verdicts if one.job == 1)
    assert told.numbers["certain"] == 0

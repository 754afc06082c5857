"""Who comes first: tier, own before borrowed, fair share at every level and per user, deadline, submission."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from scheduler.core.model import Gate, Job, Request, Running, Seat, Share, Snapshot, Team, Tier
from scheduler.core.order import FairLine
from scheduler.core.policy import Policy
from scheduler.core.quota import Books
from scheduler.core.reasons import Reason
from scheduler.core.rule import Rule

NOW = 1_000_000.0
HOUR = 3600.0
H, A = "H100", "A100"
NOBODY: dict[tuple[str, str], float] = {}


def job(number: int, team: str = "vision", user: str = "mira", gpus: int = 1, **fields: object) -> Job:
    """Jobs come a minute apart in the order of their numbers."""
    plain = Job(
        number, 1, team, user, Tier.STANDARD, NOW - HOUR + 60.0 * number, Request(gpus, gpu_types=(H,))
    )
    return replace(plain, **fields)  # type: ignore[arg-type]  # each test names fields of a job


def line_of(
    jobs: Sequence[Job],
    usage: dict[tuple[str, str], float] | None = None,
    teams: Sequence[Team] = (),
    running: Sequence[Running] = (),
    penalty_s: float = HOUR,
) -> tuple[FairLine, Books]:
    """A line with its books, over 100 H100 and 100 A100."""
    policy = Policy.of({"entry_penalty_s": penalty_s})
    snap = Snapshot(NOW, (), np.zeros((0, 0), bool), tuple(jobs), tuple(running), tuple(teams), policy)
    books = Books(teams, {H: 100, A: 100}, running)
    return FairLine(replace(snap, usage=usage or {}), books), books


def order(jobs: Sequence[Job], *world: object, **more: object) -> list[int]:
    """All numbers from first to last while nothing starts."""
    line, _ = line_of(jobs, *world, **more)  # type: ignore[arg-type]  # passed on as they came
    return [one.id for one in iter(line.next, None)]


def starting(line: FairLine, books: Books, kind: str = H) -> list[int]:
    """All numbers from first to last while each of them starts."""
    numbers = []
    while (one := line.next()) is not None:
        books.take(one.team, kind, one.request.gpus)
        line.started(one, kind, one.request.gpus)
        numbers.append(one.id)
    return numbers


def run(team: str, user: str, gpus: int, since: float) -> Running:
    """A run that has lasted so long."""
    seats = (Seat(1, tuple(range(gpus))),)
    return Running(99, team, Tier.STANDARD, H, seats, Request(gpus), NOW - since, user=user)


def test_first_come_where_nothing_else_decides() -> None:
    assert order([job(2), job(1), job(3)]) == [1, 2, 3]


def test_numbers_decide_between_jobs_of_one_moment() -> None:
    assert order([job(2, submitted_at=NOW), job(1, submitted_at=NOW)]) == [1, 2]


def test_tiers_come_before_everything() -> None:
    jobs = [
        job(1, tier=Tier.OPPORTUNISTIC, deadline=NOW),
        job(2, user="heavy"),
        job(3, user="heavy", tier=Tier.PRODUCTION),
    ]
    assert order(jobs, {("vision", "heavy"): 1e9}) == [3, 2, 1]


def test_the_least_used_user_of_a_team_comes_first() -> None:
    jobs = [job(1, user="a"), job(2, user="b"), job(3, user="c")]
    assert order(jobs, {("vision", "a"): 300.0, ("vision", "b"): 200.0, ("vision", "c"): 100.0}) == [3, 2, 1]


def test_use_counts_against_weight() -> None:
    teams = [Team("big", weight=4.0), Team("small", weight=1.0)]
    jobs = [job(1, "small"), job(2, "big")]
    assert order(jobs, {("big", "x"): 300.0, ("small", "y"): 100.0}, teams) == [2, 1]
    assert order(jobs, {("big", "x"): 500.0, ("small", "y"): 100.0}, teams) == [1, 2]


TREE = [Team("one"), Team("two"), Team("a", "one"), Team("b", "one"), Team("c", "two")]


def test_teams_are_compared_at_the_first_level_where_they_differ() -> None:
    """a used little itself, but its sister used a lot: at the top it is one against two."""
    usage = {("a", "x"): 1.0, ("b", "x"): 900.0, ("c", "x"): 500.0}
    assert order([job(1, "a"), job(2, "b"), job(3, "c")], usage, TREE) == [3, 1, 2]


def test_work_of_a_team_with_teams_below_stands_beside_them() -> None:
    usage = {("one", "x"): 50.0, ("a", "x"): 10.0, ("b", "x"): 90.0}
    assert order([job(1, "one"), job(2, "a"), job(3, "b")], usage, TREE) == [2, 1, 3]


def test_teams_that_are_even_share_by_user_and_then_by_time() -> None:
    jobs = [job(1, "a"), job(2, "c"), job(3, "b")]
    assert order(jobs, NOBODY, TREE) == [1, 2, 3]


def test_weight_zero_comes_last_and_among_those_the_least_used() -> None:
    teams = [Team("none", weight=0.0), Team("nil", weight=0.0), Team("some", weight=0.001)]
    jobs = [job(1, "none"), job(2, "nil"), job(3, "some")]
    assert order(jobs, {("none", "x"): 2.0, ("nil", "x"): 1.0, ("some", "x"): 1e12}, teams) == [3, 2, 1]
    assert order(jobs, {("some", "x"): 1e12}, teams) == [3, 1, 2]


def test_a_team_that_nobody_knows_is_a_team_of_weight_one() -> None:
    jobs = [job(1, "known"), job(2, "ghosts")]
    teams = [Team("known", weight=2.0)]
    assert order(jobs, {("known", "x"): 30.0, ("ghosts", "x"): 10.0}, teams) == [2, 1]
    assert order(jobs, {("known", "x"): 10.0, ("ghosts", "x"): 10.0}, teams) == [1, 2]


def test_use_that_differs_by_its_rounding_alone_is_even() -> None:
    jobs = [job(1, user="a"), job(2, user="b")]
    assert order(jobs, {("vision", "a"): 0.1 + 0.2, ("vision", "b"): 0.3}) == [1, 2]
    assert order(jobs, {("vision", "a"): 0.31, ("vision", "b"): 0.3}) == [2, 1]


def test_the_least_slack_comes_before_submission_and_no_deadline_is_last() -> None:
    jobs = [
        job(1),
        job(2, deadline=NOW + 900.0),
        job(3, deadline=NOW + 1000.0, forecast_s=200.0, limit_s=5.0),
        job(4, deadline=NOW + 1000.0, limit_s=300.0),
    ]
    assert order(jobs) == [4, 3, 2, 1]
    assert order([*jobs, job(9, user="new")], {("vision", "mira"): 1.0}) == [9, 4, 3, 2, 1]


@pytest.mark.parametrize(("elapsed", "first"), [(0.0, 2), (0.9 * HOUR, 2), (HOUR, 1), (2 * HOUR, 1)])
def test_what_started_lately_counts_as_if_it_had_run_for_the_penalty(elapsed: float, first: int) -> None:
    """mira's use so far is less than joe's; with the rest of the hour of her young run it is more."""
    jobs = [job(1, user="mira"), job(2, user="joe")]
    usage = {("vision", "joe"): 300.0}
    assert order(jobs, usage, (), [run("vision", "mira", 8, elapsed)])[0] == first


def test_the_penalty_shrinks_by_what_has_run_so_that_use_goes_on_without_a_step() -> None:
    jobs = [job(1, user="mira"), job(2, user="joe")]
    young = [run("vision", "mira", 8, 0.25 * HOUR)]
    seen = 8 * 0.75 * HOUR
    assert order(jobs, {("vision", "joe"): seen + 0.1}, (), young) == [1, 2]
    assert order(jobs, {("vision", "joe"): seen - 0.1}, (), young) == [2, 1]


def test_a_run_that_was_stopped_leaves_no_penalty_behind() -> None:
    jobs = [job(1, user="mira"), job(2, user="joe")]
    assert order(jobs, {("vision", "joe"): 1.0}, (), [run("vision", "mira", 8, 0.0)]) == [2, 1]
    assert order(jobs, {("vision", "joe"): 1.0}) == [1, 2]


def test_a_start_of_this_round_moves_its_user_and_team_back() -> None:
    jobs = [job(n, user="mira") for n in (1, 2, 3)] + [job(n, user="joe") for n in (4, 5, 6)]
    assert starting(*line_of(jobs)) == [1, 4, 2, 5, 3, 6]
    assert starting(*line_of(jobs, penalty_s=0.0)) == [1, 2, 3, 4, 5, 6]
    teams = [replace(one, team=one.user, user="x") for one in jobs]
    assert starting(*line_of(teams)) == [1, 4, 2, 5, 3, 6]


def test_large_starts_weigh_more_than_small_ones() -> None:
    jobs = [job(1, user="mira", gpus=3), *(job(n, user="mira") for n in (2, 3))]
    jobs += [job(n, user="joe") for n in range(4, 9)]
    assert starting(*line_of(jobs)) == [1, 4, 5, 6, 2, 7, 3, 8]


def test_one_who_floods_pushes_others_back_by_no_more_than_a_share() -> None:
    """A thousand jobs of one user, submitted first: each of nine others waits for at most one round."""
    flood = [job(n, user="flood") for n in range(1, 1001)]
    others = [job(2000 + 10 * n + u, user=f"u{u}") for u in range(9) for n in range(10)]
    started = starting(*line_of(flood + others))
    for number in range(10):  # in each ten starts everybody has one
        part = started[10 * number : 10 * number + 10]
        assert sum(one < 2000 for one in part) == 1
        assert len({one % 10 for one in part if one >= 2000}) == 9


LIMITED = [
    Team("own", quota={H: Share(4, None, None)}),
    Team("other", quota={H: Share(4, None, None)}),
]


def test_inside_nominal_comes_before_borrowing_whatever_was_used() -> None:
    jobs = [job(1, "own", gpus=5), job(2, "other", gpus=4), job(3, "own", gpus=4)]
    assert order(jobs, {("other", "x"): 1e9}, LIMITED) == [3, 2, 1]


def test_a_team_borrows_as_soon_as_its_nominal_is_full() -> None:
    jobs = [job(n, "own", gpus=2) for n in (1, 2, 3, 4)] + [job(n, "other", gpus=2) for n in (5, 6, 7)]
    usage = {("other", "x"): 1e9}
    assert starting(*line_of(jobs, usage, LIMITED)) == [1, 2, 5, 6, 3, 4, 7]


def test_tiers_come_before_nominal() -> None:
    jobs = [job(1, "own"), job(2, "own", gpus=50, tier=Tier.PRODUCTION)]
    assert order(jobs, NOBODY, LIMITED) == [2, 1]


def test_any_accepted_type_with_room_makes_it_inside() -> None:
    only = [Team("own", quota={H: Share(0), A: Share(8)}), Team("other", quota={H: Share(4)})]
    jobs = [
        job(1, "own", request=Request(1, gpu_types=(H,))),
        job(2, "own", request=Request(1, gpu_types=(H, A))),
        job(3, "own", request=Request(1)),
        job(4, "own", request=Request(9)),
        job(5, "own", request=Request(9, min_gpus=8)),
    ]
    assert order(jobs, NOBODY, only) == [2, 3, 5, 1, 4]


def test_surplus_goes_by_team_priority_and_own_quota_does_not() -> None:
    teams = [
        Team("low", quota={H: Share(4)}),
        Team("high", quota={H: Share(4)}, priority=5),
    ]
    jobs = [job(1, "low", gpus=5), job(2, "high", gpus=5), job(3, "low"), job(4, "high")]
    assert order(jobs, {("high", "x"): 1e9}, teams) == [3, 4, 2, 1]


def test_what_has_a_gate_or_is_left_out_is_not_in_the_line() -> None:
    jobs = [job(1, gate=Gate(Reason.HELD)), job(2), job(3)]
    assert order(jobs) == [2, 3]
    line, books = line_of(jobs)
    snap = Snapshot(NOW, (), np.zeros((0, 0), bool), tuple(jobs))
    assert [one.id for one in iter(FairLine(snap, books, [jobs[0], jobs[2]]).next, None)] == [3]
    assert line.next() is jobs[1]


def test_the_end_of_the_line_stays_the_end() -> None:
    line, _ = line_of([job(1)])
    assert [line.next() is None for _ in range(4)] == [False, True, True, True]
    assert line_of([])[0].next() is None


def test_those_ahead_are_counted_by_the_types_they_accept() -> None:
    line, _ = line_of([])
    for number, types in enumerate([(H,), (A,), (H, A), ()], start=1):
        line.passed(job(number, request=Request(number, gpu_types=types)))
    line.started(job(9, gpus=8), H, 8)
    line.started(job(9, gpus=8), H, 4)
    asked = {
        types: line.ahead(job(5, request=Request(1, gpu_types=types))) for types in [(H,), (A,), (), ("L4",)]
    }
    assert asked == {(H,): (3, 8), (A,): (3, 9), (): (4, 10), ("L4",): (1, 4)}
    assert line.took == {H: (2, 12)}


RULES = {
    "tier": ([job(1), job(2, tier=Tier.PRODUCTION)], {}, (), Rule("tier", "standard", "production")),
    "quota": (
        [job(1, "own", gpus=5), job(2, "other")],
        {("other", "x"): 9.0},
        LIMITED,
        Rule("quota", "borrows", "inside"),
    ),
    "priority": (
        [job(1, "low"), job(2, "high")],
        {("high", "x"): 9.0},
        [Team("low"), Team("high", priority=5), Team("rich", quota={H: Share(50)})],
        Rule("priority", "low", "high"),
    ),
    "team": (
        [job(1, "b"), job(2, "c")],
        {("a", "x"): 300.0, ("b", "y"): 300.0, ("c", "x"): 200.0},
        TREE,
        Rule("team", "one", "two", 1.5, 0.5),
    ),
    "team, further down": (
        [job(1, "b"), job(2, "a")],
        {("a", "x"): 100.0, ("b", "y"): 300.0},
        TREE,
        Rule("team", "b", "a", 2.25, 0.75),
    ),
    "a team of no weight": (
        [job(1, "nil"), job(2, "some")],
        {("some", "x"): 100.0},
        [Team("nil", weight=0.0), Team("some")],
        Rule("team", "nil", "some", inf, 1.0),
    ),
    "user": (
        [job(1, user="mira"), job(2, user="joe")],
        {("vision", "mira"): 300.0, ("vision", "joe"): 100.0, ("vision", "x"): 50.0},
        (),
        Rule("user", "mira", "joe", 2.0, 2 / 3),
    ),
    "deadline": ([job(1), job(2, deadline=NOW)], {}, (), Rule("deadline")),
    "submitted": ([job(2), job(1)], {}, (), Rule("submitted")),
    "number": ([job(2, submitted_at=0.0), job(1, submitted_at=0.0)], {}, (), Rule("number")),
}


@pytest.mark.parametrize("what", RULES)
def test_the_line_says_why_one_comes_before_another(what: str) -> None:
    (ours, theirs), usage, teams, expected = RULES[what]
    jobs = [ours, theirs]
    assert order(jobs, usage, teams) == [theirs.id, ours.id]
    line, _ = line_of(jobs, usage, teams)
    before = line.rule(ours, theirs)  # before their turns …
    assert [line.next(), line.next()] == [theirs, ours]
    found = line.rule(ours, theirs)  # … and after
    assert (before.by, found.by) == (expected.by, expected.by)
    assert (found.ours, found.theirs) == (expected.ours, expected.theirs)
    assert (found.our_times, found.their_times) == pytest.approx(
        (expected.our_times, expected.their_times), rel=1e-3
    )


def test_the_rule_is_the_one_that_held_at_their_turns() -> None:
    """joe's start makes him heavier than mira, but when his turn came he was the lighter one."""
    jobs = [job(1, user="mira"), job(2, user="joe")]
    line, books = line_of(jobs, {("vision", "mira"): 10.0})
    first = line.next()
    assert first is jobs[1]
    books.take("vision", H, 1)
    line.started(first, H, 1)
    assert line.next() is jobs[0]
    found = line.rule(jobs[0], jobs[1])
    assert found.by == "user"
    assert found.our_times > found.their_times

"""What a promise outranks: the care for one person and who sits between its pieces; and places that need many stops."""

from scheduler.core.model import Job, Running, Tier
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from scheduler.core.verbs import Plan, Why
from tests.core.builders import drawn, job, run, snapshot, spot, tree

OPEN = tree(("own", None, {"H100": 8}), ("other", None, {"H100": 0}))
FULL = [spot("n1", "abcdefgh")]


def borrowers(letters: str = "abcdefgh", *, first: int = 1, **more: object) -> list[Running]:
    told: dict[str, object] = {
        "team": "other",
        "user": "ada",
        "tier": Tier.OPPORTUNISTIC,
        "checkpoints": True,
    }
    return [run(number, drawn(FULL, letter), **(told | more)) for number, letter in enumerate(letters, first)]


def owner(shape: str = "1x8", tier: Tier = Tier.PRODUCTION, **more: object) -> Job:
    return job(50, shape, team="own", tier=tier, preemptible=tier is not Tier.PRODUCTION, **more)


def stopped(made: Plan) -> list[int]:
    return sorted(stop.job for stop in made.stops)


def test_an_owner_gets_its_own_back_from_one_person_whatever_that_person_suffered_today() -> None:
    policy = Policy(max_user_stops_per_day=3)
    for asked in (owner(), owner(tier=Tier.STANDARD)):
        made = plan(snapshot(FULL, [asked], borrowers(), OPEN, policy=policy, user_stops={"ada": 3}))
        assert stopped(made) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_who_was_stopped_less_goes_first_where_that_is_enough() -> None:
    """The care for one person gives way only where the promise would break otherwise."""
    runs = [*borrowers("abcd"), *borrowers("efgh", first=5, user="bob", checkpoints=False)]
    policy = Policy(max_user_stops_per_day=3)
    made = plan(snapshot(FULL, [owner("4")], runs, OPEN, policy=policy, user_stops={"ada": 3}))
    assert stopped(made) == [1, 2, 3, 4]  # bob has three stops left, and four must go: all of them may
    made = plan(snapshot(FULL, [owner("3")], runs, OPEN, policy=policy, user_stops={"ada": 3}))
    assert stopped(made) == [5, 6, 7]  # dearer, for nothing of bob's is saved


def test_without_a_promise_nobody_suffers_more_than_one_person_may() -> None:
    asked = owner(tier=Tier.STANDARD)
    for policy, most in ((Policy(max_user_stops_per_day=3), 0), (Policy(), 8)):
        made = plan(snapshot(FULL, [asked], borrowers(), (), policy=policy))
        assert len(made.stops) == most


def test_a_place_that_needs_more_than_a_round_may_ask_is_made_in_one_round() -> None:
    for teams in (OPEN, ()):
        made = plan(snapshot(FULL, [owner()], borrowers(), teams, policy=Policy(max_stops_per_cycle=5)))
        assert stopped(made) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert (
        plan(snapshot(FULL, [owner()], borrowers(), OPEN, policy=Policy(max_stops_per_cycle=0))).stops == ()
    )


def test_nobody_else_is_asked_in_the_round_of_a_place_that_needs_more() -> None:
    spots = [spot("n1", "abcdefgh"), spot("n2", "ijklmnop")]
    told: dict[str, object] = {"team": "other", "tier": Tier.OPPORTUNISTIC, "checkpoints": True}
    runs = [run(at, drawn(spots, letter), **told) for at, letter in enumerate("abcdefghijklmnop", start=1)]
    teams = tree(("own", None, {"H100": 16}), ("other", None, {"H100": 0}))
    asked = [owner(), job(51, "1x8", team="own", tier=Tier.PRODUCTION, preemptible=False)]
    made = plan(snapshot(spots, asked, runs, teams, policy=Policy(max_stops_per_cycle=5)))
    assert len(made.stops) == 8
    assert [claim.job for claim in made.claims] == [50]


# Two nodes; each has four GPUs of the other team's covered work and four of the own team's standard work.
BETWEEN = [spot("n1", "aaaabbbb"), spot("n2", "ccccdddd")]
EVEN = tree(("own", None, {"H100": 8}), ("other", None, {"H100": 8}))


def mingled(**more: object) -> list[Running]:
    told: dict[str, object] = {"tier": Tier.STANDARD, "checkpoints": True, **more}
    return [
        run(number, drawn(BETWEEN, letter), team=team, user=letter, **told)
        for number, (letter, team) in enumerate(zip("abcd", ("own", "other", "own", "other"), strict=True), 1)
    ]


def test_what_is_covered_moves_together_so_that_production_has_its_whole_node() -> None:
    made = plan(snapshot(BETWEEN, [owner()], mingled(), EVEN))
    stops = {stop.job: stop.why for stop in made.stops}
    assert stops == {1: Why.PREEMPTED, 3: Why.PREEMPTED, 2: Why.MOVED}
    assert {stop.for_job for stop in made.stops} == {50}
    places = {claim.job: ([seat.node for seat in claim.seats], claim.victims) for claim in made.claims}
    assert places == {50: ([1], (1, 3, 2)), 2: ([2], (2,))}


def test_nothing_is_regrouped_for_standard_work_nor_where_covered_work_may_not_stop() -> None:
    assert plan(snapshot(BETWEEN, [owner(tier=Tier.STANDARD)], mingled(), EVEN)).stops == ()
    assert plan(snapshot(BETWEEN, [owner()], mingled(preemptible=False), EVEN)).stops == ()


def test_production_starts_when_all_have_gone_and_the_mover_goes_on() -> None:
    first = plan(snapshot(BETWEEN, [owner()], mingled(), EVEN))
    spots = [spot("n1", "........"), spot("n2", "....dddd")]
    stay = [one for one in mingled() if one.job == 4]
    mover = job(2, "4", team="other", user="b", checkpoints=True, stops=1)
    then = plan(snapshot(spots, [owner(), mover], stay, EVEN, claims=first.claims))
    assert {start.job: [seat.node for seat in start.seats] for start in then.starts} == {50: [1], 2: [2]}

"""One round: what it remembers of searches that found nothing, who counts in it, and how much it may look at."""

from scheduler.core.model import Running, Tier, Window
from scheduler.core.planner import plan
from scheduler.core.policy import Policy
from scheduler.core.verbs import Why
from tests.core.builders import HOUR, NOW, drawn, job, run, snapshot, spot, tree

H = "H100"


def test_who_may_not_borrow_does_not_hide_the_way_of_one_that_may() -> None:
    """Both ask for the same; only the second says when it ends, so only to that one anything is lent."""
    spots = [spot("a", "vvvvvvvv"), spot("b", "oooooooo"), spot("c", pool="research")]
    teams = tree(("vision", None, {H: 8}), ("speech", None, {H: 16}), ("guests", None, {H: 0}))
    firm = {"tier": Tier.PRODUCTION, "preemptible": False, "pool": "training"}
    runs = [
        run(8, drawn(spots, "v"), team="vision", tier=Tier.PRODUCTION, preemptible=False),
        run(9, drawn(spots, "o"), team="guests", tier=Tier.OPPORTUNISTIC),
    ]
    endless, short = job(1, **firm), job(2, limit_s=1800.0, **firm)
    for line in ([short], [endless, short]):
        made = plan(snapshot(spots, line, runs, teams))
        assert [(stop.job, stop.why, stop.for_job) for stop in made.stops] == [(9, Why.PREEMPTED, 2)]


FULL = [spot("n1", "abcdefgh"), spot("n2", "ijklmnop")]


def crowd(**more: object) -> list[Running]:
    told: dict[str, object] = {"tier": Tier.OPPORTUNISTIC, "checkpoints": True, "user": "ada", **more}
    return [run(number, drawn(FULL, letter), **told) for number, letter in enumerate("abcdefghijklmnop", 1)]


def test_what_a_person_suffers_counts_over_all_places_of_a_round() -> None:
    asked = [job(50, "4", tier=Tier.STANDARD), job(51, "4", tier=Tier.STANDARD)]
    for most, stops in ((8, 8), (7, 4), (4, 4), (3, 0)):
        made = plan(snapshot(FULL, asked, crowd(), (), policy=Policy(max_user_stops_per_day=most)))
        assert len(made.stops) == stops


def test_a_person_may_start_only_so_many_in_one_round() -> None:
    caps = {"max_jobs_per_user": {"standard": 2}}
    asked = [job(number, "1", user="bob") for number in range(1, 5)]
    made = plan(snapshot([spot("n1")], asked, policy=Policy.of(caps)))
    assert len(made.starts) == 2
    assert {verdict.reason.value for verdict in made.verdicts} == {"not_allowed"}


def test_a_round_that_has_looked_at_as_much_as_it_may_asks_nobody_and_says_so() -> None:
    asked = [job(50, "1x8", tier=Tier.STANDARD)]
    assert plan(snapshot(FULL, asked, crowd(), ())).stops
    made = plan(snapshot(FULL, asked, crowd(), (), policy=Policy(search_steps=0)))
    assert made.stops == ()
    (verdict,) = made.verdicts
    assert verdict.numbers["search_ended"] == 1


def test_a_long_job_that_finds_no_way_before_a_window_does_not_hide_a_short_one() -> None:
    """Both ask for the same; the nodes close in an hour, and only the second would be done by then."""
    long, short = (job(number, "1x8", limit_s=hours * HOUR) for number, hours in ((50, 12), (51, 0.5)))
    window = Window(NOW + HOUR, NOW + 2 * HOUR, frozenset({1, 2}))
    for line in ([short], [long, short]):
        made = plan(snapshot(FULL, line, crowd(), (), windows=(window,)))
        assert {stop.for_job for stop in made.stops} == {51}

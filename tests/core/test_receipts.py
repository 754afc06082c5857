"""The least harmful way to a place, and what everybody who makes way is told."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from scheduler.core.candidates import Passed
from scheduler.core.maystop import Case, Rules, Spared
from scheduler.core.model import Job, Running, Share, Team, Tier
from scheduler.core.policy import Policy
from scheduler.core.preempt import Way, find_way
from scheduler.core.quota import Books
from scheduler.core.receipts import receipt, rejected, stops
from scheduler.core.tree import Depth
from scheduler.core.verbs import Stop, Why
from scheduler.core.victims import Option
from scheduler.core.want import Want
from tests.core.builders import DAY, HOUR, NOW, Spot, board, drawn, job, run, seat, snapshot, spot, tree

TEAMS = tree(("speech", None, {"H100": 8}), ("vision", None, {"H100": 8}), ("guests", None, {}))
PRODUCTION, STANDARD, OPPORTUNISTIC = Tier.PRODUCTION, Tier.STANDARD, Tier.OPPORTUNISTIC
SAVED = {"checkpoints": True}


def way_for(
    asker: Job,
    spots: Sequence[Spot],
    runs: Sequence[Running],
    teams: tuple[Team, ...] = TEAMS,
    *,
    recall: bool = False,
) -> Way | None:
    rules = Rules(snapshot(spots, running=runs, teams=teams), Books(teams, {"H100": 8 * len(spots)}, runs))
    way = find_way(Case(asker, "H100", rules, recall=recall), board(spots), Want.of(asker, Policy()), runs)
    assert way is None or isinstance(way, Way)
    return way


def told(way: Way | None) -> list[tuple[int, str]]:
    assert way is not None
    return [(stop.job, stop.why.value) for stop in stops(way)]


def runs_of(spots: Sequence[Spot], **known: dict[str, object]) -> list[Running]:
    """Runs by their letters, a is 1; they were submitted two hours ago."""
    since: dict[str, object] = {"submitted_at": NOW - 2 * HOUR}
    return [
        run(ord(letter) - ord("a") + 1, drawn(spots, letter), **(since | told))
        for letter, told in known.items()
    ]


def test_lent_capacity_goes_before_a_lower_tier_even_where_it_costs_more() -> None:
    spots = [spot("n1", "aaaaaaaa"), spot("n2", "bbbbbbbb")]
    runs = runs_of(spots, a={"team": "guests"}, b={"team": "vision", "tier": OPPORTUNISTIC, **SAVED})
    asker = job(9, "1x8", team="speech", tier=PRODUCTION)
    assert told(way_for(asker, spots, runs)) == [(1, "reclaimed")]


def test_what_ran_ahead_goes_before_a_lower_tier() -> None:
    spots = [spot("n1", "aaaaaaaa"), spot("n2", "bbbbbbbb")]
    runs = runs_of(spots, a={}, b={"tier": OPPORTUNISTIC, **SAVED})
    assert told(way_for(job(9, "1x8"), spots, runs, (), recall=True)) == [(1, "recalled")]
    assert told(way_for(job(9, "1x8"), spots, runs, ())) == [(2, "preempted")]


def test_of_equal_costs_the_earlier_one_goes() -> None:
    spots = [spot("n1", "aaaaaaaa"), spot("n2", "bbbbbbbb")]
    runs = runs_of(spots, a={"tier": OPPORTUNISTIC}, b={"tier": OPPORTUNISTIC})
    assert told(way_for(job(9, "4"), spots, runs, ())) == [(1, "preempted")]


def test_its_own_lower_tiers_first_bring_a_job_inside_its_nominal_then_others_give_back() -> None:
    """Half of the nominal is used by its own opportunistic work, the other half is lent."""
    spots = [spot("n1", "aaaabbbb")]
    runs = runs_of(spots, a={"team": "speech", "tier": OPPORTUNISTIC}, b={"team": "guests"})
    asker = job(9, "1x8", team="speech", tier=PRODUCTION)
    assert told(way_for(asker, spots, runs)) == [(1, "preempted"), (2, "reclaimed")]
    assert way_for(replace(asker, tier=OPPORTUNISTIC), spots, runs) is None


def test_at_its_borrow_limit_a_team_makes_room_in_its_own_quota() -> None:
    spots = [spot("n1", "aaaaaaaa"), spot("n2", "bbbb....")]
    teams = tree(("speech", None, {"H100": Share(8, borrow=4)}), ("vision", None, {"H100": 8}))
    runs = runs_of(spots, a={"team": "speech"}, b={"team": "speech", "tier": OPPORTUNISTIC})
    asker = job(9, "4", team="speech", tier=PRODUCTION)
    assert told(way_for(asker, spots, runs, teams)) == [(2, "preempted")]


def test_nobody_goes_for_a_job_that_could_not_sit_there_anyway() -> None:
    spots = [spot("n1", "aaaaaaaa", pool="research")]
    runs = runs_of(spots, a={"tier": OPPORTUNISTIC})
    assert way_for(job(9, "1x8", pool="training"), spots, runs, ()) is None


def the_stop(way: Way | None) -> Stop:
    assert way is not None
    return stops(way)[0]


def test_a_reclaim_tells_both_promises_and_what_is_lost() -> None:
    spots = [spot("n1", "aaaaaaaa"), spot("n2", "bbbb....")]
    runs = runs_of(spots, a={"team": "vision"}, b={"team": "vision", "saved_at": NOW - 100})
    stop = the_stop(way_for(job(9, "8", team="speech"), spots, runs))
    assert (stop.job, stop.for_job, stop.why) == (2, 9, Why.RECLAIMED)
    assert stop.receipt.lost_gpu_s == 4 * 100.0
    assert stop.receipt.rule == {
        "rule": "reclaimed",
        "tier": "standard",
        "for_tier": "standard",
        "gpus": 4,
        "cost_gpu_s": 4 * 160.0,
        "asked": 8,
        "team": "vision",
        "held": 12,
        "nominal": 8,
        "for_team": "speech",
        "for_held": 0,
        "for_nominal": 8,
    }


def test_a_reclaim_is_told_at_the_level_where_both_sides_part() -> None:
    spots = [spot("n1", "aaaaaaaa"), spot("n2", "bbbb....")]
    teams = tree(
        *[
            ("org", None, {}),
            ("lab", "org", {"H100": 8}),
            ("depth", "lab", {}),
            ("speech", "org", {"H100": 8}),
        ]
    )
    runs = runs_of(spots, a={"team": "depth"}, b={"team": "depth"})
    rule = the_stop(way_for(job(9, "8", team="speech"), spots, runs, teams)).receipt.rule
    assert (rule["team"], rule["held"], rule["nominal"]) == ("lab", 12, 8)


def test_a_recall_tells_how_much_later_it_came_and_how_often_it_was_stopped() -> None:
    spots = [spot("n1", "aaaaaaaa")]
    runs = runs_of(spots, a={"submitted_at": NOW - HOUR, "stops": 2, **SAVED})
    stop = the_stop(way_for(job(9, "1x8", submitted_at=NOW - 3 * HOUR), spots, runs, (), recall=True))
    assert stop.receipt.lost_gpu_s == 0.0
    assert stop.receipt.rule["submitted_later_s"] == 2 * HOUR
    assert (stop.receipt.rule["stops"], stop.receipt.rule["max_recalls"]) == (2, 3)


def test_a_preemption_tells_tiers_and_teams() -> None:
    spots = [spot("n1", "aaaaaaaa")]
    runs = runs_of(spots, a={"team": "vision", "tier": OPPORTUNISTIC})
    rule = the_stop(way_for(job(9, "1x8", team="speech", tier=PRODUCTION), spots, runs)).receipt.rule
    assert [rule[name] for name in ("rule", "tier", "for_tier", "team", "for_team")] == [
        *("preempted", "opportunistic", "production", "vision", "speech")
    ]


SPARED: dict[str, dict[str, object]] = {
    "minimum_runtime": {"started_at": NOW - 60},
    "stopped_today": {"stops_today": 3},
    "not_preemptible": {"preemptible": False},
    "covered": {"tier": PRODUCTION},
    "immune": {"stops": 3},
}


@pytest.mark.parametrize("why", SPARED)
def test_what_was_spared_stands_on_the_receipt_with_its_cost_and_the_reason(why: str) -> None:
    spots = [spot("n1", "aaaaaaaa"), spot("n2", "bbbbbbbb")]
    runs = runs_of(spots, a={}, b={**SAVED, **SPARED[why]})
    stop = the_stop(way_for(job(9, "1x8"), spots, runs, (), recall=True))
    assert stop.receipt.rejected == ({"why": why, "jobs": [2], "cost_gpu_s": 480.0},)
    assert why in list(Spared)


@pytest.mark.parametrize(("dearer", "spared", "expected"), [(9, 9, (3, 2)), (9, 1, (4, 1)), (1, 9, (1, 4))])
def test_dearer_ways_and_those_that_were_spared_share_the_receipt(
    dearer: int, spared: int, expected: tuple[int, int]
) -> None:
    one = run(7, [seat(1)])
    options = [Option(100.0 + number, Depth.RACK, ()) for number in range(dearer)]
    passed = [Passed(one, 50.0 - number, Spared.IMMUNE) for number in range(spared)]
    found = rejected(options, passed)
    assert [str(facts["why"]) for facts in found] == ["dearer"] * expected[0] + ["immune"] * expected[1]
    costs = [facts["cost_gpu_s"] for facts in found]
    assert costs[0] == 100.0
    assert costs[expected[0]] == 51.0 - spared


def test_a_receipt_is_plain_data() -> None:
    spots = [spot("n1", "aaaaaaaa")]
    runs = runs_of(spots, a={"tier": OPPORTUNISTIC, "submitted_at": NOW - DAY})
    way = way_for(job(9, "1x8"), spots, runs, ())
    assert way is not None
    facts = receipt(way.making.victims[0], way.case).rule
    assert all(type(value) in {int, float, str, list} for value in facts.values())


def test_an_owner_takes_back_as_much_as_it_takes_to_leave_what_others_do_not_lend() -> None:
    """The place alone asks for one of the borrowers; what speech keeps for itself asks for both."""
    spots = [spot("n1", "aaaabbbb"), spot("n2", "cc......")]
    teams = tree(
        ("speech", None, {"H100": Share(8, lend=0)}),
        ("vision", None, {"H100": 8}),
        ("guests", None, {"H100": 0}),
    )
    runs = runs_of(spots, a={"team": "guests"}, b={"team": "guests"}, c={"team": "speech"})
    assert sorted(told(way_for(job(9, "8"), spots, runs, teams))) == [(1, "reclaimed"), (2, "reclaimed")]

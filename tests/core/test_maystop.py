"""Who may be stopped for whom: the rules as a table, and why stopping comes to an end."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.candidates import Chosen, seek
from scheduler.core.cost import lost_work
from scheduler.core.cover import Pot, fullest
from scheduler.core.maystop import Case, Rules, Spared, may_stop
from scheduler.core.model import Job, Running, Team, Tier
from scheduler.core.policy import Policy
from scheduler.core.quota import Books
from scheduler.core.verbs import Why
from tests.core.builders import DAY, HOUR, MINUTE, NOW, job, run, seat, snapshot, spot, tree

PRODUCTION, STANDARD, OPPORTUNISTIC = Tier.PRODUCTION, Tier.STANDARD, Tier.OPPORTUNISTIC
TEAMS = tree(
    ("org", None, {}),
    ("vision", "org", {"H100": 16}),
    ("depth", "vision", {"H100": 8}),
    ("track", "vision", {"H100": 8}),
    ("speech", "org", {"H100": 8}),
    ("guests", "org", {}),
)
SEATS = {gpus: (seat(1, "01234567"[:gpus]),) for gpus in range(1, 9)}


def rules_of(
    *running: Running, teams: tuple[Team, ...] = TEAMS, policy: Policy | None = None, **more: object
) -> Rules:
    snap = snapshot([spot("a")], running=running, teams=teams, policy=policy or Policy(), **more)
    return Rules(snap, Books(teams, {"H100": 64}, running))


def held(number: int, gpus: int = 8, **more: object) -> Running:
    return run(number, SEATS[gpus], **{"submitted_at": NOW - 2 * HOUR, **more})


def asks(shape: str = "8", **more: object) -> Job:
    return job(90, shape, **more)


def answer(victim: Running, asker: Job, *beside: Running, recall: bool = False, **more: object) -> object:
    rules = rules_of(victim, *beside, **more)  # type: ignore[arg-type]
    return Case(asker, "H100", rules, recall=recall).judge(victim).answer


BARRED = {
    "it has been asked already": (Spared.STOPPING, {"stopping": True}, {}),
    "it may not be preempted": (Spared.NOT_PREEMPTIBLE, {"preemptible": False}, {}),
    "it is within its minimum runtime": (Spared.MINIMUM_RUNTIME, {"started_at": NOW - 5 * MINUTE + 1}, {}),
    "it was stopped three times today": (Spared.STOPPED_TODAY, {"stops_today": 3}, {}),
    "its user was stopped 24 times today": (Spared.USER_STOPPED_TODAY, {}, {"user_stops": {"mira": 24}}),
}


@pytest.mark.parametrize("sentence", BARRED)
def test_nobody_is_stopped_by_any_rule_while(sentence: str) -> None:
    spared, told, known = BARRED[sentence]
    victim = replace(held(1, team="speech", tier=OPPORTUNISTIC), **told)
    asker = asks(team="depth", tier=PRODUCTION)
    assert answer(victim, asker, recall=True, **known) is spared
    assert may_stop(victim, Case(asker, "H100", rules_of(victim, **known), recall=True)) is None  # type: ignore[arg-type]


def test_the_minimum_runtime_ends_to_the_second_and_the_caps_count_to_the_last() -> None:
    victim = held(1, team="speech", tier=OPPORTUNISTIC, started_at=NOW - 5 * MINUTE, stops_today=2)
    assert answer(victim, asks(team="depth", tier=PRODUCTION), user_stops={"mira": 23}) is Why.PREEMPTED


ACROSS = {
    # what the other team's run is, beside what, for whom: by which rule
    "above its nominal, it goes back to its owner": (
        {"team": "speech"}, [{"team": "speech"}], {"team": "depth"}, Why.RECLAIMED),
    "even to an owner of a lower tier": (
        {"team": "speech", "tier": PRODUCTION}, [{"team": "speech", "tier": PRODUCTION}],
        {"team": "depth", "tier": OPPORTUNISTIC}, Why.RECLAIMED),
    "inside its nominal it stays": ({"team": "speech"}, [], {"team": "depth"}, Spared.COVERED),
    "inside its nominal it stays, whatever tier asks": (
        {"team": "speech"}, [], {"team": "depth", "tier": PRODUCTION}, Spared.COVERED),
    "opportunistic work goes for a higher tier inside its nominal": (
        {"team": "speech", "tier": OPPORTUNISTIC}, [], {"team": "depth"}, Why.PREEMPTED),
    "opportunistic work stays when who asks only borrows": (
        {"team": "speech", "tier": OPPORTUNISTIC}, [{"team": "depth"}], {"team": "depth"}, Spared.COVERED),
    "opportunistic work above nominal goes for a higher tier that borrows": (
        {"team": "speech", "tier": OPPORTUNISTIC}, [{"team": "depth"}, {"team": "speech"}],
        {"team": "depth"}, Why.PREEMPTED),
    "standard work above nominal stays when who asks only borrows": (
        {"team": "speech"}, [{"team": "depth"}, {"team": "speech"}],
        {"team": "depth", "tier": PRODUCTION}, Spared.COVERED),
    "a team that was promised nothing gives back everything": (
        {"team": "guests"}, [], {"team": "speech"}, Why.RECLAIMED),
    "and so does one that nobody knows": ({"team": "strangers"}, [], {"team": "speech"}, Why.RECLAIMED),
    "who was promised nothing takes nothing back": (
        {"team": "speech"}, [{"team": "speech"}], {"team": "guests"}, Spared.COVERED),
    "what the team above was promised protects from outside": (
        {"team": "depth", "gpus": 4}, [{"team": "depth"}], {"team": "speech"}, Spared.COVERED),
    "but not from its sister": (
        {"team": "depth", "gpus": 4}, [{"team": "depth"}], {"team": "track"}, Why.RECLAIMED),
    "a gang that fills the nominal stays, and what came on top of it goes": (
        {"team": "speech"}, [{"team": "speech", "gpus": 4}], {"team": "depth"}, Spared.COVERED),
}  # fmt: skip


@pytest.mark.parametrize("sentence", ACROSS)
def test_across_teams(sentence: str) -> None:
    victim, beside, asker, expected = ACROSS[sentence]
    around = [held(number, **{"gpus": 8, **other}) for number, other in enumerate(beside, start=2)]  # type: ignore[arg-type]
    assert answer(held(1, **victim), asks(**asker), *around) is expected  # type: ignore[arg-type]


HOME = {
    "a lower tier goes": ({"tier": STANDARD}, {"tier": PRODUCTION}, Why.PREEMPTED),
    "an equal tier stays": ({"tier": STANDARD}, {"tier": STANDARD}, Spared.COVERED),
    "a higher tier stays": ({"tier": PRODUCTION}, {"tier": STANDARD}, Spared.COVERED),
}


@pytest.mark.parametrize("teams", [TEAMS, ()], ids=["inside a team", "without teams everybody is one team"])
@pytest.mark.parametrize("sentence", HOME)
def test_at_home(sentence: str, teams: tuple[Team, ...]) -> None:
    victim, asker, expected = HOME[sentence]
    other = "speech" if teams else "whoever"
    assert answer(held(1, team="speech", **victim), asks(team=other, **asker), teams=teams) is expected


def test_a_team_may_not_throw_away_what_its_promise_covers_more_than_so_often() -> None:
    small, large = held(1, team="speech", tier=OPPORTUNISTIC), asks("16", team="speech")
    assert answer(small, large) is Why.PREEMPTED
    assert answer(replace(small, stops=3), large) is Spared.COVERED
    assert answer(replace(small, stops=3), asks("8", team="speech")) is Why.PREEMPTED


RECALL = {
    "it was submitted later": (Why.RECALLED, {}),
    "it was submitted first": (Spared.COVERED, {"submitted_at": NOW - 2 * DAY}),
    "it is of another tier": (Spared.COVERED, {"tier": PRODUCTION}),
    "it was stopped three times in its life": (Spared.IMMUNE, {"stops": 3}),
    "its limit ends it within the grace": (Spared.COVERED, {"ends_by": NOW + 119}),
    "its limit ends it later": (Why.RECALLED, {"ends_by": NOW + HOUR}),
}


@pytest.mark.parametrize("sentence", RECALL)
def test_for_a_protected_reservation_that_is_due_a_run_goes_when(sentence: str) -> None:
    expected, told = RECALL[sentence]
    victim = replace(held(1, team="speech"), **told)
    assert answer(victim, asks(team="speech"), recall=True) is expected
    assert answer(victim, asks(team="speech")) is Spared.COVERED


def test_what_another_teams_promise_covers_is_never_recalled() -> None:
    own = held(1, team="vision")
    assert answer(own, asks(team="speech"), recall=True) is Spared.COVERED
    above = [held(number, team="vision") for number in (2, 3)]
    assert answer(own, asks("16", team="speech"), *above, recall=True) is Why.RECALLED


def test_lent_capacity_is_taken_back_before_anybody_is_recalled() -> None:
    loan = held(1, team="guests")
    assert answer(loan, asks(team="speech"), recall=True) is Why.RECLAIMED
    assert answer(loan, asks("16", team="speech"), recall=True) is Why.RECALLED


def test_a_stop_that_is_decided_counts_for_the_next() -> None:
    first, second = held(1, 4, team="speech", user="a"), held(2, 4, team="speech", user="b")
    third = held(3, 4, team="speech", user="c")
    rules = rules_of(first, second, third)
    asker = asks("4", team="depth")
    assert may_stop(second, Case(asker, "H100", rules)) is Why.RECLAIMED
    rules.stopped(first)
    assert may_stop(second, Case(asker, "H100", rules)) is None
    rules.started(asks("4", team="speech"), "H100", 4)
    assert may_stop(second, Case(asker, "H100", rules)) is Why.RECLAIMED


def test_together_they_leave_the_team_what_it_was_promised_in_any_order() -> None:
    runs = [held(number, 4, team="speech") for number in (1, 2, 3, 4)]
    rules = rules_of(*runs)
    found = seek(Case(asks("8", team="depth"), "H100", rules), runs)
    assert len(found.candidates) == 4
    for order in combinations(found.candidates, 3):
        chosen = Chosen(rules)
        assert [chosen.admits(one) and not chosen.add(one) for one in order] == [True, True, False]


def test_together_they_stay_under_the_cap_of_their_user_and_of_the_cycle() -> None:
    runs = [held(number, 1, team="guests", user="mira") for number in range(1, 9)]
    rules = rules_of(*runs, user_stops={"mira": 21})
    candidates = seek(Case(asks("8", team="speech"), "H100", rules), runs).candidates
    chosen = Chosen(rules)
    assert [chosen.admit_all([one]) for one in candidates] == [True] * 3 + [False] * 5
    chosen.drop(candidates[0])
    assert chosen.admit_all(candidates[3:4])
    assert not chosen.admit_all(candidates[4:5])
    rules = rules_of(*runs, policy=Policy(max_stops_per_cycle=3))
    assert Chosen(rules).admit_all(candidates)  # one place alone may need more
    rules.stopped(runs[-1])
    assert not Chosen(rules).admit_all(candidates[:3])
    assert Chosen(rules).admit_all(candidates[:2])
    assert not Chosen(rules_of(*runs, policy=Policy(max_stops_per_cycle=0))).admit_all(candidates[:1])


LOST = {
    "what saves itself when asked loses the restart": ({"checkpoints": True}, 60.0),
    "what never saves loses all since its start": ({}, 60.0 + HOUR),
    "what saved loses what came after": ({"saved_at": NOW - 100}, 160.0),
    "a commit of an earlier run saves nothing of this one": ({"saved_at": NOW - DAY}, 60.0 + HOUR),
    "what came back from a stop loses since it was useful": ({"useful_from": NOW - 300}, 360.0),
    "what is not useful yet has nothing to lose": ({"useful_from": NOW + 30}, 60.0),
    "its own restart counts": ({"checkpoints": True, "restart_s": 600.0}, 600.0),
}


@pytest.mark.parametrize("sentence", LOST)
def test_lost_work(sentence: str) -> None:
    told, each = LOST[sentence]
    assert lost_work(replace(held(1, 4), **told), NOW) == 4 * each


@given(st.lists(st.integers(1, 9), max_size=7), st.integers(0, 20))
def test_the_fullest_sum_is_the_best_of_all_subsets(sizes: list[int], room: int) -> None:
    counts = {size: sizes.count(size) for size in sizes}
    sums = (sum(part) for many in range(len(sizes) + 1) for part in combinations(sizes, many))
    assert fullest(counts, room) == max(total for total in sums if total <= room)


def covered(nominal: int, runs: list[tuple[Tier, int]]) -> tuple[int, ...]:
    """By trying all subsets: the most production, beside it the most standard, beside that the rest."""
    parts = (part for many in range(len(runs) + 1) for part in combinations(runs, many))
    return max(
        tuple(sum(gpus for tier, gpus in part if tier is each) for each in sorted(Tier, reverse=True))
        for part in parts
        if sum(gpus for _, gpus in part) <= nominal
    )


RUNS = st.lists(st.tuples(st.sampled_from(Tier), st.integers(1, 6)), max_size=6)


@given(st.integers(0, 15), RUNS)
def test_a_pot_covers_the_best_subset_higher_tiers_first(nominal: int, runs: list[tuple[Tier, int]]) -> None:
    pot = Pot(nominal)
    for tier, gpus in runs:
        pot.add(tier, gpus)
    assert tuple(pot.covered(tier) for tier in sorted(Tier, reverse=True)) == covered(nominal, runs)
    for index, (tier, gpus) in enumerate(runs):
        rest = covered(nominal, runs[:index] + runs[index + 1 :])
        assert pot.spares(tier, (gpus,)) == (rest == covered(nominal, runs))


def test_what_is_only_coming_makes_nothing_spare_that_runs() -> None:
    pot = Pot(8)
    for gpus in (4, 4):
        pot.add(Tier.STANDARD, gpus)
    pot.add(Tier.STANDARD, 8, coming=True)
    assert not pot.spares(Tier.STANDARD, (4,))
    assert not pot.copy().spares(Tier.STANDARD, (4,))
    assert not pot.gains(Tier.STANDARD, 4)  # but nobody of the team counts on what that one will hold
    pot.add(Tier.STANDARD, 4)
    assert pot.spares(Tier.STANDARD, (4,))
    assert not pot.spares(Tier.STANDARD, (4, 4))

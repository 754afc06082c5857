"""Quota that is pledged to places being made: nobody else takes it meanwhile, be it their own or lent."""

from random import Random
from typing import Any
from unittest.mock import patch

from scheduler.core.afterwards import Afterwards, Pledge
from scheduler.core.model import Share, Team, Tier
from scheduler.core.planner import plan
from scheduler.core.pledges import Pledges
from scheduler.core.policy import Policy
from scheduler.core.quota import Books, Standing
from tests.core.builders import drawn, job, run, seat, snapshot, spot, tree

H = "H100"
TEAMS = [Team("own", quota={H: Share(8, None, None)}), Team("other", quota={H: Share(8, None, None)})]


def test_two_places_in_the_making_are_both_kept_from_who_would_borrow() -> None:
    """Eight of eight are held; two by two leave for two that must not borrow; a third would, and one of them could not start."""
    leaving = [run(number, [seat(number, "01")], team="own") for number in (1, 2)]
    staying = run(3, [seat(3, "0123")], team="own")
    books = Books(TEAMS, {H: 16}, [*leaving, staying])
    pledges = Pledges(books, Policy())
    for number, gone in ((11, leaving[0]), (12, leaving[1])):
        worn = job(number, team="own", gpus=2, stops_today=3)  # nobody may stop it any more today
        books.take("own", H, 2)  # its place is on the books as soon as it is being made
        pledges.add(worn, H, 2, [gone])
    borrower = job(13, team="own", gpus=1)
    broken = pledges.broken(borrower, H, 1)
    assert broken is not None
    assert broken.id == 11
    assert pledges.broken(job(14, team="other", gpus=1), H, 1) is None  # it takes its own
    assert pledges.broken(borrower, H, 1, [staying]) is None  # more than it needs would leave for it
    books.give("own", H, 4)  # half of what stays ends
    assert pledges.broken(borrower, H, 1) is None


def test_what_a_place_in_the_making_borrows_is_not_lent_to_another_share() -> None:
    """Of 16 GPUs 14 are promised below. Production takes the other two for good, so nobody else may have them now."""
    spots = [spot("n1", "aaaa...."), spot("n2")]
    teams = tree(("org", None, {H: 16}), ("vision", "org", {H: 6}), ("speech", "org", {H: 8}))
    low = run(1, drawn(spots, "a"), tier=Tier.OPPORTUNISTIC)
    large = job(2, "1x8", tier=Tier.PRODUCTION, preemptible=False)
    made = plan(snapshot(spots, [large, job(3, "3", team="org")], [low], teams))
    assert [stop.job for stop in made.stops] == [1]
    assert [start.job for start in made.starts] == []


def test_what_is_taken_back_for_an_owner_is_not_turned_into_a_loan() -> None:
    """Others give back what they borrowed. Enough is free to lend for more, but then the owner would start as a borrower."""
    leaving = run(1, [seat(1), seat(2)], team="other")
    books = Books(TEAMS, {H: 32}, [leaving])
    pledges = Pledges(books, Policy())
    books.take("own", H, 6)
    pledges.add(job(11, team="own", gpus=6), H, 6, [leaving])
    broken = pledges.broken(job(12, team="own", gpus=4), H, 4)
    assert broken is not None
    assert broken.id == 11
    assert pledges.broken(job(13, team="own", gpus=2), H, 2) is None  # both are the team's own


def test_looking_at_pledges_leaves_nothing_behind_in_the_books() -> None:
    """What would be so after changes that were only tried must not be remembered for changes that are made."""
    leaving = run(1, [seat(1)], team="own")
    books = Books(TEAMS, {H: 16}, [leaving])
    pledges = Pledges(books, Policy())
    books.take("own", H, 8)
    pledges.add(job(11, team="own"), H, 8, [leaving])
    for _ in range(6):
        pledges.broken(job(12, team="other"), H, 8)
        books.take("own", H, 0)  # a change that has the number of one that was tried
        assert not books.standing("own", H, 8).starts


def _grown(dice: Random) -> tuple[Books, list[Pledge]]:
    """A tree of random shares with random holdings, and pledges whose places are on the books."""
    names: list[str | None] = [None, *"abcdefgh"]
    teams = [
        Team(str(name), dice.choice(names[:at]), {H: _share(dice)} if dice.random() < 0.8 else {})
        for at, name in enumerate(names)
        if at
    ]
    books = Books(teams, {H: dice.randrange(20, 80)})
    everybody = [*(team.name for team in teams), "unknown"]
    for _ in range(12):
        books.take(dice.choice(everybody), H, dice.randrange(6), returns=dice.random() < 0.5)
    pledges = []
    for number in range(8):
        gpus, returns = dice.randrange(1, 6), dice.random() < 0.5
        made_for = job(number, team=dice.choice(everybody), gpus=gpus, preemptible=dice.random() < 0.5)
        books.take(made_for.team, H, gpus, returns=returns)
        pledges.append(Pledge(made_for, gpus, returns))
    return books, pledges


def _share(dice: Random) -> Share:
    return Share(dice.randrange(16), dice.choice((None, 0, 4, 12)), dice.choice((None, 0, 3)))


def test_what_arrives_where_two_branches_meet_tells_as_much_as_the_whole_start() -> None:
    broken = 0
    for seed in range(300):
        dice = Random(seed)
        books, pledges = _grown(dice)
        after = Afterwards(books, H, [("a", 3, True)], pledges)
        for team in (*"abcdefgh", "unknown"):
            for gpus, returns in ((1, True), (4, False), (9, dice.random() < 0.5)):
                found = after.breaks_by_start(team, gpus, returns=returns)
                assert found == after.breaks([(team, gpus, returns)])
                broken += len(found)
    assert broken > 500  # else nothing was tried


def test_asking_nobody_where_every_bound_holds_misses_nobody() -> None:
    """Starts alone, and with others that make way for them, against asking every pledge every time."""
    broken = spared = 0
    for seed in range(200):
        dice = Random(seed)
        books, pledges = _grown(dice)
        after = Afterwards(books, H, [("a", 3, True)], pledges)
        for _ in range(12):
            start = (dice.choice((*"abcdefgh", "unknown")), dice.randrange(1, 7), dice.random() < 0.5)
            gone = [
                (dice.choice("abcdefgh"), -dice.randrange(1, 4), dice.random() < 0.5)
                for _ in range(dice.randrange(3))
            ]
            changes = [start, *gone]
            found = after.breaks(changes)
            with patch("scheduler.core.afterwards._give_way", return_value=True):
                assert found == after.breaks(changes), (seed, changes)
            broken, spared = broken + bool(found), spared + (not found)
    assert min(broken, spared) > 200  # else nothing was tried


def test_pledges_are_not_asked_again_for_every_team() -> None:
    """A hundred teams, and a place in the making for each: who starts is asked about those that it can touch."""
    many = [Team(f"t{number}", quota={H: Share(8)}) for number in range(100)]
    books = Books(many, {H: 800})
    pledges = Pledges(books, Policy())
    for team in many:
        books.take(team.name, H, 4)
        pledges.add(job(1, team=team.name, gpus=4), H, 4, [])
    asked = 0
    standing = Books.standing_after

    def counted(self: Books, *args: Any, **more: Any) -> Standing:
        nonlocal asked
        asked += 1
        return standing(self, *args, **more)

    with patch.object(Books, "standing_after", counted):
        for team in many:
            for gpus in (1, 2, 4):
                pledges.broken(job(2, team=team.name, gpus=gpus), H, gpus)
    assert asked <= 3 * (
        100 + 100 + 100
    )  # not 3 * 100 * 100: at the top, once more at home, and as it is now

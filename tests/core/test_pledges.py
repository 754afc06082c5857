"""Quota that is pledged to places being made: nobody else takes it meanwhile, be it their own or lent."""

from scheduler.core.model import Share, Team, Tier
from scheduler.core.planner import plan
from scheduler.core.pledges import Pledges
from scheduler.core.policy import Policy
from scheduler.core.quota import Books
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

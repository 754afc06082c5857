"""Quota at every level of the team tree: own, borrowed, limited, kept, and what stands in the way."""

import pytest

from scheduler.core.lineage import Lineage
from scheduler.core.model import Request, Running, Seat, Share, Team, Tier
from scheduler.core.quota import Books, Standing
from scheduler.core.walls import Lender, Wall, lenders, wall
from tests.core.builders import run, seat

H, A = "H100", "A100"
INSIDE, BORROWS, LIMIT, NOTHING = Standing


def team(name: str, above: str | None = None, **quota: tuple[int, int | None, int | None]) -> Team:
    """A team with nominal, borrow and lend by GPU type."""
    return Team(name, above, {kind: Share(*numbers) for kind, numbers in quota.items()})


def books(*teams: Team, capacity: int = 100, **held: int) -> Books:
    """Books over so many H100, with what teams hold of them."""
    kept = Books(teams, {H: capacity, A: capacity})
    for name, gpus in held.items():
        kept.take(name, H, gpus)
    return kept


ALL = None  # borrow: no limit; lend: all idle nominal
FORTY = team("forty", H100=(40, 20, ALL))
SIXTY = team("sixty", H100=(60, 0, ALL))
KEEPS = team("keeps", H100=(60, 0, 25))

CASES = {
    "its own": (books(FORTY, SIXTY), "forty", 40, INSIDE),
    "above its own while the other is idle": (books(FORTY, SIXTY), "forty", 41, BORROWS),
    "up to its borrow limit": (books(FORTY, SIXTY, forty=40), "forty", 20, BORROWS),
    "and no further": (books(FORTY, SIXTY, forty=40), "forty", 21, LIMIT),
    "no borrowing at all": (books(FORTY, SIXTY, sixty=60), "sixty", 1, LIMIT),
    "nothing idle": (books(FORTY, SIXTY, forty=40, sixty=60), "forty", 1, NOTHING),
    "as much as is idle": (books(FORTY, SIXTY, forty=40, sixty=55), "forty", 5, BORROWS),
    "more than is idle": (books(FORTY, SIXTY, forty=40, sixty=55), "forty", 6, NOTHING),
    "own, though all is lent: its stops make room": (
        books(FORTY, SIXTY, forty=60, sixty=40),
        "sixty",
        1,
        INSIDE,
    ),
    "as much as the other lends": (books(team("a", H100=(40, ALL, ALL)), KEEPS), "a", 65, BORROWS),
    "more than the other lends": (books(team("a", H100=(40, ALL, ALL)), KEEPS), "a", 66, NOTHING),
    "what the lender keeps and uses": (
        books(team("a", H100=(40, ALL, ALL)), KEEPS, keeps=30),
        "a",
        65,
        BORROWS,
    ),
    "a type without shares": (Books([FORTY], {"L4": 8}), "forty", 8, INSIDE),
    "no teams at all": (Books([], {H: 8}), "anybody", 999, INSIDE),
    "a team that nobody knows": (books(FORTY, SIXTY), "ghosts", 100, BORROWS),
    "a team that nobody knows, with nothing idle": (
        books(FORTY, SIXTY, forty=40, sixty=60),
        "ghosts",
        1,
        NOTHING,
    ),
    "a team without a share beside one with": (books(FORTY, team("none")), "none", 100, BORROWS),
    "nothing usable": (books(FORTY, SIXTY, capacity=0), "forty", 41, NOTHING),
    "capacity that is down shrinks no nominal": (books(FORTY, SIXTY, capacity=50), "sixty", 60, INSIDE),
}


@pytest.mark.parametrize("what", CASES)
def test_a_start_is_inside_or_borrows_or_waits(what: str) -> None:
    kept, name, gpus, standing = CASES[what]
    kind = "L4" if what == "a type without shares" else H
    assert kept.standing(name, kind, gpus) is standing
    assert kept.standing(name, kind, gpus).starts is (standing in (INSIDE, BORROWS))


def deep(*, org: int, borrow: int | None = 0) -> tuple[Team, ...]:
    """org has vision and text; depth is below vision and has no share of its own."""
    return (
        team("org", H100=(org, borrow, ALL)),
        team("vision", "org", H100=(16, ALL, ALL)),
        team("text", "org", H100=(16, ALL, ALL)),
        team("depth", "vision"),
    )


def test_a_level_above_limits_and_counts_everything_below_it() -> None:
    kept = books(*deep(org=32), depth=16, text=8)
    assert kept.held("vision", H) == 16
    assert kept.held("org", H) == kept.held("", H) == 24
    assert kept.standing("vision", H, 8) is BORROWS
    assert kept.standing("vision", H, 9) is LIMIT


def test_a_team_without_a_share_lives_on_the_share_above() -> None:
    kept = books(*deep(org=32), depth=12)
    assert kept.room("depth", H) == 4
    assert kept.standing("depth", H, 4) is INSIDE
    assert kept.standing("depth", H, 5) is BORROWS


def test_a_level_above_does_not_use_itself_what_it_promised_below() -> None:
    kept = books(*deep(org=40))
    assert kept.standing("org", H, 8) is INSIDE
    assert kept.standing("org", H, 9) is BORROWS


def test_what_a_team_below_borrows_of_it_is_still_its_own() -> None:
    """Vision borrowed the 8 that org promised to nobody: org itself may have them back."""
    kept = books(*deep(org=40, borrow=ALL), vision=24)
    assert kept.room("org", H) == 8
    assert kept.stays_inside("org", H, 8, "org")
    assert not kept.stays_inside("org", H, 9, "org")
    assert kept.over("vision", H, "org") == 8
    assert books(*deep(org=40, borrow=ALL), vision=24, org=8).over("org", H, "org") == 0


def test_given_back_is_as_if_never_taken() -> None:
    kept = books(*deep(org=32), text=20)
    kept.give("text", H, 20)
    fresh = books(*deep(org=32))
    assert counts(kept, H) == counts(fresh, H)


def counts(kept: Books, kind: str) -> list[object]:
    """All counts of a page."""
    page = kept.page(kind)
    return [page.held, page.itself, page.kept_below, page.promised_below]


def test_a_copy_leaves_the_books_as_they_are() -> None:
    kept = books(*deep(org=32), ghosts=1)
    other = kept.copy()
    other.take("text", H, 4)
    other.take("ghosts", H, 4)
    assert (kept.held("text", H), kept.held("ghosts", H)) == (0, 1)
    assert (other.held("text", H), other.held("ghosts", H)) == (4, 5)


def test_running_work_is_counted_by_team_and_type() -> None:
    runs = [
        Running(1, "vision", Tier.STANDARD, H, (Seat(1, (0, 1)), Seat(2, (0,))), Request(3), 0.0),
        Running(2, "vision", Tier.STANDARD, A, (Seat(3, (0,)),), Request(1), 0.0),
        Running(3, "ghosts", Tier.STANDARD, H, (Seat(4, (0, 1)),), Request(2), 0.0),
    ]
    kept = Books(deep(org=32), {H: 40, A: 8}, runs)
    held = [kept.held(name, kind) for name, kind in [("vision", H), ("vision", A), ("ghosts", H), ("", H)]]
    assert held == [3, 1, 2, 5]


def test_one_that_lends_nothing_finds_its_own_idle_even_when_an_owner_comes_back() -> None:
    """Z borrowed from Y; what X keeps is free, but it is not for Y: Y takes its own back from Z."""
    teams = [team("x", H100=(8, 0, 0)), team("y", H100=(8, 0, ALL)), team("z", H100=(0, ALL, ALL))]
    kept = books(*teams, capacity=16, z=8)
    assert kept.standing("y", H, 8) is NOTHING
    assert kept.owed("y", H, 8)
    kept.give("z", H, 8)
    assert kept.standing("y", H, 8) is INSIDE


def test_what_one_keeps_is_not_for_an_owner_whose_own_its_sister_borrowed() -> None:
    """Depth holds all that org owns. That is not above org's nominal yet, but with speech, which lives on it, it would be."""
    teams = [
        *(team("org", H100=(8, ALL, ALL)), team("depth", "org", H100=(4, ALL, 2)), team("speech", "org")),
        team("ops", H100=(8, ALL, 0)),
    ]
    kept = books(*teams, capacity=16, depth=8)
    assert kept.standing("speech", H, 2) is NOTHING
    assert kept.owed("speech", H, 2)
    assert wall(kept, "speech", H, 2).at == ""  # type: ignore[union-attr]  # a wall, as seen above
    kept.give("depth", H, 2)
    assert kept.standing("speech", H, 2) is INSIDE


def test_owners_share_what_is_left_when_capacity_is_down_and_nobody_borrows() -> None:
    teams = [team("x", H100=(8, 0, 0)), team("y", H100=(8, 0, ALL))]
    kept = books(*teams, capacity=12)
    assert kept.standing("y", H, 8) is INSIDE
    assert (kept.promised(H), kept.capacity[H]) == (16, 12)


def test_what_would_not_come_back_in_time_takes_nothing_that_was_promised() -> None:
    teams = [team("a", H100=(8, ALL, ALL)), team("b", H100=(8, ALL, ALL))]
    kept = books(*teams, capacity=20, a=8)
    assert kept.standing("a", H, 5) is BORROWS
    assert kept.standing("a", H, 4, returns=False) is BORROWS  # 20 exist, 16 are promised
    assert kept.standing("a", H, 5, returns=False) is NOTHING
    assert kept.standing("b", H, 8, returns=False) is INSIDE


def test_what_would_not_come_back_leaves_the_limit_above_to_the_sister() -> None:
    """A parent at its borrow limit could not serve the sister's own nominal."""
    kept = books(*deep(org=32), vision=16)
    assert kept.standing("vision", H, 1) is BORROWS
    assert kept.standing("vision", H, 1, returns=False) is NOTHING


def test_the_wall_says_which_level_is_at_its_limit() -> None:
    kept = books(*deep(org=32, borrow=8), vision=30, text=8)
    assert wall(kept, "depth", H, 4) == Wall(LIMIT, "org", "org", 38, 32, 8, spare=2, short=2, owed=False)
    assert wall(kept, "depth", H, 4).borrowed == 6  # type: ignore[union-attr]  # a wall, as seen above
    assert wall(kept, "depth", H, 2) is None


def test_the_wall_says_when_a_sister_borrowed_what_is_owed() -> None:
    found = wall(books(*deep(org=32), vision=28), "text", H, 8)
    assert found == Wall(LIMIT, "org", "org", 28, 32, 0, spare=4, short=4, owed=True)


def test_the_wall_says_what_is_left_to_borrow_and_who_has_idle_ones() -> None:
    teams = [team("a", H100=(40, ALL, ALL)), KEEPS]
    kept = books(*teams, a=60, keeps=20)
    assert wall(kept, "a", H, 8) == Wall(NOTHING, "a", "", 60, 40, None, spare=5, short=3, owed=False)
    assert lenders(kept, H) == (Lender("keeps", idle=40, lends=25),)
    assert lenders(books(*teams, keeps=55), H) == (Lender("a", 40, 40), Lender("keeps", idle=5, lends=5))
    assert wall(kept, "ghosts", H, 8) == Wall(NOTHING, "ghosts", "", 0, 0, None, spare=5, short=3, owed=False)


def test_the_wall_names_the_team_inside_which_a_sister_keeps_its_own() -> None:
    teams = [
        team("org", H100=(32, 0, ALL)),
        team("x", "org", H100=(16, 0, 0)),
        team("y", "org", H100=(16, ALL, ALL)),
    ]
    kept = books(*teams, y=16)
    assert wall(kept, "y", H, 1) == Wall(NOTHING, "y", "org", 16, 16, None, spare=0, short=1, owed=False)
    assert lenders(kept, H, "org") == (Lender("x", idle=16, lends=0),)


OVER = {
    "a team at its nominal": ({"vision": 16}, "vision", None, 0),
    "a team above its nominal while the level above is inside": ({"vision": 20}, "vision", None, 0),
    "the same, asked by its sister": ({"vision": 20}, "vision", "org", 4),
    "a team and the level above over": ({"vision": 20, "text": 14}, "vision", None, 2),
    "the team inside while the level above is over": ({"vision": 20, "text": 14}, "text", None, 0),
    "a team that nobody knows holds nothing of its own": ({"ghosts": 7}, "ghosts", None, 7),
    "a team without a share inside the share above": ({"depth": 12}, "depth", "vision", 0),
    "a team without a share above the share above": ({"depth": 20}, "depth", "org", 4),
    "the level above uses what it promised below": ({"org": 4}, "org", "org", 4),
}


@pytest.mark.parametrize("what", OVER)
def test_work_is_above_nominal_at_each_level_up_to_where_the_teams_meet(what: str) -> None:
    held, name, below, over = OVER[what]
    assert books(*deep(org=32, borrow=ALL), **held).over(name, H, below) == over


def test_without_shares_nobody_is_above_nominal() -> None:
    assert books(team("a"), a=50, ghosts=5).over("a", H) == 0
    assert books(team("a"), ghosts=5).over("ghosts", H) == 0


def test_who_asks_must_stay_inside_at_each_level_up_to_where_the_teams_meet() -> None:
    kept = books(*deep(org=32, borrow=ALL), vision=28)
    assert kept.stays_inside("text", H, 8, "org")
    assert kept.stays_inside("text", H, 4)
    assert not kept.stays_inside("text", H, 5)  # the level above would borrow from others
    assert not kept.stays_inside("text", H, 17, "org")


def test_teams_meet_at_the_lowest_team_of_both() -> None:
    kept = books(*deep(org=32), team("other"))
    pairs = [("depth", "text"), ("depth", "vision"), ("text", "text"), ("text", "other"), ("text", "ghosts")]
    assert [kept.meeting(*pair) for pair in pairs] == ["org", "vision", "text", None, None]


MOST = {
    "the borrow limit": ([FORTY, SIXTY], "forty", 60),
    "all but what others keep": ([team("a", H100=(40, ALL, ALL)), KEEPS], "a", 65),
    "the own nominal, whatever others keep": (
        [team("a", H100=(60, 0, 0)), team("b", H100=(60, 0, 0))],
        "a",
        60,
    ),
    "the limit of a level above": ([*deep(org=32)], "depth", 32),
    "what exists": ([FORTY], "ghosts", 100),
    "what exists, of a type without shares": ([team("a")], "a", 100),
    "no more than what exists": ([team("a", H100=(120, 0, ALL))], "a", 100),
}


@pytest.mark.parametrize("what", MOST)
def test_the_most_a_team_could_ever_hold(what: str) -> None:
    teams, name, most = MOST[what]
    busy = books(*teams, ghosts=100)  # what others hold now does not count
    assert busy.most(name, H, 100) == most


def test_the_most_of_what_would_not_come_back_leaves_out_all_that_was_promised() -> None:
    assert books(FORTY, SIXTY).most("forty", H, 110, returns=False) == 50


WRONG = {
    "a team above that is missing": [Team("vision", "org")],
    "a circle of teams": [Team("a", "b"), Team("b", "a")],
    "a team above itself": [Team("a", "a")],
    "two teams of one name": [Team("a"), Team("a")],
}


@pytest.mark.parametrize("what", WRONG)
def test_a_tree_that_makes_no_sense_is_refused(what: str) -> None:
    with pytest.raises(ValueError, match="team tree"):
        Lineage(WRONG[what])


def test_a_tree_may_be_deep_and_come_in_any_order() -> None:
    chain = [team(f"t{n}", f"t{n - 1}" if n else None, H100=(1, ALL, ALL)) for n in range(500)]
    kept = books(*reversed(chain), t499=2)
    assert kept.held("t0", H) == 2
    assert kept.standing("t499", H, 1) is BORROWS


def test_what_may_not_be_stopped_has_of_its_own_what_other_work_of_its_team_holds() -> None:
    """Eight of eight are held by work that would be back in time: that is what borrows from then on."""
    soft = [run(1, [seat(1, "01234567")], team="own")]
    teams = [team("own", H100=(8, None, None)), team("other", H100=(8, None, None))]
    kept = Books(teams, {H: 16}, soft, returning=lambda run: run.preemptible)

    def standing(gpus: int) -> Standing:
        return kept.standing("own", H, gpus, returns=False, firm=True)

    assert standing(8) is BORROWS
    assert kept.standing("own", H, 8, returns=False) is NOTHING  # it may be stopped, but no more today
    kept.take("own", H, 4)  # a firm one starts
    assert standing(4) is BORROWS
    assert standing(5) is NOTHING  # more than its nominal would not come back
    assert kept.copy().standing("own", H, 4, returns=False, firm=True) is BORROWS
    kept.take("other", H, 4, returns=True)
    assert standing(4) is NOTHING  # nobody lends so much to the work beside it
    kept.gone(soft[0])
    assert standing(4) is INSIDE
    kept.stays(soft[0])
    assert standing(4) is NOTHING

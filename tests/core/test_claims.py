"""Properties of the books: claims as worked out from scratch, and limits that no sequence of starts breaks."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.lineage import ENDLESS
from scheduler.core.model import Share, Team
from scheduler.core.quota import Books, Standing

H = "H100"
NAMES = ("a", "b", "c", "d", "e", "f")
ASKERS = (*NAMES, "ghosts")
amounts = st.one_of(st.none(), st.integers(0, 6))


@st.composite
def trees(draw: st.DrawFn) -> tuple[Team, ...]:
    """Up to six teams, each below one before it or at the top, some without a share."""
    teams = []
    for number in range(draw(st.integers(1, len(NAMES)))):
        above = draw(st.sampled_from([None, *NAMES[:number]]))
        share = draw(st.none() | st.builds(Share, st.integers(0, 8), amounts, amounts))
        teams.append(Team(NAMES[number], above, {H: share} if share else {}))
    return tuple(teams)


class Brute:
    """The same questions, answered by walking the whole tree each time."""

    def __init__(self, teams: tuple[Team, ...], capacity: int, held: dict[str, int]) -> None:
        self.teams = {team.name: team for team in teams}
        self.capacity = capacity
        self.direct = held  # by the team itself

    def below(self, name: str | None) -> Iterator[Team]:
        return (team for team in self.teams.values() if team.parent == name)

    def held(self, name: str) -> int:
        return self.direct.get(name, 0) + sum(self.held(team.name) for team in self.below(name))

    def claim(self, name: str, *, keeps_all: bool) -> int:
        share = self.teams[name].quota.get(H)
        floor = 0
        if share:
            floor = (
                share.nominal
                if keeps_all
                else share.nominal - (share.nominal if share.lend is None else share.lend)
            )
        below = sum(self.claim(team.name, keeps_all=keeps_all) for team in self.below(name))
        return max(self.direct.get(name, 0) + below, floor, 0)

    def claims(self, *, keeps_all: bool) -> int:
        strangers = sum(gpus for name, gpus in self.direct.items() if name not in self.teams)
        return strangers + sum(self.claim(team.name, keeps_all=keeps_all) for team in self.below(None))

    def ceiling(self, name: str) -> int:
        share = self.teams[name].quota.get(H)
        return ENDLESS if share is None or share.borrow is None else share.nominal + share.borrow

    def path(self, name: str | None) -> list[str]:
        path = []
        while name in self.teams:
            path.append(name)
            name = self.teams[name].parent
        return path

    def with_more(self, name: str, gpus: int) -> "Brute":
        more = {**self.direct, name: self.direct.get(name, 0) + gpus}
        return Brute(tuple(self.teams.values()), self.capacity, more)

    def fits(self, name: str, *, keeps_all: bool) -> bool:
        """No claim above its ceiling from the team up, and together they fit into the capacity."""
        inside = all(self.claim(one, keeps_all=keeps_all) <= self.ceiling(one) for one in self.path(name))
        return inside and self.claims(keeps_all=keeps_all) <= self.capacity

    def in_limits(self, name: str) -> bool:
        return all(self.held(one) <= self.ceiling(one) for one in self.path(name))

    def own(self, name: str) -> str | None:
        return next((one for one in self.path(name) if H in self.teams[one].quota), None)

    def inside(self, name: str) -> bool:
        """What those hold who live on the same share is within what of it was promised to nobody below."""
        own = self.own(name)
        if own is None:
            return False
        empty = Brute(tuple(self.teams.values()), self.capacity, {})
        below = sum(empty.claim(team.name, keeps_all=True) for team in self.below(own))
        held = sum(gpus for one, gpus in self.direct.items() if self.own(one) == own)
        return held <= self.teams[own].quota[H].nominal - below


worlds = st.tuples(
    trees(), st.integers(0, 24), st.lists(st.tuples(st.sampled_from(ASKERS), st.integers(1, 6)))
)


def opened(teams: tuple[Team, ...], capacity: int, takes: list[tuple[str, int]]) -> tuple[Books, Brute]:
    """Books in which everybody simply took, allowed or not: limits change while work runs."""
    books, held = Books(teams, {H: capacity}), dict[str, int]()
    for name, gpus in takes:
        books.take(name, H, gpus)
        held[name] = held.get(name, 0) + gpus
    return books, Brute(teams, capacity, held)


@settings(max_examples=2000, deadline=None)
@given(worlds, st.sampled_from(ASKERS), st.integers(1, 8), st.booleans())
def test_standing_is_what_walking_the_whole_tree_says(
    world: tuple[tuple[Team, ...], int, list[tuple[str, int]]], name: str, gpus: int, returns: bool
) -> None:
    books, brute = opened(*world)
    after = brute.with_more(name, gpus)
    standing = books.standing(name, H, gpus, returns=returns)
    if not any(team.quota for team in world[0]):
        assert standing is Standing.INSIDE
    elif not after.in_limits(name):
        assert standing is Standing.LIMIT
    elif after.inside(name):
        assert standing in (Standing.INSIDE, Standing.NOTHING)
        assert books.owed(name, H, gpus)
        if after.fits(name, keeps_all=False):
            assert standing is Standing.INSIDE
    else:
        fits = after.fits(name, keeps_all=not returns)
        assert standing is (Standing.BORROWS if fits else Standing.NOTHING)
        assert not books.owed(name, H, gpus)


@settings(max_examples=2000, deadline=None)
@given(worlds)
def test_no_sequence_of_starts_breaks_a_limit_or_uses_what_others_keep(
    world: tuple[tuple[Team, ...], int, list[tuple[str, int]]],
) -> None:
    """Whatever was taken: limits hold at each level, and who borrows leaves idle what others keep."""
    teams, capacity, asked = world
    books, brute = Books(teams, {H: capacity}), Brute(teams, capacity, {})
    for name, gpus in asked:
        if books.held("", H) + gpus > capacity or not books.standing(name, H, gpus).starts:
            continue  # the places are taken, or quota says no
        books.take(name, H, gpus)
        brute = brute.with_more(name, gpus)
        if not any(team.quota for team in teams):
            continue
        assert all(brute.held(team.name) <= brute.ceiling(team.name) for team in teams)
        promised = Brute(teams, capacity, {}).claims(keeps_all=True)
        if brute.claims(keeps_all=True) > promised:  # somebody borrows
            assert brute.claims(keeps_all=False) <= capacity


@settings(max_examples=500, deadline=None)
@given(worlds, st.sampled_from(ASKERS), st.integers(1, 6))
def test_giving_back_undoes_taking(
    world: tuple[tuple[Team, ...], int, list[tuple[str, int]]], name: str, gpus: int
) -> None:
    books, _ = opened(*world)
    before = books.copy()
    books.take(name, H, gpus)
    books.give(name, H, gpus)
    ours, theirs = books.page(H), before.page(H)
    assert (ours.held, ours.kept_below, ours.promised_below) == (
        theirs.held,
        theirs.kept_below,
        theirs.promised_below,
    )


@settings(max_examples=500, deadline=None)
@given(worlds, st.sampled_from(ASKERS), st.integers(1, 6))
def test_giving_back_never_makes_a_start_of_another_worse(
    world: tuple[tuple[Team, ...], int, list[tuple[str, int]]], name: str, gpus: int
) -> None:
    books, brute = opened(*world)
    givers = [one for one, held in brute.direct.items() if held]
    could = books.standing(name, H, gpus).starts
    for giver in givers:
        books.give(giver, H, 1)
    assert books.standing(name, H, gpus).starts or not could


@settings(max_examples=500, deadline=None)
@given(worlds, st.sampled_from(ASKERS), st.sampled_from(ASKERS))
def test_who_gives_back_what_it_holds_above_nominal_is_above_it_no_more(
    world: tuple[tuple[Team, ...], int, list[tuple[str, int]]], victim: str, asker: str
) -> None:
    books, brute = opened(*world)
    below = books.meeting(victim, asker)
    over = min(books.over(victim, H, below), brute.direct.get(victim, 0))
    if over == books.over(victim, H, below):  # the team itself holds it, not a team below it
        books.give(victim, H, over)
        assert books.over(victim, H, below) == 0

"""The arithmetic of claims: what teams hold of one GPU type, and how much more each may have.

A claim is what a team takes out of the pot of the level above it, idle or not:

    claim = max(what it holds itself + the claims of the teams below it, the floor of its own nominal)

With the floor at nominal - lend it leaves idle what nobody may borrow. With the floor at nominal it
leaves idle all that was promised: what then still fits can stay for as long as it likes.
"""

from collections import Counter

from scheduler.core.lineage import CLUSTER, ENDLESS, NO_SHARE, Path, Terms


class Ledger:
    """Counts for one GPU type, kept at every level of the team tree."""

    __slots__ = ("capacity", "held", "itself", "kept_below", "loose", "promised_below", "terms")

    def __init__(self, terms: Terms, capacity: int) -> None:
        self.terms = terms
        self.capacity = capacity
        self.held = [0] * len(terms.nominal)  # by the level and all teams below it
        self.itself = self.held.copy()  # by those who live on this level's share: no share stands between
        self.kept_below = terms.kept_below.copy()  # what it holds itself + the claims of those below
        self.promised_below = terms.promised_below.copy()
        self.loose: Counter[str] = Counter()  # held by teams that are not in the tree

    def copy(self) -> "Ledger":
        """The same counts, to try something out."""
        other = Ledger.__new__(Ledger)
        other.terms, other.capacity = self.terms, self.capacity
        other.held, other.itself = self.held.copy(), self.itself.copy()
        other.kept_below, other.promised_below = self.kept_below.copy(), self.promised_below.copy()
        other.loose = self.loose.copy()
        return other

    def add(self, path: Path, gpus: int) -> None:
        """Count so many more (or fewer) for the first of the path and all above it."""
        for place in path:
            self.held[place] += gpus
        self.itself[self.terms.own[path[0]]] += gpus
        _climb(path, gpus, self.kept_below, self.terms.kept)
        _climb(path, gpus, self.promised_below, self.terms.promised)

    def arrivals(self, path: Path, gpus: int) -> list[tuple[int, int]]:
        """How much so many more for the first of the path would add at each level: kept, and promised."""
        return list(
            zip(
                _arrivals(path, gpus, self.kept_below, self.terms.kept),
                _arrivals(path, gpus, self.promised_below, self.terms.promised),
                strict=True,
            )
        )

    def arrive(self, path: Path, gpus: int, claims: tuple[int, int]) -> None:
        """Count for a level and all above it what comes from somewhere below: GPUs, and what arrives of claims."""
        for place in path:
            self.held[place] += gpus
        _climb(path, claims[0], self.kept_below, self.terms.kept)
        _climb(path, claims[1], self.promised_below, self.terms.promised)

    def room(self, path: Path) -> int:
        """How many more are inside nominal: of the lowest level with a share, less what it promised below.

        What a team below borrows of it is lent like all that is lent: its owner may have it back.
        """
        if not self.terms.shared:
            return ENDLESS
        own = self.terms.own[path[0]]
        return 0 if own == CLUSTER else self.terms.inside(own) - self.itself[own]

    def headroom(self, path: Path) -> int:
        """How many more until the borrow limit of some level is reached."""
        limit, held = self.terms.limit, self.held
        return min(limit[place] - held[place] for place in path)

    def to_borrow(self, path: Path, *, returns: bool) -> int:
        """How many more leave idle, at each level, what others keep (or, unless it returns, were promised)."""
        if returns:
            return _spare(path, self.kept_below, self.terms.kept, self.ceilings(path))
        return _spare(path, self.promised_below, self.terms.promised, self.ceilings(path))

    def to_own(self, path: Path) -> int:
        """How many more inside nominal leave idle what others keep.

        Where nobody borrows, claims above the ceiling come from capacity that is down: no reason to wait.
        """
        spare, kept_idle, promised_idle = ENDLESS, 0, 0
        for place, ceiling in zip(path, self.ceilings(path), strict=True):
            claim = max(self.kept_below[place], self.terms.kept[place])
            kept_idle += claim - self.kept_below[place]
            most = max(0, ceiling - claim) + kept_idle
            unlent = self.unlent(place)
            if unlent >= 0:
                most = max(most, unlent + promised_idle)
            promised_idle += max(0, self.terms.promised[place] - self.promised_below[place])
            spare = min(spare, most)
        return spare

    def unlent(self, place: int) -> int:
        """How far claims of this level and below may grow before somebody there must have borrowed; below 0: has."""
        terms = self.terms
        return max(terms.promised_below[place], terms.promised[place]) - self.promised_below[place]

    def over(self, path: Path, until: int) -> int:
        """How many the first of the path holds above nominal, at each level below `until`; 0 = none."""
        terms, own = self.terms, self.terms.own[path[0]]
        if own == CLUSTER:
            return self.held[path[0]] if terms.shared else 0
        least = min(self.held[path[0]], self.itself[own] - terms.inside(own))
        for place in path:
            if place == until:
                break
            if terms.nominal[place] != NO_SHARE:
                least = min(least, self.held[place] - terms.nominal[place])
        return max(0, least)

    def bounds(self, place: int) -> tuple[bool, ...]:
        """All that the rules ask of one level, with everything on the books that they are asked about.

        Who could start keeps that as long as none of these gives way on his path: sums that only stay inside
        the same bounds change nothing. (Full is one of them: kept places matter only while there is room.)
        """
        terms, held = self.terms, self.held[place]
        ceiling = self.capacity if place == CLUSTER else terms.limit[place]
        kept, promised = self.kept_below[place], self.promised_below[place]
        return (
            held <= terms.limit[place],
            held > self.capacity,
            kept <= ceiling >= terms.kept[place],
            promised <= ceiling >= terms.promised[place],
            kept <= terms.kept[place],
            self.unlent(place) >= 0,
            self.itself[place] <= terms.inside(place),
        )

    def ceilings(self, path: Path) -> list[int]:
        """Where the claims of each level end: at its borrow limit, at the top at the capacity."""
        return _ceilings(path, self.terms, self.capacity)


def most(path: Path, terms: Terms, capacity: int, *, returns: bool) -> int:
    """The most that a team could ever hold: while nobody else holds anything."""
    own = terms.own[path[0]]
    inside = terms.inside(own) if own != CLUSTER else 0
    below, floors = terms.kept_below, terms.kept
    if not returns:
        below, floors = terms.promised_below, terms.promised
    lent = _spare(path, below, floors, _ceilings(path, terms, capacity))
    return max(0, min(capacity, max(inside, lent), *(terms.limit[place] for place in path)))


def _ceilings(path: Path, terms: Terms, capacity: int) -> list[int]:
    return [capacity if place == CLUSTER else terms.limit[place] for place in path]


def _climb(path: Path, gpus: int, below: list[int], floors: list[int]) -> None:
    """A claim grows only by what goes above its floor; where it does not grow, nothing changes further up."""
    for place in path:
        had, floor = below[place], floors[place]
        now = below[place] = had + gpus
        gpus = (now if now > floor else floor) - (had if had > floor else floor)
        if not gpus:
            return


def _arrivals(path: Path, gpus: int, below: list[int], floors: list[int]) -> list[int]:
    """What would arrive at each level of the path, were so many more counted for the first of it."""
    found: list[int] = []
    for place in path:
        found.append(gpus)
        had, floor = below[place], floors[place]
        gpus = max(had + gpus, floor) - max(had, floor)
    return found


def _spare(path: Path, below: list[int], floors: list[int], ceilings: list[int]) -> int:
    """How much the first of the path can grow with every claim staying under its ceiling."""
    spare = ENDLESS
    for place, ceiling in zip(reversed(path), reversed(ceilings), strict=True):
        left = ceiling - max(below[place], floors[place])
        if left < 0:
            return 0  # this level has been promised more than there is: nothing to borrow
        idle = max(0, floors[place] - below[place])  # its claim does not grow until its floor is reached
        spare = min(spare, left) + idle
    return spare

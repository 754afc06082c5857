"""Which level of the team tree keeps a team from holding more, and with which figures."""

from dataclasses import dataclass

from scheduler.core.lineage import CLUSTER
from scheduler.core.quota import Books, Standing


@dataclass(frozen=True, slots=True)
class Wall:
    """The figures of the level that stands in the way, and how much is missing."""

    standing: Standing  # LIMIT or NOTHING
    level: str  # whose figures these are: the level at its limit, or the one that promises to the team
    at: str  # the team inside which nothing is left; "" = the whole cluster
    held: int  # by the level
    nominal: int
    borrow: int | None  # its borrow limit; None = no limit
    spare: int  # so many the team could have now
    short: int  # so many must first be given back
    owed: bool  # inside its nominal: it may take back what others borrowed

    @property
    def borrowed(self) -> int:
        """How far above nominal the level is."""
        return max(0, self.held - self.nominal)


@dataclass(frozen=True, slots=True)
class Lender:
    """A team that does not use all of its nominal."""

    team: str
    idle: int
    lends: int  # so many of the idle ones others may use, or use already


def wall(books: Books, team: str, kind: str, gpus: int, *, returns: bool = True) -> Wall | None:
    """What keeps the team from holding so many more; None = it may start."""
    standing = books.standing(team, kind, gpus, returns=returns)
    if standing.starts:
        return None
    level, at, spare = _limit(books, team, kind, gpus)
    if standing is Standing.NOTHING:
        level, at, spare = _nothing(books, team, kind, gpus, returns=returns)
    known = books.lineage.teams[level]
    share = known.quota.get(kind) if known else None
    name = known.name if known else team
    return Wall(
        standing=standing,
        level=name,
        at=books.lineage.name(at),
        held=books.held(name, kind),
        nominal=share.nominal if share else 0,
        borrow=share.borrow if share else None,
        spare=max(0, spare),
        short=gpus - max(0, spare),
        owed=books.owed(team, kind, gpus),
    )


def lenders(books: Books, kind: str, level: str = "") -> tuple[Lender, ...]:
    """Who right below this level has idle nominal, by name; "" = below the whole cluster."""
    found = []
    for team in books.lineage.below(level):
        share = team.quota.get(kind)
        idle = max(0, share.nominal - books.held(team.name, kind)) if share else 0
        if share and idle:
            found.append(Lender(team.name, idle, idle if share.lend is None else min(idle, share.lend)))
    return tuple(found)


def _limit(books: Books, team: str, kind: str, gpus: int) -> tuple[int, int, int]:
    page, path = books.page(kind), books.lineage.path(team)
    reached = (place for place in path if page.held[place] + gpus > page.terms.limit[place])
    place = next(reached, CLUSTER)
    return place, place, page.headroom(path)


def _nothing(books: Books, team: str, kind: str, gpus: int, *, returns: bool) -> tuple[int, int, int]:
    """The lowest level inside which there is too little: with fewer levels above, more would be left."""
    page, path = books.page(kind), books.lineage.path(team)
    inside = gpus <= page.room(path)
    parts = [path[:end] for end in range(1, len(path) + 1)]
    spares = [page.to_own(part) if inside else page.to_borrow(part, returns=returns) for part in parts]
    at = next(place for place, spare in zip(path, spares, strict=True) if spare < gpus)
    return page.terms.own[path[0]], at, spares[-1]

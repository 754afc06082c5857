"""What teams hold against what they may hold, at every level of the team tree."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

from scheduler.core.ledger import Ledger, most
from scheduler.core.lineage import CLUSTER, NO_SHARE, Lineage
from scheduler.core.model import Running, Team

Holding = tuple[str, int, bool]  # a team, GPUs, and whether they would be back within the promise


class Standing(Enum):
    """What a start would be for its team: only the first two may start."""

    INSIDE = "inside"  # its own nominal, or there are no limits
    BORROWS = "borrows"  # above nominal, on what others leave idle and lend
    LIMIT = "limit"  # nominal + borrow of some level is reached
    NOTHING = "nothing"  # nobody lends so much

    @property
    def starts(self) -> bool:
        """Whether quota lets it start now."""
        return self in (Standing.INSIDE, Standing.BORROWS)


class Books:
    """GPUs held by team and type, each counted for the team and for all teams above it."""

    def __init__(
        self,
        teams: Iterable[Team] | Lineage,
        capacity: Mapping[str, int],
        running: Iterable[Running] = (),
        outside: Mapping[int, int] | None = None,
        *,
        returning: Callable[[Running], bool] | None = None,
    ) -> None:
        """`outside`: GPUs that a run holds where nothing new may start, by job. They count while it runs.

        `returning` says of which runs a loan would be back within the promise; nobody's where it is not told.
        """
        self.lineage = teams if isinstance(teams, Lineage) else Lineage(teams)
        self.capacity = dict(capacity)  # GPUs by type that are usable, or still held
        self._outside, self._returning = outside or {}, returning
        self.version = 0  # grows with every change
        self._pages: dict[str, Ledger] = {}
        self._lasting: dict[str, Ledger] = {}  # the same without what would be back within the promise
        self._standings: dict[tuple[str, str, int, bool, bool], Standing] = {}
        self._then = 0  # the version that those are of
        held: Counter[tuple[str, str, bool]] = Counter()
        for run in running:
            held[run.team, run.gpu_type, self.returns(run)] += run.gpus
            if run.job in self._outside:
                self.capacity[run.gpu_type] = self.capacity.get(run.gpu_type, 0) + self._outside[run.job]
        for (team, kind, returns), gpus in held.items():
            self.take(team, kind, gpus, returns=returns)

    def copy(self) -> "Books":
        """The same books, to try something out."""
        other = Books(self.lineage, self.capacity, outside=self._outside, returning=self._returning)
        other.version = self.version
        other._pages = {kind: page.copy() for kind, page in self._pages.items()}
        other._lasting = {kind: page.copy() for kind, page in self._lasting.items()}
        return other

    def only(self, kind: str) -> "Books":
        """A copy that knows of one GPU type."""
        other = Books(self.lineage, self.capacity, outside=self._outside, returning=self._returning)
        other._pages = {kind: self.page(kind).copy()}
        other._lasting = {kind: self.lasting(kind).copy()}
        return other

    def page(self, kind: str) -> Ledger:
        """The counts of one GPU type."""
        if kind not in self._pages:
            self._pages[kind] = Ledger(self.lineage.terms(kind), self.capacity.get(kind, 0))
        return self._pages[kind]

    def take(self, team: str, kind: str, gpus: int, *, returns: bool = False) -> None:
        """Count what a run holds, or what a start of this plan will hold; `returns`: it would be back in time."""
        self.page(kind).add(self.lineage.path(team), gpus)
        if team not in self.lineage:
            self.page(kind).loose[team] += gpus
        if not returns:
            self.lasting(kind).add(self.lineage.path(team), gpus)
        self.version += 1

    def give(self, team: str, kind: str, gpus: int, *, returns: bool = False) -> None:
        """Count what a run gives back."""
        self.take(team, kind, -gpus, returns=returns)

    def gone(self, run: Running) -> None:
        """Count that a run has gone; what it held where nothing new may start is nobody's then."""
        self.give(run.team, run.gpu_type, run.gpus, returns=self.returns(run))
        self.shrink(run.gpu_type, self.outside(run))

    def stays(self, run: Running) -> None:
        """Count that it has not gone after all."""
        self.take(run.team, run.gpu_type, run.gpus, returns=self.returns(run))
        self.shrink(run.gpu_type, -self.outside(run))

    def returns(self, run: Running) -> bool:
        """Whether what it holds would be back within the promise."""
        return self._returning is not None and self._returning(run)

    def outside(self, run: Running) -> int:
        """GPUs that it holds where nothing new may start."""
        return self._outside.get(run.job, 0)

    def shrink(self, kind: str, gpus: int) -> None:
        """So many GPUs of a type are nobody's any more."""
        if gpus:
            self.page(kind).capacity -= gpus
            self.lasting(kind).capacity -= gpus

    def lasting(self, kind: str) -> Ledger:
        """The same without what would be back within the promise."""
        if kind not in self._lasting:
            self._lasting[kind] = Ledger(self.lineage.terms(kind), self.page(kind).capacity)
        return self._lasting[kind]

    def held(self, team: str, kind: str) -> int:
        """What a team holds, with all teams below it; "" = the whole cluster."""
        page = self.page(kind)
        known = not team or team in self.lineage
        return page.held[self.lineage.path(team)[0]] if known else page.loose[team]

    def room(self, team: str, kind: str) -> int:
        """How many more GPUs are inside the team's nominal; below 0 where it borrows."""
        return self.page(kind).room(self.lineage.path(team))

    def owed(self, team: str, kind: str, gpus: int) -> bool:
        """Whether these are the team's own: then it may take back what others borrowed."""
        return gpus <= self.room(team, kind)

    def standing(
        self, team: str, kind: str, gpus: int, *, returns: bool = True, firm: bool = False
    ) -> Standing:
        """What a start with so many GPUs would be.

        `returns` says that a loan would be back within the promise (promise.may_lend); one that would
        not is given only what nobody was promised. `firm`: it may not be stopped at all. Then it may also have
        of its team's own what other work of the team holds: it is that work which borrows, and it will be back.
        """
        if self._then != self.version:
            self._standings.clear()
            self._then = self.version
        key = (team, kind, gpus, returns, firm)
        standing = self._standings.get(key)
        if standing is None:
            standing = self._standings[key] = self._standing(team, kind, gpus, returns=returns, firm=firm)
        return standing

    def standing_after(
        self, changes: Sequence[Holding], team: str, kind: str, gpus: int, *, returns: bool, firm: bool
    ) -> Standing:
        """The same with more (or fewer) held of this type. Afterwards the books are what they were, version and all."""
        version = self.version
        for who, more, back in changes:
            self.take(who, kind, more, returns=back)
        # Not from what is known of a version: the next real change will have the number of one of these.
        standing = self._standing(team, kind, gpus, returns=returns, firm=firm)
        for who, more, back in changes:
            self.give(who, kind, more, returns=back)
        self.version = version
        return standing

    def _standing(self, team: str, kind: str, gpus: int, *, returns: bool, firm: bool) -> Standing:
        page, path = self.page(kind), self.lineage.path(team)
        if not page.terms.shared:
            return Standing.INSIDE
        if gpus > page.headroom(path):
            return Standing.LIMIT
        if gpus > page.room(path):
            lent = returns or (firm and self.lasts(team, kind, gpus))
            borrows = gpus <= page.to_borrow(path, returns=lent)
            return Standing.BORROWS if borrows else Standing.NOTHING
        # Where too few are free at all, places decide and stops make room. Where enough are free but kept
        # for others, it has to take back its own from those who borrowed it.
        kept = gpus > page.to_own(path) and page.held[CLUSTER] + gpus <= page.capacity
        return Standing.NOTHING if kept else Standing.INSIDE

    def lasts(self, team: str, kind: str, gpus: int) -> bool:
        """Whether so many more are inside the team's nominal, beside nothing but what would not be back in time."""
        return gpus <= self.lasting(kind).room(self.lineage.path(team))

    def over(self, team: str, kind: str, below: str | None = None) -> int:
        """How many GPUs the team holds above nominal, at each level below this one; 0 = it is protected.

        `below` is where the team and who asks meet: what a team above both was promised protects neither.
        """
        page = self.page(kind)
        if team not in self.lineage:
            return page.loose[team] if page.terms.shared else 0
        return page.over(self.lineage.path(team), self._place(below))

    def borrows(self, team: str, kind: str) -> bool:
        """Whether the team holds more than its own, if only of what its sisters lend."""
        path = self.lineage.path(team)
        return self.over(team, kind, self.lineage.name(path[1]) if len(path) > 1 else None) > 0

    def stays_inside(self, team: str, kind: str, gpus: int, below: str | None = None) -> bool:
        """Whether so many more are inside the nominal of each level below this one, its own first."""
        page, until = self.page(kind), self._place(below)
        if gpus > self.room(team, kind):
            return False
        for place in self.lineage.path(team):
            if place == until:
                break
            if NO_SHARE != page.terms.nominal[place] < page.held[place] + gpus:
                return False
        return True

    def meeting(self, one: str, other: str) -> str | None:
        """The lowest team that both belong to, itself included; None = only the cluster."""
        return self.lineage.meeting(one, other)

    def promised(self, kind: str) -> int:
        """All nominal quota together; `capacity` says what of it exists and works."""
        return self.lineage.terms(kind).promised_below[CLUSTER]

    def most(self, team: str, kind: str, existing: int, *, returns: bool = True) -> int:
        """The most GPUs it could ever hold of so many that exist, whoever gives back whatever."""
        terms = self.lineage.terms(kind)
        return most(self.lineage.path(team), terms, existing, returns=returns) if terms.shared else existing

    def _place(self, team: str | None) -> int:
        return CLUSTER if team is None else self.lineage.path(team)[0]

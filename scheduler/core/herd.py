"""All that runs, sorted once for a round: what no rule may touch, and the rest by kinds that rules treat alike."""

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest
from typing import NamedTuple

from scheduler.core.board import Board
from scheduler.core.candidates import ALTERNATIVES, Candidate, Found, Passed
from scheduler.core.cost import lost_work
from scheduler.core.cover import Cover, Pot
from scheduler.core.lineage import CLUSTER
from scheduler.core.maystop import Case, Rules, Spared, barred
from scheduler.core.model import Job, Running, Snapshot, Tier
from scheduler.core.timeline import cells

Kin = tuple[str, Tier, int, bool]  # team, tier, GPUs, stopped less often than makes it immune


class Family(NamedTuple):
    """Runs of one kin that may be stopped, the newest first."""

    place: int  # among all families, in the order of their newest runs
    kin: Kin
    runs: list[Running]


class Clan:
    """The families of one team on one GPU type, and which of them its promise leaves to others."""

    __slots__ = ("_loose", "_then", "families", "pot", "pots")

    def __init__(self, team: str, kind: str, cover: Cover) -> None:
        self.families: list[Family] = []
        self.pot: Pot | None = cover.own(team, kind)
        self.pots: tuple[Pot, ...] = cover.guards(team, kind, CLUSTER)
        self._loose: list[Family] = []
        self._then = -1

    def loose(self) -> list[Family]:
        """Those without one of which its own pot would be as full; worked out again when that has changed."""
        pot = self.pot
        if pot is None:
            return self.families
        if self._then != pot.version:
            self._loose = [one for one in self.families if one.runs and pot.spares(one.kin[1], (one.kin[2],))]
            self._then = pot.version
        return self._loose

    def open_to(self, *, owed: bool, preempts: bool) -> Iterator[Family]:
        """What a job of another team could reach: what is loose where it is owed, and the lowest tier."""
        loose = self.loose()
        if owed:
            yield from (one for one in loose if one.runs)
        if preempts:
            lowest = (one for one in (self.families if owed else loose) if one.kin[1] is Tier.OPPORTUNISTIC)
            yield from (one for one in lowest if one.runs and not (owed and one in loose))


class Herd:
    """Thousands of runs are a few dozen kinds: a rule is asked once for each that it could reach."""

    def __init__(self, snap: Snapshot, rules: Rules) -> None:
        self._rules, self._now = rules, snap.taken_at
        self._kin: dict[str, dict[Kin, Family]] = defaultdict(dict)
        self._clans: dict[str, dict[str, Clan]] = defaultdict(dict)
        self._spared: dict[str, list[Passed]] = defaultdict(list)
        self._over: dict[tuple[str, str], bool] = {}
        self._costs: dict[int, float] = {}
        self._untouched: dict[str, list[Passed]] = {}
        self._gone: dict[tuple[str, Tier, bool], Board | None] = {}
        for run in sorted(snap.running, key=lambda run: (-run.started_at, run.job)):
            spared = barred(run, rules)
            if spared is None:
                self._family(run).runs.append(run)
            else:
                self._spared[run.gpu_type].append(Passed(run, lost_work(run, self._now), spared))

    def _family(self, run: Running) -> Family:
        families = self._kin[run.gpu_type]
        kin = (run.team, run.tier, run.gpus, run.stops < self._rules.policy.max_recalls)
        if kin not in families:
            clans = self._clans[run.gpu_type]
            if run.team not in clans:
                clans[run.team] = Clan(run.team, run.gpu_type, self._rules.cover)
            families[kin] = Family(len(families), kin, [])
            clans[run.team].families.append(families[kin])
        return families[kin]

    def stopped(self, run: Running) -> None:
        """It has been asked to go: nobody asks it again in this round."""
        family = self._family(run)
        if run in family.runs:  # else no rule could have touched it
            family.runs.remove(run)

    def empties(self, board: Board, job: Job, kind: str, *, recall: bool) -> Board | None:
        """The board if everything went that any job of this tier could send away; None = nothing could.

        Made once in a round: later it shows a little too much, which says "perhaps" and never a wrong "never".
        """
        key = (kind, job.tier, recall)
        if key not in self._gone:
            runs = [run for run in self._all(kind) if self._could(run, job.tier, recall=recall)]
            self._gone[key] = _without(board, runs) if runs else None
        return self._gone[key]

    def seek(self, case: Case, only: Callable[[Running], bool] | None = None) -> Found:
        """Whom this job may send away, and some of whom it may not; of the former, only such."""
        found = Found(passed=_Spares(self, case))
        if not self._helps(case):
            return found
        clans = self._clans[case.kind]
        for family in sorted(self._within_reach(case)):
            team, _, gpus, _ = family.kin
            pots = clans[team].pots
            for run, judged in case.judge_all(family.runs, only):
                if not isinstance(judged.answer, Spared):
                    found.candidates.append(
                        Candidate(run, self._cost(run), judged.answer, gpus, judged.guards, pots)
                    )
        return found

    def _cost(self, run: Running) -> float:
        """What stopping it loses, worked out once."""
        cost = self._costs.get(run.job)
        if cost is None:
            cost = self._costs[run.job] = lost_work(run, self._now)
        return cost

    def spared(self, case: Case) -> list[Passed]:
        """The cheapest of whom it may not send away: one of each family, and all that no rule may touch."""
        found = self._cheapest(case.kind)
        for family in self._kin[case.kind].values():
            alone = case.recall and family.kin[1] == case.job.tier  # each may have another answer
            for run in family.runs if alone else family.runs[:1]:
                rank = (self._cost(run), run.job)
                if len(found) == ALTERNATIVES and rank > _rank(found[-1]):
                    continue
                judged = case.judge(run)
                if isinstance(judged.answer, Spared):
                    insort(found, Passed(run, rank[0], judged.answer), key=_rank)
                    del found[ALTERNATIVES:]
        return found

    def _cheapest(self, kind: str) -> list[Passed]:
        if kind not in self._untouched:
            self._untouched[kind] = nsmallest(ALTERNATIVES, self._spared[kind], key=_rank)
        return self._untouched[kind].copy()

    def _helps(self, case: Case) -> bool:
        """Where quota forbids the start of what nobody owes it, only its own team could make room in it."""
        if self._rules.one_team or case.may_be_owed() or case.may_start(case.rules.books):
            return True
        clan = self._clans[case.kind].get(case.job.team)
        return clan is not None and any(_below(case, family) for family in clan.families)

    def _within_reach(self, case: Case) -> Iterator[Family]:
        """The families that the rules may speak of at all; of all others they say that they are covered."""
        if case.recall or self._rules.one_team:
            yield from (family for family in self._kin[case.kind].values() if family.runs)
            return
        preempts, owed = case.job.tier > Tier.OPPORTUNISTIC, case.may_be_owed()
        for team, clan in self._clans[case.kind].items():
            if team == case.job.team:
                yield from (family for family in clan.families if family.runs and _below(case, family))
            elif owed or preempts:
                yield from clan.open_to(owed=owed, preempts=preempts)

    def _all(self, kind: str) -> Iterator[Running]:
        for family in self._kin[kind].values():
            yield from family.runs

    def _could(self, run: Running, tier: Tier, *, recall: bool) -> bool:
        if run.tier < tier or (recall and run.tier == tier):
            return True
        key = (run.team, run.gpu_type)
        if key not in self._over:
            self._over[key] = not self._rules.one_team and self._rules.books.borrows(*key)
        return self._over[key]


class _Spares:
    """Worked out when somebody reads it: most searches end without a receipt."""

    def __init__(self, herd: Herd, case: Case) -> None:
        self._herd, self._case = herd, case

    def __iter__(self) -> Iterator[Passed]:
        return iter(self._herd.spared(self._case))


def _rank(one: Passed) -> tuple[float, int]:
    return one.cost, one.run.job


def _below(case: Case, family: Family) -> bool:
    """Whether work of its own team could go for it: a lower tier, or the same once a recall is due."""
    return family.kin[1] < case.job.tier or (case.recall and family.kin[1] == case.job.tier)


def _without(board: Board, runs: Sequence[Running]) -> Board:
    free, seats = (
        board.free.copy(),
        [seat for run in runs for seat in run.seats if seat.node in board.layout.row],
    )
    taken = cells(seats, board.layout)
    free[taken] |= board.works[taken]
    # CPUs and memory aside: this answers "never" at once and "perhaps" otherwise.
    gone = Board(board.layout, free)
    gone.meter = board.meter
    return gone

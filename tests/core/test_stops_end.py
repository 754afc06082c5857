"""Why stopping comes to an end: whatever the places force, each stop raises the same measure."""

from itertools import combinations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.candidates import Chosen, seek
from scheduler.core.maystop import Case, Rules
from scheduler.core.model import Job, Running, Seat, Team, Tier
from scheduler.core.policy import Policy
from scheduler.core.quota import Books
from tests.core.builders import NOW, job, run, snapshot, spot, tree

quick = settings(max_examples=400, deadline=None, database=None)
DOWNWARDS = sorted(Tier, reverse=True)
# Nobody is kept by a clock or a cap here: only the rules themselves can bring this to an end.
FREE = {"min_runtime_s": {tier.word: 0.0 for tier in Tier}, "max_preemptions_per_day": 10**6}


def policy(max_recalls: int = 0) -> Policy:
    return Policy(**FREE, max_user_stops_per_day=10**6, max_recalls=max_recalls)  # type: ignore[arg-type]


class Cluster:
    """Jobs that run or wait, and places so bad that anything may be forced: any lawful set of stops happens."""

    def __init__(self, seed: int, max_recalls: int = 0) -> None:
        self.dice = dice = Random(seed)
        self.policy = policy(max_recalls)
        self.teams = dice.choice(((), _flat(dice), _nested(dice)))
        names = [team.name for team in self.teams] or ["a", "b"]
        self.waiting: dict[int, Job] = {
            number: job(
                number,
                str(dice.randint(1, 5)),
                team=dice.choice((*names, "strangers")),
                tier=dice.choice(tuple(Tier)),
            )
            for number in range(1, 9)
        }
        self.running: dict[int, Running] = {}
        self.stops: dict[int, int] = {}

    def rules(self) -> Rules:
        runs = tuple(self.running.values())
        snap = snapshot([spot("a")], running=runs, teams=self.teams, policy=self.policy)
        return Rules(snap, Books(self.teams, {"H100": 1000}, runs))

    def start(self, one: Job) -> None:
        del self.waiting[one.id]
        seats = (Seat(1, tuple(range(one.request.gpus))),)
        told = {"team": one.team, "tier": one.tier, "submitted_at": one.submitted_at, "started_at": NOW - 1}
        self.running[one.id] = run(one.id, seats, **told, stops=self.stops.get(one.id, 0))  # type: ignore[arg-type]

    def stop(self, one: Running) -> None:
        del self.running[one.job]
        self.stops[one.job] = one.stops + 1
        self.waiting[one.job] = job(one.job, str(one.gpus), team=one.team, tier=one.tier)

    def lawful(self, asker: Job, *, recall: bool = False) -> list[Running]:
        """Some set of runs that may go together for this job, drawn by lot."""
        rules = self.rules()
        found = seek(Case(asker, "H100", rules, recall=recall), self.running.values()).candidates
        chosen, gone = Chosen(rules), list[Running]()
        for one in self.dice.sample(found, len(found)):
            if len(gone) < 3 and chosen.admits(one):
                chosen.add(one)
                gone.append(one.run)
        return gone

    def measure(self) -> tuple[int, ...]:
        """What the promises cover, higher tiers first; then how many run, higher tiers first."""
        pots: dict[str, list[Running]] = {}
        for one in self.running.values():
            pots.setdefault(_promiser(self.teams, one.team), []).append(one)
        found = [_covered(_promised(self.teams, name), runs) for name, runs in pots.items() if name]
        sums = [sum(part) for part in zip(*found, strict=True)] or [0, 0, 0]
        return (*sums, *(sum(one.tier is tier for one in self.running.values()) for tier in DOWNWARDS))


def _flat(dice: Random) -> tuple[Team, ...]:
    return tree(*((name, None, {"H100": dice.randint(0, 9)}) for name in "abc"))


def _nested(dice: Random) -> tuple[Team, ...]:
    shares = ({}, {"H100": dice.randint(0, 6)}, {"H100": dice.randint(3, 12)})
    above = {"top": None, "a": "top", "b": "top", "aa": "a", "ab": "a"}
    return tree(*((name, parent, dice.choice(shares)) for name, parent in above.items()))


def _promiser(teams: tuple[Team, ...], name: str) -> str:
    """The lowest level with a share; "" = nobody."""
    named = {team.name: team for team in teams}
    while name in named and "H100" not in named[name].quota:
        name = named[name].parent or ""
    return name if name in named else ""


def _promised(teams: tuple[Team, ...], name: str) -> int:
    """Its nominal, less what it promised to the levels below."""
    share = next(team.quota["H100"].nominal for team in teams if team.name == name)
    return max(0, share - _owed_below(teams, name))


def _owed_below(teams: tuple[Team, ...], name: str) -> int:
    below = [team for team in teams if team.parent == name]
    return sum(
        max(team.quota["H100"].nominal if "H100" in team.quota else 0, _owed_below(teams, team.name))
        for team in below
    )


def _covered(nominal: int, runs: list[Running]) -> tuple[int, ...]:
    subsets = (part for many in range(len(runs) + 1) for part in combinations(runs, many))
    return max(
        tuple(sum(one.gpus for one in part if one.tier is tier) for tier in DOWNWARDS)
        for part in subsets
        if sum(one.gpus for one in part) <= nominal
    )


@quick
@given(st.integers(0, 2**32 - 1))
def test_each_stop_raises_the_measure_and_no_free_start_lowers_it(seed: int) -> None:
    cluster = Cluster(seed)
    before = cluster.measure()
    for _ in range(25):
        if not cluster.waiting:
            return
        asker = cluster.dice.choice(list(cluster.waiting.values()))
        gone = cluster.lawful(asker) if cluster.dice.random() < 0.7 else []
        for one in gone:
            cluster.stop(one)
        cluster.start(asker)
        after = cluster.measure()
        assert after > before
        before = after


@quick
@given(st.integers(0, 2**32 - 1))
def test_who_was_taken_for_an_owner_cannot_take_anybody_back_at_once(seed: int) -> None:
    cluster = Cluster(seed)
    for number in list(cluster.waiting)[:6]:
        cluster.start(cluster.waiting[number])
    for asker in list(cluster.waiting.values()):
        rules = cluster.rules()
        found = seek(Case(asker, "H100", rules), cluster.running.values()).candidates
        guarded = [one for one in found if one.guards]
        if guarded:
            victim = cluster.dice.choice(guarded)
            cluster.stop(victim.run)
            cluster.start(asker)
            again = cluster.waiting[victim.run.job]
            others = [one for one in cluster.running.values() if one.team != again.team]
            assert all(
                one.why != "reclaimed"
                for one in seek(Case(again, "H100", cluster.rules()), others).candidates
            )
            return


@quick
@given(st.integers(0, 2**32 - 1))
def test_with_recalls_too_the_stops_run_out(seed: int) -> None:
    """Always stop somebody where the rules allow it: without an end this would go on for ever."""
    cluster = Cluster(seed, max_recalls=2)
    for number in list(cluster.waiting)[:5]:
        cluster.start(cluster.waiting[number])
    for _ in range(400):
        asks = [(one, gone) for one in cluster.waiting.values() if (gone := cluster.lawful(one, recall=True))]
        if not asks:
            return
        asker, gone = cluster.dice.choice(asks)
        for one in gone:
            cluster.stop(one)
        cluster.start(asker)
    raise AssertionError("still stopping after 400 rounds")

"""Properties of the order: the same as sorting everything anew at each turn, whoever is called what."""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor, inf
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core import behind, scale
from scheduler.core.model import Job, Request, Running, Seat, Share, Snapshot, Team, Tier
from scheduler.core.order import FairLine
from scheduler.core.policy import Policy
from scheduler.core.quota import Books

NOW, PENALTY = 10_000.0, 100.0
NAMES, USERS, H = ("a", "b", "c", "d", "e"), ("x", "y", "z"), "H100"
# Drawn from a seed: a hundred times as many small worlds in the same time as drawing every figure alone.
seeds = st.integers(0, 2**32)


def tree(chance: Random) -> tuple[Team, ...]:
    """Up to five teams, each below one before it or at the top."""
    teams = []
    for number in range(chance.randint(0, len(NAMES))):
        above = chance.choice([None, *NAMES[:number]])
        quota = chance.choice([{}, {H: Share(chance.randint(0, 6))}])
        weight, priority = chance.choice([0.0, 0.5, 1.0, 1.0]), chance.choice([0, 0, 3])
        teams.append(Team(NAMES[number], above, quota, weight, priority))
    return tuple(teams)


@dataclass(frozen=True)
class World:
    """A snapshot, and which of the jobs start when their turn comes."""

    snap: Snapshot
    starts: frozenset[int]


def build(teams: tuple[Team, ...], asked: list[Any], usage: dict[Any, float], running: list[Any]) -> Snapshot:
    """Jobs and runs in the order drawn."""
    jobs = tuple(
        Job(n, 1, *owner, tier, NOW + at, Request(gpus), deadline=deadline)
        for n, (owner, tier, at, gpus, deadline) in enumerate(asked)
    )
    held = tuple(
        Running(
            900 + n,
            owner[0],
            Tier.STANDARD,
            H,
            (Seat(1, tuple(range(gpus))),),
            Request(gpus),
            NOW - ran,
            user=owner[1],
        )
        for n, (owner, gpus, ran) in enumerate(running)
    )
    policy = Policy(entry_penalty_s=PENALTY)
    return Snapshot(NOW, (), np.zeros((0, 0), bool), jobs, held, teams, policy, usage)


def drawn(seed: int) -> World:
    """Few different figures, so that many are even."""
    chance = Random(seed)
    names = [*chance.sample(NAMES, 2), "ghosts"] if chance.random() < 0.5 else [*NAMES, "ghosts"]

    def owner() -> tuple[str, str]:
        return chance.choice(names), chance.choice(USERS)

    tiers = chance.choice([[Tier.STANDARD], [*Tier]])
    asked = [
        (
            owner(),
            chance.choice(tiers),
            chance.randint(0, 2),
            chance.randint(1, 4),
            chance.choice([None, None, 1.0]),
        )
        for _ in range(chance.randint(0, 14))
    ]
    usage = {owner(): chance.choice([0.0, 0.25, 100.0, 200.0, 300.0]) for _ in range(chance.randint(0, 6))}
    running = [
        (owner(), chance.randint(1, 4), chance.choice([0.0, 50.0, 150.0]))
        for _ in range(chance.randint(0, 4))
    ]
    starts = frozenset(number for number in range(14) if chance.random() < 0.5)
    return World(build(tree(chance), asked, usage, running), starts)


def play(world: World, snap: Snapshot | None = None) -> list[int]:
    """The numbers of the jobs from first to last."""
    snap = snap or world.snap
    books = Books(snap.teams, {H: 50}, snap.running)
    line, numbers = FairLine(snap, books), []
    while (job := line.next()) is not None:
        if job.id in world.starts:
            books.take(job.team, H, job.request.gpus)
            line.started(job, H, job.request.gpus)
        numbers.append(job.id)
    return numbers


@settings(max_examples=400, deadline=None)
@given(seeds)
def test_the_whole_line_at_once_is_what_starting_one_by_one_gives(seed: int) -> None:
    world = drawn(seed)
    snap = replace(world.snap, waiting=tuple(job for job in world.snap.waiting if job.gate is None))
    everybody = replace(world, starts=frozenset(job.id for job in snap.waiting))
    books = Books(snap.teams, {H: 50}, snap.running)
    line = FairLine(snap, books).in_turn(lambda _: H)
    assert [job.id for job in line] == play(everybody, snap)


class Brute:
    """Every turn from scratch: all that is left is sorted, with use added up over the whole tree."""

    def __init__(self, world: World) -> None:
        self.world, self.snap = world, world.snap
        self.teams = {team.name: team for team in world.snap.teams}
        self.parents = {team.parent for team in world.snap.teams}
        depths = (len(self.path(name)) + (name in self.parents) for name in self.teams)
        self.depth = max(depths, default=1)
        self.used = {owner: floor(value * 1024 + 0.5) for owner, value in world.snap.usage.items()}
        self.books = Books(world.snap.teams, {H: 50}, world.snap.running)
        for run in world.snap.running:
            self.add((run.team, run.user), run.gpus * max(0.0, PENALTY - (NOW - run.started_at)))

    def add(self, owner: tuple[str, str], value: float) -> None:
        self.used[owner] = self.used.get(owner, 0) + floor(value * 1024 + 0.5)

    def path(self, name: str | None) -> list[str]:
        path: list[str] = []
        while name is not None:
            path.insert(0, name)
            name = self.teams[name].parent if name in self.teams else None
        return path

    def key(self, job: Job, *, borrows: bool) -> list[float]:
        levels: list[tuple[float, float]] = []
        for name in self.path(job.team):
            team = self.teams.get(name, Team(name))
            used = sum(value for owner, value in self.used.items() if name in self.path(owner[0]))
            levels.append((-team.priority, self.ratio(used, team.weight)))
        if job.team in self.parents:
            used = sum(value for owner, value in self.used.items() if owner[0] == job.team)
            levels.append((0.0, self.ratio(used, 1.0)))
        levels += [(0.0, 0.0)] * (self.depth - len(levels))
        return [part for level in levels for part in (level if borrows else level[1:])]

    @staticmethod
    def ratio(used: int, weight: float) -> float:
        return used / weight if weight else 1e80 * (1 + used)

    def play(self) -> list[int]:
        left, numbers = list(self.snap.waiting), list[int]()
        passed: dict[int, bool] = {}  # whether it was found to be above nominal
        while left:
            tier = max(job.tier for job in left)
            for job in left:
                inside = self.books.owed(job.team, H, job.request.gpus)
                passed[job.id] = passed.get(job.id, False) or (job.tier == tier and not inside)
            job = min(
                left, key=lambda one: (-one.tier, passed[one.id], *self.rest(one, borrows=passed[one.id]))
            )
            left.remove(job)
            numbers.append(job.id)
            if job.id in self.world.starts:
                self.books.take(job.team, H, job.request.gpus)
                self.add((job.team, job.user), job.request.gpus * PENALTY)
        return numbers

    def rest(self, job: Job, *, borrows: bool) -> tuple[float, ...]:
        used = self.used.get((job.team, job.user), 0)
        late = inf if job.deadline is None else job.deadline
        return (*self.key(job, borrows=borrows), used, late, job.submitted_at, job.id)


@settings(max_examples=3000, deadline=None)
@given(seeds)
def test_the_line_is_what_sorting_anew_at_each_turn_gives(seed: int) -> None:
    world = drawn(seed)
    assert play(world) == Brute(world).play()


@settings(max_examples=500, deadline=None)
@given(seeds)
def test_the_order_does_not_depend_on_how_the_rows_were_read(seed: int) -> None:
    world, chance = drawn(seed), Random(seed + 1)

    def mixed(rows: Any) -> tuple[Any, ...]:
        return tuple(chance.sample(list(rows), len(rows)))

    snap = world.snap
    other = replace(
        snap,
        waiting=mixed(snap.waiting),
        running=mixed(snap.running),
        teams=mixed(snap.teams),
        usage=dict(mixed(snap.usage.items())),
    )
    assert play(world, other) == play(world)


@settings(max_examples=500, deadline=None)
@given(seeds, st.permutations(NAMES), st.permutations(USERS))
def test_other_names_for_teams_and_users_change_nothing(
    seed: int, teams: list[str], users: list[str]
) -> None:
    world = drawn(seed)
    call = dict(zip((*NAMES, *USERS), (*(f"t{n}" for n in teams), *(f"u{n}" for n in users)), strict=True))
    call["ghosts"] = "aliens"
    snap = world.snap
    other = replace(
        snap,
        waiting=tuple(replace(job, team=call[job.team], user=call[job.user]) for job in snap.waiting),
        running=tuple(replace(run, team=call[run.team], user=call[run.user]) for run in snap.running),
        teams=tuple(
            replace(team, name=call[team.name], parent=None if team.parent is None else call[team.parent])
            for team in snap.teams
        ),
        usage={(call[team], call[user]): value for (team, user), value in snap.usage.items()},
    )
    assert play(world, other) == play(world)


@settings(max_examples=500, deadline=None)
@given(seeds)
def test_the_rule_between_two_neighbours_never_speaks_against_their_order(seed: int) -> None:
    world = drawn(seed)
    books = Books(world.snap.teams, {H: 50}, world.snap.running)
    line = FairLine(world.snap, books)
    jobs = list(iter(line.next, None))
    for first, second in pairwise(jobs):
        found = line.rule(second, first)
        assert found.our_times >= found.their_times
        if found.by == "tier":
            assert second.tier < first.tier
        if found.by == "quota":
            assert (found.ours, found.theirs) == ("borrows", "inside")
        if found.by == "submitted":
            assert second.submitted_at > first.submitted_at


def crowd(size: int) -> Snapshot:
    """So many jobs of many users in many teams, below a few large ones."""
    orgs = tuple(Team(f"org{n}") for n in range(4))
    teams = tuple(Team(f"t{n}", f"org{n % 4}") for n in range(size // 50))
    asked = [((f"t{n * 7 % len(teams)}", f"u{n % 5}"), Tier.STANDARD, n, 1, None) for n in range(size)]
    return build(orgs + teams, asked, {(f"t{n}", "u0"): 10.0 * n for n in range(len(teams))}, [])


def effort(size: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many keys and heaps are looked at while every tenth job starts."""
    seen = [0]

    def counted(real: Any) -> Any:
        def count(*told: Any, **more: Any) -> Any:
            seen[0] += 1
            return real(*told, **more)

        return count

    monkeypatch.setattr(scale.Scale, "key", counted(scale.Scale.key))
    monkeypatch.setattr(behind.Node, "best", counted(behind.Node.best))
    snap = crowd(size)
    assert len(play(World(snap, frozenset(range(0, size, 10))))) == size
    monkeypatch.undo()
    return seen[0]


def test_the_cost_grows_with_the_jobs_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = effort(1000, monkeypatch), effort(8000, monkeypatch)
    assert large < 8 * 8000
    assert large < 12 * small

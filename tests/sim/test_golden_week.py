"""A week in which a team with 40 % of the cluster holds 60 % while others are idle, and gives it back when they ask."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from scheduler.core.policy import DAY, HOUR, Policy
from scheduler.core.promise import back_within, may_lend
from scheduler.sim import events
from scheduler.sim.clock import Case, Watch, replay
from scheduler.sim.files import cluster_json, jobs_csv
from scheduler.sim.thinkers.berth import Berth
from scheduler.sim.workload import Ask, Cluster, Crew, Share
from tests.core.builders import job
from tests.sim.checker import check
from tests.sim.stage import nodes

GPUS = 40  # five nodes of eight
OURS, BORROWED = 16, 8  # 40 % and 20 %
ASKED, QUIET = 2 * DAY, 5 * DAY  # from when to when the others want all that is theirs
CHAINS, LINKS = 30, 9  # so many jobs of ours could run at any time; for so long that a week is not enough
POLICY = Policy()
TEAMS = (
    Crew("ours", quota={"GPU": Share(OURS, BORROWED)}),
    Crew("left", quota={"GPU": Share(12, 0)}),
    Crew("right", quota={"GPU": Share(12, 0)}),
)
CLUSTER = Cluster(nodes(5, gpus=8), TEAMS)
Step = tuple[float, dict[str, int]]  # from when on, and what each team holds


def week() -> tuple[Ask, ...]:
    """Ours always want more than they may have; left and right want their own for three days in the middle."""
    mine = [ask for chain in range(CHAINS) for ask in _chain(chain)]
    theirs = [
        Ask(f"{team}-{wave}-{number}", ASKED + wave * DAY, DAY - 60, 4, team=team, checkpoint_s=600.0)
        for team in ("left", "right")
        for wave in range(3)
        for number in range(3)
    ]
    return tuple(sorted((*mine, *theirs), key=lambda ask: ask.submit_s))


def _chain(chain: int) -> Iterator[Ask]:
    """One GPU's worth of work for a week: as soon as one job has finished, the next may start."""
    before: tuple[str, ...] = ()
    for number in range(LINKS):
        name = f"ours-{chain:02d}-{number:02d}"
        lasts, user = 20 * HOUR + chain * 900, f"u{chain % 5}"
        yield Ask(name, 0.0, lasts, 1, team="ours", user=user, after=before, checkpoint_s=600.0)
        before = (name,)


@pytest.fixture(scope="module")
def told() -> list[events.Event]:
    heard: list[events.Event] = []
    replay(Case(CLUSTER, week(), (), POLICY), Berth(), Watch(heard.append))
    return heard


def steps(told: list[events.Event]) -> Iterator[Step]:
    """What each team holds, from instant to instant."""
    holds: dict[str, tuple[str, int]] = {}
    for index, event in enumerate(told):
        if isinstance(event, events.Started):
            team = event.job.partition("-")[0]
            holds[event.job] = team, sum(len(place.gpus) for place in event.seats)
        elif isinstance(event, events.Stopped | events.Finished):
            del holds[event.job]
        if index + 1 == len(told) or told[index + 1].t > event.t:
            sums = dict.fromkeys(("ours", "left", "right"), 0)
            for team, gpus in holds.values():
                sums[team] += gpus
            yield event.t, sums


def between(told: list[events.Event], first: float, last: float) -> Iterator[tuple[float, dict[str, int]]]:
    """How long each of these steps lasts inside the window, and who holds what meanwhile."""
    for (since, held), (until, _) in pairwise(steps(told)):
        lasts = min(until, last) - max(since, first)
        if lasts > 0:
            yield lasts, held


def mean(told: list[events.Event], team: str, first: float, last: float) -> float:
    return sum(lasts * held[team] for lasts, held in between(told, first, last)) / (last - first)


RETURN_S = POLICY.min_runtime_s["standard"] + POLICY.grace_s + POLICY.cycle_s


def test_it_holds_sixty_percent_while_others_are_idle(told: list[events.Event]) -> None:
    for first, last in ((0.0, ASKED), (QUIET, 7 * DAY)):
        assert mean(told, "ours", first, last) == OURS + BORROWED
    assert max(held["ours"] for _, held in between(told, 0.0, 7 * DAY)) == OURS + BORROWED


def test_it_is_given_back_within_the_stated_time_when_they_ask(told: list[events.Event]) -> None:
    assert POLICY.return_promise_s >= RETURN_S
    starts = {event.job: event.t for event in reversed(told) if isinstance(event, events.Started)}
    asked = {ask.job: ask.submit_s for ask in week() if ask.team != "ours"}
    waits = {name: starts[name] - moment for name, moment in asked.items()}
    assert max(waits.values()) <= RETURN_S
    assert any(waits.values())  # not everything was free: something had to come back
    for lasts, held in between(told, ASKED + RETURN_S, QUIET - 120):
        assert (held["left"], held["right"]) == (12, 12) or lasts <= RETURN_S
        assert held["ours"] <= GPUS - held["left"] - held["right"]


def test_its_own_forty_percent_are_never_taken(told: list[events.Event]) -> None:
    assert min(held["ours"] for _, held in between(told, 0.0, 7 * DAY)) == OURS
    stops = [event for event in told if isinstance(event, events.Stopped)]
    for_others = [event.why for event in stops if not event.sake.startswith("ours")]
    # Each wave finds what was borrowed since the one before, and takes no more than that.
    assert set(for_others) == {"reclaimed"}
    assert len(for_others) <= 3 * BORROWED


def test_an_independent_reader_finds_nothing_wrong_with_the_week(told: list[events.Event]) -> None:
    lines: list[dict[str, Any]] = [json.loads(events.line(event)) for event in told]
    rows = list(csv.DictReader(io.StringIO(jobs_csv(week()))))
    assert check(json.loads(cluster_json(CLUSTER)), rows, lines) == []


def test_what_could_not_be_back_in_time_is_never_lent() -> None:
    """A job that may not be stopped keeps to its own team's share, however idle the others are."""
    firm = tuple(replace(ask, preemptible=False) for ask in week() if ask.job.endswith("-00"))
    heard: list[events.Event] = []
    replay(Case(CLUSTER, firm, (), POLICY), Berth(), Watch(heard.append))
    assert max(held["ours"] for _, held in between(heard, 0.0, DAY)) == OURS
    bound = job(1, preemptible=False)
    assert back_within(bound, POLICY, 0.0) > POLICY.return_promise_s
    assert not may_lend(bound, POLICY)

"""Beats that are lost, repeated, reordered or batched anyhow lead to the same end as beats in order."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.agents.hearing import _judged, _opened, _take_in, hear
from portal.cluster.models import Node
from portal.jobs.models import Hold, Job, Run
from scheduler.wire import RunSeen
from tests.portal.agent import PlayedAgent
from tests.portal.stage import Stage

LIFE = ("absent", "fetching", "starting", "running", "running", "stopping", "ended")


@pytest.fixture
def gang(stage: Stage) -> Job:
    stage.add_nodes("n1", "n2", gpus=2)
    return stage.submit(nodes=2, gpus_per_node=2)


def tell(agent: PlayedAgent, run: Run, moment: str, exits: dict[int, int]) -> None:
    """Put the agent into one moment of a run's life."""
    if moment == "absent":
        agent.runs.pop(run.pk, None)
    elif moment == "fetching":
        agent.runs[run.pk] = RunSeen(run.pk, run.epoch, "starting")
    elif moment == "ended":
        agent.end(run, exits=exits)
    else:
        agent.start(run)
        state = "starting" if moment == "starting" else "running"
        seen = agent.runs[run.pk]
        ranks = tuple(replace(rank, state=state) for rank in seen.ranks)
        agent.runs[run.pk] = replace(seen, state=moment, ranks=ranks)


def lives(stage: Stage, run: Run, exits: dict[int, int]) -> list[bytes]:
    """Every beat of both agents, in order."""
    return [
        (tell(agent, run, moment, exits), agent.beat(stage.now))[1]
        for moment in LIFE
        for agent in stage.agents.values()
    ]


def outcome(job: Job) -> dict[str, Any]:
    run = Run.objects.get(job=job)
    job.refresh_from_db()
    return {
        "job": job.phase,
        "run": (run.phase, run.cause),
        "held": Hold.objects.filter(released_at=None).count(),
        "seats": set(run.seats.values_list("phase", flat=True)),
        "ranks": list(run.ranks.order_by("rank").values_list("rank", "state", "exit_code")),
    }


ORDER = st.lists(st.integers(0, 2 * len(LIFE) - 1), max_size=30)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(order=ORDER, cuts=st.sets(st.integers(1, 32), max_size=6), fails=st.booleans())
def test_the_end_is_the_same(stage: Stage, gang: Job, order: list[int], cuts: set[int], fails: bool) -> None:
    exits = {1: 7} if fails else {}
    with transaction.atomic():
        run = stage.started(gang)
        beats = lives(stage, run, exits)
        # An agent goes on telling of an end until it is answered: the last beat of each does arrive.
        delivered = [beats[number] for number in order] + beats[-2:]
        edges = [0, *sorted(cut for cut in cuts if cut < len(delivered)), len(delivered)]
        for begin, end in pairwise(edges):
            hear(delivered[begin:end], now=stage.now)
        cause = "failed" if fails else "finished"
        assert outcome(gang) == {
            "job": cause,
            "run": ("ended", cause),
            "held": 0,
            "seats": {"ended"},
            "ranks": [(rank, "ended", exits.get(rank, 0)) for rank in range(4)],
        }
        transaction.set_rollback(True)


def test_an_older_beat_never_overwrites_a_newer_one(stage: Stage, gang: Job) -> None:
    run = stage.started(gang)
    beats = lives(stage, run, {})
    hear(beats[-2:], now=stage.now)
    before = outcome(gang)
    assert hear(beats[:-2], now=stage.now) == []
    assert outcome(gang) == before


def test_two_pairs_of_ears_do_not_lose_a_run_that_began_between_their_beats(stage: Stage, gang: Job) -> None:
    """The older beat is written down first and taken in last: it knows nothing of the run."""
    run = stage.started(gang)
    agent = stage.agents["n1"]
    older, node = agent.beat(stage.now), Node.objects.get(name="n1")
    agent.start(run)
    newer = agent.beat(stage.now)
    hear([newer], now=stage.now)
    _take_in(node, _judged(_opened(older), {"n1": node}, stage.now), stage.now)
    assert run.seats.get(node=node).phase == "running"


def test_the_same_batch_twice_changes_nothing(stage: Stage, gang: Job) -> None:
    run = stage.started(gang)
    for agent in stage.agents.values():
        agent.start(run)
    batch = [agent.beat(stage.now) for agent in stage.agents.values()]
    assert len(hear(batch * 2, now=stage.now)) == 2
    assert hear(batch, now=stage.now) == []
    assert outcome(gang)["job"] == "running"

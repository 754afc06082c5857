"""What changes while somebody makes way: cancels, ends, lost nodes, other quotas, a worker that is killed."""

from typing import Any

import pytest
from redis import Redis

from portal.accounts.tree import move_team
from portal.cluster import actions as cluster
from portal.cluster.models import Node
from portal.cycle import policy, snapshot
from portal.cycle.models import Intent
from portal.jobs.actions import cancel
from portal.jobs.models import Hold, Job, Receipt, Run
from portal.quotas.models import Quota
from tests.portal.stage import Stage, held, phase
from tests.portal.test_stops import gone


def reason(job: Job) -> str:
    return Job.objects.get(pk=job.pk).reason


def clearing(stage: Stage, nodes: int = 1) -> tuple[Job, Run, Job]:
    """As many full nodes, of which one makes way for a production job."""
    stage.add_nodes(*(f"n{number}" for number in range(1, nodes + 1)))
    jobs = [
        stage.submit(f"sweep-{number}", tier="opportunistic", gpus_per_node=8, by="omar", team="language")
        for number in range(nodes)
    ]
    for job in jobs:
        stage.running(job)
    stage.later(600)
    stage.beat()
    urgent = stage.submit("urgent", tier="production", gpus_per_node=8)
    stage.turn()
    run = Run.objects.get(phase="stopping")
    return run.job, run, urgent


# ---- Whoever it is for, or whoever makes way, goes another way


def test_a_cancelled_preemptor_gives_the_place_back_to_who_made_way(stage: Stage) -> None:
    victim, run, urgent = clearing(stage)
    cancel(job=urgent, by=stage.people["mira"], now=stage.now)
    stage.turn()
    assert (Intent.objects.get().claims, phase(victim)) == ([], "stopping")
    gone(stage, run, signal=15)
    stage.agents["n1"].forget(run)
    again = stage.running(victim)
    assert (again.epoch, phase(victim), phase(urgent)) == (2, "running", "cancelled")
    assert Receipt.objects.count() == 1


def test_a_victim_that_finishes_while_it_makes_way_frees_the_place_at_once(stage: Stage) -> None:
    victim, run, urgent = clearing(stage)
    gone(stage, run)
    stage.turn()
    assert (phase(urgent), phase(victim)) == ("starting", "waiting")
    assert held(run) == 0


def test_a_victim_whose_owner_cancels_it_frees_the_place_and_comes_no_more(stage: Stage) -> None:
    victim, run, urgent = clearing(stage)
    cancel(job=victim, by=stage.people["omar"], now=stage.now)
    stage.turn()
    assert reason(urgent) == "stopping_others"
    gone(stage, run, signal=15)
    stage.turn()
    assert (phase(urgent), phase(victim)) == ("starting", "cancelled")


def test_a_victim_whose_node_is_lost_is_replaced_by_another_one(stage: Stage) -> None:
    victim, run, urgent = clearing(stage, nodes=3)
    (lost,) = stage.where(run)
    stage.pass_time(65, silent=[lost])
    stage.turn()
    run.refresh_from_db()
    assert (run.phase, run.cause, held(run), phase(victim)) == ("ended", "preempted", 0, "waiting")
    second = Run.objects.get(phase="stopping")
    assert lost not in stage.where(second)
    gone(stage, second, signal=15)
    stage.turn()
    assert phase(urgent) == "starting"
    assert Receipt.objects.count() == 2


def test_a_victim_whose_node_is_drained_still_makes_way_but_another_one_too(stage: Stage) -> None:
    """What a drained node frees is of no use to anybody."""
    _, run, urgent = clearing(stage, nodes=2)
    node = Node.objects.get(name=stage.where(run)[0])
    cluster.drain(node=node, by=stage.people["noor"], reason="new firmware", now=stage.now)
    stage.turn()
    assert Run.objects.filter(phase="stopping").count() == 2
    other = Run.objects.filter(phase="stopping").exclude(pk=run.pk).get()
    gone(stage, other, signal=15)
    stage.turn()
    assert stage.where(stage.live_run(urgent)) == stage.where(other)


def test_a_victim_that_does_not_end_within_its_grace_keeps_its_place_and_the_page_says_so(
    stage: Stage,
) -> None:
    victim, run, urgent = clearing(stage)
    stage.pass_time(300)
    stage.turn()
    assert (phase(victim), held(run), reason(urgent)) == ("stopping", 8, "stopping_others")
    assert Receipt.objects.count() == 1


# ---- Others change the rules


def test_a_quota_below_what_runs_stops_nobody_but_lets_nobody_new_in(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    Quota.objects.create(team=stage.teams["language"], gpu_type="H100", nominal=16, borrow=0)
    run = stage.running(stage.submit(nodes=1, gpus_per_node=8, by="omar", team="language"))
    Quota.objects.update(nominal=4)
    late = stage.submit(gpus_per_node=1, by="omar", team="language")
    stage.later(900)
    stage.beat()
    stage.turn()
    run.refresh_from_db()
    assert (run.phase, phase(late), reason(late)) == ("running", "waiting", "team_limit")


def test_a_quota_taken_from_who_waits_for_its_place_ends_the_claim(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    quotas = {
        team: Quota.objects.create(team=stage.teams[team], gpu_type="H100", nominal=8, borrow=8)
        for team in ("vision", "language")
    }
    for name in ("one", "two"):
        stage.running(stage.submit(name, gpus_per_node=8, by="omar", team="language"))
    stage.later(900)
    stage.beat()
    asks = stage.submit("asks", gpus_per_node=8)
    stage.turn()
    run = Run.objects.get(phase="stopping")
    quotas["vision"].nominal, quotas["vision"].borrow = 0, 0
    quotas["vision"].save()
    stage.turn()
    gone(stage, run, signal=15)
    stage.turn()
    assert (phase(asks), phase(run.job), reason(asks)) == ("waiting", "starting", "impossible")


def test_a_team_that_moves_in_the_tree_takes_its_jobs_along(stage: Stage) -> None:
    """Above it is another quota now; who waits hears of that in the next turn, who runs goes on."""
    stage.add_nodes("n1", "n2")
    Quota.objects.create(team=stage.teams["research"], gpu_type="H100", nominal=8, borrow=0)
    run = stage.running(stage.submit("one", gpus_per_node=8))
    waits = stage.submit("two", gpus_per_node=8)
    stage.turn()
    assert reason(waits) == "team_limit"
    move_team(team=stage.teams["vision"], parent=None, seen=stage.teams["vision"].parent_id,
                     by=stage.people["noor"], now=stage.now)  # fmt: skip
    stage.turn()
    run.refresh_from_db()
    assert (run.phase, phase(waits)) == ("running", "starting")


def test_a_team_that_moves_while_its_job_is_made_room_for_still_gets_it(stage: Stage) -> None:
    _, run, urgent = clearing(stage)
    move_team(team=stage.teams["vision"], parent=None, seen=stage.teams["vision"].parent_id,
                     by=stage.people["noor"], now=stage.now)  # fmt: skip
    stage.turn()
    gone(stage, run, signal=15)
    stage.turn()
    assert phase(urgent) == "starting"


def test_another_grace_is_for_those_who_are_asked_later(stage: Stage) -> None:
    _, run, urgent = clearing(stage)
    policy.set_policy(figures={"grace_s": 30}, seen=0, why="short", by=stage.people["noor"], now=stage.now)
    stage.turn()
    run.refresh_from_db()
    assert (run.grace_s, reason(urgent)) == (120, "stopping_others")


# ---- A worker that is killed comes back in the middle


class Killed(BaseException):
    """As if the process were killed here: nothing after this line happens."""


def die(*_: Any, **__: Any) -> None:
    raise Killed


STEPS = {
    "before anything is written": ("portal.cycle.stops.ask", "portal.cycle.apply.starts"),
    "between the starts and the stops": ("portal.cycle.stops.ask",),
    "between the stops and the places they make": ("portal.cycle.settle.keep_intent",),
    "before the verdicts": ("portal.cycle.apply.verdicts",),
    "before the order": ("portal.cycle.settle.keep_line",),
    "before the orders go out": ("portal.agents.orders.send",),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_killed_in_the_middle_of_a_turn_leaves_one_victim_and_its_place_for_one_job(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, link: Redis, step: str
) -> None:
    stage.add_nodes("n1", "n2")
    for name in ("one", "two"):
        stage.running(stage.submit(name, tier="opportunistic", gpus_per_node=8, by="omar", team="language"))
    stage.later(600)
    stage.beat()
    urgent = stage.submit("urgent", tier="production", gpus_per_node=8)
    for agent in stage.agents.values():
        agent.orders(link)  # those of before
    with monkeypatch.context() as patch:
        for function in STEPS[step]:
            patch.setattr(function, die)
        with pytest.raises(Killed):
            stage.turn()
    for agent in stage.agents.values():
        assert agent.orders(link) is None
    stage.later(5)
    stage.beat()
    stage.turn()
    run = Run.objects.get(phase="stopping")
    (claim,) = snapshot.take(now=stage.now).claims
    assert (claim.job, claim.victims) == (urgent.pk, (run.job_id,))
    (name,) = stage.where(run)
    orders = stage.agents[name].orders(link)
    assert orders is not None
    assert [(one.run, one.want) for one in orders.runs] == [(run.pk, "stop")]
    rival = stage.submit("rival", tier="production", gpus_per_node=8, by="ravi")
    gone(stage, run, signal=15)
    stage.turn()
    assert phase(urgent) == "starting"
    assert Receipt.objects.filter(for_job=urgent).count() == 1
    assert phase(rival) == "waiting"


def test_a_worker_killed_between_a_kept_place_and_its_start_loses_neither(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run, urgent = clearing(stage)
    gone(stage, run, signal=15)
    rival = stage.submit("rival", tier="production", gpus_per_node=8, by="ravi")
    Job.objects.filter(pk=rival.pk).update(submitted_at=urgent.submitted_at)
    with monkeypatch.context() as patch:
        patch.setattr("portal.cycle.apply.starts", die)
        with pytest.raises(Killed):
            stage.turn()
    (claim,) = snapshot.take(now=stage.now).claims
    assert claim.job == urgent.pk
    stage.turn()
    assert (phase(urgent), phase(rival)) == ("starting", "waiting")


# ---- Moves


def test_who_moves_finds_its_new_place_kept_until_it_has_stopped(stage: Stage) -> None:
    """Two halves of two nodes are free; one small run moves over, and a whole node is free for the gang."""
    stage.add_nodes("n1", "n2")
    figures = {"min_runtime_s": 0.0, "grace_s": 60.0}
    policy.set_policy(figures=figures, seen=0, why="moves", by=stage.people["noor"], now=stage.now)
    first, second = (stage.submit(f"half-{number}", gpus_per_node=8) for number in (1, 2))
    for job in (first, second):
        stage.running(job)
    # As they would be after others left: four GPUs of each node.
    for run in Run.objects.all():
        Job.objects.filter(pk=run.job_id).update(gpus_per_node=4)
        Hold.objects.filter(run=run, gpu__slot__gte=4).update(released_at=stage.now)
    whole = stage.submit("whole", gpus_per_node=8)
    stage.later(10)
    stage.beat()
    stage.turn()
    moving = Run.objects.get(phase="stopping")
    assert moving.cause == "moved"
    assert {claim.job for claim in snapshot.take(now=stage.now).claims} == {whole.pk, moving.job_id}
    rival = stage.submit("rival", gpus_per_node=4, by="ravi")
    stage.later(5)
    stage.turn()
    assert (phase(rival), reason(whole)) == ("waiting", "stopping_others")
    gone(stage, moving, signal=15)
    stage.turn()
    assert (phase(whole), phase(moving.job), phase(rival)) == ("starting", "starting", "waiting")

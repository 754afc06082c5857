"""Runs that make way for other jobs: asked, ended, told with a receipt, and waiting again."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from portal.cycle import policy, queries, snapshot, stops
from portal.cycle.models import Cycle, Intent
from portal.jobs.actions import cancel
from portal.jobs.models import Job, Receipt, Run
from portal.journal.models import Entry
from portal.quotas.models import Quota
from scheduler.core.verbs import Receipt as CoreReceipt
from scheduler.core.verbs import Stop, Why
from tests.portal.caller import with_token
from tests.portal.stage import Stage, held, phase

RULE = {
    "rule": "preempted",
    "tier": "opportunistic",
    "for_tier": "production",
    "cost_gpu_s": 7200.0,
    "gpus": 8,
}
REJECTED = (
    {"why": "dearer", "jobs": [71, 72], "cost_gpu_s": 36000.0, "within": "rack"},
    {"why": "minimum_runtime", "jobs": [73], "cost_gpu_s": 60.0},
)


def stop(job: Job, other: Job, why: Why = Why.PREEMPTED, lost: float = 3600.0) -> Stop:
    return Stop(job.pk, why, other.pk, CoreReceipt(lost, RULE | {"rule": why.value}, REJECTED))


def gone(stage: Stage, run: Run, **how: Any) -> None:
    """The agents of a run end its ranks and say so."""
    for name in stage.where(run):
        stage.agents[name].end(run, **how)
    stage.later()
    stage.beat(*stage.where(run))
    run.refresh_from_db()


@pytest.fixture
def full(stage: Stage) -> tuple[Stage, Job, Run]:
    """One node, held by an opportunistic job that has run past its minimum."""
    stage.add_nodes("n1")
    job = stage.submit("sweep", tier="opportunistic", gpus_per_node=8, by="omar", team="language")
    run = stage.running(job)
    stage.later(600)
    stage.beat()
    return stage, job, run


# ---- From the submission to the receipt


def test_production_makes_an_opportunistic_job_give_way(full: tuple[Stage, Job, Run], link: Redis) -> None:
    stage, victim, run = full
    urgent = stage.submit("urgent", tier="production", gpus_per_node=8)
    stage.turn()
    run.refresh_from_db()
    assert (run.phase, run.cause, run.asked_at, run.grace_s) == ("stopping", "preempted", stage.now, 120)
    assert (phase(victim), phase(urgent), held(run)) == ("stopping", "waiting", 8)
    (ordered,) = stage.agents["n1"].orders(link).runs
    assert (ordered.run, ordered.want, ordered.grace_s) == (run.pk, "stop", 120.0)
    urgent.refresh_from_db()
    assert urgent.reason == "stopping_others"
    assert Cycle.objects.latest("pk").stopped == 1
    # As long as it saves its work nobody else gets its place, and nobody asks it again.
    rival = stage.submit("rival", tier="production", gpus_per_node=8, by="ravi")
    stage.later(5)
    stage.turn()
    assert Receipt.objects.count() == 1
    gone(stage, run, signal=15)
    assert (run.phase, run.cause, held(run), phase(victim)) == ("ended", "preempted", 0, "waiting")
    stage.turn()
    assert (phase(urgent), phase(rival), phase(victim)) == ("starting", "waiting", "waiting")
    victim.refresh_from_db()
    assert victim.stops == 1
    told = Entry.objects.filter(kind="job", subject=victim.pk).order_by("id")
    assert [entry.sentence for entry in told][-2:] == [
        "Asked to make way for a production job of team vision; it has 2\u00a0min to save its work",
        "Run 1 ended: stopped for a higher tier; the job waits for new places",
    ]
    ended = stage.live_run(urgent)
    stage.agents["n1"].forget(run)
    stage.agents["n1"].start(ended)
    gone(stage, ended)
    stage.agents["n1"].forget(ended)
    Job.objects.filter(pk=rival.pk).update(phase="cancelled", ended_at=stage.now)
    stage.turn()
    assert stage.live_run(victim).epoch == 2


def test_lent_gpus_go_back_when_their_team_asks(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    for team in ("vision", "language"):
        Quota.objects.create(team=stage.teams[team], gpu_type="H100", nominal=8, borrow=8)
    mine = stage.submit("mine", gpus_per_node=8, by="omar", team="language")
    first = stage.running(mine)
    borrowed = stage.submit("borrowed", gpus_per_node=8, by="omar", team="language")
    second = stage.running(borrowed)
    stage.later(900)
    stage.beat()
    asks = stage.submit("asks", gpus_per_node=8)
    stage.turn()
    stopping = Run.objects.get(phase="stopping")
    assert stopping.pk in (first.pk, second.pk)
    assert stopping.cause == "reclaimed"
    gone(stage, stopping, signal=15)
    stage.turn()
    assert phase(asks) == "starting"
    assert sorted([phase(mine), phase(borrowed)]) == ["running", "waiting"]
    receipt = Receipt.objects.get()
    assert (receipt.run_id, receipt.for_job_id, receipt.why) == (stopping.pk, asks.pk, "reclaimed")


def test_nobody_is_stopped_before_the_minimum_runtime(stage: Stage) -> None:
    stage.add_nodes("n1")
    run = stage.running(stage.submit(tier="opportunistic", gpus_per_node=8, by="omar", team="language"))
    urgent = stage.submit("urgent", tier="production", gpus_per_node=8)
    stage.turn()
    run.refresh_from_db()
    assert (run.phase, phase(urgent)) == ("running", "waiting")
    stage.later(300)
    stage.beat()
    stage.turn()
    run.refresh_from_db()
    assert run.phase == "stopping"


def test_the_grace_is_the_policys(full: tuple[Stage, Job, Run]) -> None:
    stage, _, run = full
    policy.set_policy(figures={"grace_s": 30}, seen=0, why="short", by=stage.people["noor"], now=stage.now)
    stage.submit("urgent", tier="production", gpus_per_node=8)
    stage.turn()
    run.refresh_from_db()
    assert run.grace_s == 30
    assert queries.in_force().number == 1


# ---- What is written


@pytest.fixture
def asked(full: tuple[Stage, Job, Run]) -> tuple[Stage, Job, Run, Job]:
    """The same job, asked to make way by hand, whatever the planner thinks."""
    stage, job, run = full
    urgent = stage.submit("urgent", tier="production", gpus_per_node=8)
    assert stops.ask([stop(job, urgent)], grace_s=120.0, now=stage.now) == 1
    run.refresh_from_db()
    return stage, job, run, urgent


def test_a_receipt_keeps_rule_cost_and_what_else_was_considered(asked: tuple[Stage, Job, Run, Job]) -> None:
    stage, _, run, urgent = asked
    receipt = Receipt.objects.get()
    assert (receipt.run, receipt.for_job, receipt.at, receipt.lost_gpu_ms) == (
        run,
        urgent,
        stage.now,
        3_600_000,
    )
    assert (receipt.rule, receipt.rejected) == (RULE, list(REJECTED))
    told = Entry.objects.get(kind="job", subject=urgent.pk, verb="clearing")
    assert told.sentence == "1\u00a0job asked to make room for it"


CHANGES = ["the run ended", "the other was cancelled", "the other started", "it stops already"]


@pytest.mark.parametrize("change", CHANGES)
def test_a_stop_whose_facts_no_longer_hold_is_left_out(full: tuple[Stage, Job, Run], change: str) -> None:
    stage, job, run = full
    urgent = stage.submit("urgent", tier="production", gpus_per_node=8)
    match change:
        case "the run ended":
            gone(stage, run)
        case "the other was cancelled":
            cancel(job=urgent, by=stage.people["mira"], now=stage.now)
        case "the other started":
            Job.objects.filter(pk=urgent.pk).update(phase="starting")
        case "it stops already":
            cancel(job=job, by=stage.people["omar"], now=stage.now)
    before = phase(job)
    assert stops.ask([stop(job, urgent)], grace_s=120.0, now=stage.now) == 0
    assert phase(job) == before
    assert not Receipt.objects.exists()


def test_many_stops_take_as_many_statements_as_one(stage: Stage, django_assert_num_queries: Any) -> None:
    stage.add_nodes("n1", "n2")
    jobs = [stage.submit(tier="opportunistic", by="omar", team="language") for _ in range(12)]
    stage.turn()
    urgent = stage.submit("urgent", tier="production", gpus_per_node=8)
    with django_assert_num_queries(8):
        stops.ask([stop(jobs[0], urgent)], grace_s=120.0, now=stage.now)
    with django_assert_num_queries(8):
        stops.ask([stop(job, urgent) for job in jobs[1:]], grace_s=120.0, now=stage.now)
    assert Receipt.objects.count() == 12
    assert Run.objects.filter(cause="preempted", phase="stopping").count() == 12


def test_a_cancel_while_it_makes_way_ends_it_for_good(asked: tuple[Stage, Job, Run, Job]) -> None:
    stage, job, run, _ = asked
    cancel(job=job, by=stage.people["omar"], now=stage.now)
    run.refresh_from_db()
    assert (run.cause, run.grace_s) == ("cancelled", None)
    gone(stage, run, signal=15)
    assert phase(job) == "cancelled"


def test_ranks_that_save_and_leave_with_0_have_made_way_and_not_finished(
    asked: tuple[Stage, Job, Run, Job],
) -> None:
    stage, job, run, _ = asked
    gone(stage, run)
    assert (run.cause, phase(job)) == ("preempted", "waiting")


def test_the_snapshot_counts_stops_of_jobs_and_people(asked: tuple[Stage, Job, Run, Job]) -> None:
    stage, job, run, _ = asked
    snap = snapshot.take(now=stage.now)
    (running,) = snap.running
    assert (running.stopping, running.asked_at) == (True, stage.now.timestamp())
    assert (running.stops_today, dict(snap.user_stops), snap.moves_lately) == (1, {"omar@example.org": 1}, 0)
    gone(stage, run, signal=15)
    (again,) = (one for one in snapshot.take(now=stage.now).waiting if one.id == job.pk)
    assert (again.stops, again.stops_today, again.seen_s) == (1, 1, 601.0)
    assert again.stopped_at == Run.objects.get(pk=run.pk).ended_at.timestamp()  # type: ignore[union-attr]
    tomorrow = snapshot.take(now=stage.now + timedelta(days=1, seconds=1))
    (later,) = (one for one in tomorrow.waiting if one.id == job.pk)
    assert (later.stops, later.stops_today, dict(tomorrow.user_stops)) == (1, 0, {})


def test_moves_count_for_an_hour(full: tuple[Stage, Job, Run]) -> None:
    stage, job, _ = full
    urgent = stage.submit("urgent", gpus_per_node=8)
    stops.ask([stop(job, urgent, Why.MOVED)], grace_s=120.0, now=stage.now)
    assert snapshot.take(now=stage.now + timedelta(minutes=59)).moves_lately == 1
    assert snapshot.take(now=stage.now + timedelta(minutes=61)).moves_lately == 0


def test_what_one_plan_intends_the_next_one_knows(full: tuple[Stage, Job, Run]) -> None:
    stage, job, _ = full
    urgent = stage.submit("urgent", tier="production", gpus_per_node=8)
    stage.turn()
    (claim,) = snapshot.take(now=stage.now).claims
    assert (claim.job, claim.victims, claim.since) == (urgent.pk, (job.pk,), stage.now.timestamp())
    cancel(job=urgent, by=stage.people["mira"], now=stage.now)
    assert snapshot.take(now=stage.now).claims == ()
    stage.turn()
    assert Intent.objects.get().claims == []


# ---- What people read


def page_of(client: Client, job: Job) -> str:
    return client.get(f"/jobs/{job.pk}").text


def test_the_page_of_who_made_way_tells_why_and_names_only_what_its_reader_may_see(
    stage_now: Stage, signed_in: Callable[..., Client]
) -> None:
    stage = stage_now
    stage.add_nodes("n1")
    job = stage.submit("sweep", tier="opportunistic", gpus_per_node=8, by="omar", team="language")
    run = stage.running(job)
    urgent = stage.submit("urgent-secret", tier="production", gpus_per_node=8)
    stops.ask([stop(job, urgent)], grace_s=120.0, now=stage.now)
    omar, noor = signed_in(stage.people["omar"]), signed_in(stage.people["noor"])
    page = page_of(omar, job)
    assert "Run 1 is making way" in page
    assert "It then waits again" in page
    assert f'href="/jobs/{job.pk}/cancel"' in page
    gone(stage, run, signal=15)
    page = page_of(omar, job)
    for words in (
        "Run 1 made way", "stopped for a higher tier", "a production job of team vision",
        "A production job of team vision goes before work of a lower tier.", "1.0\u00a0GPU-h",
        "2\u00a0jobs in one rack: would have cost 10.0\u00a0GPU-h",
        "1\u00a0job (0.02\u00a0GPU-h): not yet past the minimum runtime", "waits again with its old submission time",
    ):  # fmt: skip
        assert words in page, words
    assert "urgent-secret" not in page
    assert f"/jobs/{urgent.pk}" not in page
    assert f'<a href="/jobs/{urgent.pk}">{urgent.pk} urgent-secret</a>' in page_of(noor, job)


def test_while_it_makes_way_its_page_tells_since_when_until_when_and_what_comes_then(
    stage_now: Stage, signed_in: Callable[..., Client]
) -> None:
    stage = stage_now
    stage.add_nodes("n1")
    job = stage.submit("sweep", tier="opportunistic", gpus_per_node=8, by="omar", team="language")
    stage.running(job)
    Run.objects.update(started_at=stage.now - timedelta(hours=3))
    urgent = stage.submit("urgent", tier="production", gpus_per_node=8)
    stops.ask([stop(job, urgent)], grace_s=90.0, now=stage.now)
    page = page_of(signed_in(stage.people["omar"]), job)
    assert "it has 1\u00a0min\u00a030\u00a0s to save its work" in page
    assert "stopping 3\u00a0h" not in page
    for words in ("Ends by</dt>", "asked to make way", "At stake</dt>", "<b>Waiting again</b>", "Ran</dt>"):
        assert words in page, words
    assert "Ends at the latest" not in page
    # Whoever cancels it now ends it for good: then nothing comes after that.
    cancel(job=job, by=stage.people["omar"], now=stage.now)
    page = page_of(signed_in(stage.people["omar"]), job)
    assert "<b>Waiting again</b>" not in page
    assert "asked to end" in page


def test_the_api_gives_the_receipt_under_the_same_rule(asked: tuple[Stage, Job, Run, Job]) -> None:
    stage, job, _, urgent = asked
    seen = {
        who: with_token(stage.people[who], stage.now).get(f"/jobs/{job.pk}").json()["runs"][0]["receipt"]
        for who in ("omar", "noor")
    }
    assert seen["omar"]["for"] == {"job": None, "team": "vision", "tier": "production"}
    assert seen["noor"]["for"]["job"] == urgent.pk
    assert (seen["omar"]["why"], seen["omar"]["lost_gpu_s"]) == ("preempted", 3600.0)
    assert len(seen["omar"]["considered"]) == 2
    assert str(urgent.pk) not in json.dumps(seen["omar"])


RULES = {
    Why.RECLAIMED: (
        {"team": "language", "held": 16, "nominal": 8, "for_team": "vision", "for_held": 0, "for_nominal": 8, "asked": 8},
        "Team vision owns 8, held 0 and asked for 8 more. Team language held 16 and owns 8.",
    ),
    Why.RECALLED: (
        {"submitted_later_s": 7200.0, "stops": 1, "max_recalls": 3},
        "a standard job of team vision that was submitted 2\u00a0h earlier. This is stop 2 of at most 3.",
    ),
    Why.MOVED: ({}, "It was in the way of a job of team vision that needs its GPUs close together."),
}  # fmt: skip


@pytest.mark.parametrize("why", RULES)
def test_every_rule_has_its_words(
    full: tuple[Stage, Job, Run], signed_in: Callable[..., Client], why: Why
) -> None:
    stage, job, run = full
    numbers, words = RULES[why]
    urgent = stage.submit("urgent", gpus_per_node=8)
    asked = Stop(job.pk, why, urgent.pk, CoreReceipt(0.0, numbers))
    stops.ask([asked], grace_s=120.0, now=stage.now)
    gone(stage, run, signal=15)
    page = page_of(signed_in(stage.people["omar"]), job)
    assert words in page
    assert Run.Cause(why.value).label.lower() in page


def test_a_run_that_may_be_called_back_says_so(
    full: tuple[Stage, Job, Run], signed_in: Callable[..., Client]
) -> None:
    stage, job, run = full
    client = signed_in(stage.people["omar"])
    assert "It runs on recall" not in page_of(client, job)
    Run.objects.filter(pk=run.pk).update(on_recall=True)
    assert "It runs on recall" in page_of(client, job)

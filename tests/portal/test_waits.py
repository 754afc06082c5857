"""Why a job waits, for each reader: jobs they may not see are told by their team, and what is planned is told."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from portal.accounts.queries import standing as standing_of
from portal.cycle import apply
from portal.jobs.models import Job
from portal.jobs.waits import wait_of, waits_of
from scheduler.core.reasons import Reason
from scheduler.core.verbs import Verdict
from tests.portal.caller import with_token
from tests.portal.conftest import counted
from tests.portal.stage import Stage

SignIn = Callable[..., Client]


@pytest.fixture
def behind(stage_now: Stage) -> tuple[Stage, Job, Job]:
    """The only node is held for two hours by another team; whoever waits is planned there."""
    stage_now.add_nodes("n1")
    blocker = stage_now.submit("secret", by="omar", team="language", gpus_per_node=8, limit_s=7_200)
    stage_now.running(blocker)
    job = stage_now.submit("mine", gpus_per_node=8, limit_s=3_600)
    stage_now.turn()
    job.refresh_from_db()
    return stage_now, blocker, job


def told(stage: Stage, job: Job, who: str) -> Any:
    return wait_of(job, standing_of(stage.people[who]), now=stage.now)


def test_a_job_that_the_reader_may_not_see_is_told_by_its_team(behind: tuple[Stage, Job, Job]) -> None:
    stage, blocker, job = behind
    assert job.reason_numbers["ends_job"] == blocker.pk
    for who, named in {"mira": "a job of team language", "ravi": "a job of team language",
                       "rhea": f"job {blocker.pk}", "noor": f"job {blocker.pk}"}.items():  # fmt: skip
        assert f"at the latest, when {named} ends." in told(stage, job, who).sentence, who
    assert told(stage, job, "mira").numbers["ends_job"] == "of team language"


def test_no_page_and_no_answer_says_the_number_of_that_job(
    behind: tuple[Stage, Job, Job], signed_in: SignIn
) -> None:
    stage, blocker, job = behind
    Job.objects.filter(pk=blocker.pk).update(
        phase="finished", ended_at=stage.now
    )  # only the verdict knows it
    reader = signed_in(stage.people["mira"])
    for page in ("/", "/queue", f"/jobs/{job.pk}"):
        text = reader.get(page).text
        assert "when a job of team language ends" in text, page
        assert not re.search(rf"\bjob {blocker.pk}\b", text), page
    caller = with_token(stage.people["mira"], stage.now)
    for answer in (caller.get(f"/jobs/{job.pk}"), caller.get(f"/jobs/{job.pk}/why")):
        why = json.loads(answer.content)["why"]
        assert why["numbers"]["ends_job"] == "of team language"
        assert not re.search(rf"\bjob {blocker.pk}\b", why["sentence"])


def test_what_is_planned_is_told_with_place_and_time(
    behind: tuple[Stage, Job, Job], signed_in: SignIn
) -> None:
    stage, blocker, job = behind
    planned = told(stage, job, "mira").planned
    limit = stage.live_run(blocker).started_at + timedelta(hours=2)
    assert (planned.place, planned.certain) == ("n1", True)
    assert limit <= planned.at < limit + timedelta(minutes=1)
    why = json.loads(with_token(stage.people["mira"], stage.now).get(f"/jobs/{job.pk}/why").content)["why"]
    assert datetime.fromisoformat(why["planned"]["at"]) == planned.at
    assert why["planned"]["place"] == "n1"
    page = signed_in(stage.people["mira"]).get(f"/jobs/{job.pk}").text
    assert "<dt>Starts</dt><dd>by " in page
    assert "<dt>Place</dt><dd>n1" in page
    assert "n1</span>" in signed_in(stage.people["mira"]).get("/queue").text


def test_many_waits_are_one_query_and_none_where_nobody_is_named(behind: tuple[Stage, Job, Job]) -> None:
    stage = behind[0]
    for _ in range(5):
        stage.submit("more", gpus_per_node=8)
    fresh = stage.submit("fresh", gpus_per_node=8)
    standing = standing_of(stage.people["mira"])
    with counted() as queries:
        assert waits_of([fresh], standing, now=stage.now)[fresh.pk].code is None
    assert len(queries) == 0
    stage.turn()
    jobs = list(Job.objects.filter(phase="waiting"))
    with counted() as queries:
        assert len(waits_of(jobs, standing, now=stage.now)) == 7
    assert len(queries) == 1


def test_a_round_that_did_not_reach_a_job_leaves_its_last_answer_standing(
    behind: tuple[Stage, Job, Job],
) -> None:
    stage, blocker, job = behind
    before = told(stage, job, "mira").sentence
    missed = [Verdict(job.pk, job.version, Reason.NOT_REACHED, {"waiting": 9_000}, 0, 0)]
    stage.later(10)
    assert apply.verdicts(missed, now=stage.now) == 1
    stage.later(40)
    assert apply.verdicts(missed, now=stage.now) == 0
    job.refresh_from_db()
    said = told(stage, job, "mira").sentence
    assert said == (
        "Not yet considered in this round (9,000 jobs waiting); "
        f"the last full answer, 40 s ago, was: {before}"
    )
    assert f"when job {blocker.pk} ends" in told(stage, job, "noor").sentence
    stage.turn()
    job.refresh_from_db()
    assert "last_code" not in job.reason_numbers

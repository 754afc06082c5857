"""The longest time limit of a tier: refused above it, given to who asks for none, and kept."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from portal.cycle import policy, queries
from portal.errors import Refusal
from portal.jobs.models import Job, Run
from portal.journal.models import Entry
from tests.portal.stage import Stage

HOUR = 3_600


def cap(stage: Stage, **figures: Any) -> None:
    newest = queries.in_force()
    policy.set_policy(
        figures={**newest.figures, **figures}, seen=newest.number, why="caps", by=stage.people["noor"], now=stage.now
    )  # fmt: skip


def test_who_asks_for_no_limit_gets_the_longest_of_its_tier_at_its_start(stage: Stage) -> None:
    stage.add_nodes("n1")
    cap(stage, max_duration_s={"standard": HOUR})
    free, capped = stage.submit(tier="opportunistic"), stage.submit()
    short = stage.submit(limit_s=600)
    stage.turn()
    limits = {job.pk: Job.objects.get(pk=job.pk).limit_s for job in (free, capped, short)}
    assert limits == {free.pk: None, capped.pk: HOUR, short.pk: 600}
    (told,) = Entry.objects.filter(verb="limited")
    assert (told.subject, told.sentence) == (
        capped.pk, "Its time limit is 1\u00a0h, the longest that standard jobs may have",
    )  # fmt: skip


def test_a_run_without_its_own_limit_is_stopped_when_the_tiers_is_reached(stage: Stage) -> None:
    stage.add_nodes("n1")
    cap(stage, max_duration_s={"standard": HOUR})
    run = stage.running(stage.submit())
    stage.pass_time(HOUR - 60)
    stage.turn()
    run.refresh_from_db()
    assert run.phase == "running"
    stage.pass_time(60)
    stage.turn()
    run.refresh_from_db()
    assert (run.phase, run.cause) == ("stopping", "limit")


@pytest.mark.limit(150)
def test_a_new_cap_ends_nothing_that_runs(stage: Stage) -> None:
    stage.add_nodes("n1")
    run = stage.running(stage.submit())
    stage.pass_time(2 * HOUR)
    cap(stage, max_duration_s={"standard": HOUR})
    stage.turn()
    run.refresh_from_db()
    assert run.phase == "running"
    assert Run.objects.get().job.limit_s is None


REFUSED = {
    "a limit above the cap": ({"max_duration_s": {"standard": HOUR}}, {"limit_s": 2 * HOUR}, "limit_s"),
    "a tier that nobody may use": ({"max_jobs_per_user": {"standard": 0}}, {}, "tier"),
    "pools kept for production": ({"production_pools": ["train"]}, {}, "tier"),
}


@pytest.mark.parametrize(("figures", "asked", "field"), REFUSED.values(), ids=REFUSED)
def test_what_the_policy_forbids_is_refused_at_its_field(
    stage: Stage, figures: dict[str, Any], asked: dict[str, Any], field: str
) -> None:
    stage.add_nodes("n1")
    cap(stage, **figures)
    with pytest.raises(Refusal) as refused:
        stage.submit(**asked)
    assert (refused.value.field, refused.value.code) == (field, "impossible")


def test_the_form_shows_the_refusal_beside_the_limit(
    stage_now: Stage, signed_in: Callable[..., Client]
) -> None:
    stage_now.add_nodes("n1")
    cap(stage_now, max_duration_s={"standard": HOUR})
    sent = {
        "key": "k", "name": "long", "team": "vision", "command": "true", "nodes": "1", "gpus_per_node": "1",
        "tier": "standard", "limit": "2 h", "gpu_type": "", "env": "",
    }  # fmt: skip
    answer = signed_in(stage_now.people["mira"]).post("/jobs/new", sent)
    assert answer.status_code == 422
    error = answer.text.split('id="id_limit-error"')[1].split("</p>")[0]
    assert "its limit of 2 h is longer than the 1 h that standard jobs may have" in error


def test_a_cap_below_every_limit_is_no_cap(stage: Stage) -> None:
    with pytest.raises(Refusal, match="Write at least 1 min"):
        cap(stage, max_duration_s={"production": 59})

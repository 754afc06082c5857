"""The page of one job: how far it is, why it waits, its ranks, log, cost and events; cancelling and rights."""

import asyncio
import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from portal.jobs.logs import append
from portal.jobs.models import Job, Run
from portal.journal.actions import note
from portal.journal.models import Entry
from portal.telemetry.models import Reading
from tests.portal.conftest import counted
from tests.portal.stage import Stage

SignIn = Callable[..., Client]


@pytest.fixture
def cluster(stage_now: Stage) -> Stage:
    stage_now.add_nodes("n1", "n2")
    return stage_now


@pytest.fixture
def still(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """The same at a fixed moment: the doors' clock stands where the stage's does."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: stage.now)
    stage.add_nodes("n1", "n2")
    return stage


@pytest.fixture
def mira(cluster: Stage, signed_in: SignIn) -> Client:
    return signed_in(cluster.people["mira"])


def words(page: str) -> str:
    text = html.unescape(re.sub(r"<[^>]*>", " ", page)).replace("\u00a0", " ")
    return re.sub(r"\s+", " ", text)


def part(page: str, id_: str) -> str:
    """The section with this id, roughly: until the next section begins."""
    return re.split(r"<section|<aside", page.split(f'id="{id_}"')[1])[0]


def steps(page: str) -> list[tuple[str, str]]:
    """The stepper: each word with how it looks; the current one is marked."""
    items = re.findall(r"<li([^>]*)><b>(\w+)</b>", page.split('class="stepper"')[1].split("</ol>")[0])
    return [
        (word, "now " * ("aria-current" in attrs) + (re.findall(r'class="([\w-]+)"', attrs) or ["ahead"])[0])
        for attrs, word in items
    ]


def end(stage: Stage, run: Run, **how: Any) -> None:
    for name in stage.where(run):
        stage.agents[name].end(run, **how)
    stage.later()
    stage.beat()


# ---- How far it is


def test_a_waiting_job_says_why_and_who_is_ahead(cluster: Stage, mira: Client) -> None:
    blocker = cluster.submit("big", by="omar", team="language", nodes=2, gpus_per_node=8, limit_s=7_200)
    cluster.running(blocker)
    cluster.submit("secret-one", by="omar", team="language", gpus_per_node=8, tier="production")
    cluster.submit("secret-two", by="omar", team="language", gpus_per_node=2)
    colleagues = cluster.submit("colleagues", by="ravi", gpus_per_node=4)
    cluster.later()
    job = cluster.submit("mine", nodes=2, gpus_per_node=4, gpu_type="H100")
    cluster.turn()
    page = mira.get(f"/jobs/{job.pk}").text
    assert steps(page) == [
        ("Submitted", "passed"), ("Waiting", "now is-waiting"), ("Starting", "ahead"), ("Running", "ahead"),
        ("Finished", "ahead"),
    ]  # fmt: skip
    told = words(part(page, "why"))
    assert "The train pool is full: it needs 8 H100, none is free." in told
    assert "when a job of team language ends" in told
    assert not re.search(rf"\bjob {blocker.pk}\b", told)
    assert "Ahead of you 2 jobs, 12 GPUs" in told  # of its own tier language goes behind: it holds everything
    rows = words(part(page, "ahead"))
    assert "language Production tier 1 8" in rows
    assert "Before it in its tier 1 4" in rows
    assert f"{colleagues.pk} colleagues" in rows
    assert "secret" not in page
    assert "Omar" not in page
    assert "0 of 16" in words(page.split('id="free-h100"')[1])


def test_only_its_owner_is_addressed_as_the_owner(cluster: Stage, mira: Client, signed_in: SignIn) -> None:
    cluster.running(cluster.submit("half", gpus_per_node=4))
    cluster.running(cluster.submit("other half", gpus_per_node=5))
    job = cluster.submit("scattered", gpus_per_node=6)
    cluster.turn()
    assert "your job asks for 6 in one node" in words(part(mira.get(f"/jobs/{job.pk}").text, "why"))
    seen = words(part(signed_in(cluster.people["yuki"]).get(f"/jobs/{job.pk}").text, "why"))
    assert "it asks for 6 in one node" in seen
    assert "Ahead of it" in seen


def test_a_job_that_nobody_looked_at_yet_says_so(cluster: Stage, mira: Client) -> None:
    page = mira.get(f"/jobs/{cluster.submit().pk}").text
    assert "Not yet considered" in words(part(page, "why"))


def test_a_running_job_shows_places_ranks_limit_and_cost(cluster: Stage, mira: Client) -> None:
    job = cluster.submit("gang", nodes=2, gpus_per_node=8, limit_s=3_600, env={"LEVEL": "debug"})
    cluster.running(job)
    page = mira.get(f"/jobs/{job.pk}").text
    assert ("Running", "now is-running") in steps(page)
    text = words(page)
    assert "16 × H100 on n1 and n2 · running" in text
    assert "16 of 16 running" in text
    assert "by its limit of 1 h" in text
    assert "50 % mean of 16 GPUs" in text  # what played agents say
    assert len(re.findall(r'<tr id="rank-\d+"', page)) == 16
    assert "Rank 9 : what it printed n2 1 Running 50 % · 1 GB" in text
    assert "€3.60 per GPU-h" in text
    assert "At most, with its limit €57.60" in text
    assert "All 16 ranks running" in words(part(page, "events"))
    assert "LEVEL" in part(page, "asked")
    assert 'data-live="2"' in page


def test_a_finished_job_shows_what_it_cost_and_stops_asking(still: Stage, signed_in: SignIn) -> None:
    job = still.submit("gang", nodes=2, gpus_per_node=8)
    run = still.running(job)
    still.later(3_598)
    end(still, run)
    client = signed_in(still.people["mira"])
    page = client.get(f"/jobs/{job.pk}").text
    assert steps(page)[-1] == ("Finished", "now is-done")
    assert [word for word, _ in steps(page)] == ["Submitted", "Waiting", "Starting", "Running", "Finished"]
    assert "Total, 16.00 GPU-h €57.60" in words(part(page, "cost"))
    assert "data-live" not in page.split('id="job"')[1].split(">")[0]
    assert "Rank 15 : what it printed n2 7 Finished exit 0" in words(page)
    poll = client.get(f"/jobs/{job.pk}", headers={"HX-Request": "true"})
    assert poll.headers["Berth-Over"] == "1"


def test_a_failed_job_names_the_rank_that_broke_it(cluster: Stage, mira: Client) -> None:
    job = cluster.submit("gang", gpus_per_node=8)
    run = cluster.running(job)
    agent = cluster.agents[cluster.where(run)[0]]
    agent.end_rank(run, 3, 17)
    cluster.beat()
    text = words(mira.get(f"/jobs/{job.pk}").text)
    assert "Rank 3 on n1 ended with exit 17 The other 7 ranks are being stopped." in text
    agent.end(run, exits={3: 17})
    run.refresh_from_db()
    cluster.later()
    cluster.beat()
    run.ranks.exclude(rank=3).update(exit_code=None, signal=15)
    page = mira.get(f"/jobs/{job.pk}").text
    assert steps(page)[-1] == ("Failed", "now is-failed")
    text = words(page)
    assert "Rank 3 : what it printed n1 3 Failed exit 17" in text
    assert "Rank 4 : what it printed n1 4 Stopped signal 15 (SIGTERM)" in text
    assert 'href="?run=1&amp;rank=3#log-h"' in page


def test_a_job_that_lost_its_node_waits_again_and_keeps_its_runs(cluster: Stage, mira: Client) -> None:
    job = cluster.submit("again", gpus_per_node=8)
    run = cluster.running(job)
    cluster.agents[cluster.where(run)[0]].forget(run)
    cluster.later()
    cluster.beat()
    page = mira.get(f"/jobs/{job.pk}").text
    assert ("Waiting", "now is-waiting") in steps(page)
    assert "Run 1: a node was lost Nobody's fault." in words(page)
    second = cluster.running(job)
    assert second.epoch == 2
    page = mira.get(f"/jobs/{job.pk}").text
    assert f"Job {job.pk}, 2 runs" in page
    runs = words(part(page, "runs"))
    assert "Run 2" in runs
    assert "Run 1" in runs
    assert "a node was lost" in runs
    assert 'id="log-2-all"' in page
    assert "Run 1: a node was lost" not in words(page)
    old = mira.get(f"/jobs/{job.pk}?run=1").text
    assert 'id="log-1-all"' in old
    assert "Run 1: a node was lost" in words(old)
    assert "Ranks of run 1 8 on" in words(old)
    assert f"8 × H100 on {cluster.where(second)[0]} · running" in words(old)
    for wrong in ("?run=3", "?run=x", "?rank=x", "?rank=-1"):
        assert mira.get(f"/jobs/{job.pk}{wrong}").status_code == 404


def test_of_many_ranks_those_that_went_wrong_are_always_shown(cluster: Stage, mira: Client) -> None:
    cluster.add_nodes(*(f"n{number}" for number in range(3, 11)))
    job = cluster.submit("wide", nodes=10, gpus_per_node=8)
    run = cluster.running(job)
    run.ranks.filter(rank=77).update(state="ended", exit_code=3)
    page = mira.get(f"/jobs/{job.pk}").text
    shown = [int(number) for number in re.findall(r'<tr id="rank-(\d+)"', page)]
    assert len(shown) == 64
    assert 77 in shown
    assert len(re.findall(r'<tr id="rank-\d+"', mira.get(f"/jobs/{job.pk}?ranks=all").text)) == 80


def test_the_activity_of_its_gpus_is_drawn_since_the_run_was_placed(cluster: Stage, mira: Client) -> None:
    job = cluster.submit("gang", gpus_per_node=2)
    run = cluster.running(job)
    page = mira.get(f"/jobs/{job.pk}").text
    assert 'id="activity"' not in page  # too young for a chart
    began = cluster.now - timedelta(minutes=20)
    Run.objects.filter(pk=run.pk).update(created_at=began, started_at=began)
    Reading.objects.all().delete()  # what the played beats left
    for minute in range(40):
        at = cluster.now - timedelta(minutes=minute)
        Reading.objects.create(gpu=run.ranks.get(rank=0).gpu, at=at, util=7 if minute > 25 else 80)
    told = part(mira.get(f"/jobs/{job.pk}").text, "activity")
    # What the GPU did before, it did for others.
    assert "GPU 0: activity over the last hour from 80\u00a0% to 80\u00a0%" in told
    assert "GPU 1: no activity readings in the last hour" in told
    assert words(told).count("50 %") == 2  # what the newest beat says of each


# ---- Rights


def test_who_may_not_see_a_job_learns_nothing_of_it(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("secret", command="echo sesame")
    cluster.running(job)
    omar = signed_in(cluster.people["omar"])
    for address in ("", "/cancel", "/stream", "/log.txt"):
        answer = omar.get(f"/jobs/{job.pk}{address}")
        assert answer.status_code == 404
        assert "sesame" not in answer.text
        assert "secret" not in answer.text
    assert omar.post(f"/jobs/{job.pk}/cancel").status_code == 404
    assert Job.objects.get(pk=job.pk).phase == "running"
    assert omar.get(f"/jobs/{10**30}").status_code == 404


def test_finance_sees_the_cost_and_a_sentence_in_place_of_the_log(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("mine", env={"WANDB_KEY": "hunter2"})
    run = cluster.running(job)
    append(run=run.pk, rank=0, offset=0, body=b"the loss is secret\n", now=cluster.now)
    ines = signed_in(cluster.people["ines"])
    page = ines.get(f"/jobs/{job.pk}").text
    assert "What a job prints is read by its team and by administrators." in page
    assert "WANDB_KEY" in page
    for hidden in ("the loss is secret", "hunter2", "data-follow", "log.txt", "Cancel job", "/jobs/new"):
        assert hidden not in page
    assert "Cost so far" in page
    for address in ("stream", "log.txt"):
        assert ines.get(f"/jobs/{job.pk}/{address}").status_code == 403


def test_a_member_sees_a_colleagues_job_but_cannot_cancel_it(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("mine")
    ravi = signed_in(cluster.people["ravi"])
    page = ravi.get(f"/jobs/{job.pk}").text
    assert "Clone" in page
    assert "Cancel job" not in page
    assert ravi.get(f"/jobs/{job.pk}/cancel").status_code == 403
    assert ravi.post(f"/jobs/{job.pk}/cancel").status_code == 403
    assert Job.objects.get(pk=job.pk).phase == "waiting"


# ---- Cancelling


@pytest.mark.parametrize("who", ["mira", "yuki", "rhea", "noor"])
def test_cancelling_asks_first_and_works_without_scripts(cluster: Stage, signed_in: SignIn, who: str) -> None:
    job = cluster.submit("mine")
    client = signed_in(cluster.people[who])
    page = client.get(f"/jobs/{job.pk}").text
    assert f'href="/jobs/{job.pk}/cancel" data-opens="cancel-dialog"' in page
    question = client.get(f"/jobs/{job.pk}/cancel").text
    assert f"Cancel job {job.pk}?" in question
    assert "It leaves the queue." in question
    assert Job.objects.get(pk=job.pk).phase == "waiting"
    answer = client.post(f"/jobs/{job.pk}/cancel", follow=True)
    assert Job.objects.get(pk=job.pk).phase == "cancelled"
    assert steps(answer.text) == [
        ("Submitted", "passed"),
        ("Waiting", "passed"),
        ("Cancelled", "now is-cancelled"),
    ]
    assert f"Job {job.pk} is cancelled" in answer.text


def test_cancelling_a_running_job_shows_it_stopping(cluster: Stage, mira: Client) -> None:
    job = cluster.submit("mine")
    run = cluster.running(job)
    assert "are stopped 10 s later" in mira.get(f"/jobs/{job.pk}/cancel").text
    page = mira.post(f"/jobs/{job.pk}/cancel", follow=True).text
    assert ("Stopping", "now is-finishing") in steps(page)
    assert "Cancel job" not in page
    end(cluster, run, signal=15)
    assert steps(mira.get(f"/jobs/{job.pk}").text)[-1] == ("Cancelled", "now is-cancelled")


def test_what_is_over_cannot_be_cancelled_and_says_so(cluster: Stage, mira: Client) -> None:
    job = cluster.submit("mine")
    end(cluster, cluster.running(job))
    answer = mira.get(f"/jobs/{job.pk}/cancel")
    assert answer.status_code == 409
    assert "there is nothing left to cancel" in answer.text
    answer = mira.post(
        f"/jobs/{job.pk}/cancel", headers={"Referer": f"http://testserver/jobs/{job.pk}"}, follow=True
    )
    assert f"Job {job.pk} has already finished; there is nothing left to cancel." in answer.text


# ---- Log


def shown(page: str) -> list[str]:
    """The lines of the log as a person reads them: rank and text."""
    log = page.split('class="log')[1].split("</ol>")[0]
    items = re.findall(r"<li([^>]*)>(.*?)</li>", log, re.DOTALL)
    return [words(inner).strip().split(" ", 1)[1] for attrs, inner in items if "data-nothing" not in attrs]


def test_the_page_shows_the_newest_lines_of_all_ranks_or_of_one(cluster: Stage, mira: Client) -> None:
    job = cluster.submit("mine", gpus_per_node=2)
    run = cluster.running(job)
    assert "Nothing printed yet." in mira.get(f"/jobs/{job.pk}").text
    append(run=run.pk, rank=0, offset=0, body=b"step 1\nste", now=cluster.now)
    append(run=run.pk, rank=1, offset=0, body="<b>größer</b>\n".encode(), now=cluster.now)
    append(run=run.pk, rank=0, offset=10, body=b"p 2\n\x1b[31mWARNING\x1b[0m hot\nunfini", now=cluster.now)
    page = mira.get(f"/jobs/{job.pk}").text
    assert shown(page) == ["r0 step 1", "r1 <b>größer</b>", "r0 step 2", "r0 WARNING hot", "r0 unfini"]
    assert "<b>größer" not in page
    assert '<li class="is-warning">' in page
    assert re.search(r'data-follow="/jobs/\d+/stream\?run=1" data-after="\d+"', page)
    one = mira.get(f"/jobs/{job.pk}?rank=1").text
    assert shown(one) == ["r1 <b>größer</b>"]
    assert f'data-follow="/jobs/{job.pk}/stream?run=1&amp;rank=1"' in one
    # A poll leaves the log to its stream.
    assert "größer" not in mira.get(f"/jobs/{job.pk}", headers={"HX-Request": "true"}).text


def test_a_log_of_many_megabytes_gives_a_page_of_its_end(cluster: Stage, mira: Client) -> None:
    job = cluster.submit("mine")
    run = cluster.running(job)
    offset = 0
    for piece in range(12):
        body = b"".join(b"line %d of piece %d %s\n" % (n, piece, b"." * 200) for n in range(1_100))
        append(run=run.pk, rank=0, offset=offset, body=body, now=cluster.now)
        offset += len(body)
    page = mira.get(f"/jobs/{job.pk}").text
    assert len(shown(page)) == 300
    assert "line 1099 of piece 11" in page
    assert len(page) < 200_000


def body_of(response: Any) -> bytes:
    """The whole of a text that comes bit by bit."""

    async def gather() -> bytes:
        return b"".join([piece async for piece in response])

    return asyncio.run(gather())


def test_the_log_can_be_taken_along_as_it_was_printed(stage_shared: Stage, signed_in: SignIn) -> None:
    stage_shared.add_nodes("n1")
    job = stage_shared.submit("mine", gpus_per_node=2)
    run = stage_shared.running(job)
    append(run=run.pk, rank=0, offset=0, body=b"\x1b[1mhead\x1b[0m\nwi", now=stage_shared.now)
    append(run=run.pk, rank=1, offset=0, body=b"other\n", now=stage_shared.now)
    append(run=run.pk, rank=0, offset=5_000_000, body=b"tail\nopen", now=stage_shared.now)
    client = signed_in(stage_shared.people["mira"])
    one = client.get(f"/jobs/{job.pk}/log.txt?run=1&rank=0")
    assert one.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert one.headers["Content-Disposition"] == f'attachment; filename="job-{job.pk}-run-1-rank-0.txt"'
    assert one.headers["X-Content-Type-Options"] == "nosniff"
    gap = "… 5.0\u00a0MB let go here: a log keeps its beginning and its end"
    assert body_of(one).decode() == f"\x1b[1mhead\x1b[0m\nwi\n{gap}\ntail\nopen"
    merged = body_of(client.get(f"/jobs/{job.pk}/log.txt")).decode()
    assert merged == f"r0\thead\nr1\tother\nr0\twi\nr0\t{gap}\nr0\ttail\nr0\topen\n"
    assert client.get(f"/jobs/{job.pk}/log.txt?run=9").status_code == 404


def test_a_job_that_never_ran_has_no_log(cluster: Stage, mira: Client) -> None:
    job = cluster.submit("mine")
    for address in ("stream", "log.txt"):
        answer = mira.get(f"/jobs/{job.pk}/{address}")
        assert answer.status_code == 404
        assert "has not run yet" in answer.text


# ---- Content that means harm, and what the page costs


def test_commands_variables_and_events_stay_text(cluster: Stage, mira: Client) -> None:
    hostile = "</pre><script>alert(1)</script>"
    job = cluster.submit("mine", command=f"echo '{hostile}'", env={"EVIL": hostile})
    note(about=(Entry.Kind.JOB, job.pk), verb="noted", sentence=hostile, now=cluster.now)
    page = mira.get(f"/jobs/{job.pk}").text
    assert "<script>alert" not in page
    assert page.count("&lt;/pre&gt;&lt;script&gt;") == 3


def test_the_page_costs_the_same_for_one_rank_and_for_sixteen(cluster: Stage, mira: Client) -> None:
    def cost(job: Job, **headers: str) -> int:
        with counted() as queries:
            assert mira.get(f"/jobs/{job.pk}", headers=headers).status_code == 200
        return len(queries)

    small = cluster.submit("small", gpus_per_node=1)
    run = cluster.running(small)
    append(run=run.pk, rank=0, offset=0, body=b"hello\n", now=cluster.now)
    few, poll = cost(small), cost(small, **{"HX-Request": "true"})
    end(cluster, run)
    large = cluster.submit("large", nodes=2, gpus_per_node=8)
    run = cluster.running(large)
    for rank in range(16):
        append(run=run.pk, rank=rank, offset=0, body=b"hello\n" * 50, now=cluster.now)
    assert cost(large) == few <= 17
    assert cost(large, **{"HX-Request": "true"}) == poll <= 13
    waiting = cluster.submit("waits", nodes=2, gpus_per_node=8)
    costs = []
    for more in (1, 60):
        for number in range(more):
            cluster.submit(f"job {number}", tier="production", nodes=2, gpus_per_node=8)
        cluster.turn()
        costs.append(cost(waiting))
    assert costs[0] == costs[1] <= 16

"""Home, by role: what needs its reader, their jobs, quotas, free GPUs and money."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from portal.accounts.models import Membership, User
from portal.agents.models import Listening
from portal.cluster.models import Node
from portal.home import spending
from portal.jobs.models import Hold, Job, Run
from portal.jobs.queries import costs
from portal.quotas.models import Quota
from portal.showback.models import Rate
from tests.portal.conftest import counted
from tests.portal.stage import Stage, hardware

SignIn = Callable[..., Client]
HOSTILE = "<b>'\"&</b>"


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


def headline(page: str) -> str:
    return re.sub(r"<[^>]*>", "", page.split("<h1>")[1].split("</h1>")[0]).replace("\u00a0", " ")


def fail(stage: Stage, job: Job, *, rank: int = 0, exit_code: int = 1) -> None:
    """One rank of a running job goes wrong, and the job with it."""
    run = stage.running(job)
    for name in stage.where(run):
        stage.agents[name].end(run, exits={rank: exit_code})
    stage.later()
    stage.beat()


# ---- What needs me


def test_the_first_visit_says_what_to_do(cluster: Stage, signed_in: SignIn) -> None:
    page = signed_in(cluster.people["mira"]).get("/").text
    assert headline(page) == "Nothing needs you"
    assert "Submit your first job" in page
    assert 'href="/jobs/new"' in page


def test_without_a_team_the_page_says_who_can_help(stage_now: Stage, signed_in: SignIn) -> None:
    Membership.objects.filter(user=stage_now.people["mira"]).delete()
    page = signed_in(stage_now.people["mira"]).get("/").text
    assert "you are in none: an administrator can add you to one" in page
    assert "no node has joined yet" in page


def test_running_and_waiting_jobs_are_told_with_place_and_reason(cluster: Stage, signed_in: SignIn) -> None:
    cluster.running(cluster.submit("pretrain", nodes=2, gpus_per_node=4, limit_s=7200))
    waiting = cluster.submit("too-big", nodes=2, gpus_per_node=8)
    cluster.turn()
    page = signed_in(cluster.people["mira"]).get("/").text
    assert headline(page) == "1 job running, 1 waiting"
    assert "n1 and n2" in page
    assert "ends by" in page
    row = page.split(f'id="job-{waiting.pk}"')[1].split("</tr>")[0]
    assert "8" in row.split('data-label="Why">')[1]
    assert "Not yet considered" not in row
    assert page.index("pretrain") < page.index("too-big")


def test_a_job_that_waits_again_does_not_show_its_old_run(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("again", gpus_per_node=8, limit_s=7200)
    run = cluster.running(job)
    cluster.agents[cluster.where(run)[0]].forget(run)
    cluster.later()
    cluster.beat()
    assert Job.objects.get(pk=job.pk).phase == "waiting"
    row = signed_in(cluster.people["mira"]).get("/").text.split(f'id="job-{job.pk}"')[1].split("</tr>")[0]
    assert "Waiting" in row
    assert "ends by" not in row


def test_a_failure_needs_its_owner_until_it_is_tried_again(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("doomed", gpus_per_node=4)
    fail(cluster, job, rank=3, exit_code=7)
    client = signed_in(cluster.people["mira"])
    page = client.get("/").text
    assert headline(page) == "One thing needs you"
    assert "Rank 3 ended with exit code 7 first." in page
    assert f'href="/jobs/new?clone={job.pk}"' in page
    assert headline(signed_in(cluster.people["ravi"]).get("/").text) == "Nothing needs you"
    Job.objects.filter(pk=cluster.submit("second try").pk).update(cloned_from=job)
    assert "needs you" not in headline(client.get("/").text)


def test_a_time_limit_is_told_as_such(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("long", limit_s=7200)
    fail(cluster, job)
    Run.objects.update(cause="limit")
    assert "Reached its time limit of 2\u00a0h." in signed_in(cluster.people["mira"]).get("/").text


def test_an_administrator_sees_every_node_that_needs_one(cluster: Stage, signed_in: SignIn) -> None:
    cluster.add_nodes("n3", "n4", "n5", "n6")
    changed, trespassed = Node.objects.get(name="n3"), Node.objects.get(name="n4")
    changed.hardware_seen = "f" * 64
    changed.save()
    trespassed.latest |= {"trespass": [{"uuid": "x", "pid": 1, "name": "python"}]}
    trespassed.save()
    Node.objects.filter(name="n5").update(last_seen_at=cluster.now - timedelta(minutes=1))
    Node.objects.filter(name="n6").update(lost_at=cluster.now)
    Node.objects.create(
        pool=cluster.pool(), name="n7", gpu_type="x", claim_digest="0" * 64,
        hardware_reported=hardware("n7"),
    )  # fmt: skip
    page = signed_in(cluster.people["noor"]).get("/").text
    assert headline(page) == "Five things need you"
    asks = re.findall(
        r'<li id="ask-node.*?<span class="badge[^>]*>([^<]*)</span>\s+<a href="([^"]*)"', page, re.S
    )
    assert asks == [
        ("Changed", "/cluster/n3"), ("Trespass", "/cluster/n4"), ("Silent", "/cluster/n5"),
        ("Lost", "/cluster/n6"), ("New node", "/cluster/n7"),
    ]  # fmt: skip
    assert 'href="/cluster/n7/approve"' in page
    assert headline(signed_in(cluster.people["yuki"]).get("/").text) == "Nothing needs you"


def test_an_administrator_hears_that_the_portal_is_deaf(cluster: Stage, signed_in: SignIn) -> None:
    Listening.objects.update(until=cluster.now - timedelta(minutes=1))
    assert "not hearing its agents" in signed_in(cluster.people["noor"]).get("/").text
    assert "not hearing its agents" not in signed_in(cluster.people["mira"]).get("/").text


# ---- Teams, quotas, free GPUs


def test_the_team_is_shown_against_its_quota_and_the_quotas_above(cluster: Stage, signed_in: SignIn) -> None:
    for team, nominal in (("vision", 12), ("research", 16), ("language", 10)):
        Quota.objects.create(team=cluster.teams[team], gpu_type="H100", nominal=nominal)
    cluster.running(cluster.submit(gpus_per_node=3))
    cluster.running(cluster.submit(gpus_per_node=4, by="omar", team="language"))
    page = signed_in(cluster.people["mira"]).get("/").text
    said = re.findall(r'class="quota" role="img" aria-label="([^"]*)"', page)
    assert said == ["vision: 3 of 12 H100 held, 9 left", "research: 7 of 16 H100 held, 9 left"]
    finance = signed_in(cluster.people["ines"]).get("/").text
    assert "research: 7 of 16 H100 held, 9 left" in finance


def test_a_team_over_its_quota_is_told_so(cluster: Stage, signed_in: SignIn) -> None:
    quota = Quota.objects.create(team=cluster.teams["vision"], gpu_type="H100", nominal=4)
    cluster.running(cluster.submit(gpus_per_node=4))
    client = signed_in(cluster.people["mira"])
    assert "4 of 4 H100 held, all of it held" in client.get("/").text
    for nominal, own, rest in ((3, "75%", "1 over"), (0, "0%", "4 over")):
        Quota.objects.filter(pk=quota.pk).update(nominal=nominal)
        page = client.get("/").text
        assert rest in page
        assert f'class="used" y="14" width="{own}"' in page
        assert f'class="borrowed" x1="{own}" x2="100%"' in page


BORROWS = {
    "within its limit": (2, 4, "2 borrowed of at most 4", "limit 6"),
    "without a limit": (2, None, "2 borrowed", ""),
    "not yet": (6, 2, "2 left, may borrow 2", "limit 8"),
    "with all of its own held": (4, 2, "all of it held, may borrow 2", "limit 6"),
}


@pytest.mark.parametrize(("nominal", "borrow", "rest", "limit"), BORROWS.values(), ids=BORROWS)
def test_what_a_team_borrows_is_told_apart_from_its_own(
    cluster: Stage, signed_in: SignIn, nominal: int, borrow: int | None, rest: str, limit: str
) -> None:
    cluster.running(cluster.submit(gpus_per_node=4))
    Quota.objects.create(team=cluster.teams["vision"], gpu_type="H100", nominal=nominal, borrow=borrow)
    page = signed_in(cluster.people["mira"]).get("/").text
    assert f"vision: 4 of {nominal} H100 held, {rest}" in page
    assert (f">{limit}<" in page) if limit else (">limit" not in page)


def test_free_gpus_are_told_by_type(cluster: Stage, signed_in: SignIn) -> None:
    cluster.add_nodes("a1", kind="A100", gpus=4)
    cluster.running(cluster.submit(gpus_per_node=5, gpu_type="H100"))
    page = signed_in(cluster.people["mira"]).get("/").text
    assert "up to 8\u00a0GPUs in one node, 11 in all" in page
    assert "up to 4\u00a0GPUs in one node, 4 in all" in page
    assert "15 of 20\u00a0GPUs free" in page


def test_all_you_may_see_is_the_team_and_nobody_else(cluster: Stage, signed_in: SignIn) -> None:
    cluster.running(cluster.submit("of-ravi", by="ravi"))
    cluster.running(cluster.submit("of-omar", by="omar", team="language"))
    mira = signed_in(cluster.people["mira"])
    assert "of-ravi" not in mira.get("/").text
    page = mira.get("/?whose=team").text
    assert "of-ravi" in page
    assert "of-omar" not in page


def test_the_tiles_count_what_the_list_leaves_out(cluster: Stage, signed_in: SignIn) -> None:
    for _ in range(23):
        cluster.submit(gpus_per_node=8, nodes=2)
    page = signed_in(cluster.people["mira"]).get("/").text
    assert page.count("<tr id=") == 20
    assert "20 of 23\u00a0jobs" in page
    assert "for 368\u00a0GPUs" in page


def test_what_one_ran_before_can_be_started_again(cluster: Stage, signed_in: SignIn) -> None:
    for name in ("sweep", "sweep", "other"):
        fail(cluster, cluster.submit(name))
    Job.objects.filter(name="other").update(name=HOSTILE)  # no door lets such a name in
    newest = Job.objects.filter(name="sweep").latest("pk")
    page = signed_in(cluster.people["mira"]).get("/").text
    again = page.split('id="again-h"')[1]
    assert re.findall(r"\?clone=(\d+)", again) == [str(newest.pk + 1), str(newest.pk)]
    assert "<b>'" not in page
    assert "&lt;b&gt;" in page


# ---- Money


def hold(stage: Stage, team: str, begin: datetime, end: datetime | None, *, gpus: int = 1) -> Job:
    """GPUs held from here to there by a job of the team, free of any planner."""
    job = Job.objects.create(
        name="x", team=stage.teams[team], user=stage.people["mira"], command="x", nodes=1, gpus_per_node=gpus,
        submitted_at=begin, phase="finished", ended_at=end or begin,
    )  # fmt: skip
    run = Run.objects.create(job=job, epoch=1, phase="ended", created_at=begin, ended_at=end or begin)
    free = [gpu for gpu in Node.objects.get(name="n1").gpus.all() if not gpu.holds.exists()]
    Hold.objects.bulk_create(Hold(run=run, gpu=gpu, held_from=begin, released_at=end) for gpu in free[:gpus])
    return job


def test_spending_is_cut_at_the_month_and_split_at_a_change_of_rate(stage: Stage) -> None:
    stage.add_nodes("n1")
    Rate.objects.all().delete()
    month = datetime(2026, 11, 1, tzinfo=UTC)
    Rate.objects.create(gpu_type="H100", micros_per_hour=2_000_000, valid_from=month - timedelta(days=9))
    Rate.objects.create(gpu_type="H100", micros_per_hour=3_000_000, valid_from=month + timedelta(hours=4))
    hold(stage, "vision", month - timedelta(hours=5), month + timedelta(hours=6), gpus=2)
    hold(stage, "language", month - timedelta(hours=5), month)
    hold(stage, "language", month + timedelta(hours=10), None)
    now = month + timedelta(hours=12)
    each = {one.team: one.bill for one in spending.spent(begin=month, now=now)}
    assert {team: (bill.gpu_hours, bill.micros) for team, bill in each.items()} == {
        "vision": (12, 2 * (4 * 2_000_000 + 2 * 3_000_000)),
        "language": (2, 2 * 3_000_000),
    }
    assert spending.total(spending.spent(begin=month, now=now)).micros == 34_000_000


def test_spending_agrees_to_the_millisecond_with_the_bills_of_the_jobs(stage: Stage) -> None:
    stage.add_nodes("n1")
    begin = stage.now
    jobs = [
        hold(stage, "vision", begin + timedelta(microseconds=1_234 * i), end)
        for i, end in enumerate([begin + timedelta(seconds=7, microseconds=999), None, begin + timedelta(1)])
    ]
    now = begin + timedelta(hours=30, microseconds=517)
    total = spending.total(spending.spent(begin=begin - timedelta(days=1), now=now))
    bills = costs([job.pk for job in jobs], now=now).values()
    assert total.gpu_ms == sum(bill.gpu_ms for bill in bills)
    assert total.micro_ms == sum(bill.micro_ms for bill in bills)


def test_finance_reads_the_month_by_team_and_others_their_own(still: Stage, signed_in: SignIn) -> None:
    Rate.objects.update(valid_from=still.now - timedelta(days=40))
    hold(still, "vision", still.now - timedelta(hours=1), still.now)
    hold(still, "language", still.now - timedelta(hours=2), still.now)
    hold(still, "language", still.now - timedelta(days=30), still.now - timedelta(days=29))  # last month
    page = signed_in(still.people["ines"]).get("/").text
    assert headline(page) == "€10.80 so far this month"
    assert re.findall(r'<tr id="spent-(\w+)"', page) == ["language", "vision"]
    assert "€7.20" in page
    assert "67\u00a0%" in page
    assert "Cost so far this month, by team" not in signed_in(still.people["yuki"]).get("/").text


def test_gpu_time_without_a_rate_is_counted_and_told(cluster: Stage, signed_in: SignIn) -> None:
    Rate.objects.all().delete()
    hold(cluster, "vision", cluster.now - timedelta(minutes=30), cluster.now)
    assert "without a rate" in signed_in(cluster.people["ines"]).get("/").text


# ---- Live and cheap


def test_a_poll_that_changes_nothing_answers_nothing(still: Stage, signed_in: SignIn) -> None:
    client = signed_in(still.people["mira"])
    first = client.get("/", headers={"HX-Request": "true"})
    assert "<html" not in first.text
    seen = {"HX-Request": "true", "Berth-Digest": first["Berth-Digest"]}
    assert client.get("/", headers=seen).status_code == 204
    still.submit("new")
    assert client.get("/", headers=seen).status_code == 200


@pytest.mark.parametrize(("who", "queries"), [("mira", 23), ("noor", 24), ("ines", 21), ("yuki", 19)])
def test_home_costs_the_same_however_much_there_is(
    stage_now: Stage, signed_in: SignIn, who: str, queries: int
) -> None:
    client = signed_in(stage_now.people[who])
    stage_now.add_nodes("n1", "n2")
    stage_now.running(stage_now.submit(by="mira"))
    fail(stage_now, stage_now.submit(by="mira"))
    with counted() as few:
        client.get("/")
    stage_now.add_nodes(*[f"m{i}" for i in range(20)])
    for i in range(6):
        stage_now.running(stage_now.submit(nodes=2, gpus_per_node=8))
        fail(stage_now, stage_now.submit(f"f{i}"))
    stage_now.submit(nodes=22, gpus_per_node=8)
    stage_now.turn()
    Node.objects.filter(name__startswith="m").update(hardware_seen="f" * 64)
    with counted() as many:
        client.get("/")
    assert len(few) == len(many) == queries, "\n".join(q["sql"][:160] for q in many.captured_queries)


@pytest.mark.parametrize("who", ["mira", "yuki", "ines", "noor", "omar"])
def test_home_opens_for_every_role(stage_now: Stage, signed_in: SignIn, who: str) -> None:
    assert signed_in(stage_now.people[who]).get("/").status_code == 200
    assert User.objects.count() == 7


def test_the_side_bar_keeps_its_counts_current(cluster: Stage, signed_in: SignIn) -> None:
    client = signed_in(cluster.people["mira"])
    asked = {"HX-Request": "true"}
    first = client.get("/sections?here=queue", headers=asked)
    assert 'href="/queue" aria-current="page"' in first.text
    assert "<html" not in first.text
    asked["Berth-Digest"] = first["Berth-Digest"]
    assert client.get("/sections?here=queue", headers=asked).status_code == 204
    cluster.submit()
    assert "of yours not over" in client.get("/sections?here=queue", headers=asked).text
    assert client.get("/sections")["Location"] == "/"
    hostile = client.get("/sections", {"here": '"><script>'}, headers={"HX-Request": "true"})
    assert "<script>" not in hostile.text

"""The list of jobs and the queue: who sees what, filters in the address, pages, polls, counted queries."""

import html
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from portal.cycle import snapshot
from portal.jobs.models import Job
from scheduler.core.planner import plan
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


def words(page: str) -> str:
    text = html.unescape(re.sub(r"<[^>]*>", " ", page)).replace("\u00a0", " ")
    return re.sub(r"\s+", " ", text)


def listed(page: str) -> list[int]:
    """The numbers of the jobs in a page's tables, from top to bottom."""
    return [int(number) for number in re.findall(r'<tr id="job-(\d+)"', page)]


# ---- The list


def test_one_sees_the_jobs_of_ones_teams_newest_first(cluster: Stage, signed_in: SignIn) -> None:
    mine = cluster.submit("mine")
    cluster.later()
    colleagues = cluster.submit("colleagues", by="ravi")
    cluster.later()
    theirs = cluster.submit("theirs", by="omar", team="language")
    assert listed(signed_in(cluster.people["mira"]).get("/jobs").text) == [colleagues.pk, mine.pk]
    assert listed(signed_in(cluster.people["omar"]).get("/jobs").text) == [theirs.pk]
    for all_seeing in ("rhea", "ines", "noor"):
        page = signed_in(cluster.people[all_seeing]).get("/jobs").text
        assert listed(page) == [theirs.pk, colleagues.pk, mine.pk]


def test_every_filter_stands_in_the_address(cluster: Stage, signed_in: SignIn) -> None:
    running = cluster.submit("pretrain", gpus_per_node=8, gpu_type="H100")
    cluster.running(running)
    waiting = cluster.submit("sweep lr=1", by="ravi", nodes=2, gpus_per_node=8, tier="production")
    deep = cluster.submit("theirs", by="omar", team="language")
    client = signed_in(cluster.people["rhea"])
    wanted = {
        "": [running, waiting, deep],
        "phase=waiting": [waiting, deep],
        "phase=live": [running, waiting, deep],
        "phase=finished": [],
        "tier=production": [waiting],
        "type=H100": [running],
        "team=language": [deep],
        "q=SWEEP": [waiting],
        "q=ravi": [waiting],
        "q=langu": [deep],
        "q=omar%40example": [deep],
        "q=nothing+like+it": [],
        "mine=on": [],
        "team=vision&tier=standard": [running],
    }
    for query, jobs in wanted.items():
        assert set(listed(client.get(f"/jobs?{query}").text)) == {job.pk for job in jobs}, query
    assert set(listed(signed_in(cluster.people["mira"]).get("/jobs?mine=on").text)) == {running.pk}


def test_a_number_leads_straight_to_its_job(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("mine")
    theirs = cluster.submit("theirs", by="omar", team="language")
    client = signed_in(cluster.people["mira"])
    assert client.get(f"/jobs?q={job.pk}").url == f"/jobs/{job.pk}"
    assert client.get(f"/jobs?q=%23{job.pk}").url == f"/jobs/{job.pk}"
    for other in (theirs.pk, "9" * 30, "²"):
        answer = client.get(f"/jobs?q={other}")
        assert answer.status_code == 200
        assert "No job matches" in answer.text


@pytest.mark.parametrize(
    "query", ["phase=sleeping", "tier=royal", "team=language", "type=B9000", "after=x", "before=x"]
)
def test_an_address_that_nobody_clicked_together_is_refused_in_a_sentence(
    cluster: Stage, signed_in: SignIn, query: str
) -> None:
    answer = signed_in(cluster.people["mira"]).get(f"/jobs?{query}")
    assert answer.status_code == 422
    assert "This was refused" in answer.text


def test_pages_lead_back_and_forth_without_losing_a_job(cluster: Stage, signed_in: SignIn) -> None:
    numbers = []
    for number in range(120):
        numbers.insert(0, cluster.submit(f"job {number}", tier="opportunistic").pk)
        if number % 3:  # some at the same moment
            cluster.later()
    client, seen, address = signed_in(cluster.people["mira"]), [], "/jobs?tier=opportunistic"
    addresses = []
    while address:
        page = client.get(address).text
        addresses.append(address)
        seen += listed(page)
        found = re.search(r'rel="next" href="([^"]*)"', page)
        address = "/jobs" + html.unescape(found[1]) if found else ""
        cluster.submit("arrives meanwhile")
    assert seen == numbers
    assert all("tier=opportunistic" in address for address in addresses)
    back = re.search(r'rel="prev" href="([^"]*)"', page)
    assert back
    assert listed(client.get("/jobs" + html.unescape(back[1])).text) == numbers[50:100]


def test_the_list_costs_the_same_for_three_jobs_and_for_sixty(cluster: Stage, signed_in: SignIn) -> None:
    client = signed_in(cluster.people["mira"])

    def cost(**headers: str) -> int:
        with counted() as queries:
            assert client.get("/jobs", headers=headers).status_code == 200
        return len(queries)

    for number in range(3):
        cluster.running(cluster.submit(f"run {number}"))
    few, poll = cost(), cost(**{"HX-Request": "true"})
    for number in range(57):
        cluster.submit(f"job {number}")
    assert cost() == few <= 10
    assert cost(**{"HX-Request": "true"}) == poll <= few


def test_a_poll_that_would_change_nothing_gets_no_content(still: Stage, signed_in: SignIn) -> None:
    client = signed_in(still.people["mira"])
    job = still.submit("mine")
    for address in ("/jobs", "/queue", f"/jobs/{job.pk}"):
        first = client.get(address, headers={"HX-Request": "true"})
        assert first.status_code == 200
        assert "<html" not in first.text
        headers = {"HX-Request": "true", "Berth-Digest": first.headers["Berth-Digest"]}
        assert client.get(address, headers=headers).status_code == 204
        still.submit("new")
        Job.objects.filter(pk=job.pk).update(tier="production", version=9)
        assert client.get(address, headers=headers).status_code == 200
        Job.objects.filter(pk=job.pk).update(tier="standard", version=1)


def test_hostile_names_stay_text(cluster: Stage, signed_in: SignIn) -> None:
    job = cluster.submit("mine")
    Job.objects.filter(pk=job.pk).update(name="<img src=x onerror=alert(1)>")
    person = cluster.people["mira"]
    person.full_name = "</td><script>alert(2)</script>"
    person.save()
    for address in (
        "/jobs",
        "/queue",
        f"/jobs/{job.pk}",
        f"/jobs/{job.pk}/cancel",
        f"/jobs/new?clone={job.pk}",
    ):
        page = signed_in(cluster.people["yuki"]).get(address).text
        assert "<img src" not in page
        assert "<script>alert" not in page
        assert "&lt;img src" in page


def test_a_search_is_shown_as_it_was_typed_and_never_as_markup(cluster: Stage, signed_in: SignIn) -> None:
    page = signed_in(cluster.people["mira"]).get('/jobs?q="><script>').text
    assert "&quot;&gt;&lt;script&gt;" in page
    assert '"><script>' not in page


# ---- The queue


def test_the_queue_is_in_the_planners_order(cluster: Stage, signed_in: SignIn) -> None:
    cluster.running(cluster.submit("holds all", nodes=2, gpus_per_node=8))
    jobs = []
    for number, tier in enumerate(["opportunistic", "standard", "production", "standard", "production"]):
        jobs.append(cluster.submit(f"job {number}", tier=tier, nodes=2, gpus_per_node=8))
        cluster.later(number % 2)
    cluster.turn()
    planned = list(plan(snapshot.take(now=cluster.now)).order)
    assert [Job.objects.get(pk=pk).tier for pk in planned][:2] == ["production", "production"]
    page = signed_in(cluster.people["mira"]).get("/queue").text
    waiting = page.split('id="placed"')[0]
    assert listed(waiting) == planned
    assert re.findall(r'data-label="Place in order">(\d+)', waiting) == ["1", "2", "3", "4", "5"]
    assert "5 jobs 80 GPUs wanted" in words(waiting)


def test_of_other_teams_the_queue_tells_size_tier_team_and_reason_but_no_names(
    cluster: Stage, signed_in: SignIn
) -> None:
    running = cluster.submit("secret-run", by="omar", team="language", nodes=2, gpus_per_node=8, limit_s=3600)
    cluster.running(running)
    waiting = cluster.submit("secret-wait", by="omar", team="language", gpus_per_node=8, tier="production")
    mine = cluster.submit("mine", gpus_per_node=8)
    cluster.turn()
    page = signed_in(cluster.people["mira"]).get("/queue").text
    for hidden in (
        "secret-run",
        "secret-wait",
        "Omar",
        f'href="/jobs/{running.pk}"',
        f'href="/jobs/{waiting.pk}"',
    ):
        assert hidden not in page
    row = words(page.split(f'id="job-{waiting.pk}"')[1].split("</tr>")[0])
    for told in ("a job of team language", "Production", "8 GPUs", "The train pool is full"):
        assert told in row
    assert "your job" not in row
    assert f'href="/jobs/{mine.pk}"' in page
    for member in ("omar", "rhea", "ines", "noor"):
        assert "secret-wait" in signed_in(cluster.people[member]).get("/queue").text


def test_the_queue_shows_whose_one_asks_for_with_their_true_places(cluster: Stage, signed_in: SignIn) -> None:
    theirs = cluster.submit("theirs", by="omar", team="language")
    cluster.later()
    mine = cluster.submit("mine")
    cluster.later()
    colleagues = cluster.submit("colleagues", by="ravi")
    client = signed_in(cluster.people["mira"])
    for query, jobs in (
        ("", [theirs, mine, colleagues]),
        ("?who=teams", [mine, colleagues]),
        ("?who=mine", [mine]),
    ):
        page = client.get(f"/queue{query}").text
        assert listed(page) == [job.pk for job in jobs]
    assert 'data-label="Place in order">2<' in page
    assert "2 of 3 place in the order" in words(page)
    assert client.get("/queue?who=everyone").status_code == 422
    assert client.get("/queue?begin=-1").status_code == 422


def test_a_long_queue_comes_in_stretches(cluster: Stage, signed_in: SignIn) -> None:
    numbers = [cluster.submit(f"job {number}").pk for number in range(130)]
    client = signed_in(cluster.people["mira"])
    first = client.get("/queue").text
    assert listed(first) == numbers[:100]
    (following,) = re.findall(r'rel="next" href="([^"]*)"', first)
    second = client.get("/queue" + html.unescape(following)).text
    assert listed(second) == numbers[100:]
    assert "30 of 130 jobs, from place 101" in words(second)


def test_the_queue_costs_the_same_for_three_jobs_and_for_sixty(cluster: Stage, signed_in: SignIn) -> None:
    client = signed_in(cluster.people["mira"])

    def cost() -> int:
        with counted() as queries:
            assert client.get("/queue").status_code == 200
        return len(queries)

    cluster.running(cluster.submit("runs"))
    for number in range(2):
        cluster.submit(f"waits {number}", nodes=2, gpus_per_node=8)
    few = cost()
    for number in range(57):
        cluster.submit(f"job {number}", by=("mira", "ravi")[number % 2])
    cluster.turn()
    assert cost() == few <= 12


def test_an_empty_queue_says_so(cluster: Stage, signed_in: SignIn) -> None:
    text = words(signed_in(cluster.people["ines"]).get("/queue").text)
    assert "Nobody waits" in text
    assert "No job holds a GPU" in text


def test_when_a_running_jobs_limit_ends_it_is_told_to_everybody(still: Stage, signed_in: SignIn) -> None:
    still.running(still.submit("mine", limit_s=7_200))
    page = signed_in(still.people["omar"]).get("/queue").text
    ends = still.now + timedelta(seconds=7_200)
    assert f"{ends:%H:%M}" in words(page.split('data-label="Ends by its limit">')[1].split("</td>")[0])

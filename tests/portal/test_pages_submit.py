"""The form for a new job: it accepts, refuses and keeps what was typed, with and without scripts."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from portal.accounts.models import Membership
from portal.jobs.models import Job
from portal.quotas.models import Quota
from tests.portal.conftest import counted
from tests.portal.stage import Stage

SignIn = Callable[..., Client]
ASKED = {
    "key": "form-1", "name": "train", "team": "vision", "tier": "standard", "command": "python train.py",
    "nodes": "2", "gpus_per_node": "8", "gpu_type": "H100", "limit": "2 h", "env": "",
}  # fmt: skip


@pytest.fixture
def cluster(stage_now: Stage) -> Stage:
    stage_now.add_nodes("n1", "n2")
    return stage_now


@pytest.fixture
def mira(cluster: Stage, signed_in: SignIn) -> Client:
    return signed_in(cluster.people["mira"])


def send(client: Client, **changed: Any) -> Any:
    return client.post("/jobs/new", ASKED | changed)


def words(page: str) -> str:
    """What a person reads of a page."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", page)).replace("\u00a0", " ")
    return re.sub(r"\s+", " ", text)


def test_a_form_makes_one_job_and_leads_to_it(mira: Client, cluster: Stage) -> None:
    page = mira.get("/jobs/new")
    assert page.status_code == 200
    assert re.search(r'name="key" value="[\w-]{20,}"', page.text)
    answer = send(mira, env="LEVEL=debug\r\n# a remark\r\n\r\nEMPTY=", command="echo a\r\necho b\r\n")
    job = Job.objects.get()
    assert (answer.status_code, answer.url) == (302, f"/jobs/{job.pk}")
    assert (job.name, job.team.name, job.user, job.tier) == (
        "train",
        "vision",
        cluster.people["mira"],
        "standard",
    )
    assert (job.nodes, job.gpus_per_node, job.gpu_type, job.limit_s) == (2, 8, "H100", 7_200)
    assert job.command == "echo a\necho b\n"
    assert job.env == {"LEVEL": "debug", "EMPTY": ""}
    assert f"Submitted as job {job.pk}." in mira.get(answer.url).text


def test_a_second_click_on_the_same_form_makes_no_second_job(mira: Client) -> None:
    first, second = send(mira), send(mira)
    assert first.url == second.url
    assert Job.objects.count() == 1


def test_a_form_sent_again_with_changes_asks_first_and_then_makes_another_job(mira: Client) -> None:
    send(mira)
    answer = send(mira, name="changed")
    assert answer.status_code == 422
    assert f"This form was sent before, as job {Job.objects.get().pk}." in answer.text
    assert 'value="changed"' in answer.text
    (key,) = re.findall(r'name="key" value="([^"]*)"', answer.text)
    assert key != "form-1"
    assert send(mira, name="changed", key=key).status_code == 302
    assert Job.objects.count() == 2


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("name", "", "Give the job a name."),
        ("name", "😀" * 50, "starts with a letter or digit"),
        ("name", "<script>alert(1)</script>", "starts with a letter or digit"),
        ("command", "", "Write what each rank should run."),
        ("command", "   ", "The command is empty; write what each rank should run."),
        ("command", "x" * 70_000, "Put it into a script and call that."),
        ("nodes", "0", "A job takes 1 to 10,000 nodes, not 0."),
        ("nodes", "1000000", "A job takes 1 to 10,000 nodes, not 1,000,000."),
        ("nodes", "9" * 5_000, "This number is too large."),
        ("nodes", "two", "Enter a whole number."),
        ("gpus_per_node", "9", "the largest node has 8"),
        ("gpus_per_node", "", "How many GPUs on each node?"),
        ("gpu_type", "B9000", "There is no such GPU type here."),
        ("tier", "royal", "royal"),
        ("team", "language", "You may not submit for this team; choose one of yours."),
        ("limit", "90", "Say what 90 counts: 90 min or 90 h."),
        ("limit", "soon", "Write a length of time like 90 min, 24 h or 2 d 12 h."),
        ("limit", "5 hippos", "Write a length of time like 90 min, 24 h or 2 d 12 h."),
        ("limit", "40 d", "between 1 min and 31 days"),
        ("env", "LEVEL", "Line 1 has no “=”; write NAME=value."),
        ("env", "A=1\nA=2", "Line 2 sets A a second time; keep one."),
        ("env", "RANK=7", "RANK is set by Berth for every rank"),
    ],
)
def test_what_cannot_be_right_is_refused_beside_its_field_and_everything_typed_stays(
    mira: Client, field: str, value: str, sentence: str
) -> None:
    answer = send(mira, **{"env": "KEPT=yes", field: value})
    assert answer.status_code == 422
    assert not Job.objects.exists()
    text = words(answer.text)
    assert "One thing to correct" in text
    # Once in the summary, which leads to the field, and once beside it.
    assert text.count(sentence) == 2
    assert f'href="#id_{field}"' in answer.text
    assert re.search(rf'id="id_{field}-error"', answer.text)
    for name in {"name", "command", "nodes", "env"} - {field}:
        assert ASKED[name] in text or f'value="{ASKED[name]}"' in answer.text


def test_several_mistakes_are_told_at_once(mira: Client) -> None:
    text = words(send(mira, name="", nodes="", limit="soon").text)
    assert "3 things to correct" in text


def test_what_a_person_typed_is_never_markup(mira: Client) -> None:
    hostile = "</textarea><script>alert(1)</script>"
    page = send(mira, name=hostile, command=hostile, env=hostile, limit='"><i>').text
    assert "<script>alert" not in page
    assert '"><i>' not in page
    assert page.count("&lt;/textarea&gt;&lt;script&gt;") >= 3


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("90 min", 5400),
        ("24 h", 86_400),
        ("2 d 12 h", 216_000),
        ("1.5 hours", 5400),
        ("2h30m", 9000),
        ("", None),
    ],
)
def test_limits_are_typed_as_people_say_them(mira: Client, typed: str, seconds: int | None) -> None:
    send(mira, limit=typed)
    assert Job.objects.get().limit_s == seconds


def test_a_clone_starts_from_everything_the_job_asked_for(mira: Client, cluster: Stage) -> None:
    asked = {"tier": "opportunistic", "nodes": 2, "gpus_per_node": 4, "gpu_type": "H100", "limit_s": 90_061}
    job = cluster.submit("first", by="ravi", command="echo <one>", env={"B": "2", "A": "1 = 1"}, **asked)
    page = mira.get(f"/jobs/new?clone={job.pk}").text
    for part in (
        'value="first"',
        "echo &lt;one&gt;",
        "A=1 = 1\nB=2",
        'value="1 d 1 h 1 min 1 s"',
        f"Job {job.pk}",
    ):
        assert part in page
    assert re.search(r'value="opportunistic" checked', page)
    answer = send(mira, clone=str(job.pk), name="second")
    assert Job.objects.get(name="second").cloned_from == job
    assert answer.status_code == 302


def test_nobody_clones_a_job_they_may_not_see(mira: Client, cluster: Stage) -> None:
    theirs = cluster.submit("secret", by="omar", team="language", command="echo sesame")
    for number in (theirs.pk, 10**12, "nonsense", 10**40):
        answer = mira.get(f"/jobs/new?clone={number}")
        assert answer.status_code == 404
        assert "sesame" not in answer.text
    assert send(mira, clone=str(theirs.pk)).status_code == 404
    assert Job.objects.count() == 1


def test_the_figures_beside_the_form_are_known_facts(mira: Client, cluster: Stage) -> None:
    Quota.objects.create(team=cluster.teams["vision"], gpu_type="H100", nominal=12)
    cluster.running(cluster.submit("held", gpus_per_node=4))
    cluster.submit("waits", by="omar", team="language", nodes=2, gpus_per_node=8)
    cluster.turn()
    text = words(mira.post("/jobs/new", ASKED | {"figures": "1", "gpus_per_node": "6", "limit": "10 h"}).text)
    assert "1 node has 6 free H100 now; you ask for 2." in text
    assert "1 job of the same or a higher tier waits already, for 16 GPUs." in text
    assert "12 of 16 at most 8 in one node" in text
    assert "4 of 12 held" in text
    assert "4 GPUs over the quota" in text
    assert "€43.20 per hour" in text  # 12 GPUs at 3.60
    assert "€432.00" in text
    assert not Job.objects.filter(name="train").exists()


def test_asking_for_figures_neither_submits_nor_blames(mira: Client) -> None:
    answer = mira.post("/jobs/new", ASKED | {"figures": "1", "name": "", "nodes": "many"})
    assert answer.status_code == 200
    assert "to correct" not in answer.text
    part = mira.post("/jobs/new", ASKED | {"figures": "1"}, headers={"HX-Request": "true"}).text
    assert "<html" not in part
    assert "16" in words(part)
    assert not Job.objects.exists()


@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_nul_in_any_field_breaks_nothing(mira: Client, name: str) -> None:
    assert send(mira, **{name: "a\0b"}).status_code == 422
    assert mira.post("/jobs/new", ASKED | {"figures": "1", name: "a\0b"}).status_code == 200
    assert not Job.objects.exists()


def test_without_a_team_the_page_says_who_can_help(stage_now: Stage, signed_in: SignIn) -> None:
    Membership.objects.filter(user=stage_now.people["mira"]).delete()
    client = signed_in(stage_now.people["mira"])
    for answer in (client.get("/jobs/new"), send(client)):
        assert "You belong to no team yet" in answer.text
    assert not Job.objects.exists()


def test_a_lead_submits_for_the_teams_below(cluster: Stage, signed_in: SignIn) -> None:
    client = signed_in(cluster.people["rhea"])
    page = client.get("/jobs/new").text
    assert re.findall(r'<option value="(\w+)"', page.split('name="team"')[1].split("</select>")[0]) == [
        "language",
        "research",
        "vision",
    ]
    assert send(client, team="language").status_code == 302


def test_the_form_needs_its_token(cluster: Stage, signed_in: SignIn) -> None:
    client = signed_in(cluster.people["mira"], enforce_csrf_checks=True)
    assert send(client).status_code == 403
    assert not Job.objects.exists()


def test_the_form_costs_the_same_however_long_the_queue_is(mira: Client, cluster: Stage) -> None:
    def cost() -> int:
        with counted() as queries:
            assert mira.get("/jobs/new").status_code == 200
        return len(queries)

    cluster.submit("first")
    few = cost()
    for number in range(60):
        cluster.submit(f"job {number}")
    assert cost() == few <= 18

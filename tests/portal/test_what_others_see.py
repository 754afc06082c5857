"""Members see their teams' jobs in full; others see size, tier and team, and nothing else."""

import pytest
from django.test import Client

from portal.jobs import logs
from portal.jobs.models import Job, Run
from portal.journal.models import Entry
from tests.portal.caller import with_token
from tests.portal.conftest import counted
from tests.portal.doors import Door, doors
from tests.portal.stage import Stage
from tests.portal.test_who_may import Subjects, address

# Words that only belong to mira's job; wherever one of them is, something of it leaked.
NAME, COMMAND, VALUE, PRINTED = "zebra-name", "zebra-command", "zebra-value", "zebra-printed"
READABLE = [door for door in doors() if door.method == "GET" and not door.route.endswith("stream")]


@pytest.fixture
def waiting_and_running(stage_now: Stage) -> list[Job]:
    """One of mira's jobs runs and prints, another waits."""
    stage_now.add_nodes("n1")
    asked = {"command": f"echo {COMMAND}", "env": {"TOKEN": VALUE}, "gpus_per_node": 8, "tier": "production"}
    runs, waits = stage_now.submit(NAME, **asked), stage_now.submit(NAME, **asked)
    run = stage_now.running(runs)
    logs.append(run=run.pk, rank=0, offset=0, body=PRINTED.encode(), now=stage_now.now)
    stage_now.turn()
    return [runs, waits]


def seen(stage: Stage, who: str, job: Job) -> dict[str, str]:
    """Every page and answer that can be read, as somebody; by address."""
    browser = Client()
    browser.force_login(stage.people[who])
    subjects = Subjects(stage, job, Run.objects.first(), stage.people["mira"].tokens.first())
    texts = {}
    for door in READABLE:
        for query in queries(door):
            answer = browser.get(address(door, subjects.values(door)) + query)
            # What streams is a log; who may open it is walked in test_who_may.
            texts[f"{door}{query}"] = "" if answer.streaming else answer.content.decode()
    return texts


def queries(door: Door) -> list[str]:
    """The renderings of a page that its address chooses."""
    return ["", "?view=table"] if door.rule == "cluster.see" else ["", "?all=1"]


def showing(texts: dict[str, str], *words: str) -> set[str]:
    return {where for where, text in texts.items() for word in words if word in text}


@pytest.mark.parametrize("which", [0, 1], ids=["running", "waiting"])
def test_an_engineer_of_another_team_reads_nothing_of_it_anywhere(
    stage_now: Stage, waiting_and_running: list[Job], which: int
) -> None:
    with_token(stage_now.people["mira"], stage_now.now)
    texts = seen(stage_now, "omar", waiting_and_running[which])
    assert showing(texts, NAME, COMMAND, VALUE, PRINTED, "mira@example.org", "Mira Okafor") == set()


def test_finance_reads_the_job_but_not_what_it_printed(
    stage_now: Stage, waiting_and_running: list[Job]
) -> None:
    with_token(stage_now.people["mira"], stage_now.now)
    texts = seen(stage_now, "ines", waiting_and_running[0])
    assert showing(texts, PRINTED) == set()
    assert showing(texts, NAME) >= {"GET /api/v1/jobs", "GET /api/v1/jobs/<number>", "GET /jobs/<int:number>"}


@pytest.mark.parametrize("who", ["ravi", "yuki", "rhea", "noor"])
def test_the_team_and_those_above_it_read_everything(
    stage_now: Stage, waiting_and_running: list[Job], who: str
) -> None:
    with_token(stage_now.people["mira"], stage_now.now)
    texts = seen(stage_now, who, waiting_and_running[0])
    assert showing(texts, NAME) >= {"GET /api/v1/jobs/<number>", "GET /jobs/<int:number>", "GET /queue"}
    assert showing(texts, PRINTED) >= {"GET /api/v1/jobs/<number>/logs"}
    assert showing(texts, COMMAND, VALUE) >= {"GET /api/v1/jobs/<number>"}


def test_the_queue_shows_size_tier_and_team_of_what_is_ahead(
    stage_now: Stage, waiting_and_running: list[Job]
) -> None:
    browser = Client()
    browser.force_login(stage_now.people["omar"])
    text = browser.get("/queue").content.decode()
    assert "vision" in text
    assert "8" in text
    assert "roduction" in text


def test_who_is_ahead_is_counted_for_a_stranger(stage_now: Stage, waiting_and_running: list[Job]) -> None:
    behind = stage_now.submit(by="omar", team="language", gpus_per_node=8)
    stage_now.turn()
    why = with_token(stage_now.people["omar"], stage_now.now).get(f"/jobs/{behind.pk}/why").json()["why"]
    assert why["ahead"] == {"jobs": 1, "gpus": 8}
    assert "zebra" not in str(why)


def test_the_nodes_of_the_api_say_which_job_holds_a_gpu_but_not_what_it_is(
    stage_now: Stage, waiting_and_running: list[Job]
) -> None:
    omar = with_token(stage_now.people["omar"], stage_now.now)
    node = omar.get("/nodes").json()[0]
    assert {gpu["job"] for gpu in node["gpus"]} == {waiting_and_running[0].pk}
    assert (node["state"], node["gpu_type"], len(node["gpus"])) == ("ready", "H100", 8)
    assert Entry.objects.filter(kind="job").exists()


def test_the_nodes_take_as_many_queries_for_10_as_for_1(stage_now: Stage) -> None:
    caller = with_token(stage_now.people["omar"], stage_now.now)
    counts = []
    for names in (["n0"], [f"n{number}" for number in range(1, 10)]):
        stage_now.add_nodes(*names)
        caller.get("/nodes")
        with counted() as queries:
            assert caller.get("/nodes").status_code == 200
        counts.append(len(queries))
    assert counts == [5, 5]


def test_the_teams_of_the_api_are_a_tree_with_what_one_is_in_them(stage_now: Stage) -> None:
    def roles(who: str) -> dict[str, str | None]:
        teams = with_token(stage_now.people[who], stage_now.now).get("/teams").json()
        assert {team["name"]: team["parent"] for team in teams} == {
            "research": None, "vision": "research", "language": "research",
        }  # fmt: skip
        return {team["name"]: team["role"] for team in teams}

    assert roles("mira") == {"research": None, "vision": "member", "language": None}
    assert roles("rhea") == {"research": "lead", "vision": "lead", "language": "lead"}
    assert roles("ines") == {"research": None, "vision": None, "language": None}

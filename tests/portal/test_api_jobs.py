"""The API's jobs: submit, list, get, cancel, why, logs."""

import json
from datetime import timedelta

import pytest

from portal.jobs import logs
from portal.jobs.models import Job
from tests.portal.caller import Caller, problem, with_token
from tests.portal.conftest import counted
from tests.portal.stage import Stage, phase

ASKED = {"name": "train", "team": "vision", "command": "python train.py", "gpus_per_node": 2}


@pytest.fixture
def mira(stage_now: Stage) -> Caller:
    stage_now.add_nodes("n1", "n2")
    return with_token(stage_now.people["mira"], stage_now.now)


def test_a_submitted_job_is_there_with_everything_asked_for(mira: Caller, stage_now: Stage) -> None:
    asked = ASKED | {
        "nodes": 2,
        "gpu_type": "H100",
        "limit_s": 3600,
        "env": {"LR": "0.1"},
        "tier": "production",
    }
    answer = mira.post("/jobs", asked)
    assert answer.status_code == 201
    told = json.loads(answer.content)
    assert {key: told[key] for key in asked} == asked
    assert (told["user"], told["phase"], told["runs"]) == ("mira@example.org", "waiting", [])
    assert told["why"]["sentence"] == "Not yet considered: the planner looks at it within seconds."
    assert mira.get(f"/jobs/{told['id']}").json() == told


def test_the_same_key_and_body_give_the_same_job(mira: Caller) -> None:
    first = mira.post("/jobs", ASKED, **{"Idempotency-Key": "k1"})
    again = mira.post("/jobs", ASKED, **{"Idempotency-Key": "k1"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"]
    assert Job.objects.count() == 1
    other = mira.post("/jobs", ASKED, **{"Idempotency-Key": "k2"})
    assert other.json()["id"] != first.json()["id"]


def test_the_same_key_with_another_body_is_a_conflict(mira: Caller) -> None:
    first = mira.post("/jobs", ASKED, **{"Idempotency-Key": "k1"}).json()
    for other in ({"gpus_per_node": 1}, {"env": {"A": "1"}}, {"limit_s": 60}, {"name": "else"}):
        answer = mira.post("/jobs", ASKED | other, **{"Idempotency-Key": "k1"})
        told = problem(answer)
        assert (answer.status_code, told["field"]) == (409, "Idempotency-Key")
        assert str(first["id"]) in told["detail"]
    assert Job.objects.count() == 1


def test_a_key_is_ones_own(mira: Caller, stage_now: Stage) -> None:
    ravi = with_token(stage_now.people["ravi"], stage_now.now)
    mine = mira.post("/jobs", ASKED, **{"Idempotency-Key": "k"}).json()
    theirs = ravi.post("/jobs", ASKED, **{"Idempotency-Key": "k"}).json()
    assert mine["id"] != theirs["id"]


def test_a_repeated_request_gets_its_job_even_if_it_could_not_be_asked_for_now(
    mira: Caller, stage_now: Stage
) -> None:
    from portal.cluster.models import Node

    first = mira.post("/jobs", ASKED, **{"Idempotency-Key": "k"}).json()
    Node.objects.update(approved_at=None)
    again = mira.post("/jobs", ASKED, **{"Idempotency-Key": "k"})
    assert (again.status_code, again.json()["id"]) == (201, first["id"])
    assert mira.post("/jobs", ASKED).status_code == 422


def test_the_list_goes_page_by_page_and_stays_put_while_jobs_arrive(mira: Caller, stage_now: Stage) -> None:
    numbers = [stage_now.submit(f"job {number}").pk for number in range(5)]
    stage_now.later()
    numbers += [stage_now.submit(f"job {number}").pk for number in range(5, 10)]
    seen, cursor = [], ""
    for _ in range(4):
        page = mira.get("/jobs", limit=3, cursor=cursor).json()
        seen += [job["id"] for job in page["jobs"]]
        cursor = page["next"]
        stage_now.later()
        stage_now.submit("a newcomer")
    assert seen == numbers[::-1]
    assert cursor is None


def test_the_list_takes_as_many_queries_for_50_jobs_as_for_5(mira: Caller, stage_now: Stage) -> None:
    def listing() -> int:
        with counted() as queries:
            assert mira.get("/jobs", limit=100).status_code == 200
        return len(queries)

    for _ in range(5):
        stage_now.submit()
    few = listing()
    for _ in range(45):
        stage_now.submit(by="ravi")
    # Of these: the token, its memberships, the jobs; the note of its last use is written once a minute.
    assert (few, listing()) == (4, 3)


def test_the_list_filters_by_team_phase_and_mine(mira: Caller, stage_now: Stage) -> None:
    own, ravis = stage_now.submit(), stage_now.submit(by="ravi")
    stage_now.submit(by="omar", team="language")
    Job.objects.filter(pk=ravis.pk).update(phase="running")

    def found(**query: object) -> list[int]:
        return [job["id"] for job in mira.get("/jobs", **query).json()["jobs"]]

    assert found() == [ravis.pk, own.pk]
    assert found(mine="true") == [own.pk]
    assert found(phase="running") == [ravis.pk]
    assert found(team="vision") == [ravis.pk, own.pk]
    assert found(team="language") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"phase": "sleeping"}, "phase"),
        ({"team": "nobody"}, "team"),
        ({"team": "a\0b"}, "team"),
        ({"cursor": "nonsense"}, "cursor"),
        ({"cursor": "x" * 201}, "cursor"),
        ({"limit": 0}, "limit"),
        ({"limit": 10**30}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"mine": "perhaps"}, "mine"),
    ],
)
def test_a_wrong_filter_is_named(mira: Caller, query: dict[str, object], field: str) -> None:
    answer = mira.get("/jobs", **query)
    assert (answer.status_code, problem(answer)["field"]) == (422, field)


def test_one_job_takes_a_fixed_number_of_queries_however_large_it_is(mira: Caller, stage_now: Stage) -> None:
    small, large = stage_now.submit(), stage_now.submit(nodes=2, gpus_per_node=7)
    stage_now.turn()
    mira.get("/jobs")
    counts = []
    for job in (small, large):
        with counted() as queries:
            assert mira.get(f"/jobs/{job.pk}").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_foreign_job_is_not_there_and_nor_is_one_that_never_was(mira: Caller, stage_now: Stage) -> None:
    theirs = stage_now.submit(by="omar", team="language")
    for number in (theirs.pk, 10**6, 0, -1, 2**63, 10**30):
        for answer in (
            mira.get(f"/jobs/{number}"),
            mira.get(f"/jobs/{number}/why"),
            mira.get(f"/jobs/{number}/logs"),
            mira.post(f"/jobs/{number}/cancel"),
        ):
            assert answer.status_code == 404
            assert problem(answer)["code"] == "not_found"
    assert phase(theirs) == "waiting"


def test_cancelling_over_the_api(mira: Caller, stage_now: Stage) -> None:
    job = stage_now.submit()
    assert mira.post(f"/jobs/{job.pk}/cancel").json()["phase"] == "cancelled"
    assert mira.post(f"/jobs/{job.pk}/cancel").json()["phase"] == "cancelled"
    over = stage_now.submit()
    Job.objects.filter(pk=over.pk).update(phase="finished", ended_at=stage_now.now)
    answer = mira.post(f"/jobs/{over.pk}/cancel")
    assert (answer.status_code, problem(answer)["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    ("who", "status"),
    [("mira", 200), ("ravi", 403), ("yuki", 200), ("rhea", 200), ("ines", 403), ("noor", 200)],
)
def test_who_may_cancel_miras_job(stage_now: Stage, mira: Caller, who: str, status: int) -> None:
    job = stage_now.submit()
    caller = with_token(stage_now.people[who], stage_now.now)
    assert caller.post(f"/jobs/{job.pk}/cancel").status_code == status
    assert phase(job) == ("cancelled" if status == 200 else "waiting")


def test_why_has_a_code_a_sentence_and_the_numbers_in_it(mira: Caller, stage_now: Stage) -> None:
    stage_now.running(stage_now.submit(nodes=2, gpus_per_node=8, limit_s=3600))
    job = stage_now.submit(gpus_per_node=8)
    stage_now.turn()
    told = mira.get(f"/jobs/{job.pk}/why").json()
    assert told["waiting"] is True
    why = told["why"]
    assert (why["code"], why["numbers"]["free"], why["ahead"]) == ("full", 0, {"jobs": 0, "gpus": 0})
    assert why["sentence"].startswith("The train pool is full")


def test_why_of_a_job_that_does_not_wait_is_nothing(mira: Caller, stage_now: Stage) -> None:
    job = stage_now.submit()
    stage_now.turn()
    assert mira.get(f"/jobs/{job.pk}/why").json() == {"waiting": False, "why": None}


def test_logs_follow_by_what_came_after(mira: Caller, stage_now: Stage) -> None:
    job = stage_now.submit(gpus_per_node=2)
    assert mira.get(f"/jobs/{job.pk}/logs").json() == {"run": None, "pieces": [], "next": 0}
    run = stage_now.started(job)
    logs.append(run=run.pk, rank=0, offset=0, body=b"one\n", now=stage_now.now)
    logs.append(run=run.pk, rank=1, offset=0, body=b"two\n", now=stage_now.now)
    first = mira.get(f"/jobs/{job.pk}/logs").json()
    assert [(piece["rank"], piece["text"]) for piece in first["pieces"]] == [(0, "one\n"), (1, "two\n")]
    logs.append(run=run.pk, rank=0, offset=4, body=b"three\n", now=stage_now.now + timedelta(seconds=1))
    later = mira.get(f"/jobs/{job.pk}/logs", after=first["next"]).json()
    assert [(piece["start"], piece["text"], piece["skipped"]) for piece in later["pieces"]] == [
        (4, "three\n", 0)
    ]
    assert mira.get(f"/jobs/{job.pk}/logs", rank=1).json()["pieces"][0]["text"] == "two\n"
    assert mira.get(f"/jobs/{job.pk}/logs", epoch=2).status_code == 404
    assert mira.get(f"/jobs/{job.pk}/logs", epoch=10**30).status_code == 404
    assert mira.get(f"/jobs/{job.pk}/logs", after=10**30).json()["pieces"] == []
    finance = with_token(stage_now.people["ines"], stage_now.now)
    assert finance.get(f"/jobs/{job.pk}").status_code == 200
    Job.objects.filter(pk=job.pk).update(env={"WANDB_KEY": "hunter2"})
    assert "hunter2" not in finance.get(f"/jobs/{job.pk}").text
    assert mira.get(f"/jobs/{job.pk}").json()["env"] == {"WANDB_KEY": "hunter2"}
    assert finance.get(f"/jobs/{job.pk}/logs").status_code == 403

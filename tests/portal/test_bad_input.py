"""Bad input is refused at the door, naming the field and the way out, and leaves nothing half-written."""

import json
from typing import Any

import pytest
from django.conf import settings

from portal.cluster.models import Node
from portal.jobs.models import Job
from portal.journal.models import Entry
from portal.quotas.models import Quota
from tests.portal.caller import Caller, problem, with_token
from tests.portal.stage import Stage, hardware

ASKED = {"name": "train", "team": "vision", "command": "python train.py", "gpus_per_node": 2}


@pytest.fixture
def mira(stage_now: Stage) -> Caller:
    stage_now.add_nodes("n1", "n2")
    stage_now.add_nodes("a1", gpus=4, kind="A100")
    return with_token(stage_now.people["mira"], stage_now.now)


def refused(caller: Caller, body: Any, status: int = 422, **sent: Any) -> dict[str, Any]:
    """The refusal's problem; nothing was written."""
    before = Job.objects.count(), Entry.objects.count()
    answer = caller.post("/jobs", body, **sent)
    assert answer.status_code == status, answer.content[:300]
    assert (Job.objects.count(), Entry.objects.count()) == before
    return problem(answer)


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "an unknown team": ({"team": "nobody"}, "team", "There is no team 'nobody'."),
    "a team with a NUL": ({"team": "vis\0ion"}, "team", "no team"),
    "an unknown type": ({"gpu_type": "H900"}, "gpu_type", "the types are: A100, H100."),
    "a very long type": ({"gpu_type": "H" * 999}, "gpu_type", "There is no GPU type"),
    "zero GPUs": ({"gpus_per_node": 0}, "gpus_per_node", "takes 1 to 256 GPUs on each node, not 0."),
    "minus one GPU": ({"gpus_per_node": -1}, "gpus_per_node", "not -1."),
    "a million GPUs": ({"gpus_per_node": 1_000_000}, "gpus_per_node", "not 1,000,000."),
    "a million nodes": ({"nodes": 1_000_000}, "nodes", "takes 1 to 10,000 nodes, not 1,000,000."),
    "no nodes": ({"nodes": 0}, "nodes", "takes 1 to 10,000 nodes, not 0."),
    "a number beyond all columns": ({"nodes": 10**40}, "nodes", ""),
    "more GPUs than any node has": ({"gpus_per_node": 16}, "gpus_per_node", "the largest node has 8"),
    "more than any node of the type": ({"gpus_per_node": 8, "gpu_type": "A100"}, "gpus_per_node", "has 4"),
    "more nodes than there are": ({"nodes": 3, "gpus_per_node": 8}, "nodes", "This can never run here"),
    "a command of 10 MB": ({"command": "x" * 10**7}, "command", "10,000,000 bytes; the most is 65,536."),
    "an empty command": ({"command": " \n "}, "command", "The command is empty"),
    "a NUL in the command": ({"command": "echo \0"}, "command", "NUL"),
    "half a character": ({"command": "echo \ud800"}, "command", "half of a character"),
    "half a character in a value": ({"env": {"A": "\udc00"}}, "env", "half of a character"),
    "a name of 4-byte characters": ({"name": "🚀🚀"}, "name", "1 to 100 letters"),
    "4-byte letters": ({"name": "𝓽𝓻𝓪𝓲𝓷"}, "name", "1 to 100 letters"),
    "a name with markup": ({"name": "<b onclick=alert(1)>x</b>"}, "name", "1 to 100 letters"),
    "a name with a NUL": ({"name": "a\0b"}, "name", "1 to 100 letters"),
    "a name with a line break": ({"name": "a\nb"}, "name", "1 to 100 letters"),
    "a name of 101 letters": ({"name": "a" * 101}, "name", "1 to 100 letters"),
    "a name of a megabyte": ({"name": "a" * 10**6}, "name", ""),
    "no name": ({"name": ""}, "name", "1 to 100 letters"),
    "an unknown tier": ({"tier": "gold"}, "tier", "production, standard, opportunistic"),
    "a limit of a second": ({"limit_s": 1}, "limit_s", "between 1 min and 31 days"),
    "a limit of a century": ({"limit_s": 10**10}, "limit_s", "between 1 min and 31 days"),
    "a number as words": ({"nodes": "two"}, "nodes", ""),
    "a number in quotes": ({"nodes": "2"}, "nodes", ""),
    "half a node": ({"nodes": 1.5}, "nodes", ""),
    "true nodes": ({"nodes": True}, "nodes", ""),
    "no number at all": ({"nodes": None}, "nodes", ""),
    "a list of names": ({"name": ["a"]}, "name", ""),
    "a misspelt field": ({"gpus_pre_node": 8}, "gpus_pre_node", ""),
    "a field of ours": ({"phase": "running"}, "phase", ""),
    "our name in the environment": ({"env": {"RANK": "3"}}, "env", "RANK is set by Berth"),
    "our prefix in the environment": ({"env": {"BERTH_JOB": "3"}}, "env", "BERTH_JOB is set by Berth"),
    "the GPUs in the environment": ({"env": {"CUDA_VISIBLE_DEVICES": ""}}, "env", "set by Berth"),
    "a nameless variable": ({"env": {"": "x"}}, "env", "no name for an environment variable"),
    "a variable with a sign": ({"env": {"A=B": "x"}}, "env", "no name for an environment variable"),
    "a variable with a NUL": ({"env": {"A": "x\0"}}, "env", "NUL"),
    "a variable that is a number": ({"env": {"A": 1}}, "env.A", ""),
    "an environment that is a list": ({"env": ["A=1"]}, "env", ""),
    "too many variables": ({"env": {f"A{n}": "" for n in range(201)}}, "env", "201 environment variables"),
    "a huge environment": ({"env": {"A": "x" * 40_000}}, "env", "larger than"),
}  # fmt: skip


@pytest.mark.parametrize(("wrong", "field", "words"), BAD.values(), ids=BAD)
def test_it_is_refused_with_the_field_and_the_reason(
    mira: Caller, wrong: dict[str, Any], field: str, words: str
) -> None:
    told = refused(mira, ASKED | wrong)
    assert told["field"] == field
    assert words in told["detail"]
    assert len(told["detail"]) < 400


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"null", b'"x"', b"1", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"nodes": ' + b"9" * 5000 + b"}"],
    ids=["empty", "half", "list", "null", "text", "number", "nothing", "not utf-8", "deep", "5000 digits"],
)  # fmt: skip
def test_what_is_not_a_request_is_a_problem_in_words(mira: Caller, raw: bytes) -> None:
    before = Job.objects.count()
    answer = mira.post("/jobs", raw=raw)
    assert answer.status_code in (400, 422), answer.content[:200]
    assert problem(answer)["detail"]
    assert Job.objects.count() == before


def test_many_errors_are_answered_in_few_words(mira: Caller) -> None:
    answer = mira.post("/jobs", ASKED | {f"k{i}" * 20: 1 for i in range(5_000)})
    assert (answer.status_code, len(problem(answer)["errors"])) == (422, 20)
    assert len(answer.content) < 10_000


def test_a_request_larger_than_any_is_413_in_words(mira: Caller) -> None:
    told = refused(mira, ASKED | {"command": "x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE}, status=413)
    assert told["detail"] == "A request has at most 12,582,912 bytes."


def test_more_than_the_teams_quota_ever_allows_is_refused(mira: Caller, stage_now: Stage) -> None:
    Quota.objects.create(team=stage_now.teams["research"], gpu_type="H100", nominal=4)
    Quota.objects.create(team=stage_now.teams["vision"], gpu_type="A100", nominal=2)
    told = refused(mira, ASKED | {"nodes": 2, "gpus_per_node": 4})
    assert (told["field"], told["code"]) == ("nodes", "impossible")
    assert "research" in told["detail"]


def test_another_teams_name_is_refused_because_it_is_not_mine(mira: Caller) -> None:
    told = refused(mira, ASKED | {"team": "language"}, status=403)
    assert told["detail"] == "Your account may not do this; it takes one of: lead, member."


@pytest.mark.parametrize("key", ["k" * 101, "a\0b", "a\nb"])
def test_a_key_that_is_none(mira: Caller, key: str) -> None:
    told = refused(mira, ASKED, **{"Idempotency-Key": key})
    assert told["field"] == "Idempotency-Key"


@pytest.mark.parametrize("secret", ["node_", "node_n1_x", "node_a\0b_x", "ß"])
def test_a_token_of_no_node_opens_nothing(mira: Caller, secret: str) -> None:
    answer = Caller({"Authorization": f"Bearer {secret}"}).get("/agent/runs/1/spec")
    assert (answer.status_code, problem(answer)["code"]) == (401, "not_signed_in")


def test_a_node_with_an_unprintable_address_is_not_let_in(mira: Caller) -> None:
    asked = {"name": "n9", "claim": "c" * 40, "address": "a\0b", "hardware": hardware("n9")}
    answer = Caller().post("/agent/join", asked)
    assert (answer.status_code, problem(answer)["field"]) == (422, "address")
    assert not Node.objects.filter(name="n9").exists()


def test_without_any_node_nothing_can_be_asked_for(stage_now: Stage) -> None:
    caller = with_token(stage_now.people["mira"], stage_now.now)
    assert refused(caller, ASKED)["code"] == "impossible"


def test_names_that_people_give_are_fine(mira: Caller) -> None:
    for name in ("größe 3/7", "Обучение", "学習", "llm-sft_12 (v2) @ 0.1+x=y", "a" * 100):
        answer = mira.post("/jobs", ASKED | {"name": name})
        assert answer.status_code == 201, json.loads(answer.content)
        assert answer.json()["name"] == name
    long = mira.post("/jobs", ASKED | {"command": "echo é\n" * 8_000})
    assert long.status_code == 201

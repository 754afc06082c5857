"""What an agent can fetch and send over HTTP with its own token, and what it cannot with it or with another."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from portal.accounts.actions import make_token
from portal.agents import actions, keys
from portal.agents.actions import make_join_token
from portal.cluster.models import Gpu, Node
from portal.jobs.models import Job, LogChunk, Run
from tests.portal.stage import Stage, hardware

pytestmark = pytest.mark.django_db


def call(
    client: Client, method: str, path: str, token: str = "", body: Any = b"", kind: str = "application/json"
) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return client.generic(method, f"/api/v1/agent{path}", body, content_type=kind, headers=headers)


@pytest.fixture
def run(stage: Stage) -> Run:
    """A run of two ranks on one node, and a second node without any part in it."""
    stage.add_nodes("n01", "n02")
    return stage.started(stage.submit(gpus_per_node=2))


@pytest.fixture
def seated(stage: Stage, run: Run) -> Node:
    return stage.agents[stage.where(run)[0]].node


@pytest.fixture
def other(stage: Stage, seated: Node) -> Node:
    return Node.objects.exclude(pk=seated.pk).get()


def test_the_seated_node_gets_its_spec(client: Client, run: Run, seated: Node) -> None:
    answer = call(client, "GET", f"/runs/{run.pk}/spec", keys.http_token(seated))
    assert answer.status_code == 200
    assert answer.json() == run.seats.get().spec


def test_another_nodes_spec_does_not_exist(client: Client, run: Run, other: Node) -> None:
    assert call(client, "GET", f"/runs/{run.pk}/spec", keys.http_token(other)).status_code == 404


def test_a_spec_is_gone_when_the_seat_is(client: Client, run: Run, seated: Node) -> None:
    run.seats.update(phase="ended")
    assert call(client, "GET", f"/runs/{run.pk}/spec", keys.http_token(seated)).status_code == 404


TOKENS = {
    "none": lambda node: "",
    "nonsense": lambda node: "nonsense",
    "the right name with another's secret": lambda node: keys.http_token(node)[:-1] + "x",
    "of an older key": lambda node: keys.http_token(Node(name=node.name, key_version=0)),
    "the wire key": lambda node: keys.wire_key(node).hex(),
    "the password for Redis": keys.redis_password,
    "not even text a header should hold": lambda node: "node_\x7f",
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS.keys())
def test_a_wrong_token_opens_nothing(client: Client, run: Run, seated: Node, token: Any) -> None:
    for method, path in (("GET", f"/runs/{run.pk}/spec"), ("POST", f"/runs/{run.pk}/ranks/0/log?offset=0")):
        assert call(client, method, path, token(seated)).status_code == 401


def test_a_nodes_token_opens_no_persons_door(client: Client, run: Run, seated: Node) -> None:
    for path in ("/api/v1/jobs", f"/api/v1/jobs/{run.job_id}", "/api/v1/nodes", "/api/v1/tokens"):
        answer = client.get(path, headers={"Authorization": f"Bearer {keys.http_token(seated)}"})
        assert answer.status_code == 401


def test_a_persons_token_opens_no_agents_door(client: Client, stage: Stage, run: Run) -> None:
    _, secret = make_token(
        user=stage.people["noor"], name="x", scopes=["read", "write", "administer"], lives=timedelta(days=1),
        now=stage.now,
    )  # fmt: skip
    assert call(client, "GET", f"/runs/{run.pk}/spec", secret).status_code == 401


def log(client: Client, node: Node, run: Run, rank: int, offset: int, body: bytes) -> Any:
    path = f"/runs/{run.pk}/ranks/{rank}/log?offset={offset}"
    return call(client, "POST", path, keys.http_token(node), body, "application/octet-stream")


def test_log_pieces_are_kept_once_and_in_place(client: Client, run: Run, seated: Node) -> None:
    assert log(client, seated, run, 0, 0, b"one\n").json() == {"next": 4}
    assert log(client, seated, run, 0, 0, b"one\n").json() == {"next": 4}  # sent again
    assert log(client, seated, run, 0, 2, b"e\ntwo\n").json() == {"next": 8}  # overlapping
    assert log(client, seated, run, 0, 100, b"far\n").json() == {"next": 104}  # the middle was let go
    kept = LogChunk.objects.filter(run=run, rank=0).order_by("start").values_list("start", "body")
    assert [(start, bytes(body)) for start, body in kept] == [(0, b"one\n"), (4, b"two\n"), (100, b"far\n")]


def test_the_end_of_a_log_is_taken_after_the_end_of_the_seat(client: Client, run: Run, seated: Node) -> None:
    run.seats.update(phase="ended")
    assert log(client, seated, run, 1, 0, b"last words\n").status_code == 200


def test_another_nodes_log_cannot_be_written(client: Client, run: Run, other: Node) -> None:
    assert log(client, other, run, 0, 0, b"lies\n").status_code == 422
    assert not LogChunk.objects.exists()


BAD_LOGS = {
    "a rank that is not there": (99, "0", b"x"),
    "an offset below zero": (0, "-1", b"x"),
    "an offset beyond all numbers": (0, str(2**63), b"x"),
    "an offset that is no number": (0, "many", b"x"),
    "more than a piece may hold": (0, "0", b"x" * (256 * 1024 + 1)),
}


@pytest.mark.parametrize("bad", BAD_LOGS.values(), ids=BAD_LOGS.keys())
def test_a_bad_piece_of_log_is_refused_in_words(
    client: Client, run: Run, seated: Node, bad: tuple[int, str, bytes]
) -> None:
    rank, offset, body = bad
    path = f"/runs/{run.pk}/ranks/{rank}/log?offset={offset}"
    answer = call(client, "POST", path, keys.http_token(seated), body, "application/octet-stream")
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    assert not LogChunk.objects.exists()


def join(client: Client, **changed: Any) -> Any:
    asked = {"name": "n07", "claim": "c" * 40, "join_token": None, "hardware": hardware("n07")} | changed
    return call(client, "POST", "/join", body=json.dumps(asked))


def test_without_a_token_a_node_waits_for_a_person(client: Client, redis_url: str) -> None:
    answer = join(client)
    assert (answer.status_code, answer.json()["state"]) == (202, "pending")
    assert not Gpu.objects.exists()
    assert "token" not in answer.json()


def test_with_a_join_token_a_node_is_in_at_once(client: Client, stage: Stage, redis_url: str) -> None:
    secret = make_join_token(pool=stage.pool(), by=None, lives=timedelta(hours=1), now=timezone.now())
    answer = join(client, join_token=secret)
    assert (answer.status_code, answer.json()["state"]) == (200, "approved")
    assert Gpu.objects.count() == 8
    assert (
        join(client, join_token=None).json()["token"] == answer.json()["token"]
    )  # the claim is enough later


BAD_JOINS = {
    "another's name": ({"name": "n01", "claim": "d" * 40}, 403),
    "a token nobody made": ({"join_token": "join_nonsense"}, 403),
    "a name that would match other nodes' keys": ({"name": "n*"}, 422),
    "a name with a dot": ({"name": "n.1"}, 422),
    "a short claim": ({"claim": "c"}, 422),
    "no hardware": ({"hardware": None}, 422),
    "two GPUs in one slot": ({"hardware": hardware("n07") | {"gpus": hardware("n07")["gpus"][:1] * 2}}, 422),
    "GPUs of two types": (
        {
            "hardware": hardware("n07")
            | {"gpus": [*hardware("n07")["gpus"][:1], *hardware("x", kind="A100")["gpus"][1:]]}
        },
        422,
    ),
    "a NUL, which PostgreSQL cannot keep": ({"hardware": hardware("n07") | {"driver": "\0"}}, 422),
    "not a number": ({"hardware": hardware("n07") | {"driver": float("nan")}}, 422),
    "infinity": ({"hardware": hardware("n07") | {"driver": float("inf")}}, 422),
    "half of a character": ({"hardware": hardware("n07") | {"driver": "\ud800"}}, 422),
    "a number written as text": ({"hardware": hardware("n07") | {"cpus": "96"}}, 422),
    "an endless inventory": ({"hardware": hardware("n07") | {"notes": "x" * 70_000}}, 422),
    "a thousand GPUs": ({"hardware": hardware("n07") | {"gpus": hardware("n07")["gpus"] * 125}}, 422),
}


@pytest.mark.parametrize("bad", BAD_JOINS.values(), ids=BAD_JOINS.keys())
def test_a_bad_join_is_refused_in_words(
    client: Client, stage: Stage, redis_url: str, bad: tuple[dict[str, Any], int]
) -> None:
    stage.add_nodes("n01")
    changed, status = bad
    answer = join(client, **changed)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    assert Node.objects.count() == 1


def test_strangers_cannot_fill_the_table_of_nodes(
    client: Client, stage: Stage, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "PENDING_AT_MOST", 2)
    assert [join(client, name=f"x{i}").status_code for i in range(4)] == [202, 202, 409, 409]
    assert join(client, name="x1").status_code == 202
    secret = make_join_token(pool=stage.pool(), by=None, lives=timedelta(hours=1), now=timezone.now())
    assert join(client, name="x9", join_token=secret).status_code == 200


def test_a_stranger_cannot_keep_a_name_from_who_has_a_join_token(
    client: Client, stage: Stage, redis_url: str
) -> None:
    assert join(client, claim="e" * 40).status_code == 202
    assert join(client, claim="c" * 40).status_code == 403
    secret = make_join_token(pool=stage.pool(), by=None, lives=timedelta(hours=1), now=timezone.now())
    assert join(client, claim="c" * 40, join_token=secret).status_code == 200
    assert join(client, claim="e" * 40).status_code == 403
    assert join(client, claim="e" * 40, join_token=secret).status_code == 403


def test_a_lost_nodes_name_is_for_who_has_a_join_token_and_the_old_keys_open_nothing(
    client: Client, stage: Stage, redis_url: str
) -> None:
    secret = make_join_token(pool=stage.pool(), by=None, lives=timedelta(hours=1), now=timezone.now())
    old = join(client, claim="c" * 40, join_token=secret).json()["token"]
    assert join(client, claim="e" * 40, join_token=secret).status_code == 403, "it is not lost"
    Node.objects.update(lost_at=timezone.now())
    assert join(client, claim="e" * 40).status_code == 403, "a stranger gets nothing"
    new = join(client, claim="e" * 40, join_token=secret).json()["token"]
    statuses = [call(client, "GET", "/runs/1/spec", token).status_code for token in (old, new)]
    assert statuses == [401, 404]
    assert join(client, claim="c" * 40).status_code == 403, "the old claim is no longer known"


def test_a_node_cannot_take_the_gpus_of_another(client: Client, stage: Stage, redis_url: str) -> None:
    stage.add_nodes("n01")
    secret = make_join_token(pool=stage.pool(), by=None, lives=timedelta(hours=1), now=timezone.now())
    answer = join(client, join_token=secret, hardware=hardware("n01"))
    assert answer.status_code == 409
    assert set(Gpu.objects.values_list("node__name", flat=True)) == {"n01"}
    assert Job.objects.count() == 0

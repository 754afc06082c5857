"""A node that was put out: its keys open nothing, no token lets it in, its jobs go elsewhere, a person may let it back."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from redis import Redis
from redis.exceptions import AuthenticationError

from portal.agents import fences, keys
from portal.agents.actions import make_join_token
from portal.cluster import actions as cluster
from portal.cluster.models import Node
from portal.cluster.queries import pending_count
from portal.cycle import actions as cycle
from tests.portal.stage import Stage, hardware, held, phase

pytestmark = pytest.mark.django_db


def test_its_keys_open_nothing_and_its_jobs_start_elsewhere(
    stage: Stage, link: Redis, client: Client
) -> None:
    stage.add_nodes("n01", "n02")
    job = stage.submit(gpus_per_node=8)
    run = stage.running(job)
    node = stage.agents[stage.where(run)[0]].node
    fences.make(link, node)
    old_token, old_address = keys.http_token(node), keys.redis_url(node)
    cycle.expel(node=node, by=stage.people["noor"], now=stage.later())
    assert held(run) == 0
    assert phase(job) == "waiting"
    answer = client.get(f"/api/v1/agent/runs/{run.pk}/spec", headers={"Authorization": f"Bearer {old_token}"})
    assert answer.status_code == 401
    with Redis.from_url(old_address) as agent, pytest.raises(AuthenticationError):
        agent.ping()
    assert stage.beat(node.name) == []
    stage.turn()
    assert stage.where(stage.live_run(job)) != [node.name]


def test_no_token_lets_it_in_again_but_a_person_may(stage: Stage, client: Client) -> None:
    stage.add_nodes("n01")
    node = stage.agents["n01"].node
    cycle.expel(node=node, by=stage.people["noor"], now=stage.now)
    secret = make_join_token(pool=stage.pool(), by=None, lives=timedelta(hours=1), now=timezone.now())
    for token in (None, secret):
        asked = {"name": "n01", "claim": "c" * 40, "join_token": token, "hardware": hardware("n01")}
        answer = client.post("/api/v1/agent/join", json.dumps(asked), content_type="application/json")
        assert (answer.status_code, "put n01 out" in answer.text) == (403, True)
    cluster.approve(node=node, by=stage.people["noor"], now=stage.now)
    node = Node.objects.get(name="n01")
    assert (node.expelled_at, node.key_version) == (None, 2)
    assert node.approved_at == stage.now


def test_a_node_that_only_asks_can_be_refused(stage: Stage) -> None:
    node = Node.objects.create(
        pool=stage.pool(),
        name="n09",
        gpu_type="unknown",
        claim_digest="0" * 64,
        hardware_reported=hardware("n09"),
    )
    cycle.expel(node=node, by=stage.people["noor"], now=stage.now)
    assert pending_count() == 0

"""The bell: many rings make one tick, and a dead Redis costs a bounded moment, never a submission."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from redis import Redis

from portal import bell
from portal.cluster.models import Node
from portal.cycle import tasks
from portal.jobs.models import Job
from tests.portal.stage import Stage, phase

# A process of the portal whose Redis is dead: how long each thing took, in words and seconds.
BEREFT = """
import json, sys, time
import django
django.setup()
from django.utils import timezone
from portal.accounts.models import Team, User
from portal.agents.hearing import hear
from portal.cycle.actions import submit, turn
from portal.jobs.ask import Ask

def timed(what):
    began = time.monotonic()
    what()
    return time.monotonic() - began

ask = Ask(name="x", team=Team.objects.get(name="vision"), tier="standard", command="true", nodes=3, gpus_per_node=1)
by = User.objects.get(email="mira@example.org")
batch = [bytes.fromhex(line) for line in sys.argv[1:]]
print(json.dumps({
    "submit": timed(lambda: submit(ask=ask, by=by, now=timezone.now())),
    "turn": timed(lambda: turn(now=timezone.now())),
    "hear": timed(lambda: hear(batch, now=timezone.now()))
}))
"""


@contextmanager
def dead_redis(way: str) -> Iterator[str]:
    """The address of a Redis that is gone, or of one that accepts and then says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if way == "never answers":
            listener.listen()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def test_a_hundred_rings_make_one_tick_until_the_cycle_begins(stage_shared: Stage, link: Redis) -> None:
    stage_shared.add_nodes("n1")
    link.delete("cycle", bell.RUNG)
    for _ in range(100):
        stage_shared.submit()
    assert link.llen("cycle") == 1
    bell.heard()
    stage_shared.submit()
    assert link.llen("cycle") == 2


def test_a_ring_waits_for_the_commit(stage: Stage, link: Redis, django_capture_on_commit_callbacks) -> None:
    stage.add_nodes("n1")
    with django_capture_on_commit_callbacks(execute=False) as rings:
        stage.submit()
    assert len(rings) == 1
    assert link.llen("cycle") == 0


def test_a_tick_turns_the_cycle(stage_now: Stage) -> None:
    stage_now.add_nodes("n1")
    job = stage_now.submit()
    tasks.tick()
    assert phase(job) == "starting"


@pytest.mark.parametrize("way", ["refuses", "never answers"])
def test_without_redis_everything_still_happens_and_nothing_hangs(
    stage_shared: Stage, portal_environment: dict[str, str], way: str
) -> None:
    stage_shared.add_nodes("n1", "n2", "n3", gpus=1)
    agents = (
        stage_shared.agents.values() if way == "refuses" else []
    )  # one time-out of five seconds is enough
    batch = [agent.beat(stage_shared.later()).hex() for agent in agents]
    with dead_redis(way) as address:
        done = subprocess.run(
            [sys.executable, "-c", BEREFT, *batch], env=portal_environment | {"REDIS_URL": address},
            capture_output=True, text=True, timeout=50,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    took = json.loads(done.stdout)
    assert took["submit"] < 3
    assert max(took.values()) < 7
    assert Job.objects.get().phase == "starting"
    assert set(Node.objects.values_list("beat_seq", flat=True)) == {2 if batch else 1}
    assert "the bell was not heard" in done.stderr
    assert "orders for n1 not sent" in done.stderr

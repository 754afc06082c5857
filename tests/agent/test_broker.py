"""The broker away, back, or unwilling: the agent goes on, grows no memory and comes back by itself."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from portal.up.valkey import Valkey
from scheduler.agent.post import TIMEOUT_S, BrokerPost
from tests.agent.agents import AgentProcess, eventually, is_in, order, spec
from tests.agent.portal_double import PortalDouble


@pytest.fixture
def own_valkey(reachable: Path) -> Iterator[Valkey]:
    """One that the test may stop."""
    server = Valkey(reachable / "valkey", fast=True)
    server.start()
    yield server
    server.stop()


def test_ranks_run_on_while_the_broker_is_away_and_beats_and_orders_return_with_it(
    own_valkey: Valkey, reachable: Path
) -> None:
    portal = PortalDouble(own_valkey.url)
    agent = AgentProcess(portal, reachable / "n01").start()
    try:
        portal.heard(lambda beat: True)
        portal.want(order(portal, spec(agent, 1, "sleep 2; exit 4")))
        portal.heard(is_in(1, "running"))
        own_valkey.stop()
        eventually(lambda: agent.seen(1)["phase"] == "ended")
        eventually(lambda: "beats cannot be sent" in agent.log.read_text())
        heard = len(portal.beats)
        own_valkey.start()
        portal.open_fence()  # users are not kept by the broker; the real portal makes them again, too
        eventually(lambda: len(portal.beats) > heard)
        beat = portal.heard(is_in(1, "ended"))
        assert beat.runs[0].ranks[0].exit == 4
        portal.want(order(portal, spec(agent, 2, "sleep 600")))
        portal.heard(is_in(2, "running"))
        assert agent.log.read_text().count("beats cannot be sent") <= 3  # one line per change of cause
    finally:
        agent.end()
        portal.close()


def test_while_nobody_answers_two_beats_lie_in_the_queue_and_the_heart_goes_on(
    portal: PortalDouble, agent: AgentProcess, redis_url: str
) -> None:
    portal.want(order(portal, spec(agent, 1, "sleep 1; exit 0")))
    portal.heard(is_in(1, "running"))
    portal.answers_beats = False
    portal.close()  # nobody reads any more
    with Redis.from_url(redis_url) as link:
        eventually(lambda: agent.seen(1)["phase"] == "ended")
        eventually(lambda: link.llen("beats") >= 1)
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            assert link.llen("beats") <= 2
            time.sleep(0.05)


def test_a_nodes_user_can_do_what_the_agent_needs_and_no_more(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    portal.want(order(portal, spec(agent, 1, "true")))
    portal.heard(is_in(1, "ended"))
    assert portal.acl("LOG") == []  # nothing it tried was refused
    with Redis.from_url(portal._redis_url_of_node()) as link:
        for forbidden in (
            lambda: link.lpush("node.n02", "x"),
            lambda: link.rpop("beats"),
            lambda: link.lrange("beats", 0, -1),
            lambda: link.keys("*"),
            lambda: link.get("u.n02.unacked"),
        ):
            with pytest.raises(NoPermissionError):
                forbidden()


def test_an_agent_whose_keys_were_changed_joins_again_and_keeps_its_runs(
    portal: PortalDouble, reachable: Path
) -> None:
    impatient = "from scheduler.agent import assembly, post; assembly.PATIENCE_S = post.UNWELCOME_S = 0.5"
    agent = AgentProcess(portal, reachable / "n01", first=impatient).start()
    try:
        portal.heard(lambda beat: True)
        portal.want(order(portal, spec(agent, 1, "sleep 600")))
        boot = portal.heard(is_in(1, "running")).boot
        pid = agent.seen(1)["ranks"][0]["pid"]
        portal.change_keys()
        beat = portal.heard(lambda beat: beat.boot > boot and is_in(1, "running")(beat), 30)
        assert beat.runs[0].ranks[0].state == "running"
        assert agent.seen(1)["ranks"][0]["pid"] == pid
        assert len(portal.joins) == 2
        portal.want()
        portal.heard(lambda beat: not beat.runs)
    finally:
        agent.end()


def test_a_broker_that_accepts_and_says_nothing_holds_the_heart_up_for_moments_only() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        open_lines: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    open_lines.append(silent.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        post = BrokerPost(f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        before = time.monotonic()
        assert post.send({"any": "thing"}) is False
        assert time.monotonic() - before < 2 * TIMEOUT_S + 1
        for line in open_lines:
            line.close()

"""What the agent obeys and what it does not: forged, stale, foreign and decorated messages change nothing."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from celery import signature
from redis import Redis

from scheduler import wire
from scheduler.agent import rundir
from tests.agent.agents import AgentProcess, eventually, is_in, order, run_in, spec
from tests.agent.portal_double import PortalDouble

StartAgent = Callable[..., AgentProcess]


def settled(portal: PortalDouble, beats: int = 2) -> wire.Beat:
    """The beat after some more turns; each beat is answered, so the agent has taken what came before."""
    count = len(portal.beats) + beats
    eventually(lambda: len(portal.beats) >= count)
    return portal.beats[-1]


def test_whole_orders_start_and_stop_and_a_missing_run_is_stopped_and_forgotten(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    one, two = (order(portal, spec(agent, n, "sleep 600", first=n)) for n in (1, 2))
    portal.want(one, two)
    portal.heard(lambda beat: is_in(1, "running")(beat) and is_in(2, "running")(beat))
    portal.want(one)
    portal.heard(lambda beat: run_in(beat, 2) is None)
    assert rundir.stop_of(agent.run_dir(2)) in (None, {"grace_s": wire.DEFAULT_GRACE_S})
    portal.want(wire.RunWanted(1, 1, one.digest, "stop", 5.0))
    seen = run_in(portal.heard(is_in(1, "ended")), 1)
    assert seen is not None
    assert [rank.signal for rank in seen.ranks] == [15]
    settled(portal)
    assert run_in(portal.beats[-1], 1) is not None  # as long as it is listed
    portal.want()
    portal.heard(lambda beat: not beat.runs)


def test_a_run_that_never_came_here_is_answered_for_when_it_is_to_stop(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    portal.want(wire.RunWanted(9, 1, "a" * 64, "stop"))
    seen = run_in(portal.heard(is_in(9, "ended")), 9)
    assert seen is not None
    assert seen.ranks == ()


@pytest.mark.parametrize("kind", ["forged", "expired", "wrong_boot", "replayed", "malformed"])
def test_orders_that_must_not_be_obeyed_are_not(kind: str, portal: PortalDouble, agent: AgentProcess) -> None:
    wanted = order(portal, spec(agent, 1, "sleep 600"))
    settled(portal)
    now = time.time()
    good = wire.Orders("n01", portal.beats[-1].boot, portal.seq + 100, now, now + 60, 0, 0.2, (wanted,))
    changes: dict[str, dict[str, Any]] = {
        "forged": {},
        "expired": {"expires_at": now - 1},
        "wrong_boot": {"boot": good.boot - 1},
        "replayed": {"seq": 1},
        "malformed": {"runs": "all of them"},
    }
    key = b"x" * 32 if kind == "forged" else portal.key
    portal.answers_beats = False
    portal.push(wire.seal("orders", "n01", good.to_body() | changes[kind], key))
    eventually(lambda: f"orders refused ({kind})" in agent.log.read_text())
    portal.answers_beats = True
    portal.send()
    assert settled(portal).runs == ()
    assert not agent.run_dir(1).exists()


def test_orders_for_another_node_sealed_with_our_key_are_refused(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    now = time.time()
    other = wire.Orders("n02", portal.beats[-1].boot, 10**6, now, now + 60)
    portal.push(wire.seal("orders", "n02", other.to_body(), portal.key))
    eventually(lambda: "orders refused (unknown_node)" in agent.log.read_text())
    assert settled(portal).orders_seq < 10**6


def test_the_same_orders_again_and_orders_out_of_turn_change_nothing(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    count = agent.state.parent / "count"
    count.touch()
    count.chmod(0o666)
    portal.want(order(portal, spec(agent, 1, f"echo x >> {count}; sleep 600")))
    portal.heard(is_in(1, "running"))
    # What the agent itself says it has applied: the portal's newest number may still be on its way.
    boot, applied, now = portal.beats[-1].boot, settled(portal).orders_seq, time.time()
    for seq in (applied, applied - 1, 1):
        late = wire.Orders("n01", boot, seq, now, now + 60)  # says that nothing should run
        portal.push(wire.seal("orders", "n01", late.to_body(), portal.key))
        settled(portal, 1)
    seen = run_in(settled(portal), 1)
    assert seen is not None
    assert seen.state == "running"
    assert count.read_text() == "x\n"


def test_another_tasks_name_and_celerys_canvas_are_never_obeyed(
    portal: PortalDouble, agent: AgentProcess, redis_url: str
) -> None:
    """Sent by whoever may write to the queue: nothing is executed and nothing is published."""
    beacon = signature("rogue.task", args=["pwned"], queue="node.n01")
    portal.push({"any": "thing"}, task="rogue.task")
    eventually(lambda: "knows no task" in agent.log.read_text())
    for builtin in ("celery.group", "celery.chain", "celery.map", "celery.backend_cleanup"):
        portal.push({"any": "thing"}, task=builtin)
        eventually(lambda name=builtin: f"knows no task '{name}'" in agent.log.read_text())

    portal.answers_beats = False
    wanted = order(portal, spec(agent, 1, "sleep 600"))
    now = time.time()
    good = wire.Orders("n01", portal.beats[-1].boot, portal.seq + 1, now, now + 60, 0, 0.2, (wanted,))
    portal.seq += 1
    with Redis.from_url(redis_url) as link, link.monitor() as monitor:
        portal.push(
            wire.seal("orders", "n01", good.to_body(), portal.key),
            link=beacon,
            link_error=beacon,
            chain=[beacon],
            chord=beacon,
            reply_to="beats",
        )
        portal.heard(is_in(1, "running"))  # its own part is obeyed
        link.publish("over", "now")
        commands: list[str] = []
        for entry in monitor.listen():
            commands.append(entry["command"])
            if entry["command"].startswith("PUBLISH"):
                break
    sent = [command for command in commands if command.startswith(("LPUSH", "RPUSH", "SADD", "SET", "HSET"))]
    assert [
        command for command in sent if "rogue" in command and not command.startswith("LPUSH node.n01 ")
    ] == []
    assert sum(command.startswith("LPUSH node.n01 ") for command in sent) == 1  # the portal's own
    complaints = [line for line in agent.log.read_text().splitlines() if " INFO " not in line]
    assert [line for line in complaints if "thrown away" not in line] == []  # nor was anything tried


def test_anything_but_json_is_thrown_away(portal: PortalDouble, agent: AgentProcess) -> None:
    portal._celery.send_task("agent.orders", args=[{}], queue="node.n01", serializer="pickle")
    eventually(lambda: "thrown away" in agent.log.read_text())
    portal._celery.send_task("agent.orders", args=[{}, {}], queue="node.n01")
    eventually(lambda: "not one argument" in agent.log.read_text())
    assert settled(portal).runs == ()


def test_a_spec_with_another_digest_is_refused_and_says_so(portal: PortalDouble, agent: AgentProcess) -> None:
    text = spec(agent, 1, "echo harmless; sleep 600")
    wanted = order(portal, text)
    portal.specs[1] = text | {"command": "echo swapped"}
    portal.want(wanted)
    seen = run_in(portal.heard(is_in(1, "ended")), 1)
    assert seen is not None
    assert seen.error == "The spec is not the one the orders name; it was refused."
    assert not agent.run_dir(1).exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"uid": 0}, "uid must be"),
        ({"command": "echo \0"}, "command must be"),
        ({"env": {"A=B": "x"}}, "env has a name"),
        ({"ranks": [{"rank": 0, "local_rank": 0, "gpu_uuid": "GPU-elsewhere"}]}, "does not have"),
    ],
)
def test_a_spec_that_makes_no_sense_here_is_refused(
    changes: dict[str, Any], words: str, portal: PortalDouble, agent: AgentProcess
) -> None:
    portal.want(order(portal, spec(agent, 1, "sleep 600") | changes))
    seen = run_in(portal.heard(is_in(1, "ended")), 1)
    assert seen is not None
    assert words in (seen.error or "")


def test_a_spec_that_cannot_be_had_is_asked_for_again(portal: PortalDouble, agent: AgentProcess) -> None:
    wanted = order(portal, spec(agent, 1, "sleep 600"))
    portal.is_away = True
    portal.want(wanted)
    eventually(lambda: "is not to be had" in agent.log.read_text())
    assert is_in(1, "starting")(settled(portal))
    portal.is_away = False
    portal.heard(is_in(1, "running"))


def test_a_gpu_is_handed_on_only_when_the_run_before_has_left_it(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    slow = spec(agent, 1, "trap 'sleep 1; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    portal.want(order(portal, slow))
    eventually(lambda: portal.log(1, 0))
    portal.want(order(portal, spec(agent, 2, "sleep 600")))  # on the same GPU, and the first is not listed
    portal.heard(is_in(2, "running"))
    first = next(beat for beat in portal.beats if is_in(2, "running")(beat))
    earlier = run_in(first, 1)
    assert earlier is None or earlier.state == "ended"
    assert any(is_in(1, "stopping")(beat) and is_in(2, "starting")(beat) for beat in portal.beats)

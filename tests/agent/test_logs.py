"""Logs reach the portal soon, in order, once, and in the end: whatever was away meanwhile."""

import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

from scheduler.agent.spool import HEAD, SEGMENT, TAIL
from tests.agent.agents import AgentProcess, eventually, is_in, order, run_in, spec
from tests.agent.portal_double import PortalDouble

StartAgent = Callable[..., AgentProcess]
TICKS = "i=0; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); sleep 0.02; done"


def lines(count: int) -> bytes:
    return b"".join(b"line %d\n" % i for i in range(count))


def test_a_line_reaches_the_portal_within_two_seconds(portal: PortalDouble, agent: AgentProcess) -> None:
    file = agent.state.parent / "say"
    portal.want(
        order(
            portal, spec(agent, 1, f"echo up; until [ -e {file} ]; do sleep 0.01; done; echo now; sleep 600")
        )
    )
    eventually(lambda: portal.log(1, 0) == b"up\n")
    file.touch()
    written = time.monotonic()
    eventually(lambda: portal.log(1, 0) == b"up\nnow\n")
    assert time.monotonic() - written < 2


def test_logs_wait_on_disk_while_the_portal_is_away_and_then_arrive_once_and_in_order(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    portal.want(order(portal, spec(agent, 1, TICKS.replace("400", "100"))))
    eventually(lambda: portal.log(1, 0))
    portal.is_away = True
    before = portal.log(1, 0)
    portal.heard(is_in(1, "ended"))
    assert portal.log(1, 0) == before
    eventually(lambda: "logs wait on disk" in agent.log.read_text())
    portal.want()  # forgotten: the directory stays until its log is taken
    portal.heard(lambda beat: not beat.runs)
    assert agent.run_dir(1).exists()
    portal.is_away = False
    eventually(lambda: portal.log(1, 0) == lines(100))
    eventually(lambda: not agent.run_dir(1).exists())


def test_a_new_agent_goes_on_where_the_last_one_stopped(
    portal: PortalDouble, agent: AgentProcess, start_agent: StartAgent
) -> None:
    portal.want(order(portal, spec(agent, 1, TICKS.replace("400", "150"))))
    eventually(lambda: len(portal.log(1, 0)) > 300 and portal.offsets[-1] > 0)  # it has heard an answer
    agent.kill()
    before = len(portal.offsets)
    start_agent()
    portal.heard(is_in(1, "ended"))
    eventually(lambda: portal.log(1, 0) == lines(150))
    assert portal.offsets[before] > 0


def test_a_forgotten_runs_log_is_taken_also_by_the_next_agent(
    portal: PortalDouble, agent: AgentProcess, start_agent: StartAgent
) -> None:
    file = agent.state.parent / "say"
    portal.want(order(portal, spec(agent, 1, f"until [ -e {file} ]; do sleep 0.01; done; echo precious")))
    portal.heard(is_in(1, "running"))
    portal.is_away = True
    file.touch()
    portal.heard(is_in(1, "ended"))
    portal.want()
    portal.heard(lambda beat: not beat.runs)
    agent.kill()
    boot = portal.beats[-1].boot
    start_agent()
    assert portal.heard(lambda beat: beat.boot > boot).runs == ()
    portal.is_away = False
    eventually(lambda: portal.log(1, 0) == b"precious\n" and not agent.run_dir(1).exists())


def test_of_a_flood_head_and_tail_arrive_and_the_offsets_are_true(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    count = 30_000_000
    portal.want(
        order(portal, spec(agent, 1, f"echo first; head -c {count} /dev/zero | tr '\\0' x; echo; echo last"))
    )
    portal.heard(is_in(1, "ended"), 40)
    end = len("first\n") + count + len("\nlast\n")
    pieces = eventually(lambda: portal.logs.get((1, 0)))
    eventually(lambda: pieces[-1][0] + len(pieces[-1][1]) == end, 40)
    whole = portal.log(1, 0)
    assert whole.startswith(b"first\nxxx")
    assert whole.endswith(b"xxx\nlast\n")
    assert HEAD * SEGMENT < len(whole) <= (HEAD + 2 * TAIL) * SEGMENT
    assert [offset for offset, _ in pieces] == sorted({offset for offset, _ in pieces})


def test_a_portal_that_does_not_want_a_log_is_not_bothered_with_it(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    real, asked = portal.on_post, []

    def refuse(door: BaseHTTPRequestHandler, body: bytes) -> tuple[int, object]:
        if "/log" not in door.path:
            return real(door, body)
        asked.append(door.path)
        return 404, {"detail": "Rank 0 of run 1 is not on n01."}

    portal.on_post = refuse  # type: ignore[method-assign,assignment]  # one answer of the double, for this test
    portal.want(order(portal, spec(agent, 1, "echo unwanted; sleep 0.5; echo still unwanted")))
    seen = run_in(portal.heard(is_in(1, "ended")), 1)
    assert seen is not None
    portal.want()
    eventually(lambda: not agent.run_dir(1).exists())
    assert len(asked) == 1

"""Joining: asked for ever, said once; and what stops an agent from starting at all."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from scheduler import wire
from scheduler.agent.boot import State
from tests.agent.agents import ROOT, AgentProcess, eventually
from tests.agent.portal_double import PortalDouble

StartAgent = Callable[..., AgentProcess]
IS_ROOT = os.geteuid() == 0


def test_an_agent_says_who_it_is_and_what_it_has(portal: PortalDouble, start_agent: StartAgent) -> None:
    token = portal.node
    agent = start_agent("--join-token-env", "--rack", "r1", "--address", "10.0.0.9", BERTH_JOIN_TOKEN=token, BERTH_BLOCK="b2")  # fmt: skip
    beat = portal.heard(lambda beat: True)
    (asked,) = portal.joins
    assert (asked["name"], asked["join_token"], asked["address"]) == ("n01", token, "10.0.0.9")
    assert asked["isolated"] is beat.isolated is IS_ROOT
    hardware = asked["hardware"]
    assert beat.hardware == wire.inventory_digest(hardware)
    assert (hardware["rack"], hardware["block"]) == ("r1", "b2")
    assert [gpu["uuid"] for gpu in hardware["gpus"]] == agent.uuids == [gpu.uuid for gpu in beat.gpus]
    assert {(gpu["type"], gpu["memory_mib"], gpu["nvlink_domain"]) for gpu in hardware["gpus"]} == {
        ("H100", 81559, 0)
    }
    claim = agent.state / "private" / "claim"
    assert asked["claim"] == claim.read_text()
    assert claim.stat().st_mode & 0o077 == 0
    assert claim.parent.stat().st_mode & 0o077 == 0


def test_each_cause_of_waiting_is_said_once_and_joining_goes_on(
    portal: PortalDouble, start_agent: StartAgent
) -> None:
    portal.join_answer = 503
    agent = start_agent()

    def said(words: str) -> int:
        return agent.log.read_text().count(words)

    eventually(lambda: len(portal.joins) >= 3)
    portal.join_answer = 202
    eventually(lambda: said("waits for approval"))
    portal.join_answer = 403
    eventually(lambda: said("refuses: This join token has expired."))
    portal.join_answer = 200
    portal.heard(lambda beat: True)
    assert said("not joined yet") == 3
    assert len({asked["claim"] for asked in portal.joins}) == 1


def test_an_agent_that_waits_to_join_ends_when_it_is_told_to(
    portal: PortalDouble, start_agent: StartAgent
) -> None:
    portal.join_answer = 202
    agent = start_agent()
    eventually(lambda: portal.joins)
    assert agent.stop() == 0


def test_a_joined_agent_ends_quickly_when_it_is_told_to(agent: AgentProcess) -> None:
    assert agent.stop(5) == 0


def test_two_agents_do_not_share_a_directory(portal: PortalDouble, agent: AgentProcess) -> None:
    again = _refused("--name", "n01", "--state", str(agent.state))
    assert "Another agent is running in" in again


def test_what_cannot_work_is_one_sentence(tmp_path: Path) -> None:
    state = str(tmp_path / "n01")
    assert "'N_1' is no node name" in _refused("--name", "N_1", "--state", state)
    assert "no address of a portal" in _refused("--name", "n01", "--state", state, "--portal", "portal:8000")
    missing = _refused("--name", "n01", "--state", state, "--join-token-file", str(tmp_path / "no"))
    assert "cannot be read: No such file or directory." in missing
    assert "BERTH_JOIN_TOKEN is not set" in _refused("--name", "n01", "--state", state, "--join-token-env")
    (tmp_path / "file").touch()
    assert "cannot be used" in _refused("--name", "n01", "--state", str(tmp_path / "file"))


def _refused(*options: str) -> str:
    portal = () if "--portal" in options else ("--portal", "http://127.0.0.1:9")
    command = [sys.executable, "-m", "scheduler.agent", "--simulate", *portal, *options]
    done = subprocess.run(
        command, cwd=ROOT, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_every_boot_is_larger_than_all_before_even_if_the_clock_was_set_back(tmp_path: Path) -> None:
    first = State(tmp_path)
    (tmp_path / "private" / "boot.json").write_text(str(first.boot + 10**12))
    os.close(first._lock)
    second = State(tmp_path)
    os.close(second._lock)
    assert second.boot == first.boot + 10**12 + 1
    assert second.claim == first.claim


def test_the_agent_needs_no_django_and_ignores_celerys_environment(
    portal: PortalDouble, start_agent: StartAgent
) -> None:
    start_agent(DJANGO_SETTINGS_MODULE="no.such.settings", CELERY_BROKER_URL="redis://127.0.0.1:9/0")
    portal.heard(lambda beat: True)

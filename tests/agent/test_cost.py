"""What an agent costs its node: under 60 MiB and one percent of a core, with eight busy GPUs."""

import os
import time

import pytest

from tests.agent.agents import AgentProcess, eventually, is_in, order, spec
from tests.agent.portal_double import PortalDouble

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mib(pid: int) -> float:
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


@pytest.mark.serial
def test_an_agent_stays_small_and_idle_with_eight_ranks(portal: PortalDouble, agent: AgentProcess) -> None:
    portal.beat_every_s = 2.0
    portal.want(order(portal, spec(agent, 1, "while :; do echo a line; sleep 1; done", gpus=8)))
    portal.heard(is_in(1, "running"))
    eventually(lambda: len(portal.log(1, 7)) > 20)
    before, since = cpu_s(agent.pid), time.monotonic()
    eventually(lambda: time.monotonic() - since > 6)  # a span to measure over, not a wait for something
    share = (cpu_s(agent.pid) - before) / (time.monotonic() - since)
    assert rss_mib(agent.pid) < 60
    assert share < 0.02  # the goal is 0.01; a tick of the clock is 0.0017 of this span

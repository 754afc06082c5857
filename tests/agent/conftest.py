"""A portal double on a real Valkey, and agents that leave nothing behind."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.agents import AgentProcess
from tests.agent.portal_double import PortalDouble


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A directory that other uids can walk into, as a node's state directory must be; pytest's own is not."""
    directory = Path(tempfile.mkdtemp(prefix="berth-agent-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def portal(redis_url: str) -> Iterator[PortalDouble]:
    double = PortalDouble(redis_url)
    yield double
    double.close()


@pytest.fixture
def start_agent(reachable: Path, portal: PortalDouble) -> Iterator[Callable[..., AgentProcess]]:
    """Starts an agent of the portal's node; the same state directory each time within a test."""
    started: list[AgentProcess] = []

    def start(*options: str, **env: str) -> AgentProcess:
        agent = AgentProcess(portal, reachable / "n01", *options).start(**env)
        started.append(agent)
        return agent

    yield start
    for agent in started:
        agent.end()


@pytest.fixture
def agent(start_agent: Callable[..., AgentProcess], portal: PortalDouble) -> AgentProcess:
    """One that has joined and beats."""
    fresh = start_agent()
    portal.heard(lambda beat: True)
    return fresh

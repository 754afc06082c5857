"""The options of `./manage.py up`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from portal.up.lineup import ROOT
from portal.up.state import default_path

_MOST_AGENTS = 64


@dataclass(frozen=True, slots=True)
class Options:
    """What the person asked for."""

    port: int
    agents: int
    demo: bool
    state: Path


def options(argv: Sequence[str]) -> Options:
    """Read them; argparse says what is wrong and leaves with status 2."""
    parser = argparse.ArgumentParser(
        prog="./manage.py up",
        description="Run the portal on this machine: PostgreSQL, Valkey, web, workers and a simulated cluster.",
    )
    parser.add_argument("--port", type=_port, default=8000, help="where the pages are (default: 8000)")
    parser.add_argument(
        "--agents", type=_agents, metavar="N", help="simulated nodes (default: 8; 0 with --no-demo)"
    )
    parser.add_argument("--no-demo", action="store_true", help="no demo people, teams and nodes")
    parser.add_argument("--state", type=Path, metavar="DIR", help="where everything is kept between runs")
    given = parser.parse_args(argv)
    agents = given.agents if given.agents is not None else (0 if given.no_demo else 8)
    return Options(given.port, agents, not given.no_demo, given.state or default_path(ROOT))


def _port(text: str) -> int:
    return _number(text, "a port is a number from 1 to 65535", range(1, 65536))


def _agents(text: str) -> int:
    return _number(text, f"give a number of nodes from 0 to {_MOST_AGENTS}", range(_MOST_AGENTS + 1))


def _number(text: str, sentence: str, allowed: range) -> int:
    if not text.isascii() or not text.isdigit() or int(text) not in allowed:
        raise argparse.ArgumentTypeError(f"{sentence}, not {text!r}")
    return int(text)

"""The agent's command line: `python -m scheduler.agent --name n01 --portal http://portal:8000 --state DIR`."""

import argparse
import logging
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from scheduler import wire
from scheduler.agent.boot import State, Trouble, can_isolate, checked_name
from scheduler.agent.door import Door
from scheduler.agent.hardware import inventory
from scheduler.agent.join import join
from scheduler.agent.nvml import Nvml
from scheduler.agent.standin import Standin

log = logging.getLogger("berth.agent")


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scheduler.agent", description="Berth's agent for one node."
    )
    parser.add_argument("--name", required=True, help="the node's name, e.g. n01")
    parser.add_argument("--portal", required=True, help="the portal's address, e.g. http://portal:8000")
    parser.add_argument("--state", required=True, type=Path, help="a directory of this agent's own")
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--join-token-file", type=Path, help="a file that holds a join token")
    token.add_argument("--join-token-env", action="store_true", help="take it from BERTH_JOIN_TOKEN")
    parser.add_argument("--simulate", action="store_true", help="pretend to have eight H100-like GPUs")
    parser.add_argument("--address", help="where other nodes reach this one; found out where not given")
    parser.add_argument("--block", default=os.environ.get("BERTH_BLOCK", ""))
    parser.add_argument("--rack", default=os.environ.get("BERTH_RACK", ""))
    return parser.parse_args(argv)


def main() -> int:
    options = arguments()
    log.setLevel(logging.INFO)
    line = f"%(asctime)s {options.name} %(levelname)s %(message)s"
    logging.basicConfig(level=logging.WARNING, format=line, stream=sys.stderr)
    started_with = dict(os.environ)
    try:
        token = _join_token(options)
        for name in [name for name in os.environ if name.startswith(("CELERY_", "BERTH_JOIN_TOKEN"))]:
            del os.environ[name]  # Celery would prefer an address found there to the one the portal gives
        code = _obey(options, token)
    except (Trouble, ValueError) as why:
        print(f"The agent cannot start: {why}", file=sys.stderr)
        return 2
    if code is None:
        log.warning("starting over, to join again: the credentials are no longer accepted")
        os.execve(sys.executable, sys.orig_argv, started_with)
    return code


def _obey(options: argparse.Namespace, token: str | None) -> int | None:
    """Join, then work until told to end: the exit code, or None where the agent should start over."""
    name, door = checked_name(options.name), Door(options.portal)
    state = State(options.state)
    sensor = Nvml(Standin(name, state.claim) if options.simulate else None)
    hardware = inventory(sensor.gpus, driver=sensor.driver, block=options.block, rack=options.rack)
    isolated = can_isolate(state.runs)
    asking = {
        "name": name,
        "claim": state.claim,
        "join_token": token,
        "address": options.address or _own_address(options.portal),
        "isolated": isolated,
        "hardware": hardware,
    }
    ended = threading.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: ended.set())
    membership = join(door, asking, lambda wait_s: not ended.wait(wait_s))
    if membership is None:
        return 0
    # Only now: Celery is the larger part of the agent, and a node may wait long for approval.
    from scheduler.agent.assembly import Assembly

    node = Assembly(name, options.portal, state, membership)
    return node.work(sensor, isolated=isolated, hardware=wire.inventory_digest(hardware))


def _join_token(options: argparse.Namespace) -> str | None:
    if options.join_token_env:
        if "BERTH_JOIN_TOKEN" not in os.environ:
            raise Trouble("--join-token-env was given, but BERTH_JOIN_TOKEN is not set.")
        return os.environ["BERTH_JOIN_TOKEN"].strip()
    if options.join_token_file is None:
        return None
    try:
        return str(options.join_token_file.read_text().strip())
    except OSError as why:
        raise Trouble(f"The join token in {options.join_token_file} cannot be read: {why.strerror}.") from why


def _own_address(portal: str) -> str:
    """The address this machine has on the way to the portal; nothing is sent to find out."""
    there = urlsplit(portal)
    try:
        found = socket.getaddrinfo(there.hostname, there.port or 80, type=socket.SOCK_DGRAM)[0]
        with socket.socket(found[0], socket.SOCK_DGRAM) as probe:
            probe.connect(found[4])
            return str(probe.getsockname()[0])
    except OSError:
        return socket.gethostname()


if __name__ == "__main__":
    sys.exit(main())

"""Submit over the API to the first rank running: 100 jobs, one after the other, on the embedded default."""

import argparse
import statistics
from datetime import datetime
from time import monotonic, sleep, time
from typing import Any

from portal.bench import load
from portal.bench.portal import Client, running
from portal.demo import PASSWORD, PEOPLE

JOB_S = 30


def main(argv: list[str]) -> int:
    """Print median and p95 in milliseconds, and what the agents used meanwhile."""
    parser = argparse.ArgumentParser(prog="./manage.py bench latency", description=__doc__)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--idle", type=float, default=10.0, help="seconds to watch the agents doing nothing")
    options = parser.parse_args(argv)
    print(f"Starting a portal with {options.agents} agents …", flush=True)
    with running(agents=options.agents) as (port, state):
        idle = _cpu(state, lambda: sleep(options.idle))
        with Client(port, PEOPLE["engineer"][0], PASSWORD) as client:
            waits = [_one(client, number) for number in range(options.jobs)]
        memory = [use.memory_mib for use in load.agents(state).values()]
    _report(waits, idle, memory)
    return 0


def _one(client: Client, number: int) -> float:
    """Milliseconds from sending the request to the start of the first rank; one clock, since all is one machine."""
    ask = {
        "name": f"latency {number}",
        "team": "vision",
        "command": "sleep 0.2",
        "nodes": 1,
        "gpus_per_node": 1,
    }
    began = time()
    job = client.call("POST", "/jobs", ask)["id"]
    deadline = monotonic() + JOB_S
    while monotonic() < deadline:
        seen = client.call("GET", f"/jobs/{job}")
        if seen["phase"] == "finished":
            return (_first_start(seen) - began) * 1000
        sleep(0.05)
    raise SystemExit(f"job {job} did not finish within {JOB_S} s; its phase is {seen['phase']}.")


def _first_start(job: dict[str, Any]) -> float:
    starts = [rank["started_at"] for run in job["runs"] for rank in run["ranks"] if rank["started_at"]]
    return min(datetime.fromisoformat(start).timestamp() for start in starts)


def _cpu(state: Any, meanwhile: Any) -> list[float]:
    """The share of a core each agent used, in percent."""
    before, began = load.agents(state), monotonic()
    meanwhile()
    after, took = load.agents(state), monotonic() - began
    return [100 * (after[pid].cpu_s - before[pid].cpu_s) / took for pid in before if pid in after]


def _report(waits: list[float], idle: list[float], memory: list[float]) -> None:
    p95 = statistics.quantiles(waits, n=20)[-1]
    print(
        f"submit to first rank running, {len(waits)} jobs: median {statistics.median(waits):.0f} ms, p95 {p95:.0f} ms,"
    )
    print(f"  fastest {min(waits):.0f} ms, slowest {max(waits):.0f} ms; the goal is a p95 under 1,000 ms: "
          f"{'met' if p95 < 1000 else 'missed'}")  # fmt: skip
    print(f"agents, {len(memory)} of them: memory {max(memory):.0f} MiB at most (goal: under 60), "
          f"idle processor {max(idle):.2f} % of a core at most, {statistics.mean(idle):.2f} % on average (goal: under 1)")  # fmt: skip

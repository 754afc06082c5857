"""A portal with something on every page, and a web server in front of it."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from urllib.error import URLError
from urllib.request import urlopen

from portal.accounts.actions import make_token
from portal.agents.models import Refusal
from portal.cluster import actions as cluster
from portal.cluster.models import Gpu, Node
from portal.cycle import stops
from portal.jobs.logs import append
from portal.jobs.models import Job
from portal.quotas.models import Quota
from portal.telemetry.models import Reading
from portal.up.sockets import free_port
from scheduler.core.verbs import Receipt, Stop, Why
from tests.portal.stage import Stage, hardware

PATIENCE_S = 20.0


@contextmanager
def served(environment: dict[str, str]) -> Iterator[str]:
    """The address of a web server that sees the test's own database; it ends with the block."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "portal.asgi:application", "--port", str(port)]
    options = ["--host", "127.0.0.1", "--timeout-graceful-shutdown", "1", "--log-level", "warning"]
    web = subprocess.Popen([*command, *options], env=environment)
    try:
        _wait(f"http://127.0.0.1:{port}", web)
        yield f"http://127.0.0.1:{port}"
    finally:
        web.terminate()
        web.wait(10)


def _wait(address: str, web: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        assert web.poll() is None, f"the web server ended with {web.returncode}"
        try:
            with urlopen(f"{address}/healthz", timeout=2):
                return
        except URLError:
            time.sleep(0.05)
    raise AssertionError(f"no answer from {address} within {PATIENCE_S:g} s")


class Scenery:
    """Nodes in every state, jobs in every phase, tokens, quotas, readings, a log."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        stage.add_nodes("n001", "n002", "n003", "n004", "n005", rack="A1")
        stage.add_nodes("n101", "n102", rack="B1", kind="A100", gpus=4)
        for team, kind, nominal in (("research", 3, 64), ("vision", 1, 16), ("language", 2, 16)):
            stage.teams[team].kind = kind
            stage.teams[team].save()
            Quota.objects.create(team=stage.teams[team], gpu_type="H100", nominal=nominal)
        self.running = self._job("vlm-pretrain", nodes=1, gpus_per_node=4, gpu_type="H100", limit_s=7_200)
        self._job("theirs", by="omar", team="language", nodes=1, gpus_per_node=4, gpu_type="H100")
        self.finished = self._ended("eval-sweep", {})
        self.failed = self._ended("vlm-sft", {0: 1})
        self.waiting = stage.submit("too-big", nodes=2, gpus_per_node=8, gpu_type="H100")
        self.starting = stage.submit("warm-cache", gpus_per_node=2, gpu_type="A100")
        stage.turn()
        self.leaving, self.left = self._make_way()
        self._log()
        self._nodes()
        self._readings()
        self.token, _ = make_token(
            user=stage.people["mira"], name="laptop", scopes=["read"], lives=timedelta(days=9), now=stage.now
        )

    def _job(self, name: str, **asked: object) -> Job:
        job = self.stage.submit(name, **asked)
        self.stage.running(job)
        return job

    def _ended(self, name: str, exits: dict[int, int]) -> Job:
        job = self._job(name, gpus_per_node=2, gpu_type="H100")
        run = self.stage.live_run(job)
        for node in self.stage.where(run):
            self.stage.agents[node].end(run, exits=exits)
        self.stage.later()
        self.stage.beat()
        return job

    def _make_way(self) -> tuple[Job, Job]:
        """Two that make way for the job that waits: one still saves its work, the other is gone and waits again."""
        jobs = [
            self._job(f"sweep-{n}", tier="opportunistic", gpus_per_node=1, gpu_type="H100") for n in (1, 2)
        ]
        others = ({"why": "dearer", "jobs": [1, 2], "cost_gpu_s": 7200.0, "within": "rack"},)
        receipt = Receipt(3600.0, {"rule": "preempted"}, others)
        asked = [Stop(job.pk, Why.PREEMPTED, self.waiting.pk, receipt) for job in jobs]
        assert stops.ask(asked, grace_s=90.0, now=self.stage.now) == len(jobs)
        gone = self.stage.live_run(jobs[1])
        for node in self.stage.where(gone):
            self.stage.agents[node].end(gone, signal=15)
        self.stage.later()
        self.stage.beat()
        return jobs[0], jobs[1]

    def _log(self) -> None:
        lines = [f"step {n}: loss {3.2 - n / 50:.2f}" for n in range(60)]
        body = "\n".join([*lines, "WARNING: slow input", "Traceback (most recent call last):", ""]).encode()
        for job in (self.running, self.failed):
            run = job.runs.get()
            append(run=run.pk, rank=0, offset=0, body=body, now=self.stage.now)

    def _nodes(self) -> None:
        stage, noor = self.stage, self.stage.people["noor"]
        drained = Node.objects.get(name="n003")
        cluster.drain(node=drained, by=noor, reason="GPU 5 fell off the bus twice; ticket 812", now=stage.now)
        # As if each had been heard for the whole test: what is silent is silent on purpose.
        Node.objects.update(last_seen_at=stage.now + timedelta(hours=1))
        Node.objects.filter(name="n004").update(last_seen_at=stage.now - timedelta(minutes=2))
        Node.objects.filter(name="n005").update(
            lost_at=stage.now, last_seen_at=stage.now - timedelta(hours=1)
        )
        Node.objects.filter(name="n002").update(isolated=False, hardware_seen="f" * 64)
        odd = Node.objects.get(name="n001")
        odd.latest |= {
            "trespass": [{"uuid": "x", "pid": 4123, "name": "python3"}],
            "findings": ["Fan 2 is slow"],
        }
        odd.save()
        minute = stage.now.replace(second=0, microsecond=0)
        Refusal.objects.create(
            node_name="n001", code="replayed", minute=minute, count=3, sentence="Heard before."
        )
        Node.objects.create(
            pool=stage.pool(), name="n009", gpu_type="unknown", claim_digest="0" * 64,
            hardware_reported=hardware("n009", rack="A2"),
        )  # fmt: skip

    def _readings(self) -> None:
        gpus = list(Gpu.objects.filter(node__name="n001"))
        Reading.objects.bulk_create(
            Reading(
                gpu=gpu,
                at=self.stage.now - timedelta(seconds=30 * n),
                util=90 + n % 9,
                power_w=600,
                temp_c=61,
            )
            for gpu in gpus
            for n in range(120)
            if not (gpu.slot == 3 and 40 < n < 60)
        )

"""Polls the GPUs once a second in a thread of its own: a hanging driver must not stop the heart."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from scheduler import wire
from scheduler.agent.nvml import Reading, Sensor

EVERY_S = 1.0
STALE_S = 10.0

log = logging.getLogger("berth.agent")


class Watch:
    def __init__(self, sensor: Sensor, clock: Callable[[], float] = time.monotonic) -> None:
        self._sensor, self._clock = sensor, clock
        self._latest, self._taken_at = Reading(), clock()
        self._stop = threading.Event()

    def start(self) -> None:
        self.poll()
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def poll(self) -> None:
        try:
            self._latest = self._sensor.read()
        except Exception:  # whatever a driver throws at us, the node must go on beating
            log.exception("the GPUs cannot be read")
            return
        self._taken_at = self._clock()

    def reading(self) -> Reading:
        """The newest one; where the driver hangs, none, and a finding that says so."""
        age = self._clock() - self._taken_at
        if age < STALE_S:
            return self._latest
        silent = wire.Finding("nvml_hangs", None, "The driver has not answered for some time.")
        unread = tuple(
            replace(gpu, util=None, memory_used_mib=None, temp_c=None, power_w=None)
            for gpu in self._latest.gpus
        )
        return Reading(unread, (), (*self._latest.findings, silent))

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            self.poll()

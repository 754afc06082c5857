"""The inventory a node joins with: its GPUs, as the sensor knows them, and what the machine itself says."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scheduler.agent.nvml import Gpu


def inventory(gpus: Sequence[Gpu], *, driver: str, block: str, rack: str) -> dict[str, Any]:
    return {
        "gpus": [asdict(gpu) for gpu in gpus],
        "cpus": os.cpu_count() or 1,
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "block": block,
        "rack": rack,
        "driver": driver,
        "machine_id": _machine_id(),
    }


def _machine_id() -> str:
    with suppress(OSError):
        return Path("/etc/machine-id").read_text().strip()
    return ""

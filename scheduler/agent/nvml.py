"""The GPUs as NVML tells of them: the one place that calls it."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pynvml

from scheduler import wire

# What a GPU of this kind cannot tell, as opposed to a GPU in trouble.
_UNTOLD = tuple(
    pynvml.NVMLError(code).__class__
    for code in (
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        pynvml.NVML_ERROR_NO_PERMISSION,
        pynvml.NVML_ERROR_NO_DATA,
    )
)


@dataclass(frozen=True, slots=True)
class Gpu:
    slot: int
    uuid: str
    type: str  # "H100", as quotas and prices name it
    name: str
    memory_mib: int
    nvlink_domain: int


@dataclass(frozen=True, slots=True)
class Reading:
    """All GPUs at one moment."""

    gpus: tuple[wire.GpuSeen, ...] = ()
    processes: tuple[tuple[str, int], ...] = ()  # (GPU, pid)
    findings: tuple[wire.Finding, ...] = ()


class Sensor(Protocol):
    driver: str
    gpus: tuple[Gpu, ...]

    def read(self) -> Reading: ...


class Nvml:
    """Through pynvml; `library` stands in for libnvidia-ml where a machine has none."""

    def __init__(self, library: object | None = None) -> None:
        if library is not None:
            pynvml.nvmlLib = library
        self.driver = ""
        self.gpus: tuple[Gpu, ...] = ()
        self._handles: list[Any] = []
        self._missing: tuple[wire.Finding, ...] = ()
        try:
            pynvml.nvmlInit()
            self.driver = str(_told(pynvml.nvmlSystemGetDriverVersion) or "")
            self._find_gpus()
        except pynvml.NVMLError as why:
            self._missing = (wire.Finding("no_nvml", None, f"NVML does not answer: {_words(why)}."),)

    def read(self) -> Reading:
        seen: list[wire.GpuSeen] = []
        processes: list[tuple[str, int]] = []
        findings = list(self._missing)
        for gpu, handle in zip(self.gpus, self._handles, strict=True):
            try:
                seen.append(_reading(gpu, handle))
                running = _told(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
                processes.extend((gpu.uuid, process.pid) for process in running)
            except pynvml.NVMLError as why:
                seen.append(wire.GpuSeen(gpu.uuid, gpu.slot, None, None, None, None))
                findings.append(wire.Finding(_code(why), gpu.uuid, f"GPU {gpu.slot}: {_words(why)}."))
        return Reading(tuple(seen), tuple(processes), tuple(findings))

    def _find_gpus(self) -> None:
        found: list[tuple[Gpu, Any]] = []
        for slot in range(min(pynvml.nvmlDeviceGetCount(), wire.MAX_GPUS)):
            try:
                handle = pynvml.nvmlDeviceGetHandleByIndex(slot)
                found.append((_gpu(slot, handle), handle))
            except pynvml.NVMLError as why:  # not part of the inventory, and the node says why
                self._missing += (wire.Finding(_code(why), None, f"GPU {slot}: {_words(why)}."),)
        self._handles = [handle for _, handle in found]
        domains = _domains(self._handles)
        self.gpus = tuple(
            replace(gpu, nvlink_domain=domain) for (gpu, _), domain in zip(found, domains, strict=True)
        )


def _told(ask: Callable[..., Any], *args: Any) -> Any:
    """The answer, or None where this GPU or driver has none."""
    try:
        return ask(*args)
    except _UNTOLD:
        return None


def _gpu(slot: int, handle: Any) -> Gpu:
    name = str(_told(pynvml.nvmlDeviceGetName, handle) or "GPU")
    memory = _told(pynvml.nvmlDeviceGetMemoryInfo, handle)
    return Gpu(
        slot=slot,
        uuid=str(pynvml.nvmlDeviceGetUUID(handle)),
        type=type_of(name),
        name=name,
        memory_mib=memory.total // 2**20 if memory else 0,
        nvlink_domain=slot,
    )


def _reading(gpu: Gpu, handle: Any) -> wire.GpuSeen:
    util = _told(pynvml.nvmlDeviceGetUtilizationRates, handle)
    memory = _told(pynvml.nvmlDeviceGetMemoryInfo, handle)
    temp = _told(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU)
    power = _told(pynvml.nvmlDeviceGetPowerUsage, handle)
    return wire.GpuSeen(
        uuid=gpu.uuid,
        slot=gpu.slot,
        util=None if util is None else float(min(util.gpu, 100)),
        memory_used_mib=None if memory is None else memory.used // 2**20,
        temp_c=None if temp is None else float(temp),
        power_w=None if power is None else power / 1000,
    )


def _domains(handles: list[Any]) -> list[int]:
    """One number per GPU, the same for those that reach each other over NVLink."""
    domain = list(range(len(handles)))
    for b, other in enumerate(handles):
        for a, one in enumerate(handles[:b]):
            status = None
            with suppress(pynvml.NVMLError):
                status = pynvml.nvmlDeviceGetP2PStatus(one, other, pynvml.NVML_P2P_CAPS_INDEX_NVLINK)
            if status == pynvml.NVML_P2P_STATUS_OK:
                old, new = domain[b], domain[a]
                domain = [new if number == old else number for number in domain]
    return domain


def type_of(name: str) -> str:
    """`NVIDIA H100 80GB HBM3` -> `H100`; `NVIDIA RTX A6000` -> `A6000`; `NVIDIA GeForce RTX 4090` -> `RTX4090`."""
    words = name.split()
    for before, word in zip(["", *words], words, strict=False):
        if re.search(r"\d", word):
            return before + word if word.isdigit() else re.split(r"[-/]", word)[0]
    return words[-1] if words else "GPU"


def _code(why: Exception) -> str:
    lost = getattr(why, "value", None) == pynvml.NVML_ERROR_GPU_IS_LOST
    return "gpu_lost" if lost else "gpu_unreadable"


def _words(why: Exception) -> str:
    return wire.plain(str(why), 200)

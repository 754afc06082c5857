"""Stands in for libnvidia-ml where there is no GPU: eight H100-like ones whose readings follow the ranks."""

import ctypes
import math
import time
import uuid
from collections.abc import Callable
from typing import Any

from scheduler.agent import proc

GPUS = 8
_NAME, _DRIVER = b"NVIDIA H100 80GB HBM3", b"580.65.06"
_TOTAL_MIB, _IDLE_MIB, _BUSY_MIB = 81559, 4, 61_000
_SUCCESS, _INSUFFICIENT_SIZE = 0, 7
_YOUNG = 3  # looks at a new process: its environment is its parent's until it has become a program


class Load:
    """Which processes of this node use which GPU, read from their environment once per process."""

    def __init__(self, node: str, uuids: list[str]) -> None:
        self._node, self._slot = node, {uuid: slot for slot, uuid in enumerate(uuids)}
        self._known: dict[int, tuple[int, frozenset[int]]] = {}  # pid -> (looks, slots)

    def look(self) -> list[list[int]]:
        """The pids on each GPU."""
        on: list[list[int]] = [[] for _ in self._slot]
        known: dict[int, tuple[int, frozenset[int]]] = {}
        for pid in proc.pids():
            looks, slots = self._known.get(pid, (0, frozenset[int]()))
            if looks < _YOUNG:
                looks, slots = looks + 1, self._slots(proc.environ(pid))
            known[pid] = (looks, slots)
            for slot in slots:
                on[slot].append(pid)
        self._known = known
        return on

    def _slots(self, env: dict[str, str]) -> frozenset[int]:
        if env.get("BERTH_NODE") != self._node:
            return frozenset()
        visible = env.get("CUDA_VISIBLE_DEVICES", "").split(",")
        local = env.get("LOCAL_RANK", "")
        if local.isdigit() and int(local) < len(visible):
            visible = [visible[int(local)]]  # what a training program does with its local rank
        return frozenset(self._slot[name] for name in visible if name in self._slot)


class Standin:
    """Answers the C calls pynvml makes; `seed` makes the GPUs of two nodes, or of two clusters, different."""

    def __init__(self, node: str, seed: str, clock: Callable[[], float] = time.monotonic) -> None:
        space = uuid.uuid5(uuid.NAMESPACE_URL, f"berth:{node}:{seed}")
        self.uuids = [f"GPU-{uuid.uuid5(space, str(slot))}" for slot in range(GPUS)]
        self._load, self._clock = Load(node, self.uuids), clock
        self._on: list[list[int]] = [[] for _ in range(GPUS)]
        self._util, self._heat, self._used = [0.0] * GPUS, [31.0] * GPUS, [float(_IDLE_MIB)] * GPUS
        self._then = clock()

    def __getattr__(self, name: str) -> Callable[..., int]:
        """What pynvml asks for by the C name; anything not answered here is a function this driver lacks."""
        method = _CALLS.get(name.removeprefix("nvml"))
        if method is None:
            raise AttributeError(name)
        return lambda *args: method(self, *args)

    def _follow(self) -> None:
        """Let the readings drift towards what the load calls for; at most twice a second."""
        now = self._clock()
        passed = now - self._then
        if passed < 0.5:
            return
        self._then, self._on = now, self._load.look()
        for slot, pids in enumerate(self._on):
            wave = math.sin(now / 7 + slot)
            util = 93 + 5 * wave if pids else 0
            self._util[slot] += (util - self._util[slot]) * (1 - math.exp(-passed / 2))
            used = _BUSY_MIB + 1500 * slot + 40 * wave if pids else _IDLE_MIB
            self._used[slot] += (used - self._used[slot]) * (1 - math.exp(-passed / 3))
            heat = 31 + slot % 4 + 0.36 * self._util[slot]
            self._heat[slot] += (heat - self._heat[slot]) * (1 - math.exp(-passed / 25))

    def _count(self, out: Any) -> int:
        out._obj.value = GPUS
        return _SUCCESS

    def _handle(self, index: Any, out: Any) -> int:
        ctypes.memmove(out, ctypes.byref(ctypes.c_void_p(index.value + 1)), ctypes.sizeof(ctypes.c_void_p))
        return _SUCCESS

    def _uuid(self, handle: Any, out: Any, _size: Any) -> int:
        out.value = self.uuids[_slot(handle)].encode()
        return _SUCCESS

    def _memory(self, handle: Any, out: Any) -> int:
        self._follow()
        used = int(self._used[_slot(handle)]) * 2**20
        out._obj.total, out._obj.used, out._obj.free = _TOTAL_MIB * 2**20, used, _TOTAL_MIB * 2**20 - used
        return _SUCCESS

    def _utilisation(self, handle: Any, out: Any) -> int:
        self._follow()
        out._obj.gpu = round(self._util[_slot(handle)])
        out._obj.memory = round(self._util[_slot(handle)] * 0.6)
        return _SUCCESS

    def _temperature(self, handle: Any, _sensor: Any, out: Any) -> int:
        out._obj.value = round(self._heat[_slot(handle)])
        return _SUCCESS

    def _power(self, handle: Any, out: Any) -> int:
        out._obj.value = round(72_000 + 6_100 * self._util[_slot(handle)])  # milliwatts
        return _SUCCESS

    def _processes(self, handle: Any, count: Any, out: Any) -> int:
        self._follow()
        pids = self._on[_slot(handle)]
        room, count._obj.value = count._obj.value, len(pids)
        if len(pids) > room:
            return _INSUFFICIENT_SIZE
        for place, pid in enumerate(pids):
            out[place].pid, out[place].usedGpuMemory = pid, _BUSY_MIB * 2**20 // len(pids)
        return _SUCCESS


def _slot(handle: Any) -> int:
    return int(ctypes.cast(handle, ctypes.c_void_p).value or 0) - 1


def _fill(text: bytes) -> Callable[..., int]:
    def call(_self: Standin, *args: Any) -> int:
        args[-2].value = text
        return _SUCCESS

    return call


def _linked(_self: Standin, _one: Any, _other: Any, _index: Any, out: Any) -> int:
    out._obj.value = 0  # every GPU reaches every other over NVLink
    return _SUCCESS


_CALLS: dict[str, Callable[..., int]] = {
    "InitWithFlags": lambda *_: _SUCCESS,
    "Shutdown": lambda *_: _SUCCESS,
    "SystemGetDriverVersion": _fill(_DRIVER),
    "DeviceGetName": _fill(_NAME),
    "DeviceGetCount_v2": Standin._count,
    "DeviceGetHandleByIndex_v2": Standin._handle,
    "DeviceGetUUID": Standin._uuid,
    "DeviceGetMemoryInfo": Standin._memory,
    "DeviceGetUtilizationRates": Standin._utilisation,
    "DeviceGetTemperature": Standin._temperature,
    "DeviceGetPowerUsage": Standin._power,
    "DeviceGetComputeRunningProcesses_v3": Standin._processes,
    "DeviceGetP2PStatus": _linked,
}

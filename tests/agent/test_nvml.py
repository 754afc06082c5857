"""The GPUs: through a real dlopen of a library in C, through the stand-in, and where there are none."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from portal.checks import compiler
from scheduler import wire
from scheduler.agent.nvml import Gpu, Reading, type_of
from scheduler.agent.watch import STALE_S, Watch
from tests.agent.agents import ROOT, AgentProcess, eventually, is_in, order, spec
from tests.agent.portal_double import PortalDouble

LOOK = """
import dataclasses, json, os
from scheduler.agent.nvml import Nvml
sensor = Nvml()
os.environ.update(FAKE_GPU_LOST="1") if "LOST_LATER" in os.environ else None
print(json.dumps({"driver": sensor.driver, "gpus": [dataclasses.asdict(gpu) for gpu in sensor.gpus],
                  "reading": dataclasses.asdict(sensor.read())}))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that holds our own libnvidia-ml.so.1."""
    directory = tmp_path_factory.mktemp("nvml")
    source, target = Path(__file__).with_name("libnvidia_ml.c"), directory / "libnvidia-ml.so.1"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wl,-soname,libnvidia-ml.so.1"]
    subprocess.run([*compiler.command(), *flags, "-o", str(target), str(source)], check=True, timeout=60)
    return directory


def looked(**env: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        env={"PATH": os.environ["PATH"], **env},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_real_library_is_loaded_and_read(library: Path) -> None:
    found = looked(LD_LIBRARY_PATH=str(library))
    assert found["driver"] == "999.1"
    assert [
        (g["slot"], g["uuid"], g["type"], g["memory_mib"], g["nvlink_domain"]) for g in found["gpus"]
    ] == [
        (0, "GPU-real-0", "A100", 81920, 0),
        (1, "GPU-real-1", "A100", 81920, 0),
        (2, "GPU-real-2", "A100", 81920, 2),
    ]
    reading = found["reading"]
    assert [(g["util"], g["memory_used_mib"], g["temp_c"], g["power_w"]) for g in reading["gpus"]] == [
        (10.0, 1024, 40.0, 250.5),
        (20.0, 2048, 41.0, None),  # not supported is not an error
        (30.0, 3072, 42.0, 250.5),
    ]
    assert reading["processes"] == [["GPU-real-0", 4711]]
    assert reading["findings"] == []


def test_a_gpu_that_fell_off_the_bus_is_a_finding_and_the_others_are_read(library: Path) -> None:
    found = looked(LD_LIBRARY_PATH=str(library), LOST_LATER="1")
    assert [gpu["util"] for gpu in found["reading"]["gpus"]] == [10.0, 20.0, None]
    (finding,) = found["reading"]["findings"]
    assert (finding["code"], finding["uuid"]) == ("gpu_lost", "GPU-real-2")
    assert "GPU 2" in finding["sentence"]


def test_a_gpu_that_was_lost_before_the_start_is_missing_from_the_inventory_with_a_finding(
    library: Path,
) -> None:
    found = looked(LD_LIBRARY_PATH=str(library), FAKE_GPU_LOST="1")
    assert [gpu["slot"] for gpu in found["gpus"]] == [0, 1]
    assert [gpu["util"] for gpu in found["reading"]["gpus"]] == [10.0, 20.0]
    assert [finding["code"] for finding in found["reading"]["findings"]] == ["gpu_lost"]


def test_a_machine_without_the_driver_has_no_gpus_and_says_so() -> None:
    found = looked()
    assert (found["gpus"], found["reading"]["gpus"]) == ([], [])
    (finding,) = found["reading"]["findings"]
    assert finding["code"] == "no_nvml"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("Tesla V100-SXM2-32GB", "V100"),
        ("NVIDIA RTX A6000", "A6000"),
        ("NVIDIA GeForce RTX 4090", "RTX4090"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("", "GPU"),
    ],
)
def test_a_type_is_what_people_call_it(name: str, short: str) -> None:
    assert type_of(name) == short


def test_readings_follow_the_load(portal: PortalDouble, agent: AgentProcess) -> None:
    idle = portal.beats[-1].gpus
    assert {(gpu.util, gpu.memory_used_mib) for gpu in idle} == {(0.0, 4)}
    portal.want(order(portal, spec(agent, 1, "sleep 600", gpus=2)))
    portal.heard(is_in(1, "running"))
    beat = portal.heard(lambda beat: (beat.gpus[0].util or 0) > 50 and (beat.gpus[1].util or 0) > 50)
    assert [gpu.util for gpu in beat.gpus[2:]] == [0.0] * 6
    assert (beat.gpus[0].power_w or 0) > 300 > (beat.gpus[7].power_w or 0)
    assert beat.trespass == ()
    portal.want()
    portal.heard(lambda beat: (beat.gpus[0].util or 0) < 50, 20)


def test_a_process_on_a_gpu_that_its_run_does_not_hold_is_reported(
    portal: PortalDouble, agent: AgentProcess
) -> None:
    other = agent.uuids[5]
    portal.want(order(portal, spec(agent, 1, f"unset LOCAL_RANK; CUDA_VISIBLE_DEVICES={other} sleep 600")))
    beat = portal.heard(lambda beat: beat.trespass)
    (found,) = beat.trespass
    assert (found.uuid, found.name) == (other, "sleep")
    portal.want()
    portal.heard(lambda beat: not beat.trespass)


class HangingSensor:
    driver = "1"
    gpus: tuple[Gpu, ...] = ()

    def __init__(self) -> None:
        self.hangs, self.entered = threading.Event(), threading.Event()
        self.reading = Reading(gpus=(wire.GpuSeen("GPU-1", 0, 90.0, 1, 2.0, 3.0),), processes=(("GPU-1", 1),))

    def read(self) -> Reading:
        self.entered.set()
        self.hangs.wait(30)
        return self.reading


def test_a_hanging_driver_stops_neither_the_heart_nor_passes_for_a_reading() -> None:
    now = 0.0
    sensor = HangingSensor()
    sensor.hangs.set()
    watch = Watch(sensor, clock=lambda: now)
    watch.poll()
    assert watch.reading() == sensor.reading
    sensor.hangs.clear()
    sensor.entered.clear()
    threading.Thread(target=watch.poll, daemon=True).start()
    eventually(sensor.entered.is_set)
    now = STALE_S + 1
    stale = watch.reading()  # at once, although the driver has not come back
    assert [gpu.util for gpu in stale.gpus] == [None]
    assert [finding.code for finding in stale.findings] == ["nvml_hangs"]
    sensor.hangs.set()
    eventually(lambda: watch.reading() == sensor.reading)

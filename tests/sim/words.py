"""Clusters, jobs and faults as hypothesis invents them: anything a file can say."""

import string
from typing import Any

from hypothesis import strategies as st

from scheduler.core.model import Tier
from scheduler.sim.workload import LEVELS, Ask, Cluster, Crew, Fault, Machine, Share

NAMES = st.text(string.ascii_letters + string.digits + "-_.é, \"'#:", min_size=1, max_size=6).filter(
    lambda name: name == name.strip()
)
SECONDS = st.floats(0, 1e9) | st.integers(0, 10**9).map(float)
ABOVE_ZERO = SECONDS.filter(lambda seconds: seconds > 0)
AMOUNTS = st.floats(0, 1e6)
FEATURES = st.frozensets(NAMES, max_size=2)
GPU_TYPES = st.sampled_from(("A100", "H100", "L40 S"))


@st.composite
def machines(draw: st.DrawFn, name: str) -> Machine:
    gpus = draw(st.integers(1, 16))
    return Machine(
        name=name,
        pool=draw(NAMES),
        gpu_type=draw(GPU_TYPES),
        gpus=gpus,
        nvlink_domain=draw(st.integers(1, gpus)),
        rack=draw(st.just("") | NAMES),
        block=draw(st.just("") | NAMES),
        cpus=draw(st.none() | AMOUNTS),
        memory_gib=draw(st.none() | AMOUNTS),
        spot=draw(st.booleans()),
        gpu_memory_gib=draw(st.none() | AMOUNTS),
        features=draw(FEATURES),
    )


SHARES = st.builds(
    Share,
    nominal=st.integers(0, 999),
    borrow=st.none() | st.integers(0, 999),
    lend=st.none() | st.integers(0, 999),
)


@st.composite
def crews(draw: st.DrawFn) -> tuple[Crew, ...]:
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    return tuple(
        Crew(
            name,
            parent=draw(st.none() | st.sampled_from(names[:at])) if at else None,
            weight=draw(AMOUNTS),
            quota=draw(st.dictionaries(GPU_TYPES, SHARES, max_size=2)),
        )
        for at, name in enumerate(names)
    )


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    names = draw(st.lists(NAMES, unique=True, min_size=1, max_size=4))
    return Cluster(tuple(draw(machines(name)) for name in names), draw(st.none() | crews()))


@st.composite
def _shapes(draw: st.DrawFn) -> dict[str, Any]:
    tp, groups = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    if draw(st.booleans()):
        nodes = draw(st.integers(1, 9))
        return {"tp": tp, "gpus": nodes * tp * groups, "nodes": nodes, "gpus_per_node": tp * groups}
    return {"tp": tp, "gpus": tp * groups, "min_gpus": tp * draw(st.integers(1, groups))}


@st.composite
def asks(draw: st.DrawFn) -> tuple[Ask, ...]:
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    return tuple(draw(_ask(name, tuple(names[:at]))) for at, name in enumerate(names))


@st.composite
def _ask(draw: st.DrawFn, name: str, earlier: tuple[str, ...]) -> Ask:
    level = draw(st.sampled_from(("", *LEVELS)))
    return Ask(
        job=name,
        submit_s=draw(SECONDS),
        duration_s=draw(SECONDS),
        **draw(_shapes()),
        team=draw(NAMES),
        user=draw(NAMES),
        tier=draw(st.sampled_from(Tier)),
        gpu_types=tuple(draw(st.lists(GPU_TYPES, unique=True))),
        pool=draw(st.just("") | NAMES),
        limit_s=draw(st.none() | ABOVE_ZERO),
        level=level,
        required=bool(level) and draw(st.booleans()),
        checkpoint_s=draw(st.none() | ABOVE_ZERO),
        restart_s=draw(SECONDS),
        preemptible=draw(st.booleans()),
        after=tuple(draw(st.lists(st.sampled_from(earlier), unique=True))) if earlier else (),
        gpu_memory_gib=draw(AMOUNTS),
        features=draw(FEATURES),
        cpus_per_gpu=draw(AMOUNTS),
        memory_gib_per_gpu=draw(AMOUNTS),
        spot_share=draw(st.floats(0, 1)),
        not_before_s=draw(SECONDS),
        deadline_s=draw(st.none() | SECONDS),
    )


@st.composite
def faults(draw: st.DrawFn, cluster: Cluster) -> tuple[Fault, ...]:
    found: list[Fault] = []
    for _ in range(draw(st.integers(0, 5))):
        machine = draw(st.sampled_from(cluster.machines))
        gpus = st.sets(st.integers(0, machine.gpus - 1), min_size=1).map(lambda some: tuple(sorted(some)))
        event = draw(st.sampled_from(("down", "up", "drain")))
        found.append(Fault(draw(SECONDS), machine.name, event, draw(st.none() | gpus)))
    return tuple(sorted(found, key=lambda fault: fault.t_s))

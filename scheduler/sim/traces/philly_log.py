"""Microsoft Philly as it was published: `cluster_job_log`, a JSON list of jobs with their attempts."""

from collections.abc import Iterator

from scheduler.sim.files import cells, tracked, values
from scheduler.sim.files.bad import Wrong
from scheduler.sim.files.cluster import MOST_GPUS
from scheduler.sim.files.table import Columns, Values, entries
from scheduler.sim.files.tracked import Path
from scheduler.sim.files.values import Amiss, maybe, needed
from scheduler.sim.traces.record import Record, moment, sifted
from scheduler.sim.traces.roll import Roll
from scheduler.sim.traces.uniform import GPU_TYPE
from scheduler.sim.workload import Ask, Cluster, Machine


def read_jobs(text: str, name: str, *, since: float | None = None, until: float | None = None) -> Record:
    """The jobs whose GPUs and run time were recorded; their virtual cluster becomes their team."""
    try:
        return sifted(_asks(tracked.read(text, name)), since, until)
    except Amiss as why:
        raise tracked.fault(text, name, why.path, str(why)) from why


def _asks(value: object) -> Iterator[Ask | str]:
    for at, each in enumerate(values.sequence(value, ())):
        yield _ask(values.mapping(each, (at,)), (at,))


def _ask(job: dict[str, object], path: Path) -> Ask | str:
    name, submit = needed(job, path, "jobid", values.name), maybe(job, path, "submitted_time", _moment)
    attempts = [
        values.mapping(each, (*path, "attempts", at))
        for at, each in enumerate(needed(job, path, "attempts", values.sequence))
    ]
    ran = [_ran(attempt, (*path, "attempts", at)) for at, attempt in enumerate(attempts)]
    gpus = next((count for count, _ in ran if count), 0)
    # Retries ran one after the other, each on the GPUs of the gang: the work is the sum of them.
    spans = [span for _, span in ran]
    if submit is None or not gpus:
        return "without a recorded attempt"
    if spans[-1] is None:
        return "still running at the end of the log"
    duration = sum(span for span in spans if span is not None)
    team = maybe(job, path, "vc", values.name) or "default"
    user = maybe(job, path, "user", values.name) or "default"
    return Ask(name, submit, duration, gpus, team=team, user=user, line=int(path[0]) + 1)


def _ran(attempt: dict[str, object], path: Path) -> tuple[int, float | None]:
    """How many GPUs an attempt held, and for how long; None where the log does not say."""
    machines = maybe(attempt, path, "detail", values.sequence) or []
    gpus = sum(
        len(
            needed(
                values.mapping(each, (*path, "detail", at)), (*path, "detail", at), "gpus", values.sequence
            )
        )
        for at, each in enumerate(machines)
    )
    start, end = (maybe(attempt, path, key, _moment) for key in ("start_time", "end_time"))
    return gpus, None if start is None or end is None else max(end - start, 0.0)


def _moment(value: object, path: Path) -> float | None:
    text = values.label(value, path)
    if text in ("", "None"):
        return None
    try:
        return moment(text)
    except Wrong as why:
        raise Amiss(path, str(why)) from why


def read_machines(text: str, name: str) -> Cluster:
    """`cluster_machine_list`: machineId, number of GPUs, single GPU mem."""
    roll = Roll("machineId")

    def make(row: Values, line: int) -> Machine:
        named, gpus, memory = row["machineId"], row["number of GPUs"], row.get("single GPU mem")
        return roll.enter(Machine(named, "default", GPU_TYPE, gpus, gpus, gpu_memory_gib=memory), line)

    listed = entries(text, name, make, columns=_MACHINES, needed=("machineId", "number of GPUs"))
    return roll.cluster(listed, name)


def _gpus(cell: str) -> int:
    gpus = cells.count(cell)
    if gpus > MOST_GPUS:
        raise Wrong(f"{gpus} GPUs in one node are too many; the most is {MOST_GPUS}")
    return gpus


def _memory(cell: str) -> float:
    return cells.at_least_zero(cell.removesuffix("GB"))


_MACHINES: Columns = {"machineId": cells.name, "number of GPUs": _gpus, "single GPU mem": _memory}

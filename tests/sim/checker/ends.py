"""Whether a job that never finished had to end so: impossible, or unfinished with nodes staying down."""

from collections.abc import Iterator

from tests.sim.checker.case import Case
from tests.sim.checker.health import Health
from tests.sim.checker.ledger import open_ledger
from tests.sim.checker.life import ends_job
from tests.sim.checker.loans import refused
from tests.sim.checker.places import Offers, has_place
from tests.sim.checker.reading import Job


def violations(case: Case) -> Iterator[str]:
    last = {event["job"]: event for event in case.events if ends_job(event)}
    finished = {name for name, event in last.items() if event["event"] == "finish"}
    whole = {name: range(node.gpus) for name, node in case.nodes.items()}
    standing = _standing(case)
    for name, job in case.jobs.items():
        kind = last[name]["event"] if name in last else "unfinished"
        free = all(other in finished for other in job.after)
        if kind == "impossible" and free and not case.policy.forbids and _could_run(case, job, whole):
            yield f"t={last[name]['t']}, job {name}: is impossible, but alone on the cluster it would fit"
        # Behind an unplaceable head the reference policies let everybody wait.
        if kind == "unfinished" and free and not case.policy.reference and _could_run(case, job, standing):
            yield f"t={_end(case)}, job {name}: is unfinished, but it would fit on the nodes that are up"


def _end(case: Case) -> float:
    return float(case.events[-1]["t"]) if case.events else 0.0


def _standing(case: Case) -> Offers:
    """The GPUs that are up when the file ends."""
    health = Health(case)
    for event in case.events:
        if event["event"] == "node":
            health.hear(event)
    return {
        name: [gpu for gpu in range(node.gpus) if health.up(name, gpu)] for name, node in case.nodes.items()
    }


def _could_run(case: Case, job: Job, offers: Offers) -> bool:
    """ "`impossible`: no node set of this cluster could ever hold it, or a limit forbids it for good." """
    ledger = open_ledger(case)
    if ledger is None:
        return has_place(case.nodes, job, offers)
    size = job.gpus if job.shape is not None else max(job.tp, job.min_gpus)
    kinds = sorted({node.gpu_type for node in case.nodes.values()})
    for kind in kinds:
        some = {name: gpus for name, gpus in offers.items() if case.nodes[name].gpu_type == kind}
        ledger.soft.capacity[kind] = sum(len(gpus) for gpus in some.values())
        ledger.add(job, kind, size)
        kept_out = ledger.may_refuse(job, kind, firm=refused(job, case.policy))
        ledger.add(job, kind, -size)
        if not kept_out and has_place(case.nodes, job, some):
            return True
    return False

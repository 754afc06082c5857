"""How a gang sits: whole, in its shape, on GPUs it allowed, tensor-parallel groups and topology kept."""

from collections.abc import Iterator

from tests.sim.checker.case import Case, Change, Seats
from tests.sim.checker.health import Health
from tests.sim.checker.reading import Job, Node

TOLERANCE = 1e-6


def violations(case: Case) -> Iterator[str]:
    health = Health(case)
    for index, event in enumerate(case.events):
        if event["event"] == "node":
            health.hear(event)
        change = case.changes.get(index)
        if change is None or not change.taken:
            continue
        if event["event"] == "swap":
            yield from (case.say(index, wrong) for wrong in _swap(case, index, change, health))
        yield from (case.say(index, wrong) for wrong in seated_wrong(case, change.run.job, change.seated))


def seated_wrong(case: Case, job: Job, seats: Seats) -> Iterator[str]:
    """Everything that is wrong with these seats for this job."""
    held = [(case.nodes[name], gpus) for name, gpus in seats.items()]
    yield from _shape(job, seats)
    yield from _allowed(job, [node for node, _ in held])
    yield from _together(job, [node for node, _ in held])
    for node, gpus in held:
        # The contract: "GPUs that must sit in one NVLink domain …; ranks come in groups of tp".
        if any(count % job.tp for count in node.domain_counts(gpus).values()):
            yield f"GPUs {sorted(gpus)} of {node.name} are no whole groups of {job.tp} in NVLink domains"
    total = sum(map(len, seats.values()))
    spot = sum(len(gpus) for node, gpus in held if node.spot)
    if spot > job.spot_share * total + TOLERANCE:
        yield f"{spot} of {total} GPUs are on spot nodes; spot_share is {job.spot_share}"


def _shape(job: Job, seats: Seats) -> Iterator[str]:
    """ "A fixed shape takes exactly gpus_per_node GPUs on each of nodes different nodes." """
    sizes = [len(gpus) for gpus in seats.values()]
    if job.shape is not None:
        if sizes != [job.shape[1]] * job.shape[0]:
            yield f"sits as {sizes}; asked were {job.shape[0]} nodes with {job.shape[1]} GPUs each"
    elif not job.min_gpus <= sum(sizes) <= job.gpus:
        # "An elastic job accepts any multiple of tp from here to gpus."
        yield f"holds {sum(sizes)} GPUs; asked were {job.min_gpus} to {job.gpus}"
    elif sum(sizes) != job.gpus and sum(sizes) % job.tp:
        yield f"holds {sum(sizes)} GPUs, no multiple of {job.tp}"


def _allowed(job: Job, nodes: list[Node]) -> Iterator[str]:
    # "A gang has one GPU type."
    kinds = sorted({node.gpu_type for node in nodes})
    if len(kinds) > 1:
        yield f"has GPUs of several types: {', '.join(kinds)}"
    for node in nodes:
        wrong = may_not(job, node)
        if wrong:
            yield f"sits on {node.name}, {wrong}"


def may_not(job: Job, node: Node) -> str:
    """Why this job may never sit on this node."""
    if job.gpu_types and node.gpu_type not in job.gpu_types:
        return f"which has {node.gpu_type}; asked was {'|'.join(job.gpu_types)}"
    if job.pool and node.pool != job.pool:
        return f"which is in the pool {node.pool}; asked was {job.pool}"
    if not job.features <= node.features:
        return f"which lacks {', '.join(sorted(job.features - node.features))}"
    if node.gpu_memory_gib < job.gpu_memory_gib:
        return f"whose GPUs have {node.gpu_memory_gib} GiB; asked were {job.gpu_memory_gib}"
    return ""


def domain_key(node: Node, level: str) -> object:
    """The domain of this level that the node is in."""
    keys: dict[str, object] = {"node": node.name, "rack": node.rack, "block": node.block}
    return keys.get(level, "")


def _together(job: Job, nodes: list[Node]) -> Iterator[str]:
    domains = {domain_key(node, job.required) for node in nodes}
    if len(domains) > 1:
        yield f"sits in {len(domains)} domains; its topology is {job.required}:required"


def _swap(case: Case, index: int, change: Change, health: Health) -> Iterator[str]:
    """ "Where spare capacity allows, only the lost node is replaced." """
    event = case.events[index]
    out, seat = event["out"], event["in"]
    lost = change.released.get(out)
    if lost is None:
        yield f"swaps out {out}, where it has no seat"
        return
    if len(seat["gpus"]) != len(lost):
        yield f"swaps {len(lost)} GPUs for {len(seat['gpus'])}"
    if case.nodes[seat["node"]].gpu_type != case.nodes[out].gpu_type:
        yield f"swaps {case.nodes[out].gpu_type} for {case.nodes[seat['node']].gpu_type}"
    if all(health.up(out, gpu) and not health.fell(out, gpu, event["t"]) for gpu in lost):
        yield f"swaps out {out}, where all its GPUs are healthy"

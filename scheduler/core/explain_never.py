"""How a refusal for good is worded: what stands in the way, and how to mend it."""

from collections.abc import Callable, Mapping

from scheduler.core.spell import Told, listed, many

Words = tuple[str, str]  # what stands in the way; what to do


def never(n: Told) -> str:
    """Two sentences."""
    cause, mend = KINDS.get(n.text("kind"), _quota)(n)
    return f"This can never run here: {cause}. {mend}."


def _gpus(n: Told, key: str) -> str:
    return f"{n.count(key)} {n.text('gpu_type') or 'GPUs'}"


def _type(n: Told) -> Words:
    if not n.words("types"):
        return "no node is approved yet", "An administrator can approve one"
    only = f"there is only {listed(n.words('types'))}"
    return f"it asks for {n.text('gpu_type') or 'any whole GPU'} and {only}", "Ask for one of these"


def _slices(n: Told) -> Words:
    kind = n.text("gpu_type") or "what it asks for"
    return f"{kind} comes only in slices, which this job may not use", "Ask for a type of whole GPUs"


def _kept(n: Told) -> Words:
    kept = "every node that would do is kept for production"
    return f"{kept} and this is a {n.text('tier')} job", "Ask for another type or for the production tier"


def _elsewhere(n: Told) -> Words:
    what = n.text("gpu_type") or "GPU"
    none = f"no {what} is in the pool {n.text('pool')}"
    if not n.words("pools"):
        kept = f"{none}, and every other pool is kept for production"
        return kept, "Ask for another type, or in another pool for the production tier"
    return none, f"Ask for one of {listed(n.words('pools'))}"


def _features(n: Told) -> Words:
    what = f"no node with {n.text('gpu_type')}" if n.text("gpu_type") else "no node"
    names = n.words("features")
    every = f"the feature {names[0]}" if len(names) == 1 else f"all of the features {listed(names)}"
    return f"{what} has {every}", "Ask without, or an administrator can add such a node"


def _memory(n: Told) -> Words:
    asked = f"it needs {n.count('asked_gib')} GiB of memory on each GPU"
    return (
        f"{asked} and the largest has {n.count('largest_gib')}",
        f"Ask for at most {n.count('largest_gib')} GiB",
    )


def _spot(n: Told) -> Words:
    most = f"at most {n.count('most')} of its {n.count('asked')} GPUs" if n.number("most") else "no GPU"
    few = f"it takes {most} on spot nodes and there are too few others"
    return few, "Allow more of them on spot nodes, or ask for fewer"


def _tp(n: Told) -> Words:
    group = f"a group of {n.count('tp')} GPUs must share NVLink"
    most = n.count("largest")
    return f"{group} and the largest NVLink domain has {most}", f"Use groups of at most {most}"


def _node(n: Told) -> Words:
    need = f"it needs {_gpus(n, 'gpus_per_node')} in one node"
    most = n.count("largest")
    return f"{need} and the largest node has {most}", f"Ask for at most {most} on each node"


def _groups(n: Told) -> Words:
    need = f"it needs {_gpus(n, 'gpus_per_node')} in one node in whole groups of {n.count('tp')} that share NVLink"
    return (
        f"{need} and no node has more than {n.count('largest')} of those",
        "Use smaller groups or more nodes",
    )


def _beside(n: Told) -> Words:
    most = f"with its {n.text('what')} for each GPU a node gives at most {n.count('largest')} GPUs"
    return f"{most} and it needs {n.count('gpus_per_node')} in one node", "Ask for less beside each GPU"


def _level(n: Told) -> Words:
    level = n.text("level")
    mend = f"With '{level} preferred' it could run"
    if n.number("nodes"):
        need = f"it needs {n.count('nodes')} nodes with {_gpus(n, 'gpus_per_node')} each in one {level}"
        return f"{need} and no {level} has more than {n.count('most_nodes')} of them", mend
    need = f"it needs {_gpus(n, 'asked')} in one {level}"
    return f"{need} and the largest {level} has {n.count('most')}", mend


def _nodes(n: Told) -> Words:
    each = f"{n.count('gpus_per_node')} {n.text('gpu_type') or 'GPUs of one type'}"
    need, most = f"it needs {n.count('nodes')} nodes with {each} each", n.count("most_nodes")
    return f"{need} and no cluster has more than {most} of them", f"Ask for at most {most}"


def _too_many(n: Told) -> Words:
    need = f"it needs {n.count('asked')} {n.text('gpu_type') or 'GPUs of one type'}"
    return f"{need} and no cluster has more than {n.count('most')}", f"Ask for at most {n.count('most')}"


def _quota(n: Told) -> Words:
    kind, team = n.text("gpu_type"), n.text("team")
    if not n.number("most"):
        return f"team {team} has no quota for {kind}", "A lead can give it some"
    need = f"it needs {n.count('asked')} {kind} and team {team} may hold at most {n.count('most')} at once"
    return need, f"Ask for at most {n.count('most')}, or a lead can raise the quota"


def _firm(n: Told) -> Words:
    promise, kind = n.lasting("promise_min"), n.text("gpu_type")
    own = f"team {n.text('team')} has {n.count('most') if n.number('most') else 'no'} {kind} of its own"
    firm = f"it needs {n.count('asked')}, and it may not be stopped within the {promise} of a loan"
    return f"{own}, {firm}", f"With a limit of at most {promise} it could borrow"


def _duration(n: Told) -> Words:
    most = n.lasting("most_min")
    long = (
        f"its limit of {n.lasting('limit_min')} is longer than the {most} that {n.text('tier')} jobs may have"
    )
    return long, f"Ask for a limit of at most {most}"


def _pool(n: Told) -> Words:
    kept = f"the pool {n.text('pool')} is kept for production and this is a {n.text('tier')} job"
    return kept, "Ask for another pool or for the production tier"


def _jobs(n: Told) -> Words:
    return f"the policy lets nobody run {n.text('tier')} jobs", "Ask for another tier"


def _peak(n: Told) -> Words:
    who = f"{n.text('tier')} jobs of {many(n.number('gpus'), 'GPU')} and more"
    return (
        f"{who} are let in at no hour and it asks for {n.count('asked')}",
        f"Ask for fewer than {n.count('gpus')}",
    )


KINDS: Mapping[str, Callable[[Told], Words]] = {
    "type": _type,
    "slices": _slices,
    "kept": _kept,
    "elsewhere": _elsewhere,
    "features": _features,
    "memory": _memory,
    "spot": _spot,
    "tp": _tp,
    "node": _node,
    "groups": _groups,
    "beside": _beside,
    "level": _level,
    "nodes": _nodes,
    "gpus": _too_many,
    "quota": _quota,
    "firm": _firm,
    "duration": _duration,
    "pool": _pool,
    "jobs": _jobs,
    "peak": _peak,
}

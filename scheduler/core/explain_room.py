"""How a lack of room is worded: how much is missing, when it comes, and what would fit now."""

from scheduler.core.spell import Told, be, listed, many


def full(n: Told) -> str:
    """Too few free GPUs."""
    return f"{_too_few(n)}{_barred(n)}{_spare(n)}"


def _too_few(n: Told) -> str:
    asked, kind, free = n.count("asked"), n.text("gpu_type"), n.number("free")
    if len(n.words("types")) > 1:
        most = f"at most {n.count('free')} ({kind})" if free else "none"
        return f"No GPU type has room: it needs {asked} of one type, {most} {be(free)} free"
    if n.number("clusters") > 1:
        most = f"more than {n.count('free')}" if free else "any"
        both = n.number("clusters") == 2
        every = "Both clusters are" if both else f"All {n.count('clusters')} clusters are"
        return f"{every} full: it needs {asked} {kind} in one, none has {most} free"
    place = f"The {n.text('pool')} pool" if n.said("pool") else _cluster(n)
    return f"{place} is full: it needs {asked} {kind}, {n.count('free') if free else 'none'} {be(free)} free"


def _cluster(n: Told) -> str:
    return f"The cluster {n.text('cluster')}" if n.said("cluster") else "The cluster"


def _barred(n: Told) -> str:
    if "barred" not in n:
        return ""
    return f" ({n.count('barred')} more without {listed(n.words('barred_by'))})"


def _spare(n: Told) -> str:
    return f" ({n.count('spare')} more are kept for gangs that lose a node)" if "spare" in n else ""


def scattered(n: Told) -> str:
    """Enough free GPUs, and nowhere together."""
    return f"{n.count('free')} {n.text('gpu_type')} are free, but {_apart(n)}"


def _apart(n: Told) -> str:
    match n.text("split"):
        case "node":
            each = n.count("gpus_per_node")
            return f"at most {n.count('largest')} in one node and your job asks for {each} in one node"
        case "nodes":
            return _too_few_nodes(n)
        case "groups":
            groups = f"whole groups of {n.count('tp')} that share NVLink"
            return f"only {n.count('largest')} in {groups} and your job asks for {n.count('asked')}"
        case "beside":
            beside = "the CPUs, memory or disk beside them last for"
            return f"{beside} {n.count('largest')} and your job asks for {n.count('asked')}"
        case "level":
            one = f"in one {n.text('level')}"
            name = f" ({n.text('largest_in')})" if n.said("largest_in") else ""
            most = f"at most {n.count('largest')} {one}{name}"
            return f"{most} and your job asks for {n.count('asked')} {one}"
        case _:
            return (
                f"your job takes at most {n.count('spot_most')} on spot nodes and too few of the others are"
            )


def _too_few_nodes(n: Told) -> str:
    fitting, one = n.number("fitting_nodes"), f" in one {n.text('level')}" if n.said("level") else ""
    have = f"only {many(fitting, 'node')}{one} {'has' if fitting == 1 else 'have'}"
    have = have if fitting else f"no node{one} has"
    each, nodes = n.count("gpus_per_node"), n.count("nodes")
    return f"{have} {each} of them and your job asks for {nodes} such nodes{one}"


def when(n: Told) -> str:
    """When it is planned, or when room comes for it; "" where nobody has looked."""
    if "planned_in_min" in n:
        return planned(n)
    if "relaxes_at" in n:
        return f"From {n.time('relaxes_at')} on any place will do"
    if "search_ended" in n:
        return "The search for a place for it ended before it was complete"
    if "ends_in_min" in n:
        comes = "comes" if n.number("certain") else "should come"
        unless = ", unless a job ahead takes it" if "others_ahead" in n else ""
        return f"Room for it {comes} free {n.end()}{unless}"
    return "The limits of the running jobs do not say when room comes free" if "no_end" in n else ""


def planned(n: Told) -> str:
    """Where and when; "" where nothing is planned."""
    if "planned_in_min" not in n:
        return ""
    certain = n.number("certain")
    by = f" (by {n.time('p90_at')} with 90 % certainty)" if "p90_at" in n else ""
    ends = f", when {n.job('ends_job')} {'ends' if certain else 'should end'}" if "ends_job" in n else ""
    latest = " at the latest" if certain else ""
    return f"Planned on {n.text('place')} {n.in_about('planned_in_min')}{latest}{by}{ends}"


def lever(n: Told) -> str:
    """The one change with which it would start now; "" where none is known."""
    if "relaxes_at" in n:
        return ""
    if "fits_preferred" in n:
        return f"With '{n.text('fits_preferred')} preferred' it would start now"
    if "fits_gpus" not in n:
        return ""
    nodes = n.number("fits_nodes")
    fewer = many(nodes, "node") if nodes > 1 else many(n.number("fits_gpus"), "GPU")
    return f"With {fewer} it would start now"

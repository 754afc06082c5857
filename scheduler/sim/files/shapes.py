"""How the cells of one job that speak of GPUs must agree: its shape, its groups, its smallest size."""

from scheduler.sim.files.bad import Wrong
from scheduler.sim.files.table import Values


def settle(values: Values) -> None:
    """Fill in how many GPUs the gang takes, and refuse cells that contradict each other."""
    values["gpus"] = gpus = _gpus(values)
    tp = values.get("tp", 1)
    if gpus % tp:
        raise Wrong(
            f"{gpus} GPUs are no multiple of tp {tp}; change one of them, as ranks come in groups of tp", "tp"
        )
    if values.get("gpus_per_node", tp) % tp:
        each = values["gpus_per_node"]
        raise Wrong(
            f"{each} GPUs on each node are no multiple of tp {tp}; change one of them, as a group cannot leave its node",
            "tp",
        )
    least = values.get("min_gpus", gpus)
    if least % tp or least > gpus:
        span = f"between tp ({tp}) and gpus ({gpus})"
        raise Wrong(f"min_gpus is {least}; write a multiple of tp {span}, or leave it blank", "min_gpus")
    if "nodes" in values:
        values["min_gpus"] = gpus  # an exact shape has one size


def _gpus(values: Values) -> int:
    told: int | None = values.get("gpus")
    nodes: int | None = values.get("nodes")
    each: int | None = values.get("gpus_per_node")
    if nodes is None and each is None:
        if told is None:
            raise Wrong("the job asks for no GPUs; write gpus, or nodes and gpus_per_node", "gpus")
        return told
    if nodes is None or each is None:
        column, other = ("nodes", "gpus_per_node") if nodes is None else ("gpus_per_node", "nodes")
        raise Wrong(f"{other} is given but {column} is not; an exact shape needs both", column)
    if told not in (None, nodes * each):
        shape = f"{nodes} x {each} = {nodes * each}"
        raise Wrong(f"{told} GPUs are not {shape}; leave gpus blank for an exact shape", "gpus")
    return nodes * each

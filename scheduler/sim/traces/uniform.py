"""A cluster of equal nodes, for traces that say nothing of the machines they ran on."""

from math import ceil

from scheduler.sim.workload import Cluster, Machine

GPU_TYPE = "GPU"  # of traces that name none


def uniform(
    nodes: int, *, gpus: int = 8, rack_of: int = 16, block_of: int = 0, gpu_type: str = GPU_TYPE
) -> Cluster:
    """So many nodes, `rack_of` to a rack and `block_of` racks to a block (0: one for all); lowest names first."""
    racks = ceil(nodes / rack_of) if rack_of else 1
    blocks = ceil(racks / block_of) if block_of else 1
    return Cluster(
        tuple(
            Machine(
                name=_numbered("n", at, nodes),
                gpu_type=gpu_type,
                gpus=gpus,
                nvlink_domain=gpus,
                rack=_numbered("r", at // rack_of if rack_of else 0, racks),
                block=_numbered("b", at // rack_of // block_of if rack_of and block_of else 0, blocks),
            )
            for at in range(nodes)
        )
    )


def _numbered(letter: str, at: int, of: int) -> str:
    """Names padded with zeros, so that the order of names is the order of numbers."""
    return f"{letter}{at + 1:0{max(3, len(str(of)))}d}"

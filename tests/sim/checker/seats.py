"""Who holds which GPU: none twice, none that does not exist, none that is not healthy."""

from collections.abc import Iterator

from tests.sim.checker.case import Case, Change, Run
from tests.sim.checker.health import Health


class Holders:
    """The run that holds each GPU of each node."""

    def __init__(self, case: Case) -> None:
        self.of: dict[str, list[Run | None]] = {name: [None] * node.gpus for name, node in case.nodes.items()}

    def apply(self, change: Change) -> None:
        """Releases before it takes; what is held by somebody else stays with them."""
        for node, gpus in change.released.items():
            slots = self.of[node]
            for gpu in gpus:
                if gpu < len(slots) and slots[gpu] is change.run:
                    slots[gpu] = None
        for node, gpus in change.taken.items():
            slots = self.of[node]
            for gpu in gpus:
                if gpu < len(slots) and slots[gpu] is None:
                    slots[gpu] = change.run


def violations(case: Case) -> Iterator[str]:
    holders, health = Holders(case), Health(case)
    wounded: list[tuple[Run, int]] = []
    now = -1.0
    for index, event in enumerate(case.events):
        if event["t"] != now:
            yield from _left_behind(case, wounded, holders, health)
            wounded, now = [], event["t"]
        if event["event"] == "node":
            for gpu in health.hear(event):
                run = holders.of[event["node"]][gpu]
                if run is not None and event["state"] == "down":
                    wounded.append((run, index))
        change = case.changes.get(index)
        if change is not None:
            yield from _takes(case, index, holders, health)
            holders.apply(change)
    yield from _left_behind(case, wounded, holders, health)


def _takes(case: Case, index: int, holders: Holders, health: Health) -> Iterator[str]:
    """ "A seat's GPUs are free again at the time of its stop, swap or finish." """
    change = case.changes[index]
    for node, gpus in change.taken.items():
        slots, given_back = holders.of[node], set(change.released.get(node, ()))
        if len(set(gpus)) < len(gpus):
            yield case.say(index, f"takes a GPU of {node} twice: {sorted(gpus)}")
        for gpu in gpus:
            if gpu >= len(slots):
                yield case.say(index, f"takes GPU {gpu} of {node}, which has {len(slots)}")
                continue
            holder = slots[gpu]
            if holder is not None and not (holder is change.run and gpu in given_back):
                yield case.say(index, f"takes GPU {gpu} of {node}, which job {holder.job.name} holds")
            if not health.up(node, gpu):
                yield case.say(index, f"takes GPU {gpu} of {node}, which is {health.states[node][gpu]}")


def _left_behind(
    case: Case, wounded: list[tuple[Run, int]], holders: Holders, health: Health
) -> Iterator[str]:
    """ "A run on a node that goes down loses the work": by the end of the instant it is swapped or stopped."""
    for run, index in dict.fromkeys(wounded):
        node = case.events[index]["node"]
        slots = holders.of[node]
        if any(slot is run and health.states[node][gpu] == "down" for gpu, slot in enumerate(slots)):
            yield case.say(index, f"goes down, but job {run.job.name} is neither swapped nor stopped at once")

"""Which GPUs are up, down or draining, told from the node events, and whether those match FAULTS.csv."""

from collections import defaultdict
from collections.abc import Iterator

from tests.sim.checker.case import Case, Event
from tests.sim.checker.reading import Fault

Key = tuple[float, str, str]


class Health:
    """The newest word on every GPU: a fault of the whole node is a fault of each of its GPUs."""

    def __init__(self, case: Case) -> None:
        self.states = {name: ["up"] * node.gpus for name, node in case.nodes.items()}
        self._fell: dict[tuple[str, int], float] = {}  # when a GPU was last told to be down
        # Node events need not repeat the indices of a partial fault, so the file of faults is asked.
        self._rows = _rows(case)

    def hear(self, event: Event) -> list[int]:
        """Takes in a node event; returns the GPUs it touches."""
        states = self.states[event["node"]]
        row = _strike(self._rows.get(_key(event), []), event)
        told = event.get("gpus") or (row.gpus if row else None)
        touched = [index for index in told or range(len(states)) if index < len(states)]
        for index in touched:
            states[index] = event["state"]
            if event["state"] == "down":
                self._fell[event["node"], index] = event["t"]
        return touched

    def fell(self, node: str, gpu: int, t: float) -> bool:
        """Whether it went down in this instant, be it up again: who sat there has lost it."""
        return self._fell.get((node, gpu)) == t

    def up(self, node: str, gpu: int) -> bool:
        return gpu < len(self.states[node]) and self.states[node][gpu] == "up"


def violations(case: Case) -> Iterator[str]:
    """Every row of FAULTS.csv is one node event, and there are no others."""
    rows = _rows(case)
    quiet_from = max((event["t"] for event in case.events if event["event"] != "node"), default=-1.0)
    for index, event in enumerate(case.events):
        if event["event"] != "node":
            continue
        left = rows.get(_key(event), [])
        if not left:
            yield case.say(index, f"is told to be {event['state']}, but no fault of the input says so")
        elif _strike(left, event) is None:
            yield case.say(index, "names other GPUs than the fault of the input")
    for (t, node, state), left in rows.items():
        # Faults after the last job has ended change nothing, and a replay may stop there.
        if left and t <= quiet_from:
            yield f"t={t}, node {node}: the input says {state}, but no node event does"


def _key(event: Event) -> Key:
    return event["t"], event["node"], event["state"]


def _rows(case: Case) -> dict[Key, list[Fault]]:
    rows: dict[Key, list[Fault]] = defaultdict(list)
    for fault in case.faults:
        rows[fault.t_s, fault.node, fault.state].append(fault)
    return rows


def _strike(left: list[Fault], event: Event) -> Fault | None:
    """Takes the row that this event tells off the list: the one of the same GPUs before one of the whole node."""
    told = tuple(sorted(event["gpus"])) if event.get("gpus") else None
    wanted = (told, None) if told else (None, *(row.gpus for row in left))
    for gpus in wanted:
        for row in left:
            if row.gpus == gpus:
                left.remove(row)
                return row
    return None

"""POLICY.json: the figures of a policy, as the portal keeps them."""

import re

from scheduler.core.policy import BadPolicy, Policy
from scheduler.sim.files import tracked, values
from scheduler.sim.files.values import Amiss

SHORTEST_CYCLE_S = 1.0  # less, and a day of waiting takes longer to replay than to wait
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def read_policy(text: str, name: str) -> Policy:
    """The policy of a file; what it leaves out keeps its default."""
    try:
        given = values.mapping(tracked.read(text, name), ())
        values.each_key_once(given, ())
        policy = Policy.of(values.mapping(_whole(given), ()))
    except Amiss as why:
        raise tracked.fault(text, name, why.path, str(why)) from why
    except RecursionError as why:
        raise tracked.too_deep(name) from why
    except BadPolicy as why:
        raise tracked.fault(text, name, _path(why.field), f"{why.field}: {why.sentence}") from why
    if policy.cycle_s < SHORTEST_CYCLE_S:
        sentence = f"cycle_s: must be at least {SHORTEST_CYCLE_S:g}; a replay thinks at every event anyway"
        raise tracked.fault(text, name, ("cycle_s",), sentence)
    return policy


def _whole(value: object, deep: int = 3) -> object:
    """JSON has one kind of number: 8.0 is as whole as 8, as deep as a policy goes."""
    match value:
        case dict() if deep:
            return {key: _whole(inner, deep - 1) for key, inner in value.items()}
        case list() if deep:
            return [_whole(inner, deep - 1) for inner in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def _path(field: str) -> tracked.Path:
    """`peaks[0].gpus` -> ("peaks", 0, "gpus")."""
    return tuple(int(at) if at else key for at, key in _STEP.findall(field))

"""Which slots of a node a gang takes: whole tensor-parallel groups inside NVLink domains."""

from collections.abc import Sequence


def choose(free: Sequence[bool], links: Sequence[int], gpus: int, tp: int) -> tuple[int, ...]:
    """The tightest NVLink domain that holds them, else as few domains as it takes; the lowest slots of each."""
    domains: dict[int, list[int]] = {}
    for slot, is_free in enumerate(free):
        if is_free:
            domains.setdefault(links[slot], []).append(slot)
    if len(domains) == 1 and tp == 1:
        return tuple(domains.popitem()[1][:gpus])
    taken: list[list[int]] = []
    rest = gpus
    while rest > 0:
        slots = domains.pop(_next(domains, rest, tp))
        taken.append(slots[: min(rest, len(slots) // tp * tp)])
        rest -= len(taken[-1])
    if tp == 1:
        return tuple(sorted(slot for part in taken for slot in part))
    # Group after group, so that each run of `tp` ranks shares a domain even where domains interleave.
    return tuple(slot for part in sorted(taken) for slot in part)


def _next(domains: dict[int, list[int]], rest: int, tp: int) -> int:
    enough = [link for link, slots in domains.items() if len(slots) >= rest]
    if enough:
        return min(enough, key=lambda link: (len(domains[link]), link))
    return max(domains, key=lambda link: (len(domains[link]) // tp, -link))

"""Invented workloads: the same for the same seed, and stated in full here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from scheduler.core.model import Tier
from scheduler.core.policy import DAY, HOUR, Policy
from scheduler.core.promise import stated_bound
from scheduler.sim.clock import Case
from scheduler.sim.traces import uniform
from scheduler.sim.traces.uniform import GPU_TYPE
from scheduler.sim.workload import Ask, Crew, Share

NODE, RACK = 8, 8  # GPUs of a node, nodes of a rack
SAVES_S = 600.0
SPREAD = 1.0  # of the logarithm of durations: some take ten times as long as most
MEAN = 1.6487212707001282  # exp(SPREAD ** 2 / 2): what a duration with median 1 is on average


@dataclass(frozen=True, slots=True)
class Kind:
    """Jobs of one sort: how much of the cluster they ask for, in which sizes, for how long on average."""

    name: str
    load: float
    gpus: tuple[int, ...]
    hours: float
    tier: Tier = Tier.STANDARD
    teams: tuple[str, ...] = ("default",)
    users: int = 8


SMALL = Kind("small", 0.48, (1, 2, 4), 4.0)
GANGS = Kind("gang", 0.32, (40, 48, 64), 3.0)
SHARES = {"blue": 96, "green": 64, "red": 32}  # of 24 nodes: all of them are promised
TEAMS = tuple(SHARES)
FILLING = (
    Kind("standard", 0.5, (1, 2, 4, 8, 16), 2.0, teams=TEAMS),
    Kind("spare", 0.5, (1, 2, 4, 8), 2.0, Tier.OPPORTUNISTIC, TEAMS),
)
PRODUCTION = Kind("production", 0.5, (1, 2, 4, 8, 16, 24), 2.0, Tier.PRODUCTION, TEAMS)


def mixed(seed: int, days: float, policy: Policy) -> Case:
    """Many small jobs and gangs of whole nodes on 32 nodes, all of them with checkpoints, at load 0.8."""
    cluster, dice = uniform(32, gpus=NODE, rack_of=RACK), Random(seed)
    asks = [ask for kind in (SMALL, GANGS) for ask in drawn(kind, cluster.gpus, days * DAY, dice)]
    return Case(cluster, in_order(asks), (), policy)


def promised(seed: int, days: float, policy: Policy) -> Case:
    """Production that never asks for more than its team's nominal, on 24 nodes that others fill to the brim."""
    crews = tuple(Crew(team, quota={GPU_TYPE: Share(gpus)}) for team, gpus in SHARES.items())
    cluster, dice = uniform(24, gpus=NODE, rack_of=RACK), Random(seed)
    asks = [ask for kind in FILLING for ask in drawn(kind, cluster.gpus, days * DAY, dice)]
    wished = in_order(drawn(PRODUCTION, cluster.gpus, days * DAY, dice))
    asks += inside(wished, stated_bound(policy))
    return Case(type(cluster)(cluster.machines, crews), in_order(asks), (), policy)


def drawn(kind: Kind, gpus: int, span_s: float, dice: Random) -> Iterator[Ask]:
    """Jobs at any time, until they ask for their load."""
    left, number = kind.load * gpus * span_s, 0
    while left > 0:
        size = dice.choice(kind.gpus)
        lasts = round(max(120.0, dice.lognormvariate(0.0, SPREAD) / MEAN * kind.hours * HOUR), 1)
        yield Ask(
            f"{kind.name}-{number}",
            round(dice.uniform(0.0, span_s), 1),
            lasts,
            size,
            nodes=size // NODE if size > NODE else None,
            gpus_per_node=NODE if size > NODE else None,
            team=dice.choice(kind.teams),
            user=f"u{dice.randrange(kind.users)}",
            tier=kind.tier,
            checkpoint_s=SAVES_S,
            preemptible=kind.tier is not Tier.PRODUCTION,
        )
        left -= size * lasts
        number += 1


def inside(asks: Sequence[Ask], bound_s: float) -> list[Ask]:
    """Those that stay inside their team's nominal, even if each of them waits as long as it may."""
    kept: list[Ask] = []
    for ask in asks:
        team = [one for one in kept if one.team == ask.team]
        held = sum(one.gpus for one in team if one.submit_s + bound_s + one.duration_s > ask.submit_s)
        if held + ask.gpus <= SHARES[ask.team]:
            kept.append(ask)
    return kept


def in_order(asks: Sequence[Ask] | Iterator[Ask]) -> tuple[Ask, ...]:
    """By submission."""
    return tuple(sorted(asks, key=lambda ask: ask.submit_s))

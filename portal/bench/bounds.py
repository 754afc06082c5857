"""Production inside its team's nominal: the longest wait, against the bound that the pages state."""

from collections.abc import Iterator

from portal.bench.invented import promised
from portal.bench.rows import Options, Row
from portal.replay.running import run
from scheduler.core.model import Tier
from scheduler.core.policy import Policy
from scheduler.core.promise import stated_bound

SEEDS, DAYS = 3, 3.0


def bounds(options: Options) -> Iterator[Row]:
    """One row for each workload."""
    policy = Policy()
    bound = stated_bound(policy)
    for seed in range(options.seed, options.seed + SEEDS):
        ran = run(promised(seed, DAYS * options.scale, policy), f"seed {seed}")
        waits = [
            tale.start - tale.ask.submit_s
            for tale in ran.score.tales.values()
            if tale.ask.tier is Tier.PRODUCTION and tale.start is not None
        ]
        found = ran.report
        stops = found["preemptions"] + found["reclaims"] + found["recalls"]
        late = sum(wait > bound for wait in waits)
        yield Row(
            f"production inside nominal, seed {seed}: longest wait",
            max(waits, default=0.0),
            goal=bound,
            note=f"{len(waits)} production jobs of {found['jobs']}, {late} late, {stops} stops,"
            f" utilisation {100 * found['utilisation']:.0f} %",
        )

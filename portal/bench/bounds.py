"""Production inside its team's nominal: the longest wait, against the bound that the pages state."""

from collections.abc import Iterator

from portal.bench.invented import promised
from portal.bench.rows import Options, Row
from portal.replay.running import run
from scheduler.core.model import Tier
from scheduler.core.policy import Policy
from scheduler.core.promise import stated_bound

SEEDS, DAYS = 3, 3.0
ENDLESS = 10**6


def bounds(options: Options) -> Iterator[Row]:
    """Two rows for each workload: as it is, and where no job was stopped so often that it may not be stopped."""
    for seed in range(options.seed, options.seed + SEEDS):
        yield _waits(seed, Policy(max_preemptions_per_day=ENDLESS), options, "all may be stopped")
        yield _waits(seed, Policy(), options, "default policy")


def _waits(seed: int, policy: Policy, options: Options, what: str) -> Row:
    ran = run(promised(seed, DAYS * options.scale, policy), f"seed {seed}")
    bound, found = stated_bound(policy), ran.report
    waits = [
        tale.start - tale.ask.submit_s
        for tale in ran.score.tales.values()
        if tale.ask.tier is Tier.PRODUCTION and tale.start is not None
    ]
    late = sum(wait > bound for wait in waits)
    stops = found["preemptions"] + found["reclaims"] + found["recalls"]
    return Row(
        f"production inside nominal, seed {seed}, {what}: in time",
        100 * (1 - late / max(1, len(waits))),
        "%",
        note=f"bound {bound:g} s, longest wait {max(waits, default=0.0):,.0f} s, {late} late of {len(waits)}"
        f" production jobs, {found['jobs']} jobs, {stops} stops, {found['moves']} moves,"
        f" utilisation {100 * found['utilisation']:.0f} %",
    )

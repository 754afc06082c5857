"""StepFun's faults on Lingjun: useful GPU time where only lost nodes are swapped, and where the whole job restarts."""

from collections.abc import Iterator

from portal.bench import recorded
from portal.bench.rows import Options, Row
from portal.replay.running import Ran, run
from scheduler.sim.clock import Case
from scheduler.sim.decisions import Decisions
from scheduler.sim.thinkers.berth import Berth
from scheduler.sim.traces import Options as Choices
from scheduler.sim.traces import convert
from scheduler.sim.world import World

CHECKPOINT_S = 600.0


class Restarting(Berth):
    """The same planner where nothing is swapped: a gang that lost a node starts again as a whole."""

    def mend(self, world: World) -> Decisions:
        """Look, and mend nothing."""
        super().mend(world)
        return Decisions(())


def repairs(options: Options) -> Iterator[Row]:
    """With checkpoints every ten minutes, and without any."""
    roles = {"jobs": recorded.LINGJUN_JOBS, "faults": recorded.STEPFUN_FAULTS}
    texts = recorded.texts(options.traces, **roles)
    if texts is None:
        return
    for checkpoint_s, words in ((CHECKPOINT_S, "saving every 600 s"), (None, "saving nothing")):
        made = convert("lingjun", texts, Choices(checkpoint_s=checkpoint_s))
        case = Case(made.cluster, made.asks[: round(len(made.asks) * options.scale)], made.faults)
        restarting, swapping = run(case, "restarts", thinker=Restarting()), run(case, "swaps")
        yield from _pair(words, restarting, swapping)


def _pair(words: str, restarting: Ran, swapping: Ran) -> Iterator[Row]:
    whole, part = useful(restarting), useful(swapping)
    yield Row(f"Lingjun with faults, {words}: useful, restarts", whole, "%", note=_hits(restarting))
    yield Row(
        f"Lingjun with faults, {words}: useful, swaps",
        part,
        "%",
        goal=whole,
        at_least=True,
        note=_hits(swapping),
    )


def useful(ran: Ran) -> float:
    """Work of jobs that finished, over GPU time that was held."""
    return 100.0 * float(ran.report["useful_share"] or 0.0)


def _hits(ran: Ran) -> str:
    report = ran.report
    lost = report["lost_gpu_s"]
    return (
        f"{report['swaps']} swaps, {report['node_losses']} whole restarts; lost to faults"
        f" {(lost['swap'] + lost['node_lost']) / 3600:,.0f} GPU-h, to recalls {lost['recalled'] / 3600:,.0f} GPU-h;"
        f" mean JCT {report['jct_s']['mean']:,.0f} s"
    )

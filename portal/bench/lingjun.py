"""Lingjun on 128 nodes of 8: the reference policies against known values, and ours by forecasts alone."""

from collections.abc import Iterator

from portal.bench import recorded
from portal.bench.rows import Options, Row
from portal.replay.running import Ran, run
from scheduler.core.policy import Policy
from scheduler.sim.clock import Case
from scheduler.sim.traces import Options as Choices
from scheduler.sim.traces import Text, convert

FIFO_JCT_S, EASY_JCT_S, EASY_WAIT_S = 111_252.0, 27_874.0, 212_700.0  # known, with exact durations as limits
LONGEST_WAIT_S = 215_700.0  # of strict first come first served
SAVING_JCT_S = 22_300.0  # with a checkpoint every ten minutes
BEST_JCT_S = 16_140.0  # shortest first with exact durations, which lets one gang wait 503,460 s
MORE_NODES = (128, 144, 160)
OFF = 0.01  # a reference policy may differ by so much


def lingjun(options: Options) -> Iterator[Row]:
    """Mean time from submission to finish, and the longest wait."""
    texts = recorded.texts(options.traces, jobs=recorded.LINGJUN_JOBS)
    if texts is None:
        return
    fifo = _ran(texts, options, Choices(limits=True), "fifo")
    easy = _ran(texts, options, Choices(limits=True), "easy")
    yield _known("fifo: mean JCT", _jct(fifo), FIFO_JCT_S)
    yield _known("easy: mean JCT", _jct(easy), EASY_JCT_S)
    yield _known("easy: longest wait", _longest(easy), EASY_WAIT_S)
    yield from _ours("forecasts only", _ran(texts, options, Choices(), "default"), EASY_JCT_S)
    saving = Choices(checkpoint_s=600.0)
    yield from _ours("and checkpoints", _ran(texts, options, saving, "default"), SAVING_JCT_S)
    for nodes in MORE_NODES:  # told, not promised: more capacity should not make the wait worse
        ran = _ran(texts, options, Choices(nodes=nodes), "default")
        yield Row(f"Lingjun, ours, {nodes} nodes: mean wait", float(ran.report["wait_s"]["mean"]))


def _ran(texts: dict[str, Text], options: Options, choices: Choices, name: str) -> Ran:
    made = convert("lingjun", texts, choices)
    asks = made.asks[: round(len(made.asks) * options.scale)]
    return run(Case(made.cluster, asks, made.faults, Policy(name=name)), name)


def _known(what: str, measured: float, known: float) -> Row:
    off = measured / known - 1
    return Row(f"Lingjun, {what}", measured, goal=(1 + OFF) * known, note=f"known {known:,.0f} s, {off:+.2%}")


def _ours(words: str, ran: Ran, goal: float) -> Iterator[Row]:
    report, jct = ran.report, _jct(ran)
    lost = sum(report["lost_gpu_s"].values()) / 3600
    note = f"{report['recalls']} recalls lost {lost:,.0f} GPU-h; {jct / BEST_JCT_S:.2f} x shortest first, told all"
    yield Row(f"Lingjun, ours, {words}: mean JCT", jct, goal=goal, note=note)
    yield Row(f"Lingjun, ours, {words}: longest wait", _longest(ran), goal=LONGEST_WAIT_S)


def _jct(ran: Ran) -> float:
    return float(ran.report["jct_s"]["mean"])


def _longest(ran: Ran) -> float:
    return float(ran.report["wait_s"]["max"])

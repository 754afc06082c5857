"""Which size an elastic job starts with, and when a larger place is worth a restart."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from scheduler.core.board import Board, Placement
from scheduler.core.cost import unsaved_s
from scheduler.core.maystop import Rules, barred
from scheduler.core.model import Moment, Request, Running
from scheduler.core.want import Want


def sizes(request: Request) -> Sequence[int]:
    """Every number of GPUs it may run with, the fewest first; an exact shape has one."""
    if request.nodes or not request.min_gpus:
        return (request.gpus,)
    least = max(request.tp, -(-request.min_gpus // request.tp) * request.tp)
    return range(least, request.gpus + 1, request.tp)


def largest(request: Request, fits: Callable[[int], bool]) -> int | None:
    """The most GPUs that fit now; where some number fits, every smaller one does too."""
    options = sizes(request)
    if not fits(options[0]):
        return None
    low, high = 0, len(options) - 1  # the first fits
    if fits(options[high]):
        return options[high]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(options[middle]) else (low, middle)
    return options[low]


@dataclass(frozen=True, slots=True)
class Growth:
    """A run that goes on with more GPUs in another place; it stops at a checkpoint and starts again there."""

    run: Running
    gpus: int
    placement: Placement


def grow(
    board: Board, running: Iterable[Running], rules: Rules, may: Callable[[Running, int], bool], *, most: int
) -> tuple[Growth, ...]:
    """The runs that gain most from more GPUs, as far as free places go that nobody waits for.

    `may` says whether quota allows a run that size. The board keeps what is taken and given back.
    """
    found: list[Growth] = []
    for run in sorted(running, key=lambda run: (-_gain_s(run, run.request.gpus, rules.now), run.job)):
        if len(found) >= most:
            break
        grown = _grown(board, run, rules, may)
        if grown is not None:
            board.give(run.seats, run.request)
            board.take(grown.placement.seats, run.request)
            found.append(grown)
    return tuple(found)


def _grown(board: Board, run: Running, rules: Rules, may: Callable[[Running, int], bool]) -> Growth | None:
    held, asked = run.gpus, run.request
    if not asked.min_gpus or asked.nodes or held >= asked.gpus or barred(run, rules):
        return None
    if not _pays(run, asked.gpus, rules):
        return None
    trial = board.copy()
    trial.give(run.seats, asked)
    want = Want(asked, run.tier, rules.policy).on(run.gpu_type)
    larger = replace(asked, min_gpus=held + asked.tp)
    gpus = largest(larger, lambda size: may(run, size) and replace(want, gpus=size).fits(trial))
    if gpus is None or not _pays(run, gpus, rules):
        return None
    placement = replace(want, gpus=gpus).place(trial)
    return None if placement is None else Growth(run, gpus, placement)


def _pays(run: Running, gpus: int, rules: Rules) -> bool:
    """Whether the time it gains is a safe multiple of the time it loses; only at a checkpoint."""
    if not run.checkpoints and unsaved_s(run, rules.now) > run.restart_s:
        return False
    lost_s = run.restart_s + (0.0 if run.checkpoints else unsaved_s(run, rules.now))
    return _gain_s(run, gpus, rules.now) > rules.policy.move_safety * lost_s


def _gain_s(run: Running, gpus: int, now: Moment) -> float:
    """How much sooner it would end; who knows nothing of its end expects as much again as it ran."""
    left = (now - run.started_at) if run.expected_end is None else run.expected_end - now
    return max(0.0, left) * (1.0 - run.gpus / gpus)

"""How good the estimates were that jobs got at their submission."""

from collections.abc import Iterable
from dataclasses import dataclass

from scheduler.sim.figures import mean, median

NOTICED_S = 60.0


@dataclass(frozen=True, slots=True)
class Told:
    """What a job was told, and when it really started; all in seconds after its submission."""

    p50: float
    p90: float
    wait: float


def score(told: Iterable[Told]) -> dict[str, float | None]:
    """Over the jobs that started and that waited, or were told to wait (by their p50), over a minute.

    started_before_p50, by_p50 and by_p90 are shares of those jobs; pinball_s is the mean of the pinball losses
    at one half and at nine tenths, so guessing too early is punished as the promise was broken.
    """
    counted = [each for each in told if max(each.wait, each.p50) > NOTICED_S]
    return {
        "jobs": len(counted),
        "started_before_p50": mean([float(each.wait < each.p50) for each in counted]),
        "by_p50": mean([float(each.wait <= each.p50) for each in counted]),
        "by_p90": mean([float(each.wait <= each.p90) for each in counted]),
        "pinball_s": mean(
            [
                (_pinball(each.wait, each.p50, 0.5) + _pinball(each.wait, each.p90, 0.9)) / 2
                for each in counted
            ]
        ),
        "median_abs_error_s": median([abs(each.wait - each.p50) for each in counted]),
    }


def _pinball(true: float, guessed: float, share: float) -> float:
    late = true - guessed
    return share * late if late >= 0 else (share - 1) * late

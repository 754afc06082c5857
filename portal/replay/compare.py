"""Several policies over the same workload, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from portal.replay.inputs import Source, named_policy
from portal.replay.options import BadChoice
from portal.replay.running import Ran, run
from portal.replay.series import Series
from scheduler.core.policy import NAMES, Policy
from scheduler.sim.clock import Case


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the replays, with what the charts need of it."""

    ran: Ran
    series: Series

    @property
    def report(self) -> dict[str, Any]:
        """Its figures."""
        return self.ran.report


def named(given: Sequence[str]) -> dict[str, Policy]:
    """Policies by the names they are shown under: well-known names, or files by theirs."""
    policies: dict[str, Policy] = {}
    for name in given:
        short = name if name in NAMES else Path(name).stem
        shown = short if short not in policies else name
        if shown in policies:
            raise BadChoice(f"--compare: {name} is named twice; name each policy once")
        policies[shown] = named_policy(name)
    return policies


def play(case: Case, policies: Mapping[str, Policy], *, drawn: bool) -> dict[str, Compared]:
    """Replay the case under each policy, one after the other."""
    played: dict[str, Compared] = {}
    for name, policy in policies.items():
        series = Series()
        listeners = [series.note] if drawn else []
        played[name] = Compared(run(replace(case, policy=policy), name, *listeners), series)
    return played


def page(played: Mapping[str, Compared], source: Source) -> str:
    """The comparison as HTML."""
    from portal.replay import page as pages  # only a page needs plotly, which takes long to load
    from portal.replay.charts import Played  # likewise

    replays = {name: Played(each.ran.score, each.series, each.ran.site) for name, each in played.items()}
    return pages.page({name: each.report for name, each in played.items()}, replays, source.told())

"""The independent checker of a whole replay: written from the contract alone, so that it can disagree with the engine."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from tests.sim.checker import (
    asks,
    bounds,
    ends,
    form,
    gang,
    health,
    hosts,
    kept,
    life,
    needs,
    order,
    patience,
    quota,
    reference,
    report,
    seats,
    stops,
    work,
)
from tests.sim.checker import case as cases

RULES: dict[str, Callable[[cases.Case], Iterator[str]]] = {
    "order": order.violations,
    "life": life.violations,
    "health": health.violations,
    "seats": seats.violations,
    "gang": gang.violations,
    "hosts": hosts.violations,
    "work": work.violations,
    "asks": asks.violations,
    "quota": quota.violations,
    "stops": stops.violations,
    "patience": patience.violations,
    "needs": needs.violations,
    "kept": kept.violations,
    "ends": ends.violations,
    "bounds": bounds.violations,
    "reference": reference.violations,
    "report": report.violations,
}


def check(
    cluster_json: Mapping[str, Any],
    jobs_rows: Iterable[Mapping[str, str]],
    events: list[dict[str, Any]],
    *,
    faults_rows: Iterable[Mapping[str, str]] = (),
    policy: Mapping[str, Any] | None = None,
    report: Mapping[str, Any] | None = None,
    only: Collection[str] | None = None,
) -> list[str]:
    """One sentence for each violation, with time and job; [] means that the replay is in order.

    `only` names rules (keys of RULES) for debugging; events that are not well formed are told whatever it says,
    and then nothing else is, because no other rule could read them.
    """
    strange = set(only or ()) - RULES.keys()
    if strange:
        raise ValueError(f"no such rule: {', '.join(sorted(strange))}; there are {', '.join(RULES)}")
    case = cases.lay_out(
        cluster_json, jobs_rows, list(events), faults=faults_rows, policy=policy, report=report
    )
    malformed = list(form.violations(case))
    if malformed:
        return malformed
    cases.tell(case)
    return [wrong for name, rule in RULES.items() if only is None or name in only for wrong in rule(case)]

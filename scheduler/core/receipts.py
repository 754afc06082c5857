"""The receipt of a stop: by which rule with which numbers, what is lost, and what else was considered."""

from collections.abc import Iterable, Sequence
from heapq import nsmallest

from scheduler.core.candidates import ALTERNATIVES as MOST
from scheduler.core.candidates import Candidate, Passed
from scheduler.core.cost import unsaved_s
from scheduler.core.defrag import Move, Tidied
from scheduler.core.maystop import Case
from scheduler.core.model import Fact, Facts, Moment, Running
from scheduler.core.preempt import Way
from scheduler.core.verbs import Receipt, Stop, Why
from scheduler.core.victims import Option

DEARER = "dearer"


def stops(way: Way) -> tuple[Stop, ...]:
    """One stop with its receipt for everybody who makes way, in the order in which the rules allow them."""
    others = rejected(way.making.rejected, way.found.passed)
    return tuple(
        Stop(one.run.job, one.why, way.case.job.id, receipt(one, way.case, others))
        for one in way.making.victims
    )


def receipt(one: Candidate, case: Case, others: Sequence[Facts] = ()) -> Receipt:
    """What the owner of a stopped run is told."""
    run, now = one.run, case.rules.now
    lost = 0.0 if run.checkpoints else one.gpus * unsaved_s(run, now)
    return Receipt(lost, {**_rule(one, case), "cost_gpu_s": one.cost, "gpus": one.gpus}, tuple(others))


def moved(move: Move, found: Tidied, now: Moment) -> Receipt:
    """What the owner of a run is told that goes on elsewhere."""
    run = move.one.run
    lost = 0.0 if run.checkpoints else move.one.gpus * unsaved_s(run, now)
    told: dict[str, Fact] = {"rule": Why.MOVED.value, "tier": run.tier.word, "gpus": move.one.gpus}
    told |= {"cost_gpu_s": move.one.cost, "moves": len(found.moves), "all_cost_gpu_s": found.cost}
    told |= {"worth_gpu_s": found.worth, "nodes": [seat.node for seat in move.into.seats]}
    return Receipt(lost, told)


def rejected(options: Iterable[Option], passed: Iterable[Passed]) -> tuple[Facts, ...]:
    """Other ways that would have cost more, then the cheapest runs that the rules spare."""
    ways: list[Facts] = [
        {"why": DEARER, "jobs": list(option.jobs), "cost_gpu_s": option.cost, "within": option.depth.word}
        for option in options
    ]
    spared = nsmallest(MOST, passed, key=lambda one: (one.cost, one.run.job))
    runs: list[Facts] = [
        {"why": one.spared.value, "jobs": [one.run.job], "cost_gpu_s": one.cost} for one in spared
    ]
    most = max(MOST - len(runs), MOST // 2 + 1)  # neither kind crowds the other out
    return (*ways[:most], *runs)[:MOST]


def _rule(one: Candidate, case: Case) -> dict[str, Fact]:
    told: dict[str, Fact] = {"rule": one.why.value, "tier": one.run.tier.word, "for_tier": case.job.tier.word}
    match one.why:
        case Why.RECLAIMED:
            return told | _promises(one.run, case)
        case Why.RECALLED:
            ahead_s = one.run.submitted_at - case.job.submitted_at
            most = case.rules.policy.max_recalls
            return told | {"submitted_later_s": ahead_s, "stops": one.run.stops, "max_recalls": most}
        case Why.PREEMPTED:
            return told | {"team": one.run.team, "for_team": case.job.team}
        case Why.MOVED:
            return told


def _promises(run: Running, case: Case) -> dict[str, Fact]:
    """Both sides of a reclaim, each at the highest level below the team that both belong to."""
    theirs, ours = _side(run.team, case.job.team, case), _side(case.job.team, run.team, case)
    return {
        "team": theirs,
        "held": case.rules.books.held(theirs, case.kind),
        "nominal": _nominal(theirs, case),
        "for_team": ours,
        "for_held": case.rules.books.held(ours, case.kind),
        "for_nominal": _nominal(ours, case),
        "asked": case.gpus,
    }


def _side(team: str, other: str, case: Case) -> str:
    """The highest level with a share above a team and not above the other; the team itself where none has."""
    lineage = case.rules.lineage
    theirs, nominal = set(lineage.path(other)), lineage.terms(case.kind).nominal
    apart = [place for place in lineage.path(team) if place not in theirs and nominal[place] >= 0]
    return lineage.name(apart[-1]) if apart else team


def _nominal(team: str, case: Case) -> int:
    lineage = case.rules.lineage
    return lineage.terms(case.kind).promised[lineage.path(team)[0]] if team in lineage else 0

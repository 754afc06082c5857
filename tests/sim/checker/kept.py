"""What the victims free is held for the one it was freed for."""

from collections.abc import Iterator
from math import inf

from tests.sim.checker.case import CHOSEN, Case
from tests.sim.checker.needs import Aftermath, Slot


def violations(case: Case) -> Iterator[str]:
    after = Aftermath(case)
    promised: dict[Slot, int] = {}  # a free GPU, and the stop that freed it
    for index, change in sorted(case.changes.items()):
        taken = [(node, gpu) for node, gpus in change.taken.items() for gpu in gpus]
        stolen = {promised.pop(slot): slot for slot in taken if slot in promised}
        for stop, slot in sorted(stolen.items()):
            if _is_theft(after, stop, index, slot):
                winner = case.events[stop]["for"]
                yield case.say(
                    index, f"takes what job {case.events[stop]['job']} was stopped for {winner} to have"
                )
        event = case.events[index]
        by_choice = event["event"] == "stop" and event["why"] in CHOSEN
        for node, gpus in change.released.items() if by_choice else ():
            promised.update(((node, gpu), index) for gpu in gpus)


def _is_theft(after: Aftermath, stop: int, start: int, slot: Slot) -> bool:
    """Whether the one it was freed for had to wait for this GPU, or gave up on all that the stop freed."""
    case = after.case
    run = case.run_at[stop]
    decided = run.ask if run is not None and run.ask is not None else stop
    begin = after.next_start(case.events[stop]["for"], decided)
    if begin is None or begin <= start or case.events[begin]["t"] == case.events[start]["t"]:
        return False
    if after.disturbed(decided, start) or _may_sit_there(after, stop, start):
        return False
    freed, sits = case.changes[stop].released, case.changes[begin].taken
    overlap = any(set(freed[node]) & set(sits[node]) for node in freed.keys() & sits.keys())
    return slot[1] in sits.get(slot[0], ()) or not overlap


def _may_sit_there(after: Aftermath, stop: int, start: int) -> bool:
    """Who is of a higher tier, is moved for the same one, or has a limit that may prove it harmless."""
    case = after.case
    winner, thief = case.jobs[case.events[stop]["for"]], case.changes[start].run.job
    moved = any(run.job is thief for run in after.moved[winner.name])
    return moved or thief.tier > winner.tier or thief.limit_s < inf

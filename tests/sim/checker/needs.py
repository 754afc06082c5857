"""Every stop is justified by the start it enables, and none is needless."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tests.sim.checker.case import CHOSEN, Case, Run, Seats
from tests.sim.checker.ledger import count
from tests.sim.checker.loans import refused
from tests.sim.checker.reading import Job
from tests.sim.checker.room import Room
from tests.sim.checker.stops import decision

Slot = tuple[str, int]


class Aftermath:
    """What followed each decision: the next start of the one it was for, and who was moved for the same one."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.decisions = {
            index: run for index in range(len(case.events)) if (run := decision(case, index)) is not None
        }
        self.starts = {
            name: [index for index in indices if case.starts(index)] for name, indices in case.by_job.items()
        }
        self.node_events = [index for index, event in enumerate(case.events) if event["event"] == "node"]
        self.moved: dict[str, list[Run]] = defaultdict(list)
        for index, run in self.decisions.items():
            if case.events[index]["why"] == "moved":
                self.moved[case.events[index]["for"]].append(run)

    def next_start(self, job: str, index: int) -> int | None:
        starts = self.starts.get(job, [])
        place = bisect_right(starts, index)
        return starts[place] if place < len(starts) else None

    def coming(self, ask: int, begin: int) -> list[Run]:
        """The next runs of others for whom somebody had been asked by then, and who start later than this one."""
        case, runs = self.case, dict[str, Run]()
        for index in self.decisions:
            name = case.events[index]["for"]
            later = self.next_start(name, index) if case.events[index]["t"] <= case.events[ask]["t"] else None
            if later is not None and later > begin:
                runs[name] = case.changes[later].run
        runs.pop(case.events[begin]["job"], None)
        return list(runs.values())

    def disturbed(self, first: int, last: int) -> bool:
        """Whether a node changed in between: then the plan that a stop belonged to may be void."""
        return bisect_right(self.node_events, first) < bisect_right(self.node_events, last)


def violations(case: Case) -> Iterator[str]:
    after = Aftermath(case)
    suspects: dict[int, list[int]] = defaultdict(list)
    for index, run in after.decisions.items():
        winner = case.events[index]["for"]
        begin = after.next_start(winner, index)
        if begin is None:
            if not after.disturbed(index, len(case.events)):
                yield case.say(index, f"is stopped for {winner}, which never starts afterwards")
            continue
        if case.events[index]["why"] == "moved" and not _reseated(after, run, index, begin):
            yield case.say(index, f"is moved for {winner}, but has no new place when {winner} starts")
        if not _used(after, run, winner, begin):
            suspects[begin].append(index)
    if suspects:
        yield from _needless(after, suspects)


def _reseated(after: Aftermath, run: Run, index: int, begin: int) -> bool:
    if run.end is None:
        return True
    events, again = after.case.events, after.next_start(run.job.name, run.end)
    by = max(events[begin]["t"], events[run.end]["t"])
    in_time = again is not None and events[again]["t"] <= by
    return in_time or after.disturbed(index, max(begin, run.end))


def _used(after: Aftermath, run: Run, winner: str, begin: int) -> bool:
    """Whether the one it was for, or one that was moved for that one, sits where this run sat."""
    if run.end is None:
        return True
    case = after.case
    freed, starts = case.changes[run.end].released, [begin]
    for moved in after.moved[winner]:
        again = after.next_start(moved.job.name, moved.end) if moved.end is not None else None
        if moved is not run and again is not None:
            starts.append(again)
    return any(_overlap(freed, case.changes[start].taken, case.changes[start].run.job) for start in starts)


def _overlap(freed: Seats, taken: Seats, job: Job) -> bool:
    # CPUs and memory belong to the whole node, so who asks for them may need a neighbour gone.
    by_node = job.cpus_per_gpu > 0 or job.memory_gib_per_gpu > 0
    return any(by_node or set(freed[node]) & set(taken[node]) for node in freed.keys() & taken.keys())


def _needless(after: Aftermath, suspects: dict[int, list[int]]) -> Iterator[str]:
    """A start that sits elsewhere may still have needed the stop: for its quota, or before something else ended."""
    case, room = after.case, Room(after.case)
    freed: dict[Slot, int] = {}
    for index in range(len(case.events)):
        for ask in suspects.get(index, ()):
            winner = case.changes[index].run
            excused = after.disturbed(ask, index) or _came_free_later(case, freed, index, ask)
            beside = () if excused else (*after.coming(ask, index), *_gone_since(case, ask, index))
            if not excused and not _frees_quota(room, after.decisions[ask], winner, beside):
                yield case.say(ask, f"is stopped for {winner.job.name}, which started without what it freed")
        change = case.changes.get(index)
        for node, gpus in change.released.items() if change is not None else ():
            freed.update(((node, gpu), index) for gpu in gpus)
        room.hear(index)


def _came_free_later(case: Case, freed: dict[Slot, int], begin: int, ask: int) -> bool:
    """Whether it sits on something that came free after the ask for another reason."""
    winner = case.events[begin]["job"]
    for node, gpus in case.changes[begin].taken.items():
        for index in (freed.get((node, gpu), -1) for gpu in gpus):
            event = case.events[index]
            ours = event["event"] == "stop" and event["why"] in CHOSEN and event["for"] == winner
            if index > ask and not ours:
                return True
    return False


def _gone_since(case: Case, ask: int, begin: int) -> list[Run]:
    """Who ended between the ask and the start, but for the victims of the same one: nobody could count on that."""
    winner = case.events[begin]["job"]
    return [
        run
        for run in case.runs
        if run.start < ask < (run.end or 0) < begin and case.events[run.end or 0].get("for") != winner
    ]


def _frees_quota(room: Room, victim: Run, winner: Run, beside: Iterable[Run]) -> bool:
    """Whether some reading of the quotas refuses the start if the victim still held what it held.

    Beside it stand others for whom a place was already being made, and what ended only later: a stop is judged
    by what was so when it was asked for.
    """
    case, ledger, kind = room.case, room.ledger, room.case.gpu_type(winner)
    if ledger is None:
        return False
    # What the victim held on a node that drains is no capacity for others, but it was for the victim.
    drained = sum(not room.health.up(node, gpu) for node, gpus in victim.seats.items() for gpu in gpus)
    ledger.soft.capacity[kind] = room.standing(kind) + drained * (case.gpu_type(victim) == kind)
    counted = [victim, winner, *beside]
    for run in counted:
        count(case, ledger, run, +1)
    firm = refused(winner.job, case.policy) or room.had_enough(winner.job)
    needed = ledger.may_refuse(winner.job, kind, firm=firm)
    for run in counted:
        count(case, ledger, run, -1)
    return needed

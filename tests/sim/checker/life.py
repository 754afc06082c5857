"""The life of a job: submitted once, estimated once, started when it may, ended once."""

from collections.abc import Iterator

from tests.sim.checker.case import Case, Event

TOLERANCE = 1e-6


def violations(case: Case) -> Iterator[str]:
    finished = {event["job"]: n for n, event in enumerate(case.events) if event["event"] == "finish"}
    for name in case.jobs:
        yield from _once(case, name, "submit")
        yield from _once(case, name, "estimate")
        yield from _estimate(case, name)
        yield from _runs(case, name)
        yield from _starts(case, name, finished)
        yield from _endings(case, name)
    yield from _behind(case, finished)


def _events(case: Case, name: str, kind: str) -> list[int]:
    return [index for index in case.by_job[name] if case.events[index]["event"] == kind]


def _once(case: Case, name: str, kind: str) -> Iterator[str]:
    """ "`estimate` comes once for each job, at its submission, before anything else is known of its future." """
    job, found = case.jobs[name], _events(case, name, kind)
    if not found:
        yield f"t={job.submit_s}, job {name}: has no {kind}"
    for index in found[1:]:
        yield case.say(index, f"a second {kind}")
    for index in found[:1]:
        if abs(case.events[index]["t"] - job.submit_s) > TOLERANCE:
            yield case.say(index, f"a {kind}, but submit_s is {job.submit_s}")
        place = case.by_job[name].index(index)
        if place != ("submit", "estimate").index(kind):
            yield case.say(index, f"the {kind} is event number {place + 1} of its job")


def _estimate(case: Case, name: str) -> Iterator[str]:
    """ "absolute seconds at which it should have started with chance one half and nine tenths." """
    for index in _events(case, name, "estimate"):
        event = case.events[index]
        if event["p50_s"] > event["p90_s"]:
            yield case.say(index, f"p50_s {event['p50_s']} is later than p90_s {event['p90_s']}")
        if event["p50_s"] < event["t"] - TOLERANCE:
            yield case.say(index, f"p50_s {event['p50_s']} lies in the past")


def _runs(case: Case, name: str) -> Iterator[str]:
    """Runs are numbered from 1, one at a time, and every event is about the open one."""
    runs = 0
    last: int | None = None
    for index in case.by_job[name]:
        event, run = case.events[index], case.run_at[index]
        if event["event"] == "start":
            runs += 1
            before = case.run_at[last] if last is not None else None
            if event["run"] != runs:
                yield case.say(index, f"this is run {runs} of the job")
            if before is not None and before.end is None:
                yield case.say(index, f"starts while its run {before.number} has not ended")
            last = index
        elif "run" in event and run is None:
            yield case.say(index, f"a {event['event']}, but no such run is open")
    if last is not None and (newest := case.run_at[last]) is not None and newest.end is None:
        yield case.say(last, "this run never ends")


def _starts(case: Case, name: str, finished: dict[str, int]) -> Iterator[str]:
    job = case.jobs[name]
    for index in _events(case, name, "start"):
        if case.events[index]["t"] < max(job.submit_s, job.not_before_s) - TOLERANCE:
            yield case.say(index, f"starts before its submission or its not_before_s {job.not_before_s}")
        for other in job.after:
            # "`after` needs a finish."
            if other in case.jobs and finished.get(other, index) >= index:
                yield case.say(index, f"starts before {other}, which it comes after, has finished")


def ends_job(event: Event) -> bool:
    """ "A limit stop ends the job as not finished." """
    kind = event["event"]
    return kind in {"finish", "impossible", "unfinished"} or (kind == "stop" and event["why"] == "limit")


def _endings(case: Case, name: str) -> Iterator[str]:
    indices = case.by_job[name]
    ends = [index for index in indices if ends_job(case.events[index])]
    for index in ends[1:]:
        yield case.say(index, "the job had ended before")
    for index in indices if ends else ():
        if index > ends[0] and index not in ends:
            yield case.say(index, f"a {case.events[index]['event']} of a job that had ended")
    for index in ends:
        if case.events[index]["event"] == "impossible" and _events(case, name, "start"):
            yield case.say(index, "impossible, yet it started")


def _behind(case: Case, finished: dict[str, int]) -> Iterator[str]:
    """ "A job behind a limit stop or an impossible job is impossible." """
    dead = {
        event["job"]
        for event in case.events
        if event["event"] == "impossible" or (event["event"] == "stop" and event["why"] == "limit")
    }
    for name, job in case.jobs.items():
        blocked = [other for other in job.after if other in dead and other not in finished]
        if blocked and not _events(case, name, "impossible"):
            yield f"t={job.submit_s}, job {name}: is behind {blocked[0]}, which will never finish, yet not impossible"

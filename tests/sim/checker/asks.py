"""The courtesy before a stop: who is stopped by choice is asked first, and has its grace."""

from collections.abc import Iterator

from tests.sim.checker.case import CHOSEN, Case, Run

TOLERANCE = 1e-6


def violations(case: Case) -> Iterator[str]:
    for index, event in enumerate(case.events):
        run = case.run_at[index]
        if run is None:
            continue
        if event["event"] == "ask" and run.ask != index:
            yield case.say(index, "is asked twice")
        if event["event"] == "stop":
            yield from (case.say(index, wrong) for wrong in _stop(case, index, run))
    yield from _unanswered(case)


def _stop(case: Case, index: int, run: Run) -> Iterator[str]:
    """ "`ask`: …; its stop follows within grace_s. … (only jobs with checkpoint_s can acknowledge)" """
    event = case.events[index]
    if event.get("acked") and (run.ask is None or run.job.checkpoint_s is None):
        yield "acknowledges, but it was never asked or never checkpoints"
    if event.get("acked") and event["why"] not in CHOSEN:
        yield f"acknowledges a stop as {event['why']}"
    if event["why"] not in CHOSEN:
        return
    if run.ask is None:
        yield f"is stopped as {event['why']} without an ask"
        return
    ask = case.events[run.ask]
    if (ask["why"], ask["for"]) != (event["why"], event["for"]):
        yield f"was asked as {ask['why']} for {ask['for']}, but is stopped as {event['why']} for {event['for']}"
    grace = case.policy.grace_s
    if grace is not None and event["t"] > ask["t"] + grace + TOLERANCE:
        yield f"was asked at t={ask['t']}; its stop comes after the grace of {grace} s"


def _unanswered(case: Case) -> Iterator[str]:
    for run in case.runs:
        if run.ask is not None and (run.end is None or run.ended in {"finish", "limit"}):
            yield case.say(run.ask, f"is asked, but no stop follows: {run.ended or 'it goes on'}")

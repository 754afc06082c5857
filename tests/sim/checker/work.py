"""Work done equals work asked: every finish, limit stop and loss recomputed from the events."""

from collections.abc import Iterator

from tests.sim.checker.case import CHOSEN, Case, Run
from tests.sim.checker.meter import Meter


def violations(case: Case) -> Iterator[str]:
    for name, job in case.jobs.items():
        meter = Meter(job)
        for index in case.by_job[name]:
            run = case.run_at[index]
            if run is not None:
                yield from (case.say(index, wrong) for wrong in _turn(case, index, run, meter))


def _turn(case: Case, index: int, run: Run, meter: Meter) -> Iterator[str]:
    event = case.events[index]
    t = event["t"]
    if event["event"] != "start" and (late := meter.overdue(t)):
        yield f"a {event['event']}, but {late}"
    match event["event"]:
        case "start":
            meter.start(t, run.gpus, first=run.number == 1)
        case "ask":
            meter.ask(t)
        case "swap":
            yield from _swap(case, index, meter)
        case "stop":
            yield from (_limit if event["why"] == "limit" else _stop)(case, index, meter)
        case _:
            yield from _finish(t, meter)


def _finish(t: float, meter: Meter) -> Iterator[str]:
    if meter.asked_at is not None:
        yield f"finishes, but it was asked at t={meter.asked_at} and works no more"
    elif abs(t - meter.finish_due()) > meter.slack:
        yield f"finishes, but its work is done at t={meter.finish_due()}"


def _limit(case: Case, index: int, meter: Meter) -> Iterator[str]:
    """ "A run is stopped there (work that ends exactly at the limit finishes)." """
    t = case.events[index]["t"]
    if meter.asked_at is not None:
        yield f"stopped at its limit, but it was asked at t={meter.asked_at} and works no more"
    elif meter.finish_due() <= meter.limit_due() + meter.slack:
        yield f"stopped at its limit, but its work is done at t={meter.finish_due()}"
    elif abs(t - meter.limit_due()) > meter.slack:
        yield f"stopped at its limit, but that is reached at t={meter.limit_due()}"
    # Nothing is rolled back: the job is over.
    if abs(case.events[index].get("lost_gpu_s") or 0.0) > meter.slack:
        yield "a limit stop loses nothing that could be done again"


def _stop(case: Case, index: int, meter: Meter) -> Iterator[str]:
    """ "With acked all work up to the ask is kept …, otherwise the last checkpoint counts." """
    event = case.events[index]
    kept = event.get("acked") and event["why"] in CHOSEN
    saved = (meter.done(event["t"]),) if kept else meter.saved(event["t"])
    yield from _lost(case, index, meter, saved)


def _swap(case: Case, index: int, meter: Meter) -> Iterator[str]:
    """ "For several swaps of one instant it stands on the first and is 0 on the others." """
    t, told = case.events[index]["t"], case.events[index]["lost_gpu_s"]
    if meter.asked_at is not None:
        yield f"is swapped, but it was asked at t={meter.asked_at} and is about to stop"
    if meter.swapped_at == t:
        if abs(told) > meter.slack:
            yield f"lost_gpu_s is {told} on another swap of one instant; it stands on the first"
        return
    yield from _lost(case, index, meter, meter.saved(t))
    meter.swap(t)


def _lost(case: Case, index: int, meter: Meter, saved: tuple[float, ...]) -> Iterator[str]:
    """ "lost_gpu_s = rolled-back work x gpus, without restart time." """
    told = case.events[index]["lost_gpu_s"]
    lost = meter.roll_back(case.events[index]["t"], saved, told)
    if abs(lost - told) > meter.slack * max(1, meter.job.gpus):
        yield f"lost_gpu_s is {told}; by the events it is {lost}"

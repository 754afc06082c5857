"""The order of the file: time never goes back, and one instant happens in the contract's order."""

from collections.abc import Iterator

from tests.sim.checker.case import Case

# The contract: "At one instant: faults, then ends, then submissions, then the planner thinks".
FAULT, END, SUBMISSION, DECISION = range(4)
WORDS = ("a fault", "an end", "a submission", "a decision of the planner")


def violations(case: Case) -> Iterator[str]:
    now, reached = -1.0, FAULT
    for index, event in enumerate(case.events):
        if event["t"] < now:
            yield case.say(index, f"comes after an event of t={now}")
        if event["t"] != now:
            now, reached = event["t"], FAULT
        stage = _stage(case, index)
        if stage is None:
            continue
        if stage < reached:
            yield case.say(index, f"{WORDS[stage]} comes behind {WORDS[reached]} of the same instant")
        reached = max(stage, reached)


def _stage(case: Case, index: int) -> int | None:
    """None where the file cannot show it: what a fault brings down, and what is found impossible."""
    event, run = case.events[index], case.run_at[index]
    match event["event"]:
        case "node":
            return FAULT
        case "submit" | "estimate":
            return SUBMISSION
        case "impossible" | "unfinished":
            return None
        case "stop" if event["why"] == "node_lost":
            return None
        case "stop" | "finish" if run is not None:
            # Work without length ends in the instant in which it starts; grace without length likewise.
            since = run.start if run.ask is None else run.ask
            return END if case.events[since]["t"] < event["t"] else DECISION
    return DECISION

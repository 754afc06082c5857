"""The sentences of the comparison's page: the answer before the picture."""

from collections.abc import Mapping

from portal import words
from portal.replay import fairness as fair
from portal.replay.charts import Played
from portal.replay.markup import listed
from portal.replay.rows import Report, ended, lasting, share


def answer(reports: Mapping[str, Report]) -> str:
    """Who starts jobs soonest, who lets one wait the longest, and whether the same jobs ended."""
    if not any(report["jobs"] for report in reports.values()):
        return "The workload has no job, so there is nothing to compare."
    if not any(report["wait_s"]["mean"] is not None for report in reports.values()):
        return f"No job started: {listed({name: ended(report) for name, report in reports.items()})}."
    means = {name: lasting(report["wait_s"]["mean"]) for name, report in reports.items()}
    longest = {name: lasting(report["wait_s"]["max"]) for name, report in reports.items()}
    ends = {name: ended(report) for name, report in reports.items()}
    told = f"A job waits {listed(means)}, on average. The longest wait is {listed(longest)}."
    return told if len(set(ends.values())) == 1 else f"{told} They did not end alike: {listed(ends)}."


def waits(reports: Mapping[str, Report]) -> str:
    """Of all tiers together."""
    within = {name: lasting(report["wait_s"]["p90"]) for name, report in reports.items()}
    return f"Nine of ten jobs had started after {listed(within)}. From submission to the first start."


def use(reports: Mapping[str, Report]) -> str:
    """Over the whole time."""
    held = {name: share(report["utilisation"]) for name, report in reports.items()}
    return f"From the first submission to the last finish runs held {listed(held)}."


def fairness(replays: Mapping[str, list[fair.Treated]], groups: str) -> str:
    """Who had to bear the most, and one number for how evenly that is spread."""
    most = {
        name: f"{one.name} ({words.decimal(one.stretch, 1)}{words.NBSP}×)"
        for name, one in fair.worst(replays).items()
    }
    even = {name: f"{fair.evenness(each) or 0.0:.2f}" for name, each in replays.items()}
    stretch = "A stretch of 2 × means that submission to finish took twice as long as the work."
    return f"Stretched the most: {listed(most)}. Evenness over {groups}, where 1.00 is even: {listed(even)}. {stretch}"


def gantt(replays: Mapping[str, Played]) -> str:
    """How much of it the pictures show."""
    series = [played.series for played in replays.values()]
    if all(len(each.largest()) == each.stays for each in series):
        which = "Every run"
    else:
        which = listed(
            {
                name: f"the {words.count(len(each.series.largest()))} largest of {words.count(each.series.stays)} runs"
                for name, each in replays.items()
            }
        )
    return f"{which[0].upper()}{which[1:]}. A bar lies where its GPUs are; racks are parted by a line."

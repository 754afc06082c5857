"""The only place that words a wait: a reason and its numbers in, at most two sentences out."""

from datetime import datetime
from typing import assert_never

from scheduler.core.model import Facts
from scheduler.core.reasons import Reason
from scheduler.core.spell import Told, be, listed, many

STATES = ("drained", "silent", "lost", "down")  # why a node is out, in the order they are told

THEIRS = (("your job", "it"), ("your limit", "its limit"), ("as you asked", "as asked"))


def sentence(reason: Reason, numbers: Facts, *, now: datetime | None = None, yours: bool = True) -> str:
    """What a person reads. Each number in it is in `numbers`; `now` brings the reader's day and zone.

    yours=False words it for somebody who reads about another one's job.
    """
    said = _say(reason, Told(numbers, now))
    for mine, theirs in () if yours else THEIRS:
        said = said.replace(mine, theirs)
    return said


def _say(reason: Reason, n: Told) -> str:  # noqa: C901  one line for each reason is the point
    match reason:
        case Reason.IMPOSSIBLE:
            return f"This can never run here: {_obstacle(n)}."
        case Reason.HELD:
            return f"On hold since {n.time('since')} by {n.text('by')}: {n.text('note')}."
        case Reason.NOT_BEFORE:
            return f"Starts after {n.time('after')}, as you asked."
        case Reason.DEPENDS:
            return _depends(n)
        case Reason.RETRYING:
            return _retrying(n)
        case Reason.NOT_ALLOWED:
            return _not_allowed(n)
        case Reason.TEAM_LIMIT:
            return _team_limit(n)
        case Reason.NOTHING_TO_BORROW:
            return _nothing_to_borrow(n)
        case Reason.UNREACHABLE:
            return _unreachable(n)
        case Reason.MAINTENANCE:
            return _maintenance(n)
        case Reason.CAPACITY_DOWN:
            return _capacity_down(n)
        case Reason.STOPPING_OTHERS:
            return _stopping_others(n)
        case Reason.FULL:
            return f"{_full(n)}. {_room(n)}"
        case Reason.SCATTERED:
            return f"{_scattered(n)}. {_room(n)}"
        case Reason.RESERVED:
            return _reserved(n)
        case Reason.ORDER:
            return _order(n)
        case Reason.NOT_REACHED:
            return _not_reached(n)
        case unworded:
            assert_never(unworded)


def _obstacle(n: Told) -> str:
    match n.text("kind"):
        case "type" if not n.words("types"):
            return "no node is approved yet"
        case "type":
            return f"it asks for {n.text('gpu_type')} and there is only {listed(n.words('types'))}"
        case "node":
            each = f"{n.count('gpus_per_node')} {n.text('gpu_type') or 'GPUs'}"
            return f"it needs {each} in one node and the largest node has {n.count('largest')}"
        case "nodes":
            each = f"{n.count('gpus_per_node')} {n.text('gpu_type') or 'GPUs of one type'}"
            most = f"no cluster has more than {n.count('most_nodes')} of them"
            return f"it needs {n.count('nodes')} nodes with {each} each and {most}"
        case _ if n.number("nominal"):
            most = f"team {n.text('team')} may hold at most {n.count('nominal')} at once"
            return f"it needs {n.count('asked')} {n.text('gpu_type')} and {most}"
        case _:
            return f"team {n.text('team')} has no quota for {n.text('gpu_type')}"


def _depends(n: Told) -> str:
    ends = f" and should end {n.in_about('ends_in_min')}" if "ends_in_min" in n else ""
    return f"Waits for {n.text('name')}, which is {n.text('state')}{ends}."


def _retrying(n: Told) -> str:
    failed = f"Failed {many(n.number('failures'), 'time')} with {n.text('cause')}"
    return f"{failed}; try {n.count('next_try')} starts {n.in_about('starts_in_min')} on other nodes."


def _not_allowed(n: Told) -> str:
    match n.text("kind"):
        case "budget":
            spent = f"{n.text('currency')} {n.count('spent')} of {n.count('budget')}"
            what = f"The budget of team {n.text('team')} for {n.text('period')} is used up ({spent})"
            return f"{what}; a lead can raise it."
        case "jobs":
            cap = f"{n.count('running')} jobs and may run at most {n.count('most')} at once"
            return f"{n.text('who')} runs {cap}."
        case _:  # a tier, a pool or a class of jobs
            return f"Team {n.text('team')} may not use {n.text('what')} now; {n.text('who')} can allow it."


def _team_limit(n: Told) -> str:
    team, own = n.text("team"), n.text("own_team")
    who = f"Team {team}" if team == own else f"Team {team}, which {own} belongs to,"
    held = f"{who} holds {n.count('held')} of its {n.count('nominal')} {n.text('gpu_type')}"
    when = "The limits of its running jobs do not say when enough come free."
    if "ends_job" in n:
        when = f"Enough come free {_latest_end(n)}."
    return f"{held} and this job needs {n.count('asked')}. {when}"


def _nothing_to_borrow(n: Told) -> str:
    own = f"Team {n.text('team')}'s own {n.count('nominal')} {n.text('gpu_type')} are in use"
    lend = "no team has idle quota to lend"
    when = f"; the next {n.count('next_gpus')} are expected {n.in_about('in_min')}" if "in_min" in n else ""
    return f"{own} and {lend}{when}."


def _unreachable(n: Told) -> str:
    silent = f"The cluster {n.text('cluster')} has not answered for {n.lasting('silent_min')}"
    return f"{silent}; its jobs keep running, nothing new starts there."


def _maintenance(n: Told) -> str:
    window = f"A maintenance window starts at {n.time('begins')} and your limit is {n.lasting('limit_min')}."
    return f"{window} {_shorter(n)}"


def _capacity_down(n: Told) -> str:
    down = n.number("down_nodes")
    states = [state for state in STATES if state in n]
    each = listed([f"{n.count(state)} {state}" for state in states] if down > 1 else states)
    out = f"{many(down, 'node')} {be(down)} out of service ({each})"
    fits = f"With {'it' if down == 1 else 'them'} your job would fit"
    without = ""
    if "ends_job" in n:
        without = f"; without {'it' if down == 1 else 'them'} room comes free {_latest_end(n)}{_unless(n)}"
    return f"{out}. {fits}{without}."


def _stopping_others(n: Told) -> str:
    victims = many(n.number("victims"), f"{n.text('tier')} job")
    saving = f"{victims} {be(n.number('victims'))} saving a checkpoint to make room"
    return f"{saving}; starts within {n.lasting('within_min')}."


def _full(n: Told) -> str:
    asked, kind, free = n.count("asked"), n.text("gpu_type"), n.number("free")
    if len(n.words("types")) > 1:
        most = f"at most {n.count('free')} ({kind})" if free else "none"
        return f"No GPU type has room: it needs {asked} of one type, {most} {be(free)} free"
    if n.number("clusters") > 1:
        most = f"more than {n.count('free')}" if free else "any"
        all_are = (
            "Both clusters are" if n.number("clusters") == 2 else f"All {n.count('clusters')} clusters are"
        )
        return f"{all_are} full: it needs {asked} {kind} in one, none has {most} free"
    place = f"{n.text('pool')} pool" if n.text("pool") else f"cluster {n.text('cluster')}"
    return (
        f"The {place} is full: it needs {asked} {kind}, {n.count('free') if free else 'none'} {be(free)} free"
    )


def _scattered(n: Told) -> str:
    free = f"{n.count('free')} {n.text('gpu_type')} are free"
    each = n.count("gpus_per_node")
    if n.number("nodes") == 1:
        return (
            f"{free}, but at most {n.count('largest')} in one node and your job asks for {each} in one node"
        )
    fitting = n.number("fitting_nodes")
    have = f"only {many(fitting, 'node')} {'has' if fitting == 1 else 'have'}" if fitting else "no node has"
    return f"{free}, but {have} {each} of them and your job asks for {n.count('nodes')} such nodes"


def _room(n: Told) -> str:
    if "ends_job" not in n:
        return "The limits of the running jobs do not say when room comes free."
    return f"Room for it comes free {_latest_end(n)}{_unless(n)}."


def _latest_end(n: Told) -> str:
    # The job's number is a name, so it is written without a comma.
    return f"{n.in_about('ends_in_min')} at the latest, when job {n.text('ends_job')} ends"


def _unless(n: Told) -> str:
    ahead = n.number("ahead_jobs")
    if not ahead:
        return ""
    who = "the job ahead" if ahead == 1 else f"one of the {n.count('ahead_jobs')} jobs ahead"
    return f", unless {who} takes it"


def _reserved(n: Told) -> str:
    free = f"{many(n.number('free'), 'GPU')} {be(n.number('free'))} free now"
    delay = f"your limit of {n.lasting('limit_min')} would delay it"
    return f"{free} but planned for job {n.text('for_job')} at {n.time('at')}; {delay}. {_shorter(n)}"


def _shorter(n: Told) -> str:
    return f"With a limit under {n.lasting('fits_min')} it would start now."


def _order(n: Told) -> str:
    asking = f"{many(n.number('took_jobs'), 'job')} asking for {many(n.number('took_gpus'), 'GPU')}"
    if n.number("took_jobs") == 1:
        why = "is ahead and takes the place: it has a higher tier or came earlier"
    else:
        why = "are ahead and take the places: they have a higher tier or came earlier"
    return f"It would fit, but {asking} {why}."


def _not_reached(n: Told) -> str:
    waiting = f"Not yet considered in this round ({n.count('waiting')} jobs waiting)"
    return f"{waiting}; the last full answer, {n.count('last_s')} s ago, was: {n.text('last')}"

"""The only place that words a wait: a reason and its numbers in, at most two sentences and one lever out."""

from datetime import datetime
from typing import assert_never

from scheduler.core.explain_never import never
from scheduler.core.explain_room import full, lever, planned, scattered, when
from scheduler.core.model import Facts
from scheduler.core.reasons import Reason
from scheduler.core.spell import Told, be, listed, many

STATES = ("drained", "silent", "lost", "down")  # why a node is out, in the order they are told

THEIRS = (
    ("your job", "it"),
    ("your limit", "its limit"),
    ("as you asked", "as asked"),
    ("You run ", "Its user runs "),
)


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
            return never(n)
        case Reason.HELD:
            return _held(n)
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
            return _joined(full(n), when(n), lever(n))
        case Reason.SCATTERED:
            return _joined(scattered(n), when(n), lever(n))
        case Reason.RESERVED:
            return _reserved(n)
        case Reason.ORDER:
            return _joined(_order(n), planned(n))
        case Reason.NOT_REACHED:
            return _not_reached(n)
        case unworded:
            assert_never(unworded)


def _joined(*parts: str) -> str:
    return " ".join(f"{part}." for part in parts if part)


def _held(n: Told) -> str:
    note = f": {n.text('note')}" if n.said("note") else ""
    return f"On hold since {n.time('since')} by {n.text('by')}{note}."


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
            tier = f"{n.text('tier')} " if "tier" in n else ""
            jobs = many(n.number("running"), f"{tier}job")
            return f"You run {jobs} and may run at most {n.count('most')} at once."
        case "peak":
            who = f"{n.text('tier').capitalize()} jobs of {n.count('gpus')} GPUs and more"
            opens = f" It may start after {n.time('until')}." if "until" in n else ""
            hours = f"from {n.count('from_hour')} to {n.count('until_hour')} h (UTC)"
            return f"{who} wait {hours}, and it asks for {n.count('asked')}.{opens}"
        case _:  # a tier, a pool or a class of jobs
            return f"Team {n.text('team')} may not use {n.text('what')} now; {n.text('who')} can allow it."


def _team_limit(n: Told) -> str:
    team, own = n.text("team"), n.text("own_team")
    who = f"Team {team}" if team == own else f"Team {team}, which {own} belongs to,"
    of = f"{n.count('held')} of its {n.count('limit')} {n.text('gpu_type')}"
    parts = f" ({n.count('nominal')} own + {n.count('borrowed')} borrowed)" if n.number("borrowed") else ""
    return _joined(f"{who} holds {of}{parts} and this job needs {n.count('asked')}", _quota_back(n))


def _quota_back(n: Told) -> str:
    if "ends_in_min" in n:
        return f"Enough {'come' if n.number('certain') else 'should come'} free {n.end()}"
    return "The limits of its running jobs do not say when enough come free" if "no_end" in n else ""


def _nothing_to_borrow(n: Told) -> str:
    kind = n.text("gpu_type")
    if n.text("why") == "firm":
        promise = n.lasting("promise_min")
        back = f"A loan must be back within {promise}, and this job may not be stopped so soon"
        own = f"it waits for {n.count('asked')} {kind} of team {n.text('team')}'s own"
        limit = (
            f" With a limit of at most {n.lasting('fits_min')} it could borrow."
            if n.number("fits_min")
            else ""
        )
        return f"{back}: {own}.{limit}"
    if n.text("why") == "lent":
        own = f"Team {n.text('team')} has lent its own {kind}, and what is free is kept for others"
    elif "nominal" not in n:
        own = f"Team {n.text('own_team')} has no {kind} of its own and no team has enough idle quota to lend"
    elif n.number("held") >= n.number("nominal"):
        used = f"Team {n.text('team')}'s own {n.count('nominal')} {kind} are in use"
        own = f"{used} and no team has enough idle quota to lend"
    else:
        used = f"Team {n.text('team')} holds {n.count('held')} of its own {n.count('nominal')} {kind}"
        own = f"{used}, this job needs {n.count('asked')} more and no team has enough idle quota to lend"
    if "ends_in_min" not in n:
        unknown = "; the limits of what runs do not say when enough come back" if "no_end" in n else ""
        return f"{own}{unknown}."
    return f"{own}; enough {'come' if n.number('certain') else 'should come'} back {n.end()}."


def _unreachable(n: Told) -> str:
    several = "clusters" in n and n.number("clusters") > 1
    who = f"The clusters {n.text('cluster')} have" if several else f"The cluster {n.text('cluster')} has"
    since = f" for {n.lasting('silent_min')}" if "silent_min" in n else ""
    whose = "their" if several else "its"
    return f"{who} not answered{since}; {whose} jobs keep running, nothing new starts there."


def _maintenance(n: Told) -> str:
    window = f"The window {n.text('window')}" if "window" in n else "A maintenance window"
    if "begins" not in n:
        return f"{window} lasts until {n.time('ends')} and holds the places that your job needs."
    return f"{window} starts at {n.time('begins')} and {_limit(n)}.{_shorter(n)}"


def _limit(n: Told) -> str:
    return f"your limit is {n.lasting('limit_min')}" if n.number("limit_min") else "your job has no limit"


def _shorter(n: Told) -> str:
    return f" With a limit under {n.lasting('fits_min')} it would start now." if "fits_min" in n else ""


def _capacity_down(n: Told) -> str:
    down = n.number("down_nodes")
    states = [state for state in STATES if state in n]
    each = listed([f"{n.count(state)} {state}" for state in states] if down > 1 else states)
    out = f"{many(down, 'node')} {be(down)} out of service ({each})"
    them = "it" if down == 1 else "them"
    later = planned(n) or (when(n) if "ends_in_min" in n else "")
    without = f"; without {them}: {later[:1].lower()}{later[1:]}" if later else ""
    return f"{out}. With {them} your job would fit{without}."


def _stopping_others(n: Told) -> str:
    where = f" on {n.text('place')}" if n.said("place") else ""
    starts = f"starts within {n.lasting('within_min')}."
    if not n.number("victims"):
        return f"The last of its places{where} are coming free; {starts}"
    who = many(n.number("victims"), f"{n.text('tier')} job".strip())
    return f"{who} {be(n.number('victims'))} saving a checkpoint to make room{where}; {starts}"


def _reserved(n: Told) -> str:
    free = f"{many(n.number('free'), 'GPU')} {be(n.number('free'))} free now"
    job = n.job("for_job")
    if "at" not in n:
        kept = f"{free} but kept for {job}, whose place is being made"
        return _joined(kept, planned(n))
    limited = f"your limit of {n.lasting('limit_min')} would"
    delay = f"{limited if n.number('limit_min') else 'your job has no limit and might'} delay it"
    said = f"{free} but planned for {job} at {n.time('at')}; {delay}"
    return _joined(said, planned(n)) + _shorter(n)


def _order(n: Told) -> str:
    took = n.number("took_jobs")
    asking = f"{many(took, 'job')} asking for {many(n.number('took_gpus'), 'GPU')}"
    takes = "is ahead and takes the place" if took == 1 else "are ahead and take the places"
    return f"It would fit, but {asking} {takes}: {_rule(n, one=took == 1)}"


def _rule(n: Told, *, one: bool) -> str:
    """Why they come first: the first thing in which the order tells them apart."""
    it, has, its = ("it", "has", "its") if one else ("they", "have", "their")
    rule = n.text("rule") if "rule" in n else ""
    if rule in ("team", "user"):
        ours, theirs = "its user", f"{its} user"
        if rule == "team":
            ours, theirs = f"team {n.text('ours')}", f"team {n.text('theirs')}"
        return f"{ours} used {n.times('our_times')}, {theirs} {n.times('their_times')}"
    words = {
        "tier": f"{it} {has} a higher tier",
        "quota": f"{it} {be(1 if one else 2)} inside {its} team's quota and your job would borrow",
        "priority": f"{its} team has a higher priority for what is idle",
        "deadline": f"{it} {has} less time left until the deadline",
        "submitted": f"{it} came earlier",
        "number": f"{it} came earlier",
        "quick": f"{it} should be done sooner",
        "turns": f"{its} turn came first",
    }
    return words.get(rule, f"{it} {has} a higher tier or came earlier")


def _not_reached(n: Told) -> str:
    waiting = f"Not yet considered in this round ({n.count('waiting')} jobs waiting)"
    if "last" not in n:
        return f"{waiting}."
    return f"{waiting}; the last full answer, {n.count('last_s')} s ago, was: {n.text('last')}"

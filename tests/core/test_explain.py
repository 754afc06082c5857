"""Every reason has its sentence, and a sentence says no number that its verdict does not hold."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.explain import sentence
from scheduler.core.model import Fact, Facts, Snapshot
from scheduler.core.planner import plan
from scheduler.core.reasons import Reason
from scheduler.core.spell import clock, in_about, lasting, listed
from tests.core.worlds import quick, worlds

R = Reason
NOW = datetime(2026, 11, 18, 14, 25, tzinfo=UTC)
ENDS: dict[str, Fact] = {
    "ends_job": 4711,
    "ends_by": "2026-11-18T15:05:00+00:00",
    "ends_in_min": 40,
    "certain": 1,
}
PLANNED: dict[str, Fact] = {
    "planned_at": "2026-11-18T15:05:00+00:00",
    "planned_in_min": 40,
    "place": "rack r07",
}
PLANNED |= {"ends_job": 4711, "certain": 1}
SHORT: dict[str, Fact] = {"asked": 64, "nodes": 8, "gpus_per_node": 8, "gpu_type": "H100", "types": ["H100"]}
SHORT |= {"free": 12, "pool": "training", "cluster": "north", "clusters": 1}
APART = SHORT | {"free": 1040, "split": "nodes", "level": "", "fitting_nodes": 2}
FITS: dict[str, Fact] = {"limit_min": 720, "fits_min": 300}
LIMIT: dict[str, Fact] = {"asked": 8, "gpu_type": "H100", "team": "vision", "own_team": "vision"}
LIMIT |= {"held": 96, "limit": 96, "nominal": 64, "borrowed": 32}
LOAN: dict[str, Fact] = {
    "asked": 8,
    "gpu_type": "H100",
    "team": "vision",
    "own_team": "vision",
    "why": "used",
}
LOAN |= {"held": 64, "nominal": 64}
TOOK: dict[str, Fact] = {"asked": 8, "took_jobs": 11, "took_gpus": 96}

GOLDEN: dict[Reason, tuple[Facts, str]] = {
    R.IMPOSSIBLE: (
        {"kind": "node", "gpu_type": "", "asked": 16, "nodes": 1, "gpus_per_node": 16, "largest": 8},
        "This can never run here: it needs 16 GPUs in one node and the largest node has 8. "
        "Ask for at most 8 on each node.",
    ),
    R.HELD: (
        {"since": "2026-11-18T09:12:00+00:00", "by": "the team lead", "note": "waiting for the new data set"},
        "On hold since 09:12 by the team lead: waiting for the new data set.",
    ),
    R.NOT_BEFORE: ({"after": "2026-11-18T18:00:00+00:00"}, "Starts after 18:00, as you asked."),
    R.DEPENDS: (
        {"name": "preprocess-7", "state": "running", "ends_in_min": 25},
        "Waits for preprocess-7, which is running and should end in about 25 min.",
    ),
    R.RETRYING: (
        {"failures": 2, "cause": "NCCL time-outs", "next_try": 3, "starts_in_min": 4},
        "Failed 2 times with NCCL time-outs; try 3 starts in about 4 min on other nodes.",
    ),
    R.NOT_ALLOWED: (
        {
            "kind": "budget",
            "team": "vision",
            "period": "November",
            "currency": "EUR",
            "spent": 41200,
            "budget": 40000,
        },
        "The budget of team vision for November is used up (EUR 41,200 of 40,000); a lead can raise it.",
    ),
    R.TEAM_LIMIT: (
        LIMIT | ENDS,
        "Team vision holds 96 of its 96 H100 (64 own + 32 borrowed) and this job needs 8. "
        "Enough come free in about 40 min at the latest, when job 4711 ends.",
    ),
    R.NOTHING_TO_BORROW: (
        LOAN | ENDS | {"ends_in_min": 120, "certain": 0},
        "Team vision's own 64 H100 are in use and no team has enough idle quota to lend; "
        "enough should come back in about 2 h, when job 4711 should end.",
    ),
    R.UNREACHABLE: (
        {"cluster": "frankfurt", "clusters": 1, "silent_min": 6},
        "The cluster frankfurt has not answered for 6 min; its jobs keep running, nothing new starts there.",
    ),
    R.MAINTENANCE: (
        {"begins": "2026-11-18T20:00:00+00:00"} | FITS,
        "A maintenance window starts at 20:00 and your limit is 12 h. "
        "With a limit under 5 h it would start now.",
    ),
    R.CAPACITY_DOWN: (
        {"asked": 8, "down_nodes": 5, "drained": 3, "lost": 2} | PLANNED | {"planned_in_min": 180},
        "5 nodes are out of service (3 drained and 2 lost). With them your job would fit; "
        "without them: planned on rack r07 in about 3 h at the latest, when job 4711 ends.",
    ),
    R.STOPPING_OTHERS: (
        {"victims": 3, "tier": "opportunistic", "within_min": 2, "place": "rack r07"},
        "3 opportunistic jobs are saving a checkpoint to make room on rack r07; starts within 2 min.",
    ),
    R.FULL: (
        SHORT | PLANNED | {"p90_at": "2026-11-18T15:20:00+00:00", "certain": 0},
        "The training pool is full: it needs 64 H100, 12 are free. "
        "Planned on rack r07 in about 40 min (by 15:20 with 90 % certainty), when job 4711 should end.",
    ),
    R.SCATTERED: (
        SHORT
        | {"asked": 32, "free": 40, "split": "level", "level": "block", "largest": 24, "largest_in": "b1"}
        | {"fits_preferred": "block", "nodes": 0, "gpus_per_node": 0},
        "40 H100 are free, but at most 24 in one block (b1) and your job asks for 32 in one block. "
        "With 'block preferred' it would start now.",
    ),
    R.RESERVED: (
        {"asked": 8, "free": 16, "for_job": 4702, "at": "2026-11-19T01:30:00+00:00"} | FITS,
        "16 GPUs are free now but planned for job 4702 at 01:30 tomorrow; your limit of 12 h would delay it. "
        "With a limit under 5 h it would start now.",
    ),
    R.ORDER: (
        TOOK | {"rule": "team", "ours": "vision", "theirs": "speech", "our_times": 2.1, "their_times": 0.7},
        "It would fit, but 11 jobs asking for 96 GPUs are ahead and take the places: "
        "team vision used 2.1 x its share, team speech 0.7 x its share.",
    ),
    R.NOT_REACHED: (
        {"waiting": 10000, "last_s": 40, "last": "The training pool is full."},
        "Not yet considered in this round (10,000 jobs waiting); "
        "the last full answer, 40 s ago, was: The training pool is full.",
    ),
}


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_is_worded(reason: Reason) -> None:
    numbers, want = GOLDEN[reason]
    assert sentence(reason, numbers, now=NOW) == want


@pytest.mark.parametrize("reason", Reason)
def test_who_reads_of_anothers_job_is_not_addressed_as_its_owner(reason: Reason) -> None:
    told = sentence(reason, GOLDEN[reason][0], now=NOW, yours=False)
    assert not re.search(r"\byour?\b", told, re.IGNORECASE)


def test_whose_jobs_are_too_many_depends_on_who_reads() -> None:
    numbers: Facts = {"kind": "jobs", "tier": "standard", "running": 2, "most": 2}
    told = sentence(R.NOT_ALLOWED, numbers, yours=False)
    assert told == "Its user runs 2 standard jobs and may run at most 2 at once."


def test_a_job_that_the_reader_may_not_see_is_told_by_its_team() -> None:
    """The portal puts the team where the number was; both ways of telling an end follow it."""
    theirs: Facts = {"ends_job": "of team language"}
    assert "when a job of team language should end" in sentence(R.FULL, GOLDEN[R.FULL][0] | theirs)
    assert "when a job of team language" in sentence(R.TEAM_LIMIT, GOLDEN[R.TEAM_LIMIT][0] | theirs)


def spelled(numbers: Facts, now: datetime | None) -> Iterator[str]:
    """How durations, times and names may stand in the sentence."""
    for key, value in numbers.items():
        if key.endswith("_min"):
            yield from (in_about(int(str(value))), lasting(int(str(value))))
        elif isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
            yield clock(datetime.fromisoformat(value), now)
        elif isinstance(value, str | list):
            yield from [value] if isinstance(value, str) else map(str, value)


def strange(words: str, numbers: Facts, now: datetime | None) -> list[str]:
    """The figures of a sentence that its numbers do not hold, as they are or spelled."""
    words = words.replace("with 90 % certainty", "…")  # always the same
    for phrase in sorted(spelled(numbers, now), key=len, reverse=True):
        words = re.sub(rf"(?<![\w,]){re.escape(phrase)}(?!\w)", "…", words) if phrase else words
    plain = [value for value in numbers.values() if isinstance(value, int | float)]
    known = {f"{value:,}" for value in plain} | {str(value) for value in plain}
    return [figure for figure in re.findall(r"\d[\d,.]*", words) if figure.rstrip(",.") not in known]


@quick
@given(worlds())
def test_every_number_in_the_sentence_of_a_plan_is_in_its_numbers(snap: Snapshot) -> None:
    for verdict in plan(snap).verdicts:
        words = sentence(verdict.reason, verdict.numbers, now=NOW)
        assert strange(words, verdict.numbers, NOW) == []
        said, _, change = words.partition(" With ")
        assert said.count(". ") <= 1
        assert change.count(".") <= 1
        assert words.endswith(".")
        json.dumps(verdict.numbers, allow_nan=False)  # it is stored as it is


def varied(value: Fact) -> st.SearchStrategy[Fact]:
    """Another value of the same kind."""
    if isinstance(value, int):
        return st.integers(0, 50_000)
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        return st.integers(0, 20_000).map(lambda m: (NOW + timedelta(minutes=m)).isoformat())
    return st.just(value)


@quick
@given(st.data(), st.sampled_from(Reason), st.sampled_from((None, NOW)))
def test_every_number_in_any_sentence_is_in_its_numbers(
    data: st.DataObject, reason: Reason, now: datetime | None
) -> None:
    numbers = data.draw(
        st.fixed_dictionaries({key: varied(value) for key, value in GOLDEN[reason][0].items()})
    )
    assert strange(sentence(reason, numbers, now=now), numbers, now) == []


OTHERS: dict[str, tuple[Reason, Facts]] = {
    "You run 5 jobs and may run at most 5 at once.": (
        R.NOT_ALLOWED,
        {"kind": "jobs", "running": 5, "most": 5},
    ),
    "You run 1 standard job and may run at most 1 at once.": (
        R.NOT_ALLOWED,
        {"kind": "jobs", "tier": "standard", "running": 1, "most": 1},
    ),
    "1 GPU is free now but kept for a job of team language, whose place is being made.": (
        R.RESERVED,
        {"asked": 1, "free": 1, "for_job": "of team language", "limit_min": 0},
    ),
    "Standard jobs of 64 GPUs and more wait from 8 to 18 h (UTC), and it asks for 96. "
    "It may start after 18:00 UTC on 18 Nov.": (
        R.NOT_ALLOWED,
        {"kind": "peak", "tier": "standard", "gpus": 64, "asked": 96, "from_hour": 8, "until_hour": 18}
        | {"until": "2026-11-18T18:00:00+00:00"},
    ),
    "Team vision may not use the production tier now; an administrator can allow it.": (
        R.NOT_ALLOWED,
        {"kind": "tier", "team": "vision", "what": "the production tier", "who": "an administrator"},
    ),
    "On hold since 09:12 UTC on 18 Nov by Alice.": (
        R.HELD,
        {"since": "2026-11-18T09:12:00+00:00", "by": "Alice", "note": ""},
    ),
    "Waits for preprocess-7, which is waiting.": (R.DEPENDS, {"name": "preprocess-7", "state": "waiting"}),
    "Team org, which vision belongs to, holds 60 of its 64 H100 and this job needs 8.": (
        R.TEAM_LIMIT,
        LIMIT | {"team": "org", "held": 60, "limit": 64, "borrowed": 0},
    ),
    "Team vision holds 96 of its 96 H100 (64 own + 32 borrowed) and this job needs 8. "
    "The limits of its running jobs do not say when enough come free.": (R.TEAM_LIMIT, LIMIT | {"no_end": 1}),
    "Team vision holds 60 of its own 64 H100, this job needs 8 more and no team has enough idle quota to lend.": (
        R.NOTHING_TO_BORROW,
        LOAN | {"held": 60},
    ),
    "Team vision's own 64 H100 are in use and no team has enough idle quota to lend; "
    "the limits of what runs do not say when enough come back.": (
        R.NOTHING_TO_BORROW,
        LOAN | {"no_end": 1},
    ),
    "Team guests has no H100 of its own and no team has enough idle quota to lend.": (
        R.NOTHING_TO_BORROW,
        {"asked": 8, "gpu_type": "H100", "team": "guests", "own_team": "guests", "why": "used"},
    ),
    "Team vision has lent its own H100, and what is free is kept for others; "
    "enough come back in about 40 min at the latest, when job 4711 ends.": (
        R.NOTHING_TO_BORROW,
        LOAN | ENDS | {"why": "lent"},
    ),
    "A loan must be back within 1 h, and this job may not be stopped so soon: it waits for 8 H100 "
    "of team vision's own. With a limit of at most 59 min it could borrow.": (
        R.NOTHING_TO_BORROW,
        LOAN | {"why": "firm", "promise_min": 60, "fits_min": 59},
    ),
    "A loan must be back within 1 min, and this job may not be stopped so soon: it waits for 8 H100 "
    "of team vision's own.": (
        R.NOTHING_TO_BORROW,
        LOAN | {"why": "firm", "promise_min": 1, "fits_min": 0},
    ),
    "The clusters north and south have not answered; their jobs keep running, nothing new starts there.": (
        R.UNREACHABLE,
        {"cluster": "north and south", "clusters": 2},
    ),
    "The window firmware starts at 20:00 UTC on 18 Nov and your job has no limit. "
    "With a limit under 5 h it would start now.": (
        R.MAINTENANCE,
        {"begins": "2026-11-18T20:00:00+00:00", "window": "firmware", "limit_min": 0, "fits_min": 300},
    ),
    "A maintenance window lasts until 20:00 UTC on 18 Nov and holds the places that your job needs.": (
        R.MAINTENANCE,
        {"ends": "2026-11-18T20:00:00+00:00", "limit_min": 60},
    ),
    "1 node is out of service (drained). With it your job would fit; without it: room for it comes free "
    "in about 40 min at the latest, when job 4711 ends, unless a job ahead takes it.": (
        R.CAPACITY_DOWN,
        {"asked": 8, "down_nodes": 1, "drained": 1, "others_ahead": 1} | ENDS,
    ),
    "The last of its places on n1 are coming free; starts within 1 min.": (
        R.STOPPING_OTHERS,
        {"victims": 0, "tier": "", "within_min": 1, "place": "n1"},
    ),
    "2 jobs are saving a checkpoint to make room on 3 nodes; starts within 2 min.": (
        R.STOPPING_OTHERS,
        {"victims": 2, "tier": "", "within_min": 2, "place": "3 nodes"},
    ),
    "All 3 clusters are full: it needs 64 H100 in one, none has any free. "
    "The limits of the running jobs do not say when room comes free.": (
        R.FULL,
        SHORT | {"clusters": 3, "free": 0, "no_end": 1},
    ),
    "The training pool is full: it needs 64 H100, 12 are free (40 more without the feature ib). "
    "Room for it should come free in about 40 min, when job 4711 should end. With 4 nodes it would start now.": (
        R.FULL,
        SHORT
        | ENDS
        | {"certain": 0, "barred": 40, "barred_by": ["the feature ib"], "fits_gpus": 32, "fits_nodes": 4},
    ),
    "The training pool is full: it needs 64 H100, 12 are free. "
    "The search for a place for it ended before it was complete.": (
        R.FULL,
        SHORT | ENDS | {"search_ended": 1},
    ),
    "The cluster is full: it needs 64 H100, 1 is free. With 32 GPUs it would start now.": (
        R.FULL,
        SHORT | {"pool": "", "cluster": "", "free": 1, "fits_gpus": 32, "fits_nodes": 0},
    ),
    "1,040 H100 are free, but only 2 nodes have 8 of them and your job asks for 8 such nodes. "
    "Room for it comes free in about 40 min at the latest, when job 4711 ends.": (R.SCATTERED, APART | ENDS),
    "1,040 H100 are free, but no node in one rack has 8 of them and your job asks for 8 such nodes in one rack. "
    "From 16:00 UTC on 18 Nov on any place will do.": (
        R.SCATTERED,
        APART
        | {
            "fitting_nodes": 0,
            "level": "rack",
            "fits_preferred": "rack",
            "relaxes_at": "2026-11-18T16:00:00+00:00",
        },
    ),
    "12 H100 are free, but at most 4 in one node and your job asks for 8 in one node.": (
        R.SCATTERED,
        SHORT | {"split": "node", "largest": 4, "nodes": 1},
    ),
    "12 H100 are free, but only 8 in whole groups of 4 that share NVLink and your job asks for 12.": (
        R.SCATTERED,
        SHORT | {"split": "groups", "asked": 12, "tp": 4, "largest": 8},
    ),
    "12 H100 are free, but the CPUs, memory or disk beside them last for 8 and your job asks for 12.": (
        R.SCATTERED,
        SHORT | {"split": "beside", "asked": 12, "largest": 8},
    ),
    "12 H100 are free, but your job takes at most 4 on spot nodes and too few of the others are.": (
        R.SCATTERED,
        SHORT | {"split": "spot", "spot_most": 4},
    ),
    "1 GPU is free now but kept for job 4702, whose place is being made.": (
        R.RESERVED,
        {"asked": 1, "free": 1, "for_job": 4702, "limit_min": 0},
    ),
    "8 GPUs are free now but planned for job 4702 at 16:00 UTC on 18 Nov; your job has no limit and might delay it. "
    "Planned on rack r07 in about 40 min at the latest, when job 4711 ends.": (
        R.RESERVED,
        {"asked": 1, "free": 8, "for_job": 4702, "limit_min": 0, "at": "2026-11-18T16:00:00+00:00"} | PLANNED,
    ),
    "Not yet considered in this round (10,000 jobs waiting).": (R.NOT_REACHED, {"waiting": 10000}),
}
RULES = {
    "tier": "they have a higher tier",
    "quota": "they are inside their team's quota and your job would borrow",
    "priority": "their team has a higher priority for what is idle",
    "user": "its user used 1.5 x its share, their user without any share",
    "deadline": "they have less time left until the deadline",
    "submitted": "they came earlier",
    "number": "they came earlier",
    "quick": "they should be done sooner",
    "turns": "their turn came first",
    "": "they have a higher tier or came earlier",
}


@pytest.mark.parametrize("rule", RULES)
def test_the_order_says_by_which_rule(rule: str) -> None:
    told = sentence(R.ORDER, TOOK | {"rule": rule, "our_times": 1.5, "their_times": "none"})
    assert (
        told == f"It would fit, but 11 jobs asking for 96 GPUs are ahead and take the places: {RULES[rule]}."
    )


def test_one_job_ahead_is_not_many() -> None:
    told = sentence(R.ORDER, TOOK | {"took_jobs": 1, "took_gpus": 8, "rule": "quota"})
    assert told == (
        "It would fit, but 1 job asking for 8 GPUs is ahead and takes the place: "
        "it is inside its team's quota and your job would borrow."
    )


@pytest.mark.parametrize("want", OTHERS)
def test_the_other_wordings_read(want: str) -> None:
    assert sentence(*OTHERS[want]) == want


TIMES = {
    "18:00": NOW.replace(hour=18, minute=0),
    "14:24": NOW - timedelta(minutes=1),
    "01:15 tomorrow": NOW.replace(day=19, hour=1, minute=15),
    "08:30 Mon": NOW.replace(day=23, hour=8, minute=30),
    "14:25 on 25 Nov": NOW + timedelta(days=7),
    "14:25 on 17 Nov": NOW - timedelta(days=1),
}


@pytest.mark.parametrize("want", TIMES)
def test_a_time_of_day_has_its_day_when_it_is_not_today(want: str) -> None:
    assert clock(TIMES[want], NOW) == want


def test_a_time_of_day_is_in_the_readers_zone_and_without_one_says_utc() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=10)))
    assert clock(NOW, there) == "00:25"
    assert clock(NOW, None) == "14:25 UTC on 18 Nov"


DURATIONS = {
    0: "0 min",
    18: "18 min",
    60: "1 h",
    340: "5 h 40 min",
    1440: "1 d",
    4560: "3 d 4 h",
    1445: "1 d",
}


@pytest.mark.parametrize("minutes", DURATIONS)
def test_a_duration_is_written_as_the_pages_write_it(minutes: int) -> None:
    assert lasting(minutes) == DURATIONS[minutes]


def test_a_time_ahead_is_about() -> None:
    told = [in_about(minutes) for minutes in (40, 150, 1440, 3 * 1440)]
    assert told == ["in about 40 min", "in about 2 h 30 min", "in about 1 day", "in about 3 days"]


def test_lists_end_with_and() -> None:
    assert [listed(["A"]), listed(["A", "B"]), listed(["A", "B", "C"])] == ["A", "A and B", "A, B and C"]


def test_a_number_that_is_none_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="'many' is not a number"):
        sentence(R.ORDER, {"took_jobs": "many", "took_gpus": 8})

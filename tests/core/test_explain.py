"""Every reason has its sentence, and a sentence says no number that its verdict does not hold."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.explain import sentence
from scheduler.core.model import Fact, Facts
from scheduler.core.planner import plan
from scheduler.core.reasons import Reason
from scheduler.core.spell import clock, in_about, lasting, listed
from tests.core.builders import NOW
from tests.core.worlds import World, quick, worlds

R = Reason
ENDS: dict[str, Fact] = {"ends_job": 4711, "ends_by": "2026-11-18T15:05:00+00:00", "ends_in_min": 40}
SHORT: dict[str, Fact] = {"asked": 64, "nodes": 8, "gpus_per_node": 8, "gpu_type": "H100", "types": ["H100"]}
SHORT |= {"free": 12, "largest": 4, "fitting_nodes": 0, "pool": "training", "cluster": "north", "clusters": 1}
FITS: dict[str, Fact] = {"limit_min": 720, "fits_min": 300}

GOLDEN: dict[Reason, tuple[Facts, str]] = {
    R.IMPOSSIBLE: (
        {"kind": "node", "gpu_type": "", "nodes": 1, "gpus_per_node": 16, "largest": 8},
        "This can never run here: it needs 16 GPUs in one node and the largest node has 8.",
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
        {"asked": 8, "gpu_type": "H100", "team": "vision", "own_team": "vision", "held": 96, "nominal": 96}
        | ENDS,
        "Team vision holds 96 of its 96 H100 and this job needs 8. "
        "Enough come free in about 40 min at the latest, when job 4711 ends.",
    ),
    R.NOTHING_TO_BORROW: (
        {"team": "vision", "nominal": 64, "gpu_type": "H100", "next_gpus": 8, "in_min": 120},
        "Team vision's own 64 H100 are in use and no team has idle quota to lend; "
        "the next 8 are expected in about 2 h.",
    ),
    R.UNREACHABLE: (
        {"cluster": "frankfurt", "silent_min": 6},
        "The cluster frankfurt has not answered for 6 min; its jobs keep running, nothing new starts there.",
    ),
    R.MAINTENANCE: (
        {"begins": "2026-11-18T20:00:00+00:00"} | FITS,
        "A maintenance window starts at 20:00 and your limit is 12 h. "
        "With a limit under 5 h it would start now.",
    ),
    R.CAPACITY_DOWN: (
        {"asked": 8, "down_nodes": 5, "drained": 3, "lost": 2, "ahead_jobs": 0} | ENDS,
        "5 nodes are out of service (3 drained and 2 lost). With them your job would fit; "
        "without them room comes free in about 40 min at the latest, when job 4711 ends.",
    ),
    R.STOPPING_OTHERS: (
        {"victims": 3, "tier": "opportunistic", "within_min": 2},
        "3 opportunistic jobs are saving a checkpoint to make room; starts within 2 min.",
    ),
    R.FULL: (
        SHORT | ENDS | {"ahead_jobs": 3},
        "The training pool is full: it needs 64 H100, 12 are free. Room for it comes free "
        "in about 40 min at the latest, when job 4711 ends, unless one of the 3 jobs ahead takes it.",
    ),
    R.SCATTERED: (
        SHORT | ENDS | {"free": 1040, "fitting_nodes": 2, "ahead_jobs": 0},
        "1,040 H100 are free, but only 2 nodes have 8 of them and your job asks for 8 such nodes. "
        "Room for it comes free in about 40 min at the latest, when job 4711 ends.",
    ),
    R.RESERVED: (
        {"free": 16, "for_job": 4702, "at": "2026-11-19T01:30:00+00:00"} | FITS,
        "16 GPUs are free now but planned for job 4702 at 01:30 tomorrow; your limit of 12 h would delay it. "
        "With a limit under 5 h it would start now.",
    ),
    R.ORDER: (
        {"asked": 8, "took_jobs": 11, "took_gpus": 96},
        "It would fit, but 11 jobs asking for 96 GPUs are ahead and take the places: "
        "they have a higher tier or came earlier.",
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
    assert "your" not in told
    assert "you " not in told


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
    for phrase in sorted(spelled(numbers, now), key=len, reverse=True):
        words = re.sub(rf"(?<![\w,]){re.escape(phrase)}(?!\w)", "…", words) if phrase else words
    plain = [value for value in numbers.values() if isinstance(value, int | float)]
    known = {f"{value:,}" for value in plain} | {str(value) for value in plain}
    return [figure for figure in re.findall(r"\d[\d,.]*", words) if figure.rstrip(",.") not in known]


@quick
@given(worlds())
def test_every_number_in_the_sentence_of_a_plan_is_in_its_numbers(world: World) -> None:
    for verdict in plan(world.snap).verdicts:
        words = sentence(verdict.reason, verdict.numbers, now=NOW)
        assert strange(words, verdict.numbers, NOW) == []
        assert words.count(". ") <= 1
        assert words.endswith(".")


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
    "Alice runs 5 jobs and may run at most 5 at once.": (
        R.NOT_ALLOWED,
        {"kind": "jobs", "who": "Alice", "running": 5, "most": 5},
    ),
    "Team vision may not use the production tier now; an administrator can allow it.": (
        R.NOT_ALLOWED,
        {"kind": "tier", "team": "vision", "what": "the production tier", "who": "an administrator"},
    ),
    "Waits for preprocess-7, which is waiting.": (R.DEPENDS, {"name": "preprocess-7", "state": "waiting"}),
    "All 3 clusters are full: it needs 64 H100 in one, none has any free. "
    "The limits of the running jobs do not say when room comes free.": (
        R.FULL,
        SHORT | {"clusters": 3, "free": 0, "ahead_jobs": 0},
    ),
    "12 H100 are free, but no node has 8 of them and your job asks for 8 such nodes. "
    "The limits of the running jobs do not say when room comes free.": (
        R.SCATTERED,
        SHORT | {"ahead_jobs": 0},
    ),
}


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

"""Numbers and moments, written as the design language asks."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from portal import moments, words

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 4, 14, 12, 25, 8, tzinfo=UTC)  # Tuesday, 14:25:08 in Berlin


def plain(text: str) -> str:
    return text.replace("\u00a0", "~")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0~s"), (0.4, "under~1~s"), (-3, "0~s"), (41, "41~s"), (59.9, "59~s"), (60, "1~min"),
        (18 * 60 + 59, "18~min"), (3_600, "1~h"), (5 * 3_600 + 40 * 60, "5~h~40~min"),
        (7 * 3_600 + 5 * 60, "7~h~05~min"), (86_400, "24~h"), (2 * 86_400, "48~h"),
        (3 * 86_400 + 4 * 3_600, "3~d~4~h"), (5 * 86_400, "5~d"),
    ],
)  # fmt: skip
def test_a_duration_is_cut_to_two_units(seconds: float, text: str) -> None:
    assert plain(words.duration(seconds)) == text
    assert plain(words.duration(timedelta(seconds=seconds))) == text


def test_what_was_not_measured_is_empty_and_not_zero() -> None:
    assert [f(None) for f in (words.duration, words.count, words.money, words.memory, words.gpu_hours)] == [
        ""
    ] * 5
    assert words.unit(None, "W") == ""
    assert words.share(3, 0) == ""


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (1_204, "1,204"), (-4, "−4"), (1_000_000, "1,000,000"), (-0.2, "0")]
)
def test_counts_have_commas_and_a_true_minus(number: float, text: str) -> None:
    assert words.count(number) == text


def test_a_number_and_its_unit_never_part() -> None:
    assert words.unit(420, "W") == "420\u00a0W"
    assert words.unit(64, "°C") == "64\u00a0°C"
    assert " " not in words.gpu_hours(3_600_000) + words.duration(7_500) + words.money(5)


@pytest.mark.parametrize(("number", "text"), [(0, "no~jobs"), (1, "1~job"), (1_204, "1,204~jobs")])
def test_many_agrees_with_its_number(number: int, text: str) -> None:
    assert plain(words.many(number, "job")) == text
    assert plain(words.many(3, "person", "people")) == "3~people"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""), (["n1"], "n1"), (["n1", "n2"], "n1 and n2"), (["n1", "n2", "n3"], "n1, n2 and n3"),
        (["n1", "n2", "n3", "n4"], "n1, n2 and 2~more"),
    ],
)  # fmt: skip
def test_a_list_names_a_few_and_counts_the_rest(names: list[str], text: str) -> None:
    assert plain(words.listed(names)) == text


@pytest.mark.parametrize(
    ("micros", "exact", "rounded"),
    [
        (0, "€0.00", "€0.00"), (117_873_400, "€117.87", "€117.87"), (4_999, "under~€0.01", "under~€0.01"),
        (5_000, "€0.01", "€0.01"), (450_447_300_000, "€450,447.30", "€450,447"), (-3_500_000, "−€3.50", "−€3.50"),
        (999_999_999, "€1,000.00", "€1,000.00"), (10**15 + 5_000, "€1,000,000,000.01", "€1,000,000,000"),
    ],
)  # fmt: skip
def test_money_is_exact_for_paying_and_round_for_reading(micros: int, exact: str, rounded: str) -> None:
    assert plain(words.money(micros)) == exact
    assert plain(words.money_round(micros)) == rounded


@pytest.mark.parametrize(
    ("ms", "reading", "paying"),
    [
        (0, "0.00~GPU-h", "0.00~GPU-h"), (140_040_000, "38.9~GPU-h", "38.90~GPU-h"),
        (1_024 * 3_600_000, "1,024~GPU-h", "1,024.00~GPU-h"), (360_000, "0.10~GPU-h", "0.10~GPU-h"),
    ],
)  # fmt: skip
def test_gpu_hours_for_reading_and_for_paying(ms: int, reading: str, paying: str) -> None:
    assert plain(words.gpu_hours(ms)) == reading
    assert plain(words.gpu_hours_exact(ms)) == paying


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(87, 100, "87~%"), (0, 9, "0~%"), (1, 900, "under~1~%"), (899, 900, "over~99~%"), (9, 9, "100~%"), (102, 100, "102~%")],
)  # fmt: skip
def test_a_little_is_not_nothing_and_nearly_all_is_not_all(part: float, whole: float, text: str) -> None:
    assert plain(words.share(part, whole)) == text


@pytest.mark.parametrize(
    ("now", "before", "text"),
    [(106, 100, "+6.0~%"), (95.6, 100, "−4.4~%"), (100.01, 100, "unchanged"), (5, 0, "")],
)
def test_a_change_carries_its_sign(now: float, before: float, text: str) -> None:
    assert plain(words.change(now, before)) == text


def test_gpus_are_written_with_a_true_times_sign() -> None:
    assert plain(words.shape(1, 8, "H100")) == "8~×~H100 in one node"
    assert plain(words.shape(2, 8, "H100")) == "16~×~H100 on 2~nodes"
    assert plain(words.shape(1, 1)) == "1~GPU in one node"


def test_memory_and_file_sizes() -> None:
    assert [plain(words.memory(mib)) for mib in (512, 72_704, 81_920)] == ["512~MB", "71~GB", "80~GB"]
    assert [plain(words.size(n)) for n in (41, 1_200, 3_400_000, 84_100_000_000)] == [
        "41~B", "1.2~kB", "3.4~MB", "84~GB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ("2026-04-14T11:52Z", "13:52"), ("2026-04-14T23:15Z", "01:15~tomorrow"), ("2026-04-13T10:00Z", "12:00~yesterday"),
        ("2026-04-15T22:30Z", "00:30~Thu"), ("2026-04-08T06:30Z", "08:30~Wed"), ("2026-04-24T06:30Z", "24~Apr"),
        ("2025-04-17T06:30Z", "17~Apr~2025"), ("2026-04-13T22:10Z", "00:10"),
    ],
)  # fmt: skip
def test_a_clock_time_names_its_day_when_it_is_not_today(at: str, text: str) -> None:
    assert plain(moments.clock(datetime.fromisoformat(at), NOW, BERLIN)) == text


def test_the_day_is_the_readers_day_and_not_that_of_utc() -> None:
    late = datetime(2026, 4, 14, 22, 30, tzinfo=UTC)
    assert moments.clock(late, NOW, UTC) == "22:30"
    assert plain(moments.clock(late, NOW, BERLIN)) == "00:30~tomorrow"


def test_past_and_future_distances() -> None:
    assert plain(moments.ago(NOW - timedelta(minutes=9), NOW)) == "9~min ago"
    assert moments.ago(NOW + timedelta(seconds=2), NOW) == "now"
    assert plain(moments.since(NOW - timedelta(minutes=33), NOW, BERLIN)) == "33~min (since 13:52)"
    assert moments.ahead(NOW, NOW) == "now"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (12, "in about 15~s"), (58, "in about 1~min"), (61, "in about 2~min"), (39 * 60, "in about 40~min"),
        (6_200, "in about 1~h~45~min"), (6.2 * 3_600, "in about 6~h~30~min"),
    ],
)  # fmt: skip
def test_an_estimate_is_coarse_and_rounds_up(seconds: float, text: str) -> None:
    assert plain(moments.ahead(NOW + timedelta(seconds=seconds), NOW)) == text


def test_clock_with_seconds_and_the_line_of_the_day() -> None:
    assert moments.clock_exact(NOW, BERLIN) == "14:25:08"
    assert plain(moments.date_line(NOW, BERLIN)) == "Tuesday 14~April, 14:25"

"""Money: whole milliseconds times whole micro-units, the same however a period is cut."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from portal.jobs.models import Hold, Job
from portal.jobs.queries import cost, costs
from portal.showback.models import Rate
from portal.showback.pricing import MS_PER_HOUR, Bill, Span, bill, ms_between
from tests.portal.conftest import counted
from tests.portal.stage import Stage

START = datetime(2026, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 10**12).map(lambda us: START + timedelta(microseconds=us))
RATES = st.lists(st.tuples(MOMENTS, st.integers(0, 10**8)), max_size=4, unique_by=lambda rate: rate[0]).map(
    sorted
)
SPANS = st.tuples(MOMENTS, MOMENTS).map(sorted)


def total(bills: list[Bill]) -> Bill:
    return Bill(
        sum(b.gpu_ms for b in bills), sum(b.micro_ms for b in bills), sum(b.unpriced_ms for b in bills)
    )


@settings(deadline=None)
@given(span=SPANS, cuts=st.lists(MOMENTS, max_size=5), rates=RATES)
def test_cutting_a_period_anywhere_changes_neither_time_nor_money(
    span: list[datetime], cuts: list[datetime], rates: list[tuple[datetime, int]]
) -> None:
    begin, end = span
    inside = sorted(cut for cut in cuts if begin < cut < end)
    pieces = [Span("H100", a, b) for a, b in pairwise([begin, *inside, end])]
    whole = bill([Span("H100", begin, end)], {"H100": rates})
    assert total([bill([piece], {"H100": rates}) for piece in pieces]) == whole
    assert bill(pieces, {"H100": rates}) == whole


@settings(deadline=None)
@given(span=SPANS, rates=RATES)
def test_time_is_the_milliseconds_of_the_clock_and_each_is_priced_or_not(
    span: list[datetime], rates: list[tuple[datetime, int]]
) -> None:
    found = bill([Span("H100", *span)], {"H100": rates})
    assert found.gpu_ms == ms_between(*span)
    assert abs(found.gpu_ms - (span[1] - span[0]) / timedelta(milliseconds=1)) <= 1
    dear, cheap = max([r for _, r in rates], default=0), min([r for _, r in rates], default=0)
    priced = found.gpu_ms - found.unpriced_ms
    assert priced * cheap <= found.micro_ms <= priced * dear
    if rates and span[0] >= rates[0][0]:
        assert found.unpriced_ms == 0


@given(MOMENTS, MOMENTS, st.integers(-14, 14))
def test_the_zone_in_which_a_moment_is_written_changes_nothing(a: datetime, b: datetime, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    assert ms_between(a.astimezone(zone), b) == ms_between(a, b.astimezone(zone)) == ms_between(a, b)


def test_a_change_of_rate_inside_a_span_splits_it_there() -> None:
    hour = timedelta(hours=1)
    rates = {"H100": [(START, 2_000_000), (START + hour, 3_000_000), (START + 9 * hour, 10**9)]}
    found = bill([Span("H100", START + hour / 2, START + 2 * hour)], rates)
    assert (found.gpu_ms, found.micros, found.unpriced_ms) == (90 * 60_000, 1_000_000 + 3_000_000, 0)


def test_a_type_without_a_rate_is_counted_as_unpriced() -> None:
    hour = timedelta(hours=1)
    rates = {"H100": [(START + hour, 1_000_000)]}
    found = bill([Span("H100", START, START + 3 * hour), Span("B200", START, START + hour)], rates)
    assert (found.gpu_ms, found.unpriced_ms, found.micros) == (4 * MS_PER_HOUR, 2 * MS_PER_HOUR, 2_000_000)


def test_a_fraction_is_rounded_only_when_it_is_shown() -> None:
    one = bill([Span("H100", START, START + timedelta(milliseconds=1))], {"H100": [(START, 1_800_000)]})
    assert one.micros == 1  # half a micro-unit, half up
    assert total([one] * 3_600_000).micros == 1_800_000


def test_a_job_costs_the_sum_of_its_holds_over_all_its_runs(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    stage.add_nodes("b1", kind="B200")
    job = stage.submit(nodes=2, gpus_per_node=8, gpu_type="H100")
    run = stage.running(job)
    stage.later(99.5)
    for name in stage.where(run):
        stage.agents[name].forget(run)
    stage.beat()
    second = stage.running(job)
    Rate.objects.create(gpu_type="H100", micros_per_hour=7_200_000, valid_from=stage.later(10))
    stage.later(10)
    open_bill = cost(job, now=stage.now)
    for name in stage.where(second):
        stage.agents[name].end(second)
    stage.beat()
    assert cost(job, now=stage.later(3600)) == open_bill
    by_hand = [
        bill([Span("H100", hold.held_from, hold.released_at)],
             {"H100": [(r.valid_from, r.micros_per_hour) for r in Rate.objects.order_by("valid_from")]})
        for hold in Hold.objects.filter(run__job=job)
    ]  # fmt: skip
    assert total(by_hand) == open_bill
    # 100.5 s of the first run and 11 s of the second at 3.60 an hour, then 10 s at 7.20; 16 GPUs.
    assert open_bill.gpu_ms == 16 * (100_500 + 1_000 + 10_000 + 10_000)
    assert open_bill.micros == 16 * (100_500 + 11_000 + 2 * 10_000)


def test_many_jobs_are_priced_in_two_queries(stage: Stage) -> None:
    stage.add_nodes("n1")
    jobs = [stage.submit() for _ in range(8)]
    stage.turn()
    with counted() as queries:
        found = costs([job.pk for job in jobs], now=stage.later(60))
    assert len(queries) == 2
    assert {bill.gpu_ms for bill in found.values()} == {60_000}
    assert cost(stage.submit(), now=stage.now) == Bill()


def test_the_bill_begins_and_ends_with_the_hold_not_with_the_ranks(stage: Stage) -> None:
    """Starting and stopping keep others out too."""
    stage.add_nodes("n1")
    job = stage.submit()
    run = stage.started(job)
    stage.later(30)
    stage.agents["n1"].start(run)
    stage.beat()
    stage.later(30)
    stage.agents["n1"].end(run)
    stage.beat()
    assert cost(Job.objects.get(pk=job.pk), now=stage.later(99)).gpu_ms == 60_000

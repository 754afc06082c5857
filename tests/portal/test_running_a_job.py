"""A job from submission to its end, as its agents tell it."""

import pytest
from redis import Redis

from portal.jobs.models import Hold, Job, Rank, Run, Seat
from portal.jobs.queries import cost
from portal.journal.models import Entry
from scheduler.wire import digest
from tests.portal.stage import Stage, held, phase


@pytest.fixture
def gang(stage: Stage) -> Job:
    """Two nodes with eight GPUs each, and a job that wants all of them."""
    stage.add_nodes("n1", "n2")
    return stage.submit("gang", nodes=2, gpus_per_node=8)


def test_a_started_job_has_holds_seats_and_ranks_on_distinct_gpus(stage: Stage, gang: Job) -> None:
    run = stage.started(gang)
    assert (phase(gang), run.phase, run.epoch) == ("starting", "starting", 1)
    assert Hold.objects.filter(run=run, released_at=None).values("gpu").distinct().count() == 16
    seats = list(run.seats.select_related("node"))
    assert [seat.node_rank for seat in seats] == [0, 1]
    assert {seat.node.name for seat in seats} == {"n1", "n2"}
    ranks = list(run.ranks.select_related("gpu", "seat"))
    assert [rank.rank for rank in ranks] == list(range(16))
    assert [rank.local_rank for rank in ranks] == [*range(8), *range(8)]
    assert all(rank.gpu.node_id == rank.seat.node_id for rank in ranks)


def test_each_seat_has_a_spec_that_its_digest_names(stage: Stage, gang: Job) -> None:
    run = stage.started(gang)
    for seat in run.seats.select_related("node"):
        spec = seat.spec
        assert digest(spec) == seat.digest
        assert (spec["run"], spec["epoch"], spec["node_rank"]) == (run.pk, 1, seat.node_rank)
        assert (spec["world_size"], spec["nodes"], spec["gpus_per_node"]) == (16, 2, 8)
        assert [each["rank"] for each in spec["ranks"]] == [seat.node_rank * 8 + i for i in range(8)]
        assert {each["gpu_uuid"] for each in spec["ranks"]} == {f"GPU-{seat.node}-{i}" for i in range(8)}
    first, second = run.seats.all()
    assert first.spec["master_addr"] == second.spec["master_addr"] == first.node.address


def test_the_agents_are_ordered_to_run_exactly_that(stage: Stage, gang: Job, link: Redis) -> None:
    for agent in stage.agents.values():
        agent.orders(link)
    run = stage.started(gang)
    for seat in run.seats.select_related("node"):
        orders = stage.agents[seat.node.name].orders(link)
        assert orders is not None
        assert [(one.run, one.epoch, one.digest, one.want) for one in orders.runs] == [
            (run.pk, 1, seat.digest, "run")
        ]


def test_it_runs_when_every_rank_of_every_node_runs(stage: Stage, gang: Job) -> None:
    run = stage.started(gang)
    stage.agents["n1"].start(run)
    stage.beat()
    assert (phase(gang), Seat.objects.get(run=run, node__name="n1").phase) == ("starting", "running")
    stage.agents["n2"].start(run)
    stage.beat("n2")
    run.refresh_from_db()
    assert (phase(gang), run.phase, run.started_at) == ("running", "running", stage.now)


def test_a_run_that_is_only_being_fetched_does_not_run(stage: Stage, gang: Job) -> None:
    """An agent answers for every run in its orders; before its ranks exist it has none to tell of."""
    from scheduler.wire import RunSeen

    run = stage.started(gang)
    for agent in stage.agents.values():
        agent.runs[run.pk] = RunSeen(run.pk, 1, "starting")
    stage.beat()
    assert phase(gang) == "starting"
    assert set(run.seats.values_list("phase", flat=True)) == {"ordered"}


def test_a_node_that_tells_of_half_its_ranks_does_not_run_yet(stage: Stage, gang: Job) -> None:
    from dataclasses import replace

    run = stage.started(gang)
    for agent in stage.agents.values():
        agent.start(run)
        agent.runs[run.pk] = replace(agent.runs[run.pk], ranks=agent.runs[run.pk].ranks[:4])
    stage.beat()
    assert phase(gang) == "starting"


def test_it_finishes_when_every_rank_ended_well_and_frees_its_gpus(stage: Stage, gang: Job) -> None:
    run = stage.running(gang)
    stage.later(60)
    for agent in stage.agents.values():
        agent.end(run)
    stage.beat("n1")
    assert (phase(gang), held(run)) == ("running", 8)
    stage.later(30)
    stage.beat("n2")
    run.refresh_from_db()
    gang.refresh_from_db()
    assert (gang.phase, gang.ended_at, run.phase, run.cause) == ("finished", stage.now, "ended", "finished")
    assert held(run) == 0
    assert set(run.ranks.values_list("state", "exit_code")) == {("ended", 0)}
    # n1 held its eight for 61 s, n2 for 91 s; at 1 a second-GPU-hour per GPU.
    assert cost(gang, now=stage.later(3600)).gpu_ms == 8 * 61_000 + 8 * 91_000


def test_a_failed_rank_stops_the_gang_and_fails_the_job(stage: Stage, gang: Job, link: Redis) -> None:
    run = stage.running(gang)
    stage.agents["n1"].end_rank(run, 3, 7)
    stage.beat("n1")
    run.refresh_from_db()
    assert (phase(gang), run.phase, run.cause, held(run)) == ("stopping", "stopping", "failed", 16)
    stage.agents["n2"].orders(link)
    stage.turn()
    orders = stage.agents["n2"].orders(link)
    assert orders is not None
    assert [one.want for one in orders.runs] == ["stop"]
    stage.agents["n1"].end(run, exits={3: 7})
    stage.agents["n2"].end(run, signal=15)
    stage.beat()
    run.refresh_from_db()
    assert (phase(gang), run.cause, held(run)) == ("failed", "failed", 0)
    assert Rank.objects.get(run=run, rank=3).exit_code == 7
    assert Rank.objects.get(run=run, rank=9).signal == 15


def test_a_job_shorter_than_a_beat_is_finished_and_knows_when_it_ran(stage: Stage) -> None:
    stage.add_nodes("n1")
    job = stage.submit()
    run = stage.started(job)
    stage.agents["n1"].start(run)
    stage.agents["n1"].end(run)
    stage.later()
    stage.beat()
    run.refresh_from_db()
    assert (phase(job), run.cause) == ("finished", "finished")
    assert run.started_at is not None


def test_an_agent_that_cannot_start_a_run_fails_the_job_with_its_sentence(stage: Stage) -> None:
    from scheduler.wire import RunSeen

    stage.add_nodes("n1")
    job = stage.submit()
    run = stage.started(job)
    stage.agents["n1"].runs[run.pk] = RunSeen(run.pk, 1, "ended", "The run could not be started: no space.")
    stage.beat()
    assert (phase(job), held(run)) == ("failed", 0)
    assert run.seats.get().error == "The run could not be started: no space."


def test_the_journal_tells_the_story_in_order(stage: Stage, gang: Job) -> None:
    run = stage.running(gang)
    for agent in stage.agents.values():
        agent.end(run)
    stage.later(5)
    stage.beat()
    told = Entry.objects.filter(kind="job", subject=gang.pk).order_by("id")
    assert [entry.verb for entry in told] == ["submitted", "placed", "running", "finished"]
    assert told[1].sentence == "Run 1 given 16 GPUs on n1 and n2"


def test_nonsense_in_a_rank_report_harms_nobody(stage: Stage, gang: Job) -> None:
    """A moment beyond the calendar is no moment; the beat counts all the same."""
    from dataclasses import replace

    run = stage.started(gang)
    for agent in stage.agents.values():
        agent.start(run)
        seen = agent.runs[run.pk]
        agent.runs[run.pk] = replace(seen, ranks=tuple(replace(r, started_at=1e12) for r in seen.ranks))
    stage.beat()
    assert phase(gang) == "running"
    assert set(Run.objects.get(pk=run.pk).ranks.values_list("started_at", flat=True)) == {None}

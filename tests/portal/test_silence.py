"""Nodes that fall silent: nothing new there, then lost, unless the silence is not theirs."""

from datetime import timedelta

import pytest

from portal.agents.hearing import still_listening
from portal.agents.models import Listening
from portal.cluster.models import Cluster, Node
from portal.cycle import actions as cycle
from portal.cycle import watch
from portal.errors import Conflict
from portal.journal.models import Entry
from tests.portal.stage import Stage, held, phase


def lost() -> set[str]:
    return set(Node.objects.filter(lost_at__isnull=False).values_list("name", flat=True))


def test_a_node_silent_for_30_s_gets_nothing_new_but_keeps_what_it_has(stage: Stage) -> None:
    stage.add_nodes("n1")
    runs_on = stage.submit(gpus_per_node=4)
    stage.running(runs_on)
    stage.pass_time(30, silent=["n1"])
    early = stage.submit(gpus_per_node=2)
    stage.turn()
    assert phase(early) == "starting"
    stage.later(1)
    still_listening(now=stage.now)
    late = stage.submit(gpus_per_node=2)
    stage.turn()
    assert (phase(late), phase(runs_on), lost()) == ("waiting", "running", set())
    late.refresh_from_db()
    assert (late.reason, late.reason_numbers["cluster"]) == ("unreachable", "main")


def test_a_node_that_speaks_again_in_time_lost_nothing(stage: Stage) -> None:
    stage.add_nodes("n1")
    job = stage.submit()
    run = stage.running(job)
    stage.pass_time(55, silent=["n1"])
    stage.beat()
    stage.pass_time(10, silent=["n1"])
    stage.turn()
    assert (phase(job), held(run), lost()) == ("running", 1, set())


def test_after_the_time_out_it_is_lost_its_runs_end_and_the_job_queues_again_in_its_place(
    stage: Stage,
) -> None:
    stage.add_nodes("n1")
    job, behind = stage.submit(gpus_per_node=8), None
    first = stage.running(job)
    stage.later(1)
    behind = stage.submit(gpus_per_node=8)
    stage.pass_time(65, silent=["n1"])
    stage.turn()
    first.refresh_from_db()
    job.refresh_from_db()
    assert (lost(), first.phase, first.cause, held(first)) == ({"n1"}, "ended", "node_lost", 0)
    assert (job.phase, job.ended_at) == ("waiting", None)
    assert set(first.ranks.values_list("state", flat=True)) == {"lost"}
    stage.add_nodes("n2")
    second = stage.started(job)
    assert (second.epoch, stage.where(second), phase(behind)) == (2, ["n2"], "waiting")


def test_survivors_keep_their_gpus_until_their_agents_say_that_it_ended(stage: Stage) -> None:
    stage.add_nodes("n1", "n2", "n3", "n4")
    job = stage.submit(nodes=2, gpus_per_node=8)
    run = stage.running(job)
    gone, survivor = stage.where(run)
    stage.pass_time(65, silent=[gone])
    stage.turn()
    assert (phase(job), held(run)) == ("stopping", 8)
    stage.turn()
    assert phase(job) == "stopping"
    stage.agents[survivor].end(run, signal=15)
    stage.beat(survivor)
    assert (phase(job), held(run)) == ("waiting", 0)
    again = stage.started(job)
    assert again.epoch == 2
    assert gone not in stage.where(again)


def test_a_gang_that_fails_because_a_node_fell_silent_queues_again(stage: Stage) -> None:
    """Ranks notice a dead peer long before the time-out does."""
    stage.add_nodes("n1", "n2", "n3", "n4")
    job = stage.submit(nodes=2, gpus_per_node=8)
    run = stage.running(job)
    gone, survivor = stage.where(run)
    stage.pass_time(20, silent=[gone])
    stage.agents[survivor].end(run, exits={8: 1})
    stage.beat(survivor)
    assert phase(job) == "stopping"
    stage.agents[survivor].forget(run)
    stage.pass_time(45, silent=[gone])
    stage.turn()
    run.refresh_from_db()
    assert (run.cause, phase(job)) == ("node_lost", "starting")


def test_a_gang_that_failed_on_the_node_that_then_fell_silent_has_failed(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    job = stage.submit(nodes=2, gpus_per_node=8)
    run = stage.running(job)
    gone, survivor = stage.where(run)
    stage.agents[gone].end_rank(run, 3, 7)
    stage.beat(gone)
    stage.agents[survivor].end(run, signal=15)
    stage.beat(survivor)
    stage.pass_time(65, silent=[gone])
    stage.turn()
    run.refresh_from_db()
    assert (run.cause, phase(job), held(run)) == ("failed", "failed", 0)


def test_a_lost_node_with_leftovers_stays_lost_until_nothing_foreign_runs_there(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    job = stage.submit(gpus_per_node=8)
    run = stage.running(job)
    (gone,) = stage.where(run)
    stage.pass_time(65, silent=[gone])
    stage.turn()
    assert lost() == {gone}
    again = stage.live_run(job)
    assert stage.where(again) == [({"n1", "n2"} - {gone}).pop()]
    stage.beat()  # it still runs the first one
    assert lost() == {gone}
    stage.agents[gone].end(run, signal=15)
    stage.beat()
    assert lost() == {gone}
    stage.agents[gone].forget(run)
    stage.beat()
    assert lost() == set()
    other = stage.submit(gpus_per_node=8)
    assert stage.where(stage.started(other)) == [gone]


def test_what_a_lost_node_says_of_its_former_run_changes_nothing(stage: Stage) -> None:
    stage.add_nodes("n1", "n2")
    job = stage.submit(gpus_per_node=8)
    run = stage.running(job)
    (gone,) = stage.where(run)
    stage.pass_time(65, silent=[gone])
    stage.turn()
    stage.agents[gone].end(run, exits={0: 1})
    stage.beat(gone)
    run.refresh_from_db()
    assert (run.cause, phase(job)) == ("node_lost", "starting")


def test_a_node_that_forgot_a_running_run_has_lost_it(stage: Stage) -> None:
    stage.add_nodes("n1")
    job = stage.submit()
    run = stage.running(job)
    stage.agents["n1"].restart()
    stage.agents["n1"].forget(run)
    stage.later()
    stage.beat()
    run.refresh_from_db()
    assert (run.cause, phase(job), held(run), lost()) == ("node_lost", "waiting", 0, set())
    assert run.seats.get().error == "n1 no longer knows this run."


def test_ranks_that_a_shutdown_ended_are_lost_and_their_job_waits_again(stage: Stage) -> None:
    stage.add_nodes("n1")
    job = stage.submit(gpus_per_node=2)
    run = stage.running(job)
    stage.agents["n1"].end(run, exits={0: 0, 1: None})  # the second had not ended by itself
    stage.beat()
    run.refresh_from_db()
    assert (run.cause, phase(job), held(run)) == ("node_lost", "waiting", 0)
    assert list(run.ranks.values_list("state", "exit_code")) == [("ended", 0), ("lost", None)]


def test_a_restarted_agent_that_adopted_its_ranks_changes_nothing(stage: Stage) -> None:
    stage.add_nodes("n1")
    job = stage.submit()
    run = stage.running(job)
    stage.agents["n1"].restart()
    stage.beat()
    assert (phase(job), held(run)) == ("running", 1)


def test_nobody_is_lost_while_the_portal_itself_is_deaf(stage: Stage) -> None:
    stage.add_nodes("n1")
    job = stage.submit()
    stage.running(job)
    stage.later(3600)
    assert watch.silence_is_ours(now=stage.now)
    stage.turn()
    assert (lost(), phase(job)) == (set(), "running")


def test_after_a_gap_in_hearing_every_node_first_gets_its_whole_time_out(stage: Stage) -> None:
    stage.add_nodes("n1")
    job = stage.submit()
    stage.running(job)
    stage.later(3600)
    stage.pass_time(60, silent=["n1"])
    stage.turn()
    assert lost() == set()
    stage.pass_time(5, silent=["n1"])
    stage.turn()
    assert lost() == {"n1"}


@pytest.mark.parametrize(
    ("nodes", "silent", "loses"), [(8, 3, True), (8, 4, False), (20, 4, True), (20, 5, False)]
)
def test_more_than_three_and_a_fifth_silent_at_once_loses_nobody(
    stage: Stage, nodes: int, silent: int, loses: bool
) -> None:
    names = [f"n{number:02}" for number in range(nodes)]
    stage.add_nodes(*names, gpus=1)
    stage.pass_time(65, silent=names[:silent])
    stage.turn()
    assert lost() == (set(names[:silent]) if loses else set())
    cluster = Cluster.objects.get()
    assert watch.braked(cluster, now=stage.now) == (0 if loses else silent)


def test_the_brake_lets_go_when_beats_return(stage: Stage) -> None:
    names = [f"n{number}" for number in range(8)]
    stage.add_nodes(*names, gpus=1)
    stage.pass_time(65, silent=names[:5])
    stage.turn()
    assert lost() == set()
    stage.pass_time(5, silent=names[:2])
    stage.turn()
    assert lost() == set(names[:2])


def test_a_short_time_out_has_the_same_brake(stage: Stage) -> None:
    names = [f"n{number}" for number in range(8)]
    stage.add_nodes(*names, gpus=1)
    Cluster.objects.update(node_loss_s=10)
    stage.pass_time(10)
    stage.later(10.5)
    stage.beat(*names[4:])
    stage.turn()
    assert lost() == set()


def test_nodes_that_fall_in_waves_are_not_all_lost_within_one_time_out(stage: Stage) -> None:
    names = [f"n{number}" for number in range(8)]
    stage.add_nodes(*names, gpus=1)
    stage.pass_time(35, silent=names[:3])
    stage.pass_time(30, silent=names[:6])
    stage.turn()
    assert lost() == set(names[:3])
    stage.pass_time(35, silent=names[:6])
    stage.turn()
    assert lost() == set(names[:3])
    stage.pass_time(30, silent=names[:6])
    stage.turn()
    assert lost() == set(names[:6])


def test_the_time_out_is_the_clusters_own(stage: Stage) -> None:
    stage.add_nodes("n1")
    Cluster.objects.update(node_loss_s=90_000)
    stage.pass_time(120, silent=["n1"])
    stage.turn()
    assert lost() == set()
    Listening.objects.update(since=stage.now - timedelta(days=3))
    Node.objects.update(last_seen_at=stage.now - timedelta(days=2))
    stage.turn()
    assert lost() == {"n1"}
    sentence = Entry.objects.get(kind="node", verb="lost").sentence
    assert sentence == "n1 has not been heard of for 90000 s: lost"


def test_a_node_never_heard_of_is_not_lost(stage: Stage) -> None:
    """Approved by a join token a moment ago: its first beat is on its way."""
    stage.add_nodes("n1")
    Node.objects.update(last_seen_at=None)
    stage.pass_time(120, silent=["n1"])
    stage.turn()
    assert lost() == set()


def test_a_person_may_lose_a_silent_node_that_the_brakes_keep(stage: Stage) -> None:
    stage.add_nodes("n1", "n2", "n3", "n4", "n5")
    job = stage.submit(gpus_per_node=8)
    run = stage.running(job)
    where = stage.where(run)[0]
    with pytest.raises(Conflict, match="not silent"):
        cycle.declare_lost(node=Node.objects.get(name=where), by=stage.people["noor"], now=stage.now)
    silent = [where, *[name for name in stage.agents if name != where][:3]]
    stage.pass_time(120, silent=silent)
    stage.turn()
    assert not Node.objects.filter(lost_at__isnull=False).exists()  # four of five at once: the brakes hold
    cycle.declare_lost(node=Node.objects.get(name=where), by=stage.people["noor"], now=stage.now)
    stage.turn()
    assert set(Node.objects.filter(lost_at__isnull=False).values_list("name", flat=True)) == {where}
    assert stage.live_run(job).epoch == 2
    assert Entry.objects.filter(verb="lost", actor=stage.people["noor"]).exists()

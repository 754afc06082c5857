"""Tests of scheduler.sim.thinkers.berth: the world as the core sees it, and its plans as acts, with small planners."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields

from hypothesis import given, settings

from scheduler.core.board import Board
from scheduler.core.burden import Burden
from scheduler.core.layout import Layout
from scheduler.core.model import Claim, Job, Promise, Running, Seat, Snapshot
from scheduler.core.policy import Policy
from scheduler.core.reasons import Reason
from scheduler.core.table import Desk
from scheduler.core.verbs import Plan, Receipt, Start, Stop, Swap, Why
from scheduler.sim.clock import Case, Watch, replay
from scheduler.sim.decisions import Decisions
from scheduler.sim.files import read_cluster, read_faults, read_jobs, read_policy
from scheduler.sim.thinkers.berth import Berth
from scheduler.sim.thinkers.snapshots import Snapshots
from scheduler.sim.workload import Ask, Cluster, Crew, Fault, Share
from scheduler.sim.world import World
from tests.sim.stage import Played, ask, nodes, play
from tests.sim.worlds import World as Input
from tests.sim.worlds import worlds

Twist = Callable[[Snapshot, Plan], Plan]
RECEIPT = Receipt(0.0, {})


@dataclass
class Greedy:
    """Starts whoever fits, in the order given; keeps every snapshot; at some moments it decides otherwise."""

    twists: dict[float, Twist] = field(default_factory=dict)
    seen: list[Snapshot] = field(default_factory=list)

    def __call__(self, snap: Snapshot, desk: Desk) -> Plan:
        self.seen.append(snap)
        layout, starts = Layout(snap.nodes), list[Start]()
        board = Board(layout, snap.free, Burden.of(layout, snap.running))
        for job in snap.waiting:
            placement = None if job.gate else board.place(job.request, tier=job.tier, policy=snap.policy)
            if placement is not None:
                board.take(placement.seats, job.request)
                starts.append(Start(job.id, job.version, placement.seats))
        plan = Plan(tuple(starts), ())
        return self.twists.pop(snap.taken_at)(snap, plan) if snap.taken_at in self.twists else plan

    def at(self, moment: float) -> Snapshot:
        """The last snapshot of a moment."""
        return [snap for snap in self.seen if snap.taken_at == moment][-1]


def run(planner: Greedy, *asks: Ask, policy: Policy | None = None, faults: tuple[Fault, ...] = ()) -> Played:
    return play(asks, faults=faults, thinker=Berth(planner), policy=policy)


def job(snap: Snapshot, number: int) -> Job:
    return next(job for job in snap.waiting if job.id == number)


def runs(snap: Snapshot) -> dict[int, Running]:
    return {run.job: run for run in snap.running}


def stopping(victim: int, winner: int) -> Twist:
    return lambda snap, plan: Plan((), (), stops=(Stop(victim, Why.RECALLED, winner, RECEIPT),))


def test_a_plan_is_carried_out_at_every_event() -> None:
    played = run(Greedy(), ask("a", 8), ask("b", 4, submit=10), ask("c", 8, submit=20))
    assert played.tape() == [
        "0 start a",
        "100 finish a",
        "100 start b",
        "200 finish b",
        "200 start c",
        "300 finish c",
    ]


def test_one_plan_serves_the_estimates_and_the_starts_of_an_instant() -> None:
    planner = Greedy()
    run(planner, ask("a", 4), ask("b", 2), ask("c", 2), ask("d", 99))
    assert [snap.taken_at for snap in planner.seen] == [0.0]
    assert [job.id for job in planner.seen[0].waiting] == [0, 1, 2]


def test_nodes_jobs_and_runs_stay_the_same_objects_while_nothing_changes() -> None:
    planner = Greedy()
    run(planner, ask("a", 8), ask("b", 8, submit=10), ask("c", 8, submit=20))
    first, later = planner.at(10), planner.at(20)
    assert later.nodes is first.nodes
    assert job(later, 1) is job(first, 1)
    assert runs(later)[0] is runs(first)[0]


def test_a_run_is_told_with_its_seats_its_end_and_its_owner() -> None:
    planner = Greedy()
    run(planner, ask("a", 8, limit_s=400.0, user="ada", team="vision"), ask("b", 8, submit=10))
    (held,) = planner.at(10).running
    assert held.seats == (Seat(0, (0, 1, 2, 3)), Seat(1, (0, 1, 2, 3)))
    assert (held.ends_by, held.user, held.team, held.started_at) == (400.0, "ada", "vision", 0.0)
    assert (held.saved_at, held.checkpoints, held.stopping) == (None, False, False)
    assert held.expected_end is not None
    assert 10 < held.expected_end <= 400


def test_the_limit_bounds_what_history_says() -> None:
    planner = Greedy()
    run(planner, ask("a", 8, limit_s=150.0), ask("b", 8, submit=10, limit_s=30.0, duration=5))
    assert runs(planner.at(10))[0].expected_end == 150.0
    waiting = job(planner.at(10), 1)
    assert (waiting.forecast_s, waiting.p90_s) == (30.0, 30.0)


def test_history_teaches_and_a_job_s_own_length_does_not() -> None:
    planner = Greedy()
    early = [ask(f"a{n}", 8, submit=0, duration=50) for n in range(40)]
    run(planner, *early, ask("x", 8, submit=1990, duration=5), ask("y", 8, submit=1990, duration=90_000))
    told = planner.at(1990)
    assert job(told, 40).forecast_s == job(told, 41).forecast_s
    forecast = job(told, 40).forecast_s
    assert forecast is not None
    assert 50 <= forecast < 500


def test_a_run_that_outlives_its_forecast_gets_another_one() -> None:
    planner = Greedy()
    run(planner, ask("a", 8, duration=100_000), *(ask(f"b{n}", 8, submit=n * 2000) for n in range(1, 40)))
    ends = [
        snap.running[0].expected_end for snap in planner.seen if snap.running and snap.running[0].job == 0
    ]
    assert all(
        end is not None and end > snap.taken_at for end, snap in zip(ends, planner.seen[1:], strict=False)
    )
    assert 3 < len(set(ends)) < 40


def test_a_stopped_job_waits_again_with_what_was_seen_of_it() -> None:
    planner = Greedy({50.0: stopping(0, 1)})
    late = [ask("b", 4, submit=50, duration=500), ask("c", 8, submit=60)]
    played = run(planner, ask("a", 8, duration=200, checkpoint_s=20.0), *late)
    assert [line["t"] for line in played.lines("ask", "stop")] == [50.0, 55.0]
    assert (runs(planner.at(50))[0].stopping, runs(planner.at(50))[0].stops) == (False, 0)
    back = job(planner.at(60), 0)
    assert (back.seen_s, back.stops, back.version) == (50.0, 1, 1)
    assert planner.at(60).user_stops == {"": 1}


def test_a_run_that_was_asked_to_go_is_told_so_until_it_is_gone() -> None:
    planner = Greedy({50.0: stopping(0, 1)})
    run(planner, ask("a", 8, duration=200, checkpoint_s=20.0), ask("b", 4, submit=50), ask("c", 8, submit=52))
    asked = runs(planner.at(52))[0]
    assert (asked.stopping, asked.asked_at, asked.ends_by, asked.expected_end) == (True, 50.0, 55.0, 55.0)


def test_stops_are_forgotten_after_a_day() -> None:
    planner = Greedy({50.0: stopping(0, 1)})
    late = [ask("b", 4, submit=50), ask("c", 8, submit=1000), ask("d", 8, submit=90_000)]
    run(planner, ask("a", 8, duration=200_000, checkpoint_s=20.0, user="ada"), *late)
    assert (runs(planner.at(1000))[0].stops_today, planner.at(1000).user_stops) == (1, {"ada": 1})
    assert (runs(planner.at(90_000))[0].stops_today, planner.at(90_000).user_stops) == (0, {})
    assert runs(planner.at(90_000))[0].stops == 1


def test_claims_and_promises_of_a_plan_are_known_to_the_next() -> None:
    claim, promise = Claim(1, (Seat(0, (0,)),), (0,), 10.0), Promise(2, 100.0, (Seat(1, (0,)),))
    planner = Greedy({10.0: lambda snap, plan: Plan((), (), claims=(claim,), promises=(promise,))})
    run(planner, ask("a", 8), ask("b", 8, submit=10), ask("c", 8, submit=10), ask("d", 8, submit=20))
    assert (planner.at(20).claims, planner.at(20).promises) == ((claim,), (promise,))


def test_what_must_wait_for_a_time_or_a_job_stands_behind_a_gate() -> None:
    planner = Greedy()
    played = run(
        planner,
        ask("a", 4),
        ask("b", 4, after=("a",)),
        ask("c", 4, not_before_s=30.0),
        ask("d", 4, submit=10),
        ask("e", 4, submit=10),
    )
    reasons = {job.id: job.gate.reason for job in planner.at(0).waiting if job.gate}
    assert reasons == {1: Reason.DEPENDS, 2: Reason.NOT_BEFORE}
    assert played.starts() == {"a": 0, "d": 10, "b": 100, "c": 110, "e": 200}
    assert all(job.gate is None for job in planner.at(100).waiting)


def test_teams_come_with_their_quotas_and_without_any_there_are_none() -> None:
    planner = Greedy()
    crew = Crew("vision", None, 2.0, {"GPU": Share(4, 2, 1)})
    case = Case(Cluster(nodes(2), (crew,)), (ask("a"),))
    replay(case, Berth(planner), Watch(lambda event: None))
    (team,) = planner.seen[0].teams
    share = team.quota["GPU"]
    assert (team.name, team.weight, share.nominal, share.borrow, share.lend) == ("vision", 2.0, 4, 2, 1)
    plain = Greedy()
    run(plain, ask("a"))
    assert plain.seen[0].teams == ()


def test_a_lost_seat_is_swapped_as_the_plan_says() -> None:
    def mending(snap: Snapshot, plan: Plan) -> Plan:
        (lost,) = snap.lost
        return Plan((), (), swaps=(Swap(lost.job, lost.seats[0], Seat(1, (0, 1, 2, 3))),))

    planner = Greedy({50.0: mending})
    played = run(planner, ask("a", 4), faults=(Fault(50, "n1", "down"),))
    assert played.tape("swap", "stop", "finish") == ["50 swap a", "210 finish a"]
    assert not planner.at(50).nodes[0].usable
    assert planner.at(50).nodes[0].why_not == "lost"


def test_a_gang_that_nothing_mends_starts_again() -> None:
    played = run(Greedy(), ask("a", 4), faults=(Fault(50, "n1", "down"),))
    assert played.tape("stop", "start") == ["0 start a", "50 stop a", "50 start a"]


def test_nodes_that_fail_again_and_again_are_lemons_for_a_month() -> None:
    planner, day = Greedy(), 86400.0
    falls = tuple(Fault(t, "n1", word) for t in (10, 20, 30) for word in ("down", "up"))
    run(planner, ask("a", 4, submit=40), ask("b", 4, submit=31 * day), faults=falls)
    assert [node.lemon for node in planner.at(40).nodes] == [2, 0]
    assert [node.lemon for node in planner.at(31 * day).nodes] == [0, 0]


def test_a_drained_node_is_out_of_use_with_its_gpus_counted_as_free() -> None:
    planner = Greedy()
    faults = (Fault(5, "n1", "drain"), Fault(5, "n2", "down", (1,)))
    run(planner, ask("a", 4, submit=10, duration=5), ask("b", 3, submit=10), faults=faults)
    first, second = planner.at(10).nodes
    assert (first.usable, first.why_not, second.usable) == (False, "drained", True)
    assert planner.at(10).free.tolist() == [[True] * 4, [True, False, True, True]]


def test_it_thinks_a_cycle_after_an_event_and_then_more_and_more_rarely() -> None:
    planner = Greedy()
    run(planner, ask("a", 8, duration=2000), ask("b", 8, submit=100), policy=Policy(cycle_s=10.0))
    pauses = [snap.taken_at for snap in planner.seen if 100 <= snap.taken_at < 600]
    assert pauses == [100, 110, 130, 170, 250, 350, 450, 550]


def test_it_thinks_when_a_run_has_had_its_minimum_runtime() -> None:
    planner, policy = (
        Greedy(),
        Policy(cycle_s=100.0, min_runtime_s=dict.fromkeys(Policy().min_runtime_s, 1234.0)),
    )
    run(planner, ask("a", 8, duration=5000), ask("b", 8, submit=10), policy=policy)
    assert 1234.0 in [snap.taken_at for snap in planner.seen]


def test_a_replay_ends_though_somebody_waits_for_ever() -> None:
    played = run(Greedy(), ask("a", 8), ask("b", 8), faults=(Fault(50, "n2", "down"),))
    assert played.record.world.lives[1].phase.value == "unfinished"


class Doubting(Berth):
    """Compares what is kept from thought to thought with what a fresh look says."""

    def think(self, world: World) -> Decisions:
        known = self._of(world)[0]
        kept = Snapshots(world)
        known.look()
        for number in world.running:
            kept.holders.change(number)
        kept.look()
        agree(known.snapshot(), kept.snapshot())
        return super().think(world)


FORGOTTEN = {"expected_end", "saved_at", "seen_s", "forecast_s", "p90_s"}  # what a fresh look cannot know


def agree(kept: Snapshot, fresh: Snapshot) -> None:
    assert kept.nodes == fresh.nodes
    assert kept.free.tolist() == fresh.free.tolist()
    for mine, theirs in ((kept.waiting, fresh.waiting), (kept.running, fresh.running)):
        assert sorted(map(plain, mine)) == sorted(map(plain, theirs))
    never_ran = [
        {job.id: job.forecast_s for job in snap.waiting if not job.version} for snap in (kept, fresh)
    ]
    assert never_ran[0] == never_ran[1]


def plain(thing: Job | Running) -> str:
    return str(
        [(each.name, getattr(thing, each.name)) for each in fields(thing) if each.name not in FORGOTTEN]
    )


def restless(snap: Snapshot, desk: Desk) -> Plan:
    """Starts whoever fits, and asks the youngest run to go for the oldest job that does not."""
    plan = Greedy()(snap, desk)
    started = {start.job for start in plan.starts}
    stuck = [job for job in snap.waiting if job.id not in started and not job.gate]
    victims = [run for run in snap.running if run.preemptible and not run.stopping and run.stops < 2]
    lost = {lost.job for lost in snap.lost}
    for waiting in stuck[:1]:
        for victim in [run for run in victims if run.job > waiting.id and run.job not in lost][-1:]:
            stop = Stop(victim.job, Why.RECALLED, waiting.id, RECEIPT)
            return Plan(plan.starts, (), stops=(stop,))
    return plan


@settings(max_examples=20, deadline=None)
@given(worlds(most_jobs=20))
def test_what_is_kept_from_thought_to_thought_is_what_a_fresh_look_says(given_: Input) -> None:
    texts = given_.texts()
    cluster = read_cluster(texts["CLUSTER.json"], "CLUSTER.json")
    asks = read_jobs(texts["JOBS.csv"], "JOBS.csv")
    faults = read_faults(texts["FAULTS.csv"], "FAULTS.csv", cluster)
    policy = read_policy(texts["POLICY.json"], "POLICY.json")
    replay(Case(cluster, asks, faults, policy), Doubting(restless), Watch(lambda event: None))

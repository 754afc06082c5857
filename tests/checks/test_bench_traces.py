"""The sections of `bench planner` that replay workloads: on tiny ones, written for the purpose."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from portal.bench import philly, planner, recorded, repairs, switches
from portal.bench.invented import SHARES, inside, mixed, promised
from portal.bench.moves import Toll, large
from portal.bench.rows import Options, Row
from portal.replay.running import run
from scheduler.core.model import Tier
from scheduler.core.policy import DAY, Policy
from scheduler.sim import events
from scheduler.sim.events import Place
from scheduler.sim.workload import Cluster, Machine
from tests.sim.stage import ask

# Two switches of four hosts, gangs of two hosts, two at a time, and small jobs in between.
TOPO = "host,DSW,PSW,ASW\n" + "".join(f"h{n:02d},G1,P1,S{1 + n // 4}\n" for n in range(8))
GANGS = "job_id,submit_s,gpus,duration_s\n" + "".join(
    f"g{n},{n * 500},16,900\ns{n},{n * 500},4,700\n" for n in range(8)
)
FAULTS = "node,start_day,end_day\n" + "".join(f"x{n:03d},{101 if n else 100.01},102\n" for n in range(200))
# Two virtual clusters with the same use, the second all at once.
VIRTUAL = "job_id,submit_s,gpus,duration_s,vc\nz,0,1,60,calm\n" + "".join(
    f"a{n},{44 * 86400 + n * 3600},8,3600,calm\nb{n},{44 * 86400 + 7200},8,3600,burst\n" for n in range(24)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, text in (
        (recorded.LINGJUN_TOPO, TOPO),
        (recorded.LINGJUN_JOBS, GANGS),
        (recorded.STEPFUN_FAULTS, FAULTS),
        (recorded.PHILLY_JOBS, VIRTUAL),
    ):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    return tmp_path


def rows(section: Callable[[Options], Iterable[Row]], folder: Path) -> dict[str, Row]:
    return {row.what: row for row in section(Options(traces=folder))}


def test_teams_that_lend_are_measured_against_one_pool_and_alone(folder: Path) -> None:
    found = rows(philly.philly, folder)
    pool, shared = (
        found[f"Philly, {what}: mean wait"] for what in ("one pool without walls", "teams that lend")
    )
    assert shared.goal == 2 * pool.measured
    assert pool.measured > 0  # the burst asks for more than there is
    worst = next(row for what, row in found.items() if "worst team" in what)
    assert worst.measured <= 1.0
    burst = next(row for what, row in found.items() if "team burst" in what)
    assert burst.measured < 0.9  # alone it could not borrow what the calm team leaves idle


def test_a_window_starts_at_second_zero_and_leaves_out_what_lies_outside() -> None:
    asks = [ask("early", submit=DAY - 1), ask("first", submit=DAY), ask("last", submit=2 * DAY - 1)]
    found = philly.window([*asks, ask("late", submit=2 * DAY)], 1.0, 1.0)
    assert [(one.job, one.submit_s) for one in found] == [("first", 0.0), ("last", DAY - 1)]


def test_a_team_alone_has_exactly_its_quota() -> None:
    assert [machine.gpus for machine in philly.of_size(21).machines] == [8, 8, 5]
    assert philly.of_size(16).gpus == 16


def test_gangs_are_counted_by_the_switches_they_cross(folder: Path) -> None:
    found = rows(switches.switches, folder)
    ours = found["Lingjun, gangs on needless switches in what was free: ours"]
    theirs = found["Lingjun, gangs on needless switches in what was free: first fit"]
    assert ours.measured == 0
    assert theirs.measured > 0  # behind a gang and a small job, one host of the first switch is left


def small_floor() -> tuple[switches.Floor, list[Machine]]:
    machines = [Machine(f"n{n}", rack=f"r{n // 2}") for n in range(4)]
    return switches.Floor(Cluster(tuple(machines))), machines


def test_first_fit_takes_the_first_whole_nodes_and_then_the_first_gpus() -> None:
    floor, order = small_floor()
    floor.sit("a", switches.first_fit(floor, order, 3))
    assert floor.free == {"n0": 5, "n1": 8, "n2": 8, "n3": 8}
    assert switches.first_fit(floor, order, 16) == {"n1": 8, "n2": 8}
    assert switches.first_fit(floor, order, 20) == {"n1": 8, "n2": 8, "n0": 4}
    floor.sit("b", {"n1": 1, "n2": 1, "n3": 1})
    assert switches.first_fit(floor, order, 16) == {"n0": 5, "n1": 7, "n2": 4}


def test_needless_switches_are_counted_against_the_empty_cluster_and_against_what_was_free() -> None:
    floor, _ = small_floor()
    floor.sit("a", {"n0": 8})
    floor.sit("b", {"n1": 8, "n2": 8})  # one switch would do if it were empty, and n2 with n3 is
    assert (floor.gangs, floor.wide, floor.careless, floor.switches) == (1, 1, 1, 2)
    floor.rise("b")
    floor.sit("c", {"n3": 8})
    floor.sit("d", {"n1": 8, "n2": 8})  # now nothing better was free
    assert (floor.gangs, floor.wide, floor.careless, floor.switches) == (2, 2, 1, 4)


def test_faults_are_mended_by_swaps_or_by_restarts(folder: Path) -> None:
    found = rows(repairs.repairs, folder)
    assert len(found) == 4
    for words in ("saving every 600 s", "saving nothing"):
        restarts = found[f"Lingjun with faults, {words}: useful, restarts"]
        swaps = found[f"Lingjun with faults, {words}: useful, swaps"]
        assert restarts.note.startswith("0 swaps, 1 whole restarts")
        assert swaps.note.startswith("1 swaps, 0 whole restarts")
        assert swaps.goal == restarts.measured


def test_moves_cost_what_they_roll_back_and_how_long_the_moved_stand_still() -> None:
    toll = Toll([ask("a", gpus=2, restart_s=60.0)])
    toll.hear(events.Started(0.0, "a", 1, (Place("n1", (0, 1)),)))
    toll.hear(events.Asked(100.0, "a", 1, "moved", "b"))
    toll.hear(events.Stopped(105.0, "a", 1, "moved", "b", acked=True, lost_gpu_s=7.0))
    assert toll.paid == 7.0 + 2 * (5.0 + 60.0)
    toll.hear(events.Asked(200.0, "a", 2, "recalled", "b"))
    toll.hear(events.Stopped(205.0, "a", 2, "recalled", "b", acked=True, lost_gpu_s=9.0))
    assert toll.paid == 137.0


def test_the_mixed_workload_is_the_same_for_a_seed_and_has_gangs_of_whole_nodes() -> None:
    case = mixed(1, 0.5, Policy())
    assert case == mixed(1, 0.5, Policy())
    assert case.asks != mixed(2, 0.5, Policy()).asks
    gangs = [one for one in case.asks if one.gpus > 32]
    assert gangs
    assert all(one.gpus_per_node == 8 and one.checkpoint_s for one in gangs)
    assert len(large(run(case, "mixed"))) == len(gangs)


def test_promised_production_never_asks_for_more_than_its_nominal() -> None:
    bound = 750.0
    case = promised(1, 1.0, Policy())
    production = [one for one in case.asks if one.tier is Tier.PRODUCTION]
    assert len(production) > 20
    for one in production:
        last = one.submit_s
        held = sum(
            other.gpus
            for other in production
            if other.team == one.team and other.submit_s <= last < other.submit_s + bound + other.duration_s
        )
        assert held <= SHARES[one.team]
    crowd = [ask(f"j{n}", gpus=8, submit=float(n), team="red") for n in range(9)]
    assert [one.job for one in inside(crowd, bound)] == ["j0", "j1", "j2", "j3"]


@pytest.mark.parametrize("section", ["philly", "switches", "faults", "lingjun"])
def test_missing_traces_are_told_in_one_line(
    section: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planner.main(["--only", section, "--traces", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].endswith(f"is not in {tmp_path}: name the folder of the traces with --traces")

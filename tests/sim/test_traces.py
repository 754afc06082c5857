"""Published traces become clusters, jobs and faults of a replay."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.sim.files import (
    BadFile,
    cluster_json,
    faults_csv,
    jobs_csv,
    read_cluster,
    read_faults,
    read_jobs,
)
from scheduler.sim.traces import BadOption, Converted, Options, Text, convert, stepfun, uniform
from scheduler.sim.traces.lingjun import read_topo, whole_switches
from scheduler.sim.traces.shares import load, nodes_for, split
from scheduler.sim.workload import Ask, Fault

EXTRACTS = Path(__file__).parent / "extracts"


def extract(name: str) -> Text:
    return Text((EXTRACTS / name).read_text(), name)


JOBS = {"jobs": extract("lingjun_jobs.csv")}
TOPO = {"topo": extract("lingjun_topo.csv")}
FAULTS = {"faults": extract("stepfun_faults.csv")}
PHILLY = {"jobs": extract("philly_jobs.csv")}


def written_and_read(made: Converted) -> Converted:
    """The same, after a trip through the files that other programs get."""
    cluster = read_cluster(cluster_json(made.cluster), "C.json")
    asks = read_jobs(jobs_csv(made.asks), "J.csv")
    faults = read_faults(faults_csv(made.faults), "F.csv", cluster)
    lines = [ask.line for ask in made.asks]
    return replace(
        made,
        cluster=cluster,
        asks=tuple(replace(ask, line=line) for ask, line in zip(asks, lines, strict=True)),
        faults=tuple(replace(fault, line=0) for fault in faults),
    )


def test_lingjun_is_128_equal_nodes_and_its_gangs() -> None:
    made = convert("lingjun", JOBS)
    assert made.asks[:2] == (Ask("0", 0.0, 720.0, 48, line=2), Ask("1", 5040.0, 120.0, 48, line=3))
    assert (len(made.asks), len(made.cluster.machines), made.cluster.gpus) == (200, 128, 1024)
    assert made.cluster.crews is None


@pytest.mark.parametrize("texts", [JOBS, JOBS | TOPO, JOBS | FAULTS], ids=["jobs", "topo", "faults"])
@pytest.mark.parametrize("options", [Options(), Options(limits=True, checkpoint_s=600.0)])
def test_what_is_converted_survives_its_files(texts: dict[str, Text], options: Options) -> None:
    made = convert("lingjun", texts, options)
    assert written_and_read(made) == made


def test_exact_durations_as_limits_are_above_zero_even_for_no_work() -> None:
    text = Text("job_id,submit_s,gpus,duration_s\na,0,8,0\nb,5,8,90\n", "jobs.csv")
    made = convert("lingjun", {"jobs": text}, Options(limits=True, checkpoint_s=600.0))
    assert [(ask.limit_s, ask.checkpoint_s) for ask in made.asks] == [(1.0, 600.0), (90.0, 600.0)]
    assert [ask.limit_s for ask in convert("lingjun", {"jobs": text}).asks] == [None, None]


def test_switches_are_taken_whole_the_largest_and_the_smallest_in_turn() -> None:
    hosts = read_topo(*TOPO["topo"])
    assert Counter(machine.rack for machine in hosts.machines) == {
        "S7": 24,
        "S1": 23,
        "S33": 10,
        "S46": 7,
        "S44": 3,
    }
    taken = [
        sorted({machine.rack for machine in whole_switches(hosts, few).machines}) for few in (1, 25, 28, 52)
    ]
    assert taken == [["S7"], ["S44", "S7"], ["S1", "S44", "S7"], ["S1", "S44", "S46", "S7"]]
    assert len(whole_switches(hosts, 999).machines) == 67


def test_a_rack_stands_in_one_block_whichever_switch_a_block_is() -> None:
    for block, racks in (("DSW", 5), ("PSW", 11)):
        hosts = read_topo(*TOPO["topo"], block=block)
        pairs = {(machine.block, machine.rack) for machine in hosts.machines}
        assert len(pairs) == len({rack for _, rack in pairs}) == racks


def test_philly_becomes_teams_with_quotas_that_add_up_to_the_cluster() -> None:
    made = convert("philly", PHILLY)
    assert made.left_out == {"without a virtual cluster": 88}
    assert len(made.asks) == 112
    assert made.asks[0].submit_s == 0.0
    crews = made.cluster.crews
    assert crews is not None
    assert {crew.name for crew in crews} == {ask.team for ask in made.asks}
    assert sum(crew.quota["GPU"].nominal for crew in crews) == made.cluster.gpus
    assert all(crew.quota["GPU"].borrow is None and crew.quota["GPU"].lend is None for crew in crews)
    assert written_and_read(made) == made


def test_a_cluster_is_just_large_enough_for_its_load() -> None:
    made = convert("philly", PHILLY, Options(load=0.05))
    assert len(made.cluster.machines) > 5
    for busy, nodes in ((4, 1), (5, 2)):  # of the second gang; 8 and 9 GPUs in all
        asks = (Ask("a", 0.0, 10.0, 4), Ask("b", 0.0, 10.0, busy), Ask("c", 10.0, 0.0, 1))
        assert nodes_for(asks, 1.0) == nodes
    assert load(made.asks, made.cluster.gpus) <= 0.05 < load(made.asks, made.cluster.gpus - 8)


def test_philly_without_walls_keeps_the_names_of_its_teams() -> None:
    made = convert("philly", PHILLY, Options(teams=False, nodes=9))
    assert made.cluster.crews is None
    assert len(made.cluster.machines) == 9
    assert {ask.team for ask in made.asks} == {ask.team for ask in convert("philly", PHILLY).asks}


def attempt(start: str | None, end: str | None, *machines: int) -> dict[str, object]:
    detail = [
        {"ip": f"m{at}", "gpus": [f"gpu{gpu}" for gpu in range(gpus)]} for at, gpus in enumerate(machines)
    ]
    return {"start_time": start, "end_time": end, "detail": detail}


def logged(name: str, submitted: str, *attempts: dict[str, object], vc: str = "v1") -> dict[str, object]:
    return {
        "status": "Pass",
        "vc": vc,
        "jobid": name,
        "attempts": attempts,
        "submitted_time": submitted,
        "user": "u",
    }


LOG = json.dumps(
    [
        logged(
            "b",
            "2017-10-07 01:00:30",
            attempt("2017-10-07 01:01:00", "2017-10-07 01:02:00", 8, 8),
            attempt("2017-10-07 01:05:00", "2017-10-07 01:15:00", 8, 8),
        ),
        logged("a", "2017-10-07 01:00:00", attempt("2017-10-07 01:00:00", "2017-10-08 01:00:00", 1), vc="v2"),
        logged("never started", "2017-10-07 01:00:00"),
        logged("no date", "None", attempt("2017-10-07 01:00:00", "2017-10-07 01:00:00", 1)),
        logged("running", "2017-10-07 01:00:00", attempt("2017-10-07 01:00:00", None, 4)),
        logged("a", "2017-10-07 02:00:00", attempt("2017-10-07 03:00:00", "2017-10-08 03:00:00", 1)),
    ],
    indent=1,
)


def test_philly_is_read_as_it_was_published() -> None:
    made = convert("philly-log", {"jobs": Text(LOG, "cluster_job_log")}, Options(nodes=2))
    a, b = made.asks
    assert (a.job, a.submit_s, a.duration_s, a.gpus, a.team, a.user) == ("a", 0.0, 86400.0, 1, "v2", "u")
    # A minute and ten minutes: the attempts, without the queue between them.
    assert (b.job, b.submit_s, b.duration_s, b.gpus, b.team) == ("b", 30.0, 660.0, 16, "v1")
    assert made.left_out == {
        "without a recorded attempt": 2,
        "still running at the end of the log": 1,
        "with an id that was there before": 1,
    }
    assert made.cluster.crews is not None


def test_a_published_list_of_machines_becomes_the_cluster() -> None:
    machines = Text(
        "machineId, number of GPUs, single GPU mem\nm1,2, 12GB\nm2,8, 24GB\n", "cluster_machine_list"
    )
    made = convert("philly-log", {"jobs": Text(LOG, "cluster_job_log"), "machines": machines})
    assert [(each.name, each.gpus, each.gpu_memory_gib) for each in made.cluster.machines] == [
        ("m1", 2, 12.0),
        ("m2", 8, 24.0),
    ]


HELIOS = Text(
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "1,u1,vcA,0,4,1,COMPLETED,2020-08-31 10:00:00,2020-08-31 10:00:00,2020-08-31 10:00:10,10,0\n"
    "2,u1,vcA,8,32,1,CANCELLED,2020-08-31 23:59:59,2020-09-01 00:00:00,2020-09-01 00:01:40,100,1\n"
    "3,u2,vcB,16,64,2,FAILED,2020-09-01 00:00:00,2020-09-01 00:00:00,2020-09-01 00:03:20,200,0\n"
    "4,u1,vcA,1,4,1,TIMEOUT,2020-09-01 01:00:00,2020-09-01 02:00:00,2020-09-01 02:00:07,7,3600\n",
    "cluster_log.csv",
)
SIZES = Text("date,vcA,vcB,vcC,total\n2020-08-31,8,8,0,16\n2020-09-01,24,16,0,40\n", "cluster_gpu_number.csv")


def test_helios_is_read_as_it_was_published() -> None:
    made = convert(
        "helios", {"jobs": HELIOS, "sizes": SIZES}, Options(since="2020-09-01", until="2020-09-27")
    )
    assert [(ask.job, ask.submit_s, ask.duration_s, ask.gpus, ask.team, ask.user) for ask in made.asks] == [
        ("3", 0.0, 200.0, 16, "vcB", "u2"),
        ("4", 3600.0, 7.0, 1, "vcA", "u1"),
    ]
    assert made.left_out == {"without GPUs": 1, "submitted outside the window": 1}
    until = convert("helios", {"jobs": HELIOS}, Options(until="2020-09-01"))
    assert [ask.job for ask in until.asks] == ["2"]
    assert len(made.cluster.machines) == 5
    assert [(crew.name, crew.quota["GPU"].nominal) for crew in made.cluster.crews or ()] == [
        *(("vcA", 24), ("vcB", 16), ("vcC", 0)),
    ]


def test_helios_without_sizes_gets_them_from_its_load() -> None:
    made = convert("helios", {"jobs": HELIOS})
    assert len(made.asks) == 3
    assert len(made.cluster.machines) == 2  # the largest gang needs two
    assert sum(crew.quota["GPU"].nominal for crew in made.cluster.crews or ()) == 16


def faults(
    *rows: str, machines: int = 2, days: tuple[float, float] = (10.0, 20.0)
) -> list[tuple[float, str, str]]:
    text = "\n".join(("node,start_day,end_day,level,class,desc", *rows))
    names = [f"m{at}" for at in range(machines)]
    found = stepfun.read_faults(text, "faults.csv", names, first_day=days[0], last_day=days[1])
    return [(fault.t_s, fault.node, fault.event) for fault in found]


def test_faults_fall_on_the_machines_in_order_of_name() -> None:
    assert faults("x2,11,12", "x1,13,14", "x3,15,16") == [
        *((86400.0, "m1", "down"), (172800.0, "m1", "up")),
        *((259200.0, "m0", "down"), (345600.0, "m0", "up")),
    ]


def test_faults_that_overlap_or_touch_are_one() -> None:
    assert faults("x,11,13", "x,12,12.5", "x,13,14", "x,16,17") == [
        *((86400.0, "m0", "down"), (345600.0, "m0", "up")),
        *((518400.0, "m0", "down"), (604800.0, "m0", "up")),
    ]


def test_what_is_broken_on_the_first_day_is_down_at_zero_and_repaired_when_it_was() -> None:
    found = faults("x,3,11", "y,19.5,30", "y,1,2", "x,20,21")
    assert found == [
        (0.0, "m0", "down"),
        (86400.0, "m0", "up"),
        (820800.0, "m1", "down"),
        (1728000.0, "m1", "up"),
    ]


def test_a_fault_of_no_length_still_takes_the_node_down() -> None:
    assert faults("x,11,11") == [(86400.0, "m0", "down"), (86400.0, "m0", "up")]
    assert faults("x,9,9") == []


def test_the_extract_of_faults_never_repairs_what_is_well() -> None:
    names = tuple(f"n{at:03d}" for at in range(32))
    down: set[str] = set()
    found: tuple[Fault, ...] = stepfun.read_faults(*FAULTS["faults"], names, first_day=60.0, last_day=200.0)
    assert len(found) > 40
    for fault in found:
        assert (fault.node in down) == (fault.event == "up")
        down ^= {fault.node}
    assert not down


def test_names_of_equal_nodes_sort_as_their_numbers() -> None:
    cluster = uniform(1200, rack_of=16, block_of=4)
    names = [machine.name for machine in cluster.machines]
    assert names == sorted(names)
    assert (names[0], names[-1]) == ("n0001", "n1200")
    assert Counter(Counter(machine.rack for machine in cluster.machines).values()) == {16: 75}
    assert len({machine.block for machine in cluster.machines}) == 19
    assert uniform(3).machines[2].name == "n003"


@given(st.integers(0, 5000), st.dictionaries(st.text("abcde", min_size=1), st.floats(0, 1e9), min_size=1))
def test_a_split_is_whole_fair_and_complete(gpus: int, by: dict[str, float]) -> None:
    parts = split(gpus, by)
    assert sum(parts.values()) == gpus
    total = sum(by.values())
    for name, part in parts.items():
        exact = gpus * by[name] / total if total else gpus / len(by)
        assert abs(part - exact) < 1 + 1e-6


def test_the_largest_remainders_are_rounded_up() -> None:
    assert split(10, {"a": 26.0, "b": 26.0, "c": 48.0}) == {"a": 3, "b": 2, "c": 5}
    assert split(2, {"a": 1.4, "b": 0.6}) == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("kind", "texts", "sentence"),
    [
        (
            "venus",
            {},
            "trace: there is no trace called venus; the traces are lingjun, philly, philly-log, helios",
        ),
        ("lingjun", {}, "jobs: name the file with the jobs of lingjun"),
        ("philly", JOBS | TOPO, "topo: philly has no such file; its files are jobs, faults"),
    ],
)
def test_a_conversion_that_cannot_be_says_why(kind: str, texts: dict[str, Text], sentence: str) -> None:
    with pytest.raises(BadOption) as caught:
        convert(kind, texts)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "wrong",
    [
        *({"load": 0.0}, {"load": float("nan")}, {"nodes": -1}, {"hosts": 0}, {"block": "ASW"}),
        *({"checkpoint_s": 0.0}, {"first_day": 9.0, "last_day": 8.0}),
    ],
)
def test_an_option_that_cannot_be_is_refused(wrong: dict[str, float | str]) -> None:
    with pytest.raises(BadOption):
        Options(**wrong)


def test_a_window_that_is_no_date_is_refused() -> None:
    with pytest.raises(BadOption, match="since: 'soon' is no date and time"):
        convert("helios", {"jobs": HELIOS}, Options(since="soon"))


@pytest.mark.parametrize(
    ("kind", "texts", "told"),
    [
        (
            "helios",
            {"jobs": Text(HELIOS.text.replace("2020-09-01 01:00:00", "yesterday"), "log.csv")},
            "log.csv, line 5, column submit_time: 'yesterday' is no date and time; write it as 2020-06-09 18:41:01",
        ),
        (
            "helios",
            {"jobs": HELIOS, "sizes": Text(SIZES.text.replace(",16\n", ",many\n"), "sizes.csv")},
            "sizes.csv, line 2, column total: 'many' is not a number; write digits such as 3600 or 0.5",
        ),
        (
            "lingjun",
            {"jobs": Text("job_id,submit_s,gpus\n", "jobs.csv")},
            "jobs.csv, line 1, column duration_s: the header has no such column; it needs job_id, submit_s, "
            "gpus, duration_s",
        ),
        (
            "philly-log",
            {"jobs": Text('[{"jobid": "a",\n "attempts": [7]}]', "log")},
            "log, line 2, column 15: 7 is not an object; write {...}",
        ),
        (
            "philly-log",
            {"jobs": Text('[{"jobid": "a", "attempts": [],\n "submitted_time": "soon"}]', "log")},
            "log, line 2, column 20: 'soon' is no date and time; write it as 2020-06-09 18:41:01",
        ),
        (
            "lingjun",
            JOBS | {"faults": Text("node,start_day,end_day\nx,5,4\n", "faults.csv")},
            "faults.csv, line 2, column end_day: the fault ends on day 4, before it starts on day 5; swap the two",
        ),
    ],
)
def test_a_wrong_trace_is_refused_where_it_is_wrong(kind: str, texts: dict[str, Text], told: str) -> None:
    with pytest.raises(BadFile) as caught:
        convert(kind, texts)
    assert str(caught.value) == told

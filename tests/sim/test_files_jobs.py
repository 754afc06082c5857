"""JOBS.csv: its defaults, and the sentence for every way to get it wrong."""

import time

import pytest

from scheduler.core.model import Tier
from scheduler.sim.files import BadFile, read_jobs
from scheduler.sim.workload import Ask

HEAD = "job,submit_s,duration_s,gpus"


def table(columns: str, *rows: str) -> str:
    return "\n".join((f"{HEAD}{columns and ','}{columns}", *rows)) + "\n"


def test_blank_cells_mean_the_defaults() -> None:
    text = table(
        "team,user,tier,gpu_type,pool,limit_s,tp,topology,checkpoint_s,restart_s,preemptible,min_gpus,after"
    )
    [ask] = read_jobs(text + "a,0,600,8" + "," * 13 + "\n", "J.csv")
    assert ask == Ask("a", 0.0, 600.0, 8, line=2)
    assert (ask.team, ask.user, ask.tier, ask.tp, ask.restart_s) == (
        "default",
        "default",
        Tier.STANDARD,
        1,
        60.0,
    )
    assert (ask.limit_s, ask.checkpoint_s, ask.min_gpus, ask.preemptible) == (None, None, 8, True)


def test_a_row_may_leave_out_its_last_cells() -> None:
    assert read_jobs(table("team,tier", "a,0,600,8"), "J.csv") == (Ask("a", 0.0, 600.0, 8, line=2),)


def test_every_column_is_read() -> None:
    columns = (
        "job,submit_s,duration_s,gpus,nodes,gpus_per_node,team,user,tier,gpu_type,pool,limit_s,tp,topology,"
        "checkpoint_s,restart_s,preemptible,min_gpus,after,gpu_memory_gib,features,cpus_per_gpu,"
        "memory_gib_per_gpu,spot_share,not_before_s,deadline_s"
    )
    row = "b,1.5,2,16,2,8,t,u,production,H100|A100,p,3,4,rack:required,4,5,1,16,a,40,ib|nvme,6,7,0.5,8,9"
    ask = read_jobs(f"{columns}\na,0,1,1\n{row}\n", "J.csv")[1]
    assert ask == Ask(
        *("b", 1.5, 2.0, 16, 2, 8, "t", "u", Tier.PRODUCTION, ("H100", "A100"), "p", 3.0, 4, "rack", True),
        *(4.0, 5.0, True, 16, ("a",), 40.0, frozenset({"ib", "nvme"}), 6.0, 7.0, 0.5, 8.0, 9.0, 3),
    )


def test_unknown_columns_blank_lines_quotes_and_spaces_are_no_obstacle() -> None:
    text = 'note , job,submit_s,duration_s,gpus\n\n"one, two", a ,0,600, 8.0 \n,,,,\n"line\nbreak",b,1,2,3\n'
    assert [(ask.job, ask.gpus, ask.line) for ask in read_jobs(text, "J.csv")] == [("a", 8, 3), ("b", 3, 5)]


def test_production_is_not_preemptible_unless_it_says_so() -> None:
    text = table("tier,preemptible", "a,0,1,1,production,", "b,0,1,1,production,1", "c,0,1,1,opportunistic,0")
    assert [ask.preemptible for ask in read_jobs(text, "J.csv")] == [False, True, False]


@pytest.mark.parametrize(
    ("cell", "level", "required"),
    [
        ("node:required", "node", True),
        ("block:preferred", "block", False),
        ("rack", "rack", False),
        ("", "", False),
    ],
)
def test_a_topology_is_a_level_and_how_much_it_matters(cell: str, level: str, required: bool) -> None:
    [ask] = read_jobs(table("topology", f"a,0,1,1,{cell}"), "J.csv")
    assert (ask.level, ask.required) == (level, required)


def test_an_exact_shape_has_one_size() -> None:
    [ask] = read_jobs(table("nodes,gpus_per_node,min_gpus", "a,0,1,,3,8,8"), "J.csv")
    assert (ask.gpus, ask.nodes, ask.gpus_per_node, ask.min_gpus) == (24, 3, 8, 24)


WRONG = {
    # columns beyond the first four, rows: line, column, sentence
    ("", "a,0,x,8"): (2, "duration_s", "'x' is not a number; write digits such as 3600 or 0.5"),
    ("", "a,0,1_000,8"): (2, "duration_s", "'1_000' is not a number; write digits such as 3600 or 0.5"),
    ("", "a,-1,1,8"): (2, "submit_s", "'-1' is negative; write 0 or more"),
    ("", "a,0,nan,8"): (2, "duration_s", "'nan' is not a finite number; write digits such as 3600, or leave a limit blank"),
    ("", "a,0,1e999,8"): (2, "duration_s", "'1e999' is not a finite number; write digits such as 3600, or leave a limit blank"),
    ("", "a,0,1e16,8"): (2, "duration_s", "'1e16' is too large; write seconds, at most 1e+15"),
    ("", "a,0,1,8.5"): (2, "gpus", "'8.5' is not a whole number; write one such as 8"),
    ("", "a,0,1,0"): (2, "gpus", "0 is too small; write 1 or more"),
    ("", "a,0,1,1e10"): (2, "gpus", "'1e10' is too large; the most is 1,000,000,000"),
    ("", "a,0,1"): (2, "gpus", "the job asks for no GPUs; write gpus, or nodes and gpus_per_node"),
    ("", ",0,1,8"): (2, "job", "the cell is blank, and it has no default; fill it in"),
    ("", "a,0,1,8,9"): (2, 5, "the row has 5 cells under 4 columns; quote cells that hold a comma"),
    ("", "a,0,1,8", "b,0,1,8", "a,0,1,8"): (
        *(4, "job", "job a already stands in line 2; give each job an id of its own"),
    ),
    ("limit_s", "a,0,1,8,0"): (
        *(2, "limit_s", "0 is too small; write a number of seconds above 0, or leave the cell blank"),
    ),
    ("tier", "a,0,1,8,Gold"): (
        *(2, "tier", "'Gold' is no tier; write production, standard, opportunistic, or leave it blank for standard"),
    ),
    ("topology", "a,0,1,8,rack:must"): (
        *(2, "topology"),
        "'rack:must' is no topology; write node, rack or block with :required or :preferred after it",
    ),
    ("topology", "a,0,1,8,:required"): (
        *(2, "topology"),
        "':required' is no topology; write node, rack or block with :required or :preferred after it",
    ),
    ("cpus_per_gpu", "a,0,1,8,1e12"): (2, "cpus_per_gpu", "'1e12' is too large; the most is 1,000,000,000"),
    ("preemptible", "a,0,1,8,yes"): (2, "preemptible", "'yes' is neither 1 nor 0; write 1 for yes or 0 for no"),
    ("spot_share", "a,0,1,8,1.5"): (2, "spot_share", "'1.5' is above 1; write a share between 0 and 1"),
    ("gpu_type", "a,0,1,8,A|"): (
        *(2, "gpu_type", "'A|' has an empty name in it; write names with one | between them"),
    ),
    ("nodes", "a,0,1,8,2"): (
        *(2, "gpus_per_node", "nodes is given but gpus_per_node is not; an exact shape needs both"),
    ),
    ("nodes,gpus_per_node", "a,0,1,9,2,4"): (
        *(2, "gpus", "9 GPUs are not 2 x 4 = 8; leave gpus blank for an exact shape"),
    ),
    ("tp", "a,0,1,12,8"): (2, "tp", "12 GPUs are no multiple of tp 8; change one of them, as ranks come in groups of tp"),
    ("nodes,gpus_per_node,tp", "a,0,1,,2,6,4"): (
        *(2, "tp", "6 GPUs on each node are no multiple of tp 4; change one of them, as a group cannot leave its node"),
    ),
    ("tp,min_gpus", "a,0,1,16,4,6"): (
        *(2, "min_gpus"),
        "min_gpus is 6; write a multiple of tp between tp (4) and gpus (16), or leave it blank",
    ),
    ("min_gpus", "a,0,1,16,32"): (
        *(2, "min_gpus"),
        "min_gpus is 32; write a multiple of tp between tp (1) and gpus (16), or leave it blank",
    ),
    ("after", "a,0,1,1,b"): (
        *(2, "after", "there is no job b; name jobs of this file, with | between them"),
    ),
    ("after", "a,0,1,1,a"): (2, "after", "job a waits for itself; take it out of its own list"),
    ("after", "a,0,1,1,", "b,0,1,1,d", "c,0,1,1,b|a", "d,0,1,1,c"): (
        *(3, "after", "these jobs wait for each other: b -> d -> c -> b; break the circle"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "told"), WRONG.items(), ids=[" ".join(key) for key in WRONG])
def test_what_is_wrong_is_said_with_its_place(
    given: tuple[str, ...], told: tuple[int, int | str, str]
) -> None:
    columns, *rows = given
    with pytest.raises(BadFile) as caught:
        read_jobs(table(columns, *rows), "J.csv")
    bad = caught.value
    assert (bad.line, bad.column, bad.sentence) == told
    assert str(bad) == f"J.csv, line {bad.line}, column {bad.column}: {bad.sentence}"


@pytest.mark.parametrize(
    ("text", "place", "start"),
    [
        ("", (1, 1), "the first line must name the columns, such as job"),
        ("\n\n", (1, 1), "the first line must name the columns, such as job"),
        (" \n , \n", (1, 1), "the first line must name the columns, such as job"),
        ("a,0,600,8\n", (1, "job"), "the header has no such column; it needs job, submit_s, duration_s"),
        ("job,submit_s,gpus\n", (1, "duration_s"), "the header has no such column"),
        (
            "job;submit_s;duration_s\na;0;1\n",
            (1, 1),
            "the header is one cell; put commas between the columns",
        ),
        ("job\tsubmit_s\tduration_s\n", (1, 1), "the header is one cell; put commas between the columns"),
        ("job,job,submit_s,duration_s\n", (1, "job"), "the header names this column twice"),
        (f'{HEAD}\na,0,1,8\n"b,0,1,8\nc,0,1,8\n', (3, 1), "the row cannot be read (unexpected end of data)"),
        (f"{HEAD}\na\x00b,0,1,8\n", (2, "job"), "'a\\x00b' holds a character that cannot be printed"),
    ],
)
def test_a_file_that_is_no_table_is_refused(text: str, place: tuple[int, int | str], start: str) -> None:
    with pytest.raises(BadFile) as caught:
        read_jobs(text, "J.csv")
    assert (caught.value.line, caught.value.column) == place
    assert caught.value.sentence.startswith(start)


@pytest.mark.parametrize("blank", ["  ", "\t", ",,,", " , ,"])
def test_blank_lines_before_the_header_are_ignored_like_all_others(blank: str) -> None:
    [ask] = read_jobs(f"{blank}\n{HEAD}\n{blank}\na,0,1,8\n{blank}\n", "J.csv")
    assert (ask.job, ask.line) == ("a", 4)


def test_two_ways_to_the_same_job_are_no_circle() -> None:
    text = table("after", "d,0,1,1,b|c", "b,0,1,1,a", "c,0,1,1,a", "a,0,1,1,")
    assert [ask.after for ask in read_jobs(text, "J.csv")] == [("b", "c"), ("a",), ("a",), ()]


def test_a_chain_longer_than_the_stack_is_followed_and_a_circle_in_it_found() -> None:
    count = 5000
    rows = [f"j{at},0,1,1,{f'j{at - 1}' if at else ''}" for at in range(count)]
    assert len(read_jobs(table("after", *rows), "J.csv")) == count
    rows[0] = f"j0,0,1,1,j{count - 1}"
    with pytest.raises(BadFile, match=r"j0 -> j4999 -> j4998 -> j4997 -> \.\.\. -> j2 -> j1 -> j0"):
        read_jobs(table("after", *rows), "J.csv")


@pytest.mark.serial
def test_seventy_thousand_rows_take_seconds() -> None:
    rows = (
        f"j{at},{at},{at % 999}.5,8,t{at % 12},3600,{f'j{at - 1}' if at % 3 else ''}" for at in range(70_000)
    )
    text = table("team,limit_s,after", *rows)
    started = time.process_time()
    assert len(read_jobs(text, "J.csv")) == 70_000
    # Measured 0.6 s; the bound is generous, it guards against a square.
    assert time.process_time() - started < 6

"""`./manage.py replay --trace`: published traces replayed, or written out for other programs."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.replay import command
from scheduler.sim.files import read_cluster, read_faults, read_jobs
from tests.sim.test_traces import HELIOS, LOG, SIZES

EXTRACTS = Path(__file__).parent / "extracts"
LINGJUN = ("--trace", "lingjun", "--jobs", str(EXTRACTS / "lingjun_jobs.csv"))
PHILLY = ("--trace", "philly", "--jobs", str(EXTRACTS / "philly_jobs.csv"))
TOPO = ("--topo", str(EXTRACTS / "lingjun_topo.csv"))
FAULTS = ("--faults", str(EXTRACTS / "stepfun_faults.csv"))
Replay = Callable[..., int]


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    monkeypatch.chdir(tmp_path)
    return lambda *words: command.main(["replay", *words])


def ended(replay: Replay, *words: str) -> int:
    """The status, whoever says it: the command or its options."""
    try:
        return replay(*words)
    except SystemExit as end:
        return int(end.code or 0)


def test_a_trace_is_replayed_with_a_cluster_of_its_own(
    replay: Replay, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(*LINGJUN, "--limits", "--policy", "easy", "--report", "r.json") == 0
    found = json.loads(Path("r.json").read_text())
    assert (found["policy"], found["jobs"], found["finished"], found["limit_stops"]) == ("easy", 200, 200, 0)
    told = capsys.readouterr().out.replace("\u00a0", " ").splitlines()[0]
    assert told == "200 jobs of lingjun (lingjun_jobs.csv) on 128 nodes with 1,024 GPUs"


def test_what_is_left_out_of_a_trace_is_said(replay: Replay, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(*PHILLY, "--policy", "fifo") == 0
    assert "left out: 88 without a virtual cluster" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        LINGJUN,
        (*LINGJUN, "--nodes", "150", "--limits", "--checkpoint-s", "600"),
        (*LINGJUN, *TOPO, "--hosts", "50", "--block", "PSW", "--gpus-per-node", "4"),
        (*LINGJUN, "--load", "0.4", *FAULTS, "--first-day", "60", "--last-day", "200"),
        PHILLY,
        (*PHILLY, "--no-teams", "--load", "0.5"),
    ],
    ids=["plain", "nodes", "topo", "faults", "philly", "one pool"],
)
def test_a_converted_trace_replays_to_the_same_events(replay: Replay, words: tuple[str, ...]) -> None:
    assert replay(*words, "--convert", "made/here") == 0
    folder = Path("made/here")
    assert sorted(path.name for path in folder.iterdir()) == ["CLUSTER.json", "FAULTS.csv", "JOBS.csv"]
    assert replay(*words, "--policy", "fifo", "--events", "traced.jsonl") == 0
    files = ("--cluster", f"{folder}/CLUSTER.json", "--jobs", f"{folder}/JOBS.csv")
    assert (
        replay(*files, "--faults", f"{folder}/FAULTS.csv", "--policy", "fifo", "--events", "filed.jsonl") == 0
    )
    assert Path("traced.jsonl").read_bytes() == Path("filed.jsonl").read_bytes()


def test_the_choices_reach_the_files(replay: Replay) -> None:
    days = ("--first-day", "60", "--last-day", "200")
    assert replay(*LINGJUN, "--nodes", "20", "--checkpoint-s", "90", *FAULTS, *days, "--convert", "out") == 0
    cluster = read_cluster(Path("out/CLUSTER.json").read_text(), "C")
    asks = read_jobs(Path("out/JOBS.csv").read_text(), "J")
    faults = read_faults(Path("out/FAULTS.csv").read_text(), "F", cluster)
    assert (len(cluster.machines), cluster.crews) == (20, None)
    assert {(ask.checkpoint_s, ask.limit_s) for ask in asks} == {(90.0, None)}
    assert len(faults) > 20


def test_files_may_be_gzipped(replay: Replay) -> None:
    Path("jobs.csv.gz").write_bytes(gzip.compress(Path(LINGJUN[-1]).read_bytes()))
    assert replay("--trace", "lingjun", "--jobs", "jobs.csv.gz", "--convert", "out") == 0
    assert len(read_jobs(Path("out/JOBS.csv").read_text(), "J")) == 200


def test_philly_and_helios_are_read_in_their_published_form(replay: Replay) -> None:
    for name, text in (("log.json", LOG), ("helios.csv", HELIOS.text), ("sizes.csv", SIZES.text)):
        Path(name).write_text(text)
    Path("machines.csv").write_text("machineId, number of GPUs, single GPU mem\nm1,8, 24GB\nm2,8, 24GB\n")
    log = ("--trace", "philly-log", "--jobs", "log.json", "--machines", "machines.csv", "--no-teams")
    assert replay(*log, "--since", "2017-10-07", "--until", "2017-10-08", "--convert", "log") == 0
    assert [each.name for each in read_cluster(Path("log/CLUSTER.json").read_text(), "C").machines] == [
        *("m1", "m2")
    ]
    assert replay("--trace", "helios", "--jobs", "helios.csv", "--sizes", "sizes.csv", "--report", "r") == 0
    assert json.loads(Path("r").read_text())["finished"] == 3


WRONG = {
    ("--jobs", "j.csv"): "--cluster is missing",
    (*LINGJUN, "--cluster", "c.json"): "--trace brings its own cluster",
    ("--trace", "venus", "--jobs", "j.csv"): "invalid choice: 'venus'",
    ("--trace", "lingjun"): "--jobs",
    ("--cluster", "c.json", "--jobs", "j.csv", "--nodes", "4"): "--nodes belongs to a published trace",
    ("--cluster", "c.json", "--jobs", "j.csv", "--convert", "out"): "--convert belongs to a published trace",
    (*LINGJUN, "--convert", "out", "--report", "r"): "--convert writes files and replays nothing",
    (*PHILLY, *TOPO): "--topo: philly has no such file; its files are --jobs, --faults",
    (*LINGJUN, "--nodes", "0x10"): "--nodes",
    (*LINGJUN, "--nodes", "-4"): "--nodes: write a number from 1 to 1,000,000",
    (*LINGJUN, "--nodes", "1000001"): "--nodes: write a number from 1 to 1,000,000",
    (*PHILLY, "--load", "0"): "--load: write a number above 0",
    (*PHILLY, "--load", "nan"): "--load: write a number above 0",
    (*PHILLY, "--load", "1e-300"): "--load: the jobs call for",
    (*PHILLY, "--load", "0.5", "--nodes", "4"): "--load: the number of nodes is told already",
    (*LINGJUN, "--gpus-per-node", "9999"): "--gpus-per-node: write a number from 1 to 4,096",
    (*LINGJUN, "--checkpoint-s", "inf"): "--checkpoint-s: write a number of seconds above 0",
    (*LINGJUN, "--hosts", "9"): "--hosts: it counts the hosts of --topo",
    (*LINGJUN, *TOPO, "--hosts", "0"): "--hosts: write a number above 0",
    (*LINGJUN, *TOPO, "--nodes", "9"): "--nodes: the file names the nodes",
    (*LINGJUN, *TOPO, "--block", "ASW"): "--block: write DSW or PSW",
    (*LINGJUN, "--no-teams"): "--no-teams: lingjun has no teams",
    (*LINGJUN, "--since", "2020-09-01"): "--since: the jobs of lingjun carry no date",
    (*LINGJUN, "--first-day", "3"): "--first-day: it is a day of --faults",
    (*LINGJUN, *FAULTS, "--first-day", "130"): "--last-day: the last day must not lie before the first",
    ("--trace", "helios", "--jobs", "j", "--since", "soon"): "--since: 'soon' is no date and time",
    ("--trace", "helios", "--jobs", "j", "--since", "2020-09-02", "--until", "2020-09-01"): (
        "--until: 2020-09-01 does not lie after 2020-09-02"
    ),
    ("--trace", "lingjun", "--jobs", "nowhere.csv"): "nowhere.csv, line 1, column 1: cannot be read",
    (*LINGJUN, "--topo", LINGJUN[-1]): "line 1, column host: the header has no such column",
    (*LINGJUN, "--convert", "a file"): "a file: is no folder and cannot be made",
    (*LINGJUN, "--convert", "a file/below"): "a file/below: is no folder and cannot be made",
    (*LINGJUN, "--lim"): "unrecognized arguments: --lim",
}


@pytest.mark.parametrize(("words", "said"), WRONG.items(), ids=lambda value: str(value)[-50:])
def test_a_choice_that_cannot_be_is_one_sentence_and_nothing_written(
    replay: Replay, capsys: pytest.CaptureFixture[str], *, words: tuple[str, ...], said: str
) -> None:
    Path("a file").write_text("as it was")
    assert ended(replay, *words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("replay: ")
    assert said in err
    assert [path.name for path in Path().iterdir()] == ["a file"]


@pytest.mark.parametrize(
    ("role", "text", "said"),
    [
        ("topo", "host,DSW,PSW,ASW\n", "line 2, column host: the file lists no machine"),
        (
            "topo",
            "host,DSW,PSW,ASW\nh,a,b,c\ng,a,b,c\nh,a,b,c\n",
            "line 4, column host: h already stands in line 2",
        ),
        (
            "machines",
            "machineId,number of GPUs\nm,5000\n",
            "line 2, column number of GPUs: 5000 GPUs in one node",
        ),
        (
            "machines",
            "machineId,number of GPUs\nm,8\nm,8\n",
            "line 3, column machineId: m already stands in line 2",
        ),
        ("sizes", "date,a,total\n2020-08-31,0,0\n", "line 2, column total: no virtual cluster has a GPU"),
        ("sizes", "date,a,total\n", "line 2, column date: there is no row for any day"),
    ],
)
def test_a_list_of_machines_names_each_once_and_at_least_one(
    replay: Replay, capsys: pytest.CaptureFixture[str], *, role: str, text: str, said: str
) -> None:
    Path("list.csv").write_text(text)
    Path("log").write_text("[]")
    Path("helios.csv").write_text(HELIOS.text)
    jobs = {
        "topo": LINGJUN,
        "machines": ("--trace", "philly-log", "--jobs", "log"),
        "sizes": ("--trace", "helios", "--jobs", "helios.csv"),
    }
    assert replay(*jobs[role], f"--{role}", "list.csv", "--convert", "out") == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_conversion_writes_over_nothing_that_it_reads(
    replay: Replay, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("JOBS.csv").write_bytes(Path(LINGJUN[-1]).read_bytes())
    assert replay("--trace", "lingjun", "--jobs", "JOBS.csv", "--convert", ".") == 2
    assert "JOBS.csv: is named twice" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["JOBS.csv"]

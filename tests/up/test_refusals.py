"""What `up` cannot do it says in one sentence, with what to do about it, and changes nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from portal.up import state as state_module
from portal.up.sockets import free_port
from portal.up.state import open_state
from portal.up.trouble import Trouble
from tests.up.harness import SMALL, SmallUp, clean_environment


def refused(*words: object, status: int = 1, **env: str) -> str:
    """Run the small `up` with these options; the one sentence it leaves with."""
    tried = subprocess.run(
        [sys.executable, str(SMALL), *map(str, words)],
        env=clean_environment(JOURNAL="/dev/null", **env),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert tried.returncode == status, tried.stdout + tried.stderr
    assert "Traceback" not in tried.stderr
    return tried.stderr.strip().splitlines()[-1]


def listing(place: Path) -> list[str]:
    return sorted(str(path) for path in place.rglob("*"))


def test_a_directory_with_somebody_elses_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    before = listing(tmp_path)
    assert "holds something that is not Berth's; give an empty directory" in refused("--state", tmp_path)
    assert listing(tmp_path) == before


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a directory" in refused("--state", tmp_path / "file")
    assert "cannot be used: Not a directory" in refused("--state", tmp_path / "file" / "below")


def test_a_state_of_a_newer_berth_is_refused_and_left_alone(tmp_path: Path) -> None:
    marker = json.dumps({"format": 2, "mark": "m"})
    (tmp_path / "berth.json").write_text(marker)
    assert "its format is 2, this one knows 1" in refused("--state", tmp_path)
    assert listing(tmp_path) == [str(tmp_path / "berth.json")]
    assert (tmp_path / "berth.json").read_text() == marker


@pytest.mark.parametrize(
    "marker", ["", "[]", "{}", "\0"], ids=["empty", "a list", "no fields", "a zero byte"]
)
def test_a_damaged_marker_is_refused(tmp_path: Path, marker: str) -> None:
    (tmp_path / "berth.json").write_text(marker)
    assert "berth.json is damaged" in refused("--state", tmp_path)


def test_a_directory_that_cannot_be_made_is_refused() -> None:
    assert "cannot be used" in refused("--state", "/proc/berth")


def test_the_key_that_djangos_own_words_leave_is_no_stranger(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "django.key").write_text("key")
    assert open_state(tmp_path).path == tmp_path


def test_a_full_disk_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "_NEEDED_MB", 10**9)
    with pytest.raises(Trouble, match=r"MB are free where .* is, and 1000000000 MB are needed"):
        open_state(tmp_path / "state")
    assert listing(tmp_path / "state") == []


@pytest.mark.whole
def test_a_data_directory_of_another_postgresql_is_refused(up: SmallUp) -> None:
    up.env["SERVERS"] = "1"
    up.start().ready().end()
    version = up.state / "postgres" / "data" / "PG_VERSION"
    version.write_text("12\n")
    up.start()
    assert up.running is not None
    assert up.running.wait(20) == 1
    assert "was made by PostgreSQL 12, but this is PostgreSQL" in up.said
    assert version.read_text() == "12\n"


@pytest.mark.whole
def test_a_second_up_of_the_same_state_names_the_first(up: SmallUp) -> None:
    up.start().ready()
    sentence = refused("--state", up.state, "--port", free_port())
    assert f"running here already (process {up.pid}, http://127.0.0.1:{up.port})" in sentence
    assert not up.has_ended()


@pytest.mark.whole
def test_two_states_run_side_by_side(up: SmallUp, tmp_path: Path) -> None:
    up.env["SERVERS"] = "1"
    up.start().ready()
    (tmp_path / "other").mkdir()
    other = SmallUp(tmp_path / "other", env={"SERVERS": "1"}).start().ready()
    assert other.end(signal.SIGINT) == 0
    assert not up.has_ended()


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refused("--state", tmp_path / "s", "--port", port)
    assert f"Port {port} is taken by another program; end it, or give another with --port" in sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    {
        "a port that is no number": (["--port", "web"], "a port is a number from 1 to 65535, not 'web'"),
        "port zero": (["--port", "0"], "a port is a number from 1 to 65535"),
        "a port too high": (["--port", "65536"], "a port is a number from 1 to 65535"),
        "agents below zero": (["--agents=-1"], "give a number of nodes from 0 to 64"),
        "a million agents": (["--agents", "1000000"], "give a number of nodes from 0 to 64"),
        "an unknown option": (["--prot", "80"], "unrecognized arguments"),
    }.items(),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_options(words: str, sentence: tuple[list[str], str]) -> None:
    options, expected = sentence
    assert expected in refused(*options, status=2)


def test_an_unreachable_database_is_named_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://berth:hunter2@127.0.0.1:{free_port()}/berth"
    sentence = refused("--state", tmp_path / "s", "--port", free_port(), DATABASE_URL=url)
    assert "The database that DATABASE_URL names cannot be reached" in sentence
    assert "hunter2" not in sentence


def test_a_database_address_that_makes_no_sense(tmp_path: Path) -> None:
    sentence = refused("--state", tmp_path / "s", "--port", free_port(), DATABASE_URL="mysql//x")
    assert "The database that DATABASE_URL names cannot be reached" in sentence


@pytest.mark.parametrize(
    "url", ["redis://u:hunter2@127.0.0.1:1/0", "nonsense://x"], ids=["closed", "nonsense"]
)
def test_an_unreachable_redis_is_named_without_its_password(tmp_path: Path, url: str) -> None:
    sentence = refused("--state", tmp_path / "s", "--port", free_port(), REDIS_URL=url)
    assert "The Redis that REDIS_URL names cannot be reached" in sentence
    assert "hunter2" not in sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory that belongs to another user")
def test_a_state_that_belongs_to_another_user_is_refused(tmp_path: Path) -> None:
    open_state(tmp_path / "s")
    os.chown(tmp_path / "s" / "berth.json", 12345, 12345)
    assert "belongs to user 12345; run as that user" in refused("--state", tmp_path / "s")

"""The real `up` with its real roles: what it prints, what its agents may know, and that it ends with a job running."""

import os
import pwd
import signal
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from portal.demo import PASSWORD, PEOPLE
from portal.up.lineup import Stage, lineup
from portal.up.state import open_state
from tests.faults.person import Person
from tests.faults.whole import Whole
from tests.up.harness import SmallUp, commands_with, eventually

# Ranks that do not listen, with a child each that leaves its session.
STUBBORN = "trap '' TERM; (setsid sleep {secret} &); while :; do echo line; sleep 0.2; done"
AN_ACCOUNT = next(account.pw_uid for account in pwd.getpwall() if account.pw_uid)


@pytest.fixture
def whole() -> Iterator[Whole]:
    up = Whole(agents=2)
    yield up
    assert not up.leave()


def keeps_busy(up: Whole) -> int:
    """Four such ranks on two nodes; the job's number."""
    job = Person(up).submit(STUBBORN.format(secret=secret(up)), nodes=2, gpus_per_node=2)
    job.reaches("running")
    eventually(lambda: len(commands_with(secret(up))) >= 4)
    return job.number


def secret(up: Whole) -> str:
    return f"86{up.port}"


def follow(up: Whole, number: int) -> HTTPResponse:
    """The job's log, as the page follows it; open, and with its first line read."""
    address = f"http://127.0.0.1:{up.port}"
    jar = CookieJar()
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    visitor.open(f"{address}/signin", timeout=10).read()
    hidden = next(cookie.value for cookie in jar if cookie.name == "berth_csrf")
    form = {"email": PEOPLE["engineer"][0], "password": PASSWORD, "csrfmiddlewaretoken": hidden}
    visitor.open(f"{address}/signin", urllib.parse.urlencode(form).encode(), timeout=10).read()
    stream: HTTPResponse = visitor.open(f"{address}/jobs/{number}/stream", timeout=10)
    assert stream.readline()
    return stream


@pytest.mark.whole
@pytest.mark.limit(120)
def test_ctrl_c_ends_it_within_ten_seconds_with_a_job_running_and_logs_followed(whole: Whole) -> None:
    whole.start()
    for role, (email, _) in PEOPLE.items():
        assert f"{role:<14} {email}" in whole.said
    number = keeps_busy(whole)
    streams = [follow(whole, number) for _ in range(3)]
    began = time.monotonic()
    assert whole.stop() == 0
    assert time.monotonic() - began < 10
    assert not commands_with(secret(whole))
    assert not commands_with(str(whole.state))
    for stream in streams:
        stream.close()
    whole.start()
    assert "unchanged" in whole.said, "the second time the tables are there"
    assert Person(whole).call("GET", f"/jobs/{number}")["name"] == "fault"


@pytest.mark.whole
@pytest.mark.limit(120)
@pytest.mark.parametrize("name", ["front", "keeper"])
def test_kill_9_leaves_neither_servers_nor_ranks(whole: Whole, name: str) -> None:
    whole.start()
    keeps_busy(whole)
    whole.kill(name)
    eventually(lambda: not commands_with(str(whole.state)) and not commands_with(secret(whole)))


@pytest.mark.whole
def test_who_is_not_root_is_told_that_jobs_are_not_isolated(up: SmallUp) -> None:
    up.start(prefix=("unshare", "--user", f"--map-user={AN_ACCOUNT}", f"--map-group={AN_ACCOUNT}"))
    eventually(lambda: "Ctrl-C stops everything" in up.said)
    assert "Jobs are not isolated" in up.said
    assert up.end(signal.SIGINT) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="for an ordinary user they never are")
@pytest.mark.whole
def test_root_is_not_told_so(up: SmallUp) -> None:
    up.start().ready()
    assert "not isolated" not in up.said


@pytest.mark.parametrize(("address", "believed"), [("", False), ("https://berth.example.org", True)])
def test_a_forwarded_address_is_believed_of_a_proxy_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, believed: bool
) -> None:
    """Wrong passwords are counted by address, so a visitor must not choose it."""
    monkeypatch.setenv("BERTH_URL", address)
    table = lineup(open_state(tmp_path / "state"), port=18000, agents=0, demo=True)
    web = table.waves[0].children[0]
    assert ("--no-proxy-headers" not in web.command) is believed


def test_agents_are_not_told_the_portals_secrets(tmp_path: Path) -> None:
    table = lineup(open_state(tmp_path / "state"), port=18000, agents=8, demo=True)
    agents = [child for wave in table.waves for child in wave.children if child.stage is Stage.AGENTS]
    assert [child.name for child in agents] == [f"n{number:02}" for number in range(1, 9)]
    for child in agents:
        assert {"DATABASE_URL", "REDIS_URL", "BERTH_SECRET_KEY", "BERTH_WIRE_KEY"} <= set(child.without)
    assert [child.env["BERTH_RACK"] for child in agents] == ["r01"] * 4 + ["r02"] * 4
    assert {child.env["BERTH_BLOCK"] for child in agents} == {"b1"}

"""Nothing outlives `up`: not after Ctrl-C, not after kill -9 of any part of it."""

import os
import signal
import time

import pytest

from tests.up.harness import SmallUp, eventually, is_alive

pytestmark = pytest.mark.whole


def stops(up: SmallUp) -> list[str]:
    return [name for word, name, _ in up.journal if word == "stop"]


def test_it_says_the_address_and_what_the_demo_says(up: SmallUp) -> None:
    up.start().ready()
    assert f"http://127.0.0.1:{up.port}" in up.said
    assert "ada@example.org engineer" in up.said


def test_ctrl_c_stops_agents_then_beat_then_workers_then_web(up: SmallUp) -> None:
    up.start().ready()
    assert up.end(signal.SIGINT) == 0
    assert sorted(stops(up)[:2]) == ["n1", "n2"]
    assert stops(up)[2:] == ["beat", "work", "web"]
    assert not up.left()


def test_the_ranks_of_an_agent_have_ended_before_beat_is_asked(up: SmallUp) -> None:
    up.env["STUBBORN"] = "beat"  # holds the order where it can be looked at
    up.start().ready()
    os.kill(up.pid, signal.SIGINT)
    eventually(lambda: "stopping beat" in up.said or up.has_ended())
    assert not up.ranks()
    assert up.running is not None
    assert up.running.wait(15) == 0


def test_it_all_ends_within_ten_seconds_when_nobody_obeys(up: SmallUp) -> None:
    up.env.update(STUBBORN="rank n1 n2 beat work web", SERVERS="1")
    up.start().ready()
    began = time.monotonic()
    assert up.end(signal.SIGINT) == 0
    assert time.monotonic() - began < 10
    assert not up.left()


def test_a_second_ctrl_c_hurries(up: SmallUp) -> None:
    up.env["STUBBORN"] = "rank n1 n2 beat work web"
    up.start().ready()
    os.kill(up.pid, signal.SIGINT)
    eventually(lambda: "Ctrl-C again" in up.said)
    began = time.monotonic()
    assert up.end(signal.SIGINT) == 0
    assert time.monotonic() - began < 4
    assert not up.left()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_a_plain_kill_and_a_closed_terminal_stop_it_too(up: SmallUp, signum: signal.Signals) -> None:
    up.start().ready()
    assert up.end(signum) == 0
    assert stops(up)[-1] == "web"
    assert not up.left()


def test_ctrl_c_during_the_start_stops_what_has_started(up: SmallUp) -> None:
    up.env["CHORE"] = "import time; time.sleep(60)"
    up.start()
    eventually(lambda: any("time.sleep(60)" in line for line in up.left()))
    assert up.end(signal.SIGINT) == 0
    assert not up.left()


def test_kill_9_of_the_front_leaves_nobody(up: SmallUp) -> None:
    up.env["SERVERS"] = "1"
    up.start().ready()
    keeper = up.keeper()
    up.end(signal.SIGKILL)
    eventually(lambda: not is_alive(keeper) and not up.left(), limit_s=10)
    assert stops(up)[-1] == "web", "in order even then"


def test_kill_9_of_the_keeper_leaves_nobody(up: SmallUp) -> None:
    up.env["SERVERS"] = "1"
    up.start().ready()
    assert up.running is not None
    os.kill(up.keeper(), signal.SIGKILL)
    assert up.running.wait(12) == 1
    assert "supervisor was killed" in up.said
    assert not up.left()


def test_after_kill_9_of_both_the_next_up_ends_what_is_left_and_starts(up: SmallUp) -> None:
    up.env.update(SERVERS="1", STUBBORN="rank")
    up.start().ready()
    ranks = up.ranks()
    os.kill(up.keeper(), signal.SIGSTOP)  # so that it cannot clean up between the two
    keeper = up.keeper()
    up.end(signal.SIGKILL)
    os.kill(keeper, signal.SIGKILL)
    assert ranks, "without ranks of its own session this would prove nothing"
    up.start().ready()
    assert not [one for one in ranks if is_alive(one.pid)]
    assert up.end() == 0
    assert not up.left()


def test_an_up_right_after_kill_9_waits_for_the_old_keeper(up: SmallUp) -> None:
    up.env["STUBBORN"] = "work"
    up.start().ready()
    up.end(signal.SIGKILL)
    up.start().ready()
    assert "waiting for the last `up` to end" in up.said
    assert up.end() == 0


def test_a_child_that_dies_is_started_again_and_one_line_says_so(up: SmallUp) -> None:
    up.start().ready()
    os.kill(up.child("work").pid, signal.SIGKILL)
    eventually(lambda: len([1 for word, name, _ in up.journal if (word, name) == ("start", "work")]) == 2)
    assert up.said.count("work was killed by signal 9; it starts again in 1 s") == 1


def test_notes_that_cannot_be_written_end_nobody(up: SmallUp) -> None:
    up.start().ready()
    (up.state / "run" / ".up.json.draft").mkdir()  # as good as a full disk, which a test cannot have
    os.kill(up.child("work").pid, signal.SIGKILL)
    eventually(lambda: len([1 for word, name, _ in up.journal if (word, name) == ("start", "work")]) == 2)
    assert len(up.ranks()) == up.agents
    assert up.end() == 0
    assert not up.left()


def test_a_child_that_cannot_even_be_tried_is_tried_again_later(up: SmallUp) -> None:
    up.start().ready()
    log = up.state / "log" / "work.log"
    log.unlink()
    log.mkdir()
    os.kill(up.child("work").pid, signal.SIGKILL)
    eventually(lambda: "work cannot start (Is a directory); next try in 5 s" in up.said)
    log.rmdir()
    eventually(lambda: len([1 for word, name, _ in up.journal if (word, name) == ("start", "work")]) == 2)
    assert len(up.ranks()) == up.agents


def test_a_child_that_cannot_start_ends_it_all_with_its_last_words(up: SmallUp) -> None:
    up.env["BROKEN"] = "1"
    up.start()
    assert up.running is not None
    assert up.running.wait(20) == 1
    assert "work did not start: the reason is known" in up.said
    assert "Traceback" not in up.said
    assert not up.left()


def test_a_chore_that_fails_ends_it_all_with_its_last_words(up: SmallUp) -> None:
    up.env["CHORE"] = "raise SystemExit('no room for tables')"
    up.start()
    assert up.running is not None
    assert up.running.wait(20) == 1
    assert "log-ins failed: no room for tables" in up.said
    assert not up.left()


def test_the_second_start_finds_the_data_of_the_first(up: SmallUp) -> None:
    up.env["SERVERS"] = "1"
    up.env["CHORE"] = (
        "import os, psycopg\n"
        "with psycopg.connect(os.environ['DATABASE_URL']) as link:\n"
        "    link.execute('create table if not exists visit (at int)')\n"
        "    link.execute('insert into visit values (1)')\n"
        "    print('visits:', link.execute('select count(*) from visit').fetchone()[0])\n"
    )
    up.start().ready()
    assert "visits: 1" in up.said
    up.end()
    up.start().ready()
    assert "visits: 2" in up.said

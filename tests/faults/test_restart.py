"""Ctrl-C and `up` again on the same state: history is there, and what was cut short begins anew."""

from datetime import datetime

import pytest

from tests.faults.person import Person
from tests.faults.whole import Whole, eventually

pytestmark = [pytest.mark.whole, pytest.mark.limit(150)]


def test_the_next_up_has_the_history_of_the_last_and_starts_again_what_ctrl_c_cut_short(
    whole: Whole, person: Person
) -> None:
    done = person.submit("echo kept")
    before = done.reaches("finished")
    eventually(lambda: done.printed() == "kept\n")
    cut_short = person.train("cut-short", nodes=2, gpus_per_node=4)
    assert whole.stop() == 0, whole.said
    whole.start()
    after = done.seen()
    assert {**after, "why": None} == {**before, "why": None}, "the past changed"
    assert done.printed() == "kept\n"

    eventually(lambda: len(cut_short.seen()["runs"]) == 2 and cut_short.phase == "running")
    first, second = cut_short.seen()["runs"]
    assert (first["epoch"], first["phase"], first["cause"]) == (1, "ended", "node_lost")
    assert {rank["state"] for rank in first["ranks"]} == {"lost"}, "nobody knows how they would have ended"
    assert second["epoch"] == 2
    cut_short.let_go()
    assert [rank["exit"] for rank in cut_short.reaches("finished")["runs"][1]["ranks"]] == [0] * 8
    assert _held_until(whole, cut_short.number) == []


def _held_until(whole: Whole, job: int) -> list[datetime]:
    """Holds of the job that were never given back."""
    live = "SELECT h.held_from FROM jobs_hold h JOIN jobs_run r ON r.id = h.run_id WHERE r.job_id = %s AND h.released_at IS NULL"
    return [row["held_from"] for row in whole.rows(live, job)]

"""kill -9 of any part while a job trains: training goes on, and the part does its work again."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.faults.person import Person, Training
from tests.faults.whole import Whole, eventually

pytestmark = [pytest.mark.whole, pytest.mark.limit(120)]


@pytest.fixture(scope="module")
def training(person: Person) -> Iterator[Training]:
    """One job that goes through all of it: two nodes, so that it could be lost in two ways."""
    job = person.train("through-all", nodes=2, gpus_per_node=2)
    yield job
    job.let_go()


def works(whole: Whole, person: Person) -> None:
    """From the API to three agents and back: a job on every node runs to its end."""
    job = person.submit("echo done", nodes=3, gpus_per_node=1)
    job.reaches("finished")
    eventually(lambda: job.printed() == "done\n", 10)
    assert whole.lost() == []


@pytest.mark.parametrize("name", ["web", "work", "cycle"])
def test_a_killed_process_of_the_portal_comes_back(
    whole: Whole, person: Person, training: Training, name: str
) -> None:
    dead = whole.kill(name)
    eventually(lambda: whole.is_back(name, dead))
    eventually(lambda: person.look("/nodes"))
    works(whole, person)
    training.goes_on()


def test_a_killed_beat_rings_again(whole: Whole, person: Person, training: Training) -> None:
    dead = whole.kill("beat")
    eventually(lambda: whole.is_back("beat", dead))
    rung = whole.log("beat").count("mend-users")
    works(whole, person)
    training.goes_on()
    eventually(lambda: whole.log("beat").count("mend-users") > rung)


def test_a_killed_valkey_forgets_the_nodes_and_is_told_of_them_again(
    whole: Whole, person: Person, training: Training
) -> None:
    dead = whole.kill("valkey")
    eventually(lambda: whole.is_back("valkey", dead))
    moment = datetime.now(UTC)
    eventually(lambda: whole.all_heard_since(moment), 25)  # before agents tire of it and join anew
    with whole.valkey() as link:
        assert {f"node-n{number:02}" for number in (1, 2, 3)} <= set(map(str, link.acl_users()))
    works(whole, person)
    training.goes_on()


def test_a_killed_postgresql_comes_back_with_everything(
    whole: Whole, person: Person, training: Training
) -> None:
    dead = whole.kill("postgres")
    eventually(lambda: whole.is_back("postgres", dead))
    eventually(lambda: person.look("/nodes"))
    moment = datetime.now(UTC)
    eventually(lambda: whole.all_heard_since(moment))
    works(whole, person)
    training.goes_on()


def test_a_killed_agent_adopts_its_ranks_and_learns_how_they_ended(whole: Whole, person: Person) -> None:
    job = person.train("adopted")
    (name,) = job.seen()["runs"][0]["nodes"]
    dead = whole.kill(name)
    eventually(lambda: whole.is_back(name, dead))
    job.goes_on()
    job.let_go(status=7)
    (run,) = job.reaches("failed")["runs"]
    assert (run["cause"], run["ranks"][0]["exit"]) == ("failed", 7)


def test_ranks_that_end_while_their_agent_is_dead_are_known_all_the_same(
    whole: Whole, person: Person
) -> None:
    job = person.train("unwatched", nodes=3, gpus_per_node=1)
    whole.kill("n03")
    job.let_go(status=0)
    (run,) = job.reaches("finished")["runs"]
    assert [rank["exit"] for rank in run["ranks"]] == [0, 0, 0]


def test_the_job_that_went_through_all_of_it_ends_well_in_its_first_run(
    whole: Whole, training: Training
) -> None:
    training.goes_on()
    training.let_go()
    (run,) = training.reaches("finished")["runs"]
    assert [rank["exit"] for rank in run["ranks"]] == [0, 0, 0, 0]
    assert whole.lost() == []

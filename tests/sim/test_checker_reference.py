"""The checker knows where and when fifo and easy start a job on equal nodes, and catches who does not."""

import pytest

from tests.sim.tiny import Event, Row, Tape, finish, job, node, start, told

ALL = [0, 1, 2, 3]
THREE = [node("n1"), node("n2"), node("n3")]


def plain(policy: str, jobs: list[Row], *events: Event) -> Tape:
    return told(jobs, *events, nodes=THREE, policy={"name": policy})


# a takes three quarters of n1, b all of n2; c needs two whole nodes; d would fit beside a.
JOBS = [
    job("a", 3, limit_s=100),
    job("b", 4, limit_s=200, duration_s=200),
    job("c", 8),
    job("d", 1, limit_s=90),
]
FIRST = [start(0.0, "a", n1=[0, 1, 2]), start(0.0, "b", n2=ALL)]
FIFO = plain(
    "fifo",
    JOBS,
    *[*FIRST, finish(100.0, "a"), start(100.0, "c", n1=ALL, n3=ALL)],
    *[finish(200.0, "b"), finish(200.0, "c"), start(200.0, "d", n1=[0]), finish(300.0, "d")],
)
EASY = plain(
    "easy",
    [*JOBS[:3], job("d", 1, limit_s=90, duration_s=90)],
    *[
        *FIRST,
        start(0.0, "d", n1=[3]),
        finish(90.0, "d"),
        finish(100.0, "a"),
        start(100.0, "c", n1=ALL, n3=ALL),
    ],
    *[finish(200.0, "b"), finish(200.0, "c")],
)


def test_fifo_by_the_book_passes() -> None:
    tape = FIFO.but(jobs=[*JOBS[:3], job("d", 1)])
    assert tape.wrong() == []


def test_easy_by_the_book_passes() -> None:
    assert EASY.wrong() == []


def test_fifo_lets_nobody_overtake() -> None:
    [wrong] = EASY.but(policy={"name": "fifo"}).wrong("reference")
    assert "job d" in wrong
    assert "starts ahead of c, which was submitted before it" in wrong


def test_easy_starts_the_head_by_its_shadow() -> None:
    late = plain(
        "easy", JOBS, *FIRST, finish(100.0, "a"), finish(200.0, "b"), start(200.0, "c", n1=ALL, n2=ALL)
    )
    wrong = late.wrong("reference")
    assert "t=100.0, job c: is first in line and fits, but does not start" in wrong
    assert any("starts after its shadow, t=100.0" in sentence for sentence in wrong)


@pytest.mark.parametrize(
    ("jobs", "seats", "right"),
    [
        ([job("a", 3), job("d", 1)], {"n2": [0]}, "n1 (1)"),
        ([job("a", 3), job("d", 4)], {"n3": ALL}, "n2 (4)"),
        ([job("a", 3), job("d", 5)], {"n2": ALL, "n1": [3]}, "n2 (4), n3 (1)"),
    ],
)
def test_a_job_sits_where_the_rule_says(jobs: list[Row], seats: dict[str, list[int]], right: str) -> None:
    tape = plain("easy", jobs, start(0.0, "a", n1=[0, 1, 2]), start(0.0, "d", **seats))
    assert f"its place by the rule is {right}" in tape.wrong("reference")[0]


def test_a_cluster_of_unequal_nodes_is_left_to_the_other_rules() -> None:
    wider = EASY.but(policy={"name": "fifo"}, nodes=[*THREE, node("n4", 8)])
    assert wider.wrong("reference") == []

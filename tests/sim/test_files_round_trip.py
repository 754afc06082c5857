"""What is written is read back the same, and no damage to a file ends in anything but a BadFile with its place."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from scheduler.sim.files import (
    BadFile,
    cluster_json,
    decoded,
    faults_csv,
    jobs_csv,
    read_cluster,
    read_faults,
    read_jobs,
    read_policy,
)
from scheduler.sim.workload import Ask, Cluster, Fault, Machine
from tests.sim import words

# Explaining a failure takes minutes where a draw is a whole cluster.
WITHOUT_EXPLAINING = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
NOISE = (
    "",
    ",",
    "|",
    '"',
    "\n",
    "{",
    "}",
    "[",
    "]",
    "-1",
    "nan",
    "1e999",
    "9" * 5000,
    "null",
    "\x00",
    "\ud800",
)


@given(words.clusters())
def test_a_cluster_is_read_as_it_was_written(cluster: Cluster) -> None:
    assert read_cluster(cluster_json(cluster), "C.json") == cluster


@given(words.asks())
def test_jobs_are_read_as_they_were_written(asks: tuple[Ask, ...]) -> None:
    read = read_jobs(jobs_csv(asks), "J.csv")
    assert tuple(replace(ask, line=0) for ask in read) == asks
    assert [ask.line for ask in read] == list(range(2, len(asks) + 2))


@given(st.data())
def test_faults_are_read_as_they_were_written(data: st.DataObject) -> None:
    cluster = data.draw(words.clusters())
    faults: tuple[Fault, ...] = data.draw(words.faults(cluster))
    read = read_faults(faults_csv(faults), "F.csv", cluster)
    assert tuple(replace(fault, line=0) for fault in read) == faults


@given(words.asks(), st.sampled_from(("\r\n", "\r")))
def test_line_ends_and_a_byte_order_mark_change_nothing(asks: tuple[Ask, ...], end: str) -> None:
    text = jobs_csv(asks)
    strange = "\ufeff" + text.replace("\n", end)
    assert read_jobs(strange, "J.csv") == read_jobs(text, "J.csv")
    assert decoded(strange.encode(), "J.csv") == strange.removeprefix("\ufeff")


def _damaged(data: st.DataObject, text: str) -> str:
    """A text in which a few stretches are cut out, doubled or replaced by noise."""
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(text))
        end = min(len(text), at + chance.choice((0, 1, 2, 8, 60)))
        text = text[:at] + chance.choice((*NOISE, text[at:end] * 2)) + text[end:]
    return text


SITE = Cluster((Machine("n1"), Machine("n2")))
POLICY = '{"name": "default",\n "grace_s": 60,\n "min_runtime_s": {"standard": 600},\n "peaks": []}'
READERS: dict[str, Callable[[str, str], object]] = {
    "cluster": read_cluster,
    "jobs": read_jobs,
    "faults": lambda text, name: read_faults(text, name, SITE),
    "policy": read_policy,
}
TEXTS = {
    "cluster": words.clusters().map(cluster_json),
    "jobs": words.asks().map(jobs_csv),
    "faults": words.faults(SITE).map(faults_csv),
    "policy": st.just(POLICY),
}


def refusal(kind: str, text: str) -> BadFile | None:
    try:
        READERS[kind](text, "FILE")
    except BadFile as bad:
        return bad
    return None


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=200, phases=WITHOUT_EXPLAINING, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_refused_with_a_line_of_it_or_still_makes_sense(
    kind: str, data: st.DataObject
) -> None:
    text = _damaged(data, data.draw(TEXTS[kind]))
    if bad := refusal(kind, text):
        lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
        assert 1 <= bad.line <= lines
        assert bad.column
        assert str(bad) == f"FILE, line {bad.line}, column {bad.column}: {bad.sentence}"
        assert len(bad.sentence) < 700


@given(st.binary(max_size=40))
def test_bytes_are_text_or_refused_with_a_place(raw: bytes) -> None:
    try:
        text = decoded(raw, "F")
    except BadFile as bad:
        text = str(bad)
    assert text or raw in (b"", b"\xef\xbb\xbf")


@pytest.mark.parametrize("digits", ["0.1", "1e-7", "123456789.125", "1e9"])
def test_numbers_keep_their_last_digit(digits: str) -> None:
    ask = Ask("a", float(digits), float(digits), 1)
    assert read_jobs(jobs_csv([ask]), "J.csv")[0].submit_s == float(digits)

"""What crosses the wire comes out as it went in, or not at all."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import shape, wire

KEY = b"k" * 32
printable = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=40)
names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
seconds = st.floats(0, 1e11)
hexes = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)


def maybe(kind: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | kind


gpus = st.builds(
    wire.GpuSeen,
    uuid=printable,
    slot=st.integers(0, 63),
    util=maybe(st.floats(0, 100)),
    memory_used_mib=maybe(st.integers(0, 2**32)),
    temp_c=maybe(st.floats(-100, 1000)),
    power_w=maybe(st.floats(0, 1e5)),
)
ranks = st.builds(
    wire.RankSeen,
    rank=st.integers(0, 2**24),
    state=st.sampled_from(wire.RANK_STATES),
    exit=maybe(st.integers(0, 255)),
    signal=maybe(st.integers(1, 64)),
    started_at=maybe(seconds),
    ended_at=maybe(seconds),
)


def some(kind: st.SearchStrategy[Any], key: Callable[[Any], Any] | None = None) -> st.SearchStrategy[Any]:
    return st.lists(kind, max_size=5, unique_by=key).map(tuple)


runs = st.builds(
    wire.RunSeen,
    run=st.integers(1, shape.MAX_INT),
    epoch=st.integers(0, 1000),
    state=st.sampled_from(wire.RUN_STATES),
    error=maybe(printable),
    ranks=some(ranks, lambda rank: rank.rank),
)
beats = st.builds(
    wire.Beat,
    node=names,
    boot=st.integers(1, shape.MAX_INT),
    seq=st.integers(1, shape.MAX_INT),
    sent_at=seconds,
    expires_at=seconds,
    agent=printable,
    orders_seq=st.integers(0, shape.MAX_INT),
    isolated=st.booleans(),
    hardware=hexes,
    gpus=some(gpus, lambda gpu: gpu.uuid),
    trespass=some(
        st.builds(wire.Trespass, uuid=printable, pid=st.integers(0, shape.MAX_INT), name=printable)
    ),
    findings=some(st.builds(wire.Finding, code=printable, uuid=maybe(printable), sentence=printable)),
    runs=some(runs, lambda run: run.run),
)
orders = st.builds(
    wire.Orders,
    node=names,
    boot=st.integers(0, shape.MAX_INT),
    seq=st.integers(1, shape.MAX_INT),
    sent_at=seconds,
    expires_at=seconds,
    ack=st.integers(0, shape.MAX_INT),
    beat_every_s=st.floats(0.1, 60),
    runs=some(
        st.builds(
            wire.RunWanted,
            run=st.integers(1, shape.MAX_INT),
            epoch=st.integers(0, 1000),
            digest=hexes,
            want=st.sampled_from(["run", "stop"]),
            grace_s=st.floats(0, 86_400),
        ),
        lambda run: run.run,
    ),
)
BEAT = wire.Beat(
    node="n01",
    boot=5,
    seq=3,
    sent_at=100.0,
    expires_at=160.0,
    agent="0.1.0",
    orders_seq=2,
    isolated=True,
    hardware="0" * 64,
    gpus=(wire.GpuSeen("GPU-1", 0, 50.0, 1024, 60.0, 300.0),),
    runs=(wire.RunSeen(7, 1, "running", None, (wire.RankSeen(0, "running", None, None, 90.0),)),),
)
ORDERS = wire.Orders("n01", 5, 9, 100.0, 160.0, 3, 2.0, (wire.RunWanted(7, 1, "a" * 64),))


def key_of(name: str) -> bytes | None:
    return KEY if name != "nobody" else None


def refused(call: Callable[..., object], *args: Any, **named: Any) -> shape.Refused:
    with pytest.raises(shape.Refused) as caught:
        call(*args, **named)
    return caught.value


@given(beats)
def test_a_beat_comes_out_as_it_went_in(beat: wire.Beat) -> None:
    envelope = json.loads(json.dumps(wire.seal("beat", beat.node, beat.to_body(), KEY)))
    node, body = wire.unseal("beat", envelope, key_of)
    assert (node, wire.Beat.from_body(body)) == (beat.node, beat)


@given(orders)
def test_orders_come_out_as_they_went_in(sent: wire.Orders) -> None:
    envelope = json.loads(json.dumps(wire.seal("orders", sent.node, sent.to_body(), KEY)))
    node, body = wire.unseal("orders", envelope, key_of)
    assert (node, wire.Orders.from_body(body)) == (sent.node, sent)


@given(st.integers(0, 10_000), st.sampled_from(["node", "body", "mac"]), st.characters(codec="ascii"))
def test_whatever_single_character_is_changed_the_message_is_refused(at: int, where: str, to: str) -> None:
    envelope = wire.seal("beat", "n01", BEAT.to_body(), KEY)
    text = envelope[where]
    at %= len(text)
    if text[at] == to:
        return
    envelope[where] = text[:at] + to + text[at + 1 :]
    assert refused(wire.unseal, "beat", envelope, key_of).code in ("forged", "malformed")


def test_one_direction_cannot_be_replayed_as_the_other() -> None:
    envelope = wire.seal("beat", "n01", BEAT.to_body(), KEY)
    assert refused(wire.unseal, "orders", envelope, key_of).code == "forged"


def test_another_nodes_key_a_strangers_name_and_a_borrowed_name_are_refused() -> None:
    body = BEAT.to_body()
    assert refused(wire.unseal, "beat", wire.seal("beat", "n01", body, b"x"), key_of).code == "forged"
    stranger = wire.seal("beat", "nobody", body, KEY)
    assert refused(wire.unseal, "beat", stranger, key_of).code == "unknown_node"
    borrowed = wire.seal("beat", "n02", body, KEY)  # n02 seals, with its own key, what says it is of n01
    assert refused(wire.unseal, "beat", borrowed, key_of).code == "forged"


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda kids: st.lists(kids) | st.dictionaries(st.text(), kids)))  # fmt: skip
def test_whatever_else_is_sent_is_refused_as_malformed(junk: object) -> None:
    assert refused(wire.unseal, "beat", junk, key_of).code == "malformed"
    assert refused(wire.Beat.from_body, junk).code == "malformed"
    assert refused(wire.Orders.from_body, junk).code == "malformed"


def test_a_sealed_body_that_is_no_object_or_nested_without_end_is_refused() -> None:
    for text in ("[]", "7", "[" * 30_000, '{"node": "n01"', "NaN"):
        envelope = {"v": 1, "node": "n01", "body": text, "mac": wire._mac("beat", "n01", text, KEY)}
        assert refused(wire.unseal, "beat", envelope, key_of).code == "malformed"


def test_an_oversized_message_is_neither_sealed_nor_opened() -> None:
    big = BEAT.to_body() | {"agent": "x" * wire.MAX_BEAT_BYTES}
    assert refused(wire.seal, "beat", "n01", big, KEY).code == "oversized"
    text = wire.canonical(big)
    envelope = {"v": 1, "node": "n01", "body": text, "mac": wire._mac("beat", "n01", text, KEY)}
    assert refused(wire.unseal, "beat", envelope, key_of).code == "oversized"


@pytest.mark.parametrize("field", list(BEAT.to_body()))
def test_a_beat_with_a_wrong_or_missing_field_names_it(field: str) -> None:
    for wrong in (object(), {"a": 1}, "\n", -1, 2**70, float("nan"), ["x"] * 2000):
        why = refused(wire.Beat.from_body, BEAT.to_body() | {field: wrong})
        assert (why.code, field in why.sentence) == ("malformed", True)
    without = {name: value for name, value in BEAT.to_body().items() if name != field}
    assert field in refused(wire.Beat.from_body, without).sentence


def test_a_wrong_field_deep_inside_is_named_with_its_path() -> None:
    body = json.loads(json.dumps(BEAT.to_body()))
    body["runs"][0]["ranks"][0]["exit"] = True
    assert "runs[0].ranks[0].exit" in refused(wire.Beat.from_body, body).sentence


def test_nothing_is_named_twice() -> None:
    twins = replace(BEAT, runs=BEAT.runs * 2).to_body()
    assert refused(wire.Beat.from_body, twins).sentence == "runs must name each run once."


def test_old_expired_and_repeated_messages_are_refused() -> None:
    BEAT.refuse_stale(now=120, boot=5, seq=2)
    BEAT.refuse_stale(now=120, boot=4, seq=99)  # a restarted agent counts from one again
    assert refused(BEAT.refuse_stale, now=161, boot=5, seq=2).code == "expired"
    assert refused(BEAT.refuse_stale, now=120, boot=6, seq=0).code == "wrong_boot"
    assert refused(BEAT.refuse_stale, now=120, boot=5, seq=3).code == "replayed"
    ORDERS.refuse_stale(now=120, boot=5, seq=8)
    assert refused(ORDERS.refuse_stale, now=161, boot=5, seq=8).code == "expired"
    assert refused(ORDERS.refuse_stale, now=120, boot=4, seq=8).code == "wrong_boot"
    assert refused(ORDERS.refuse_stale, now=120, boot=5, seq=9).code == "replayed"


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.integers())))
def test_the_digest_does_not_depend_on_the_order_of_fields(spec: dict[str, Any]) -> None:
    assert wire.digest(spec) == wire.digest(dict(reversed(spec.items())))


@given(st.text())
def test_plain_text_always_fits_into_a_message(words: str) -> None:
    body = BEAT.to_body() | {"agent": wire.plain(words, 64)}
    wire.Beat.from_body(body)

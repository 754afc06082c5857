"""Beats: numbered, at most two without an answer, cut to size, and no harm while nobody listens."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler import wire
from scheduler.agent.inbox import Inbox
from scheduler.agent.outbox import Outbox, fitted

KEY = b"k" * 32
BEAT = wire.Beat("n01", 5, 1, 0.0, 0.0, "0.1.0", 0, True, "0" * 64)


class FakePost:
    def __init__(self) -> None:
        self.sent: list[wire.Beat] = []
        self.is_away = False

    def send(self, envelope: dict[str, Any]) -> bool:
        if not self.is_away:
            self.sent.append(wire.Beat.from_body(wire.unseal("beat", envelope, lambda _: KEY)[1]))
        return not self.is_away


class Desk:
    """An outbox with a clock that the test turns."""

    def __init__(self) -> None:
        self.post, self.now = FakePost(), 0.0
        self.outbox = Outbox(key=KEY, post=self.post, clock=lambda: self.now)

    def live(self, seconds: float, step: float = 0.5, *, changed: bool = False) -> None:
        for _ in range(int(seconds / step)):
            self.now += step
            if self.outbox.may_send(2.0, now_please=changed):
                self.outbox.send(BEAT)


def test_a_day_without_an_answer_leaves_two_beats_in_the_queue() -> None:
    desk = Desk()
    desk.live(86_400)
    assert [beat.seq for beat in desk.post.sent] == [1, 2]
    desk.outbox.answered()
    desk.live(10)
    assert [beat.seq for beat in desk.post.sent] == [1, 2, 3, 4]


def test_news_does_not_wait_for_the_next_regular_beat_but_for_an_answer() -> None:
    desk = Desk()
    desk.live(1, changed=True)
    assert len(desk.post.sent) == 2
    desk.live(10, changed=True)
    assert len(desk.post.sent) == 2


def test_beats_come_regularly_while_they_are_answered() -> None:
    desk = Desk()
    for _ in range(20):
        desk.live(1)
        desk.outbox.answered()
    assert len(desk.post.sent) == 10


def test_a_broken_connection_resets_the_count_and_is_tried_ever_more_rarely() -> None:
    desk = Desk()
    desk.live(60)
    desk.outbox.answered()
    desk.post.is_away = True
    tries = 0
    for _ in range(1200):
        desk.now += 0.5
        if desk.outbox.may_send(2.0, now_please=True):
            desk.outbox.send(BEAT)
            tries += 1
    assert 110 < tries < 140  # every five seconds
    desk.post.is_away = False
    desk.live(10)
    assert [beat.seq for beat in desk.post.sent[:2]] == [1, 2]
    assert desk.post.sent[2].seq > 2
    assert len(desk.post.sent) == 4


ranks = st.integers(0, 64).map(
    lambda n: tuple(wire.RankSeen(i, "ended", 0, None, 1.0, 2.0) for i in range(n))
)
runs = st.lists(
    st.builds(wire.RunSeen, run=st.integers(1, 10**6), epoch=st.just(1), state=st.sampled_from(wire.RUN_STATES),
              error=st.none() | st.just('"' * 500), ranks=ranks),
    max_size=60, unique_by=lambda run: run.run,
).map(tuple)  # fmt: skip


@settings(max_examples=30)
@given(runs)
def test_whatever_runs_there_are_the_beat_fits_and_what_lives_goes_first(
    seen: tuple[wire.RunSeen, ...],
) -> None:
    desk = Desk()
    sent = desk.outbox.send(wire.Beat("n01", 5, 1, 0.0, 0.0, "0.1.0", 0, True, "0" * 64, runs=seen))
    assert sent is not None
    left_out = set(seen) - set(sent.runs)
    if any(run.state != "ended" for run in left_out):
        assert all(run.state != "ended" for run in sent.runs)


def test_a_beat_that_fits_is_left_alone() -> None:
    few = (wire.RunSeen(1, 1, "running"), wire.RunSeen(2, 1, "starting"))
    assert fitted(wire.Beat("n01", 5, 1, 0.0, 0.0, "0.1.0", 0, True, "0" * 64, runs=few)).runs == few


def test_authentic_orders_for_another_boot_are_not_obeyed_but_show_that_the_portal_lives() -> None:
    rings: list[int] = []
    inbox = Inbox(node="n01", boot=5, key=KEY, ring=lambda: rings.append(1))
    old = wire.Orders("n01", 4, 1, 0.0, 1e12)
    inbox.take(wire.seal("orders", "n01", old.to_body(), KEY))
    assert (inbox.orders, inbox.answers, inbox.lost_touch, rings) == (None, 1, True, [1])
    inbox.take(wire.seal("orders", "n01", old.to_body(), b"forged"))
    assert inbox.answers == 1

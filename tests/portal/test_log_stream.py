"""Logs that grow by themselves: a real web server, real streams, and what ends them."""

import asyncio
import http.client
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from django.test import Client

from portal import streams
from portal.accounts.models import Membership, User
from portal.jobs.logs import append
from portal.jobs.models import Job, Run
from portal.streams import Event, Step
from tests.journeys.scenery import served
from tests.portal.stage import Stage

SignIn = Callable[..., Client]
PATIENCE_S = 12.0


class Listener:
    """What a page hears: one open stream, event by event."""

    def __init__(self, address: str, path: str, client: Client, **headers: str) -> None:
        self.link = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE_S)
        cookie = f"berth_session={client.cookies['berth_session'].value}"
        self.link.request("GET", path, headers={"Cookie": cookie, **headers})
        self.answer = self.link.getresponse()
        self.cursor = ""

    def hear(self) -> tuple[str, str]:
        """The next event: its name and its text; ("", "") when the server ended the stream."""
        name, text = "", []
        while raw := self.answer.readline():
            line = raw.decode().rstrip("\n")
            if not line and name:
                return name, "\n".join(text)
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "id":
                self.cursor = value
            elif field == "data":
                text.append(value)
        return "", ""

    def lines(self) -> list[str]:
        """The next lines, as a page would show them."""
        name, text = self.hear()
        assert name == "lines", (name, text)
        return re.findall(r'<span class="rank">(r\d+</span>  <span>.*?)</span></li>', text)

    def close(self) -> None:
        self.link.close()


@pytest.fixture
def run(stage_shared: Stage) -> Run:
    """A gang of two that runs."""
    stage_shared.add_nodes("n1")
    return stage_shared.running(stage_shared.submit("talks", gpus_per_node=2))


@pytest.fixture
def web(run: Run, portal_environment: dict[str, str]) -> Iterator[str]:
    with served(portal_environment) as address:
        yield address


@contextmanager
def listening(web: str, run: Run, client: Client, query: str = "", **headers: str) -> Iterator[Listener]:
    listener = Listener(web, f"/jobs/{run.job_id}/stream?run={run.epoch}{query}", client, **headers)
    try:
        yield listener
    finally:
        listener.close()


def said(stage: Stage, run: Run, text: str, *, rank: int = 0, offset: int = 0) -> int:
    return append(run=run.pk, rank=rank, offset=offset, body=text.encode(), now=stage.now)


def line(rank: int, text: str) -> str:
    return f"r{rank}</span>  <span>{text}"


def test_lines_arrive_escaped_and_at_once_and_a_broken_stream_goes_on_where_it_stopped(
    stage_shared: Stage, signed_in: SignIn, run: Run, web: str
) -> None:
    stage, mira = stage_shared, signed_in(stage_shared.people["mira"])
    at = said(stage, run, "before\n")
    with listening(web, run, mira) as stream:
        assert stream.answer.headers["Content-Type"] == "text/event-stream"
        assert stream.answer.headers["Cache-Control"] == "no-store"
        assert stream.lines() == [line(0, "before")]
        began = time.monotonic()
        at = said(stage, run, "<b>one</b>\ntw", offset=at)
        assert stream.lines() == [line(0, "&lt;b&gt;one&lt;/b&gt;"), line(0, "tw")]
        assert time.monotonic() - began < 2
        cursor = stream.cursor
    at = said(stage, run, "o\nthree\n", offset=at)
    said(stage, run, "from one\n", rank=1)
    for resumed in ({"query": f"&after={cursor}"}, {"Last-Event-ID": cursor, "query": "&after=1"}):
        with listening(web, run, mira, **resumed) as stream:
            heard = stream.lines()
            while len(heard) < 3:
                heard += stream.lines()
            assert heard == [line(0, "two"), line(0, "three"), line(1, "from one")]
    with listening(web, run, mira, "&rank=1") as stream:
        assert stream.lines() == [line(1, "from one")]


def test_a_stream_ends_with_a_sentence_once_the_run_is_over_and_its_log_is_whole(
    stage_shared: Stage, signed_in: SignIn, run: Run, web: str
) -> None:
    with listening(web, run, signed_in(stage_shared.people["mira"])) as stream:
        at = said(stage_shared, run, "almost\n")
        assert stream.lines() == [line(0, "almost")]
        stage_shared.agents["n1"].end(run)
        stage_shared.later()
        stage_shared.beat()
        said(stage_shared, run, "last words, after the end", offset=at)
        assert stream.lines() == [line(0, "last words, after the end")]
        assert stream.hear() == ("end", "Run 1 ended: finished. The log is whole.")
        assert stream.hear() == ("", "")


def test_signing_out_ends_the_streams_of_that_session_and_of_no_other(
    stage_shared: Stage, signed_in: SignIn, run: Run, web: str
) -> None:
    here, elsewhere = (signed_in(stage_shared.people["mira"]) for _ in range(2))
    with listening(web, run, here) as stream, listening(web, run, elsewhere) as other:
        said(stage_shared, run, "hello\n")
        assert stream.lines() == other.lines() == [line(0, "hello")]
        began = time.monotonic()
        here.post("/signout")
        assert stream.hear() == ("end", "You are signed out; sign in to go on.")
        assert time.monotonic() - began < 3
        said(stage_shared, run, "still here\n", offset=6)
        assert other.lines() == [line(0, "still here")]


def test_without_redis_lines_arrive_all_the_same(
    stage_shared: Stage, signed_in: SignIn, run: Run, portal_environment: dict[str, str]
) -> None:
    with (
        served(portal_environment | {"REDIS_URL": "redis://127.0.0.1:1/0"}) as web,
        listening(web, run, signed_in(stage_shared.people["mira"])) as stream,
    ):
        began = time.monotonic()
        said(stage_shared, run, "heard by looking\n")
        assert stream.lines() == [line(0, "heard by looking")]
        assert time.monotonic() - began < streams.LOOK_S + 2


def test_many_streams_borrow_no_connections_are_bounded_and_do_not_hold_up_the_end(
    stage_shared: Stage, signed_in: SignIn, run: Run, portal_environment: dict[str, str]
) -> None:
    people = [signed_in(stage_shared.people[name]) for name in ("mira", "ravi", "yuki")]
    with ExitStack() as opened:
        with served(portal_environment) as web:
            said(stage_shared, run, "hello\n")
            for client in people:
                for _ in range(streams.MOST_EACH):
                    stream = opened.enter_context(listening(web, run, client))
                    assert stream.lines() == [line(0, "hello")]
            # Twice as many streams as there are connections to the database, and pages still come.
            with urlopen(f"{web}/healthz", timeout=5) as page:
                assert page.read() == b"alive\n"
            with listening(web, run, people[0]) as refused:
                assert refused.hear() == (
                    "end",
                    "You follow 8 logs already; close one of those pages and reload this one.",
                )
            began = time.monotonic()
        assert time.monotonic() - began < 4


# ---- The flow itself, on a clock that runs faster


class Told:
    """A source that says what a test tells it to."""

    channel = "berth.log.0"

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.refusal = ""

    def look(self) -> Step:
        return self.steps.pop(0) if self.steps else Step()

    def refuses(self, user: Any) -> str:
        return self.refusal


async def heard(flow: AsyncIterator[str], most: int) -> list[str]:
    found = []
    with suppress(StopAsyncIteration):
        while len(found) < most:
            found.append(await asyncio.wait_for(anext(flow), PATIENCE_S))
    await flow.aclose()  # type: ignore[attr-defined]  # it is a generator
    return found


def flowing(source: Told, person: User, client: Client, most: int) -> list[str]:
    session = client.cookies["berth_session"].value
    return asyncio.run(heard(streams._flow(source, user=person.pk, session=session), most))


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LOOK_S", 0.02)
    monkeypatch.setattr(streams, "ALIVE_S", 0.1)
    monkeypatch.setattr(streams, "RIGHTS_S", 0.05)


@pytest.mark.usefixtures("fast")
def test_a_silent_stream_says_that_it_is_alive(stage_shared: Stage, signed_in: SignIn) -> None:
    person = stage_shared.people["mira"]
    assert flowing(Told(), person, signed_in(person), 3) == [
        "retry: 2000\n\n",
        ": still here\n\n",
        ": still here\n\n",
    ]
    assert not streams._open


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("change", ["deactivated", "signed out", "password", "rights"])
def test_whoever_may_no_longer_read_hears_so_within_the_time_of_a_check(
    stage_shared: Stage, signed_in: SignIn, change: str
) -> None:
    person = stage_shared.people["mira"]
    client, source = signed_in(person), Told()
    sentence = "You are signed out; sign in to go on."
    if change == "deactivated":
        User.objects.filter(pk=person.pk).update(is_active=False)
    elif change == "signed out":
        client.session.flush()
    elif change == "password":
        person.set_password("quite another one")
        person.save()
    else:
        source.refusal = sentence = "Your account may not read this log any more."
    assert flowing(source, person, client, 9)[-1] == str(Event("end", sentence))


def test_a_log_is_refused_to_who_left_its_team(stage_shared: Stage, run: Run) -> None:
    from django.utils import timezone

    from portal.jobs.follow import Follower, Reader

    job, ravi = Job.objects.get(pk=run.job_id), stage_shared.people["ravi"]
    follower = Follower(job, run, Reader(run.pk), timezone.now, timezone.now())
    assert follower.refuses(ravi) == ""
    Membership.objects.filter(user=ravi).delete()
    assert follower.refuses(ravi) == "Your account may not read this log any more."


@pytest.mark.usefixtures("fast")
def test_a_full_server_says_so(
    stage_shared: Stage, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST", 0)
    person = stage_shared.people["mira"]
    (said_no,) = flowing(Told(), person, signed_in(person), 5)
    assert "as many logs as it can" in said_no


def test_an_event_of_several_lines_is_one_event() -> None:
    assert str(Event("lines", "<li>a</li>\n<li>b</li>", "7")) == (
        "id: 7\nevent: lines\ndata: <li>a</li>\ndata: <li>b</li>\n\n"
    )

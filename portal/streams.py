"""Answers that stay open: events for pages (SSE), long texts, and the one ear per process that wakes them.

A view checks rights as any other and hands over a Source. Before the first byte the request's database
connection goes back to the pool; each later look borrows one for as long as it takes. What wakes a stream
is only a hint: each one also looks by itself, so a Redis that is away costs seconds, never a line.
"""

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from time import monotonic
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse
from redis import asyncio as aioredis
from redis.exceptions import RedisError

from portal import bell

log = logging.getLogger(__name__)

MOST, MOST_EACH = 200, 8  # open streams per process, and per person
LOOK_S = 3.0  # how long a stream trusts the silence of Redis
GATHER_S = 0.15  # pieces come in bursts, one per rank: look once for all of them
ALIVE_S = 15.0
RIGHTS_S = 60.0
PATTERNS = ("berth.log.*", "berth.out.*")

Found = TypeVar("Found")
# Few threads: a look takes milliseconds, and each one in flight holds a database connection.
_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="stream")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream; `cursor` is where to go on from after a break."""

    name: str
    text: str
    cursor: str = ""

    def __str__(self) -> str:
        cursor = f"id: {self.cursor}\n" if self.cursor else ""
        body = "".join(f"data: {line}\n" for line in self.text.split("\n"))
        return f"{cursor}event: {self.name}\n{body}\n"


@dataclass(frozen=True, slots=True)
class Step:
    """What one look found; `more` asks for the next look at once, `over` ends the stream."""

    events: Sequence[Event] = ()
    more: bool = False
    over: bool = False


class Source(Protocol):
    """What a stream shows. Both methods run in a thread and may read the database."""

    @property
    def channel(self) -> str: ...

    def look(self) -> Step: ...

    def refuses(self, user: Any) -> str:
        """The sentence that ends the stream where this person may not see it any more, else nothing."""
        ...


def follow(request: HttpRequest, source: Source) -> StreamingHttpResponse:
    """The source as a stream of events."""
    key = getattr(request.session, "session_key", None) or ""
    content = _flow(source, user=int(request.user.pk or 0), session=key)
    return _opened(content, "text/event-stream")


def text(pieces: Callable[[], bytes], *, name: str) -> StreamingHttpResponse:
    """A long text, read bit by bit until there is nothing left; saved under a name of its own."""

    async def content() -> AsyncIterator[bytes]:
        while piece := await _in_thread(pieces):
            yield piece

    response = _opened(content(), "text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def signed_out(session: str) -> None:
    """Tell the streams of a session that it is over; they also find out by themselves within a minute."""
    with suppress(RedisError):
        bell.redis().publish(_channel_of(session), b"")


def _opened(content: AsyncIterator[Any], content_type: str) -> StreamingHttpResponse:
    # The view's own would stay borrowed for as long as the stream is open.
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
    response = StreamingHttpResponse(content, content_type=content_type)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"  # no proxy may hold it back
    return response


def _channel_of(session: str) -> str:
    return f"berth.out.{hashlib.sha256(session.encode()).hexdigest()[:32]}"


async def _in_thread(work: Callable[[], Found]) -> Found:
    def done() -> Found:
        try:
            return work()
        finally:
            connections.close_all()

    found: Found = await sync_to_async(done, thread_sensitive=False, executor=_threads)()
    return found


async def _flow(source: Source, *, user: int, session: str) -> AsyncIterator[str]:
    with _counted(user) as refused:
        if refused:
            yield str(Event("end", refused))
            return
        with _ear().hearing(source.channel) as news, _ear().hearing(_channel_of(session)) as left:
            yield "retry: 2000\n\n"
            async for part in _Flow(source, session, news, left).parts():
                yield part


@dataclass(slots=True)
class _Flow:
    """One open stream: looks, tells, and asks from time to time whether it may go on."""

    source: Source
    session: str
    news: asyncio.Event
    left: asyncio.Event  # somebody left: perhaps the reader
    told: float = field(default_factory=monotonic)
    checked: float = field(default_factory=monotonic)

    async def parts(self) -> AsyncIterator[str]:
        while True:
            self.news.clear()
            step = await _in_thread(self.source.look)
            for event in step.events:
                yield str(event)
            if step.over:
                return
            if refused := await self._refused():
                yield str(Event("end", refused))
                return
            if self._seems_dead(step):
                yield ": still here\n\n"
            if not step.more:
                await _quiet(self.news, self.left)

    def _seems_dead(self, step: Step) -> bool:
        silent = not step.events and monotonic() - self.told >= ALIVE_S
        if step.events or silent:
            self.told = monotonic()
        return silent

    async def _refused(self) -> str:
        if not self.left.is_set() and monotonic() - self.checked < RIGHTS_S:
            return ""
        self.left.clear()
        self.checked = monotonic()
        return await _in_thread(lambda: _refusal(self.source, self.session))


async def _quiet(news: asyncio.Event, left: asyncio.Event) -> None:
    """Until something is heard, or for as long as silence is believed."""
    waits = [asyncio.ensure_future(event.wait()) for event in (news, left)]
    try:
        await asyncio.wait(waits, timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    if news.is_set():
        await asyncio.sleep(GATHER_S)


def _refusal(source: Source, session: str) -> str:
    """Signed out, deactivated, password changed or rights lost since the stream was opened."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session)
    user = get_user(request)
    if not user.is_authenticated:
        return "You are signed out; sign in to go on."
    return source.refuses(user)


_open: Counter[int] = Counter()  # by person; changed on the event loop alone


@contextmanager
def _counted(user: int) -> Iterator[str]:
    """Takes one of the places there are, or says why there is none."""
    if _open.total() >= MOST:
        yield "This server follows as many logs as it can; reload the page in a while."
        return
    if _open[user] >= MOST_EACH:
        yield f"You follow {MOST_EACH} logs already; close one of those pages and reload this one."
        return
    _open[user] += 1
    try:
        yield ""
    finally:
        _open[user] -= 1
        if not _open[user]:
            del _open[user]


class Ear:
    """The one subscription of a process: hears every channel and wakes who waits for it."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def hearing(self, channel: str) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._waiting.setdefault(channel, set()).add(event)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._hear())
        try:
            yield event
        finally:
            self._waiting[channel].discard(event)
            if not self._waiting[channel]:
                del self._waiting[channel]
            if not self._waiting and self._task is not None:
                self._task.cancel()

    async def _hear(self) -> None:
        pause = 0.5
        while True:
            try:
                async with aioredis.Redis.from_url(settings.REDIS_URL) as link, link.pubsub() as heard:
                    await heard.psubscribe(*PATTERNS)
                    pause = 0.5
                    async for message in heard.listen():
                        self._wake(message)
            except (RedisError, OSError) as why:
                log.warning("streams look by themselves: %s", why)
            await asyncio.sleep(pause)
            pause = min(10.0, 2 * pause)

    def _wake(self, message: dict[str, Any]) -> None:
        channel = message.get("channel") or b""
        for event in self._waiting.get(channel.decode(), ()):
            event.set()


_ears: WeakKeyDictionary[asyncio.AbstractEventLoop, Ear] = WeakKeyDictionary()


def _ear() -> Ear:
    return _ears.setdefault(asyncio.get_running_loop(), Ear())

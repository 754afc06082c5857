"""A double of the portal for one node: its HTTP door, its ears and its orders, driven by the test."""

import base64
import json
import re
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from celery import Celery
from redis import Redis
from redis.exceptions import RedisError

from portal.agents import fences, keys
from portal.cluster.models import Node
from scheduler import wire


class PortalDouble:
    """Answers each beat with `runs`, as the portal does; everything it hears is kept for the test."""

    def __init__(self, redis_url: str, node: str = "n01") -> None:
        self.node, self.redis_url = node, redis_url
        self.key = secrets.token_bytes(32)
        self.join_answer = 200  # 202: pending; 403: refused; 503: away
        self.joins: list[dict[str, Any]] = []
        self.specs: dict[int, dict[str, Any]] = {}
        self.logs: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
        self.offsets: list[int] = []  # of all pieces of logs, in the order they came
        self.is_away = False  # the HTTP door
        self.answers_beats = True
        self.runs: tuple[wire.RunWanted, ...] = ()
        self.beats: list[wire.Beat] = []
        self.seq = 0
        self.beat_every_s = 0.2
        self._row = Node(name=node)  # key_version is what a real portal raises to change all its keys
        self._redis = Redis.from_url(redis_url, socket_timeout=2)
        self.acl("LOG", "RESET")
        self.open_fence()
        self._celery = Celery(broker=redis_url, set_as_current=False)
        self._celery.conf.update(task_serializer="json", broker_connection_retry=False)
        self._lock, self._over = threading.Lock(), threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._door())
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._threads = [
            threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True),
            threading.Thread(target=self._listen, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def open_fence(self) -> None:
        """The node's Redis user, with exactly the rights that the real portal gives."""
        self.acl("SETUSER", keys.redis_user(self._row), *fences.rights(self._row))

    def acl(self, *words: str) -> Any:
        return self._redis.execute_command("ACL", *words)  # type: ignore[no-untyped-call]  # redis-py's own

    def change_keys(self) -> None:
        """The node's Redis password and HTTP token from now on are others."""
        self._row.key_version += 1
        self.open_fence()
        self._redis.client_kill_filter(user=keys.redis_user(self._row))

    def close(self) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()
        for thread in self._threads:
            thread.join(5)
        self._celery.close()
        self._redis.close()

    # orders out

    def want(self, *runs: wire.RunWanted) -> None:
        """The whole set from now on; sent at once."""
        self.runs = runs
        self.send()

    def send(self, **changes: Any) -> None:
        with self._lock:
            self.seq += 1
            newest = self.beats[-1] if self.beats else None
            now = time.time()
            orders = wire.Orders(
                node=self.node,
                boot=newest.boot if newest else 0,
                seq=self.seq,
                sent_at=now,
                expires_at=now + 60,
                ack=newest.seq if newest else 0,
                beat_every_s=self.beat_every_s,
                runs=self.runs,
            )
            self.push(wire.seal("orders", self.node, orders.to_body() | changes, self.key))

    def push(self, envelope: object, task: str = "agent.orders", **options: Any) -> None:
        queue = fences.queue_of(self.node)
        self._celery.send_task(task, args=[envelope], queue=queue, ignore_result=True, **options)
        self._redis.ltrim(queue, 0, 0)

    # beats in

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                popped = self._redis.brpop(["beats"], timeout=0.1)
            except RedisError:
                self._over.wait(0.2)
                continue
            if popped:
                self.beats.append(self._opened(popped[1]))
                if self.answers_beats:
                    self.send()

    def _opened(self, raw: bytes | str) -> wire.Beat:
        envelope = json.loads(base64.b64decode(json.loads(raw)["body"]))
        _, body = wire.unseal("beat", envelope, lambda name: self.key if name == self.node else None)
        beat = wire.Beat.from_body(body)
        newest = self.beats[-1] if self.beats else None
        beat.refuse_stale(now=time.time(), boot=newest.boot if newest else 0, seq=newest.seq if newest else 0)
        return beat

    def heard(self, what: Callable[[wire.Beat], Any], limit_s: float = 15.0) -> wire.Beat:
        """The first beat from now on of which `what` is true."""
        start, deadline = max(0, len(self.beats) - 1), time.monotonic() + limit_s
        while time.monotonic() < deadline:
            for beat in self.beats[start:]:
                if what(beat):
                    return beat
            time.sleep(0.01)
        raise AssertionError(f"no such beat within {limit_s} s; the newest: {self.beats[-1:]}")

    def log(self, run: int, rank: int) -> bytes:
        """What arrived, in the order of its offsets; gaps closed."""
        return b"".join(piece for _, piece in self.logs.get((run, rank), []))

    # the HTTP door

    def _door(self) -> type[BaseHTTPRequestHandler]:
        portal = self

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._answer(*portal.on_get(self))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._answer(*portal.on_post(self, body))

            def _answer(self, status: int, value: object) -> None:
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        return Door

    def on_get(self, asked: BaseHTTPRequestHandler) -> tuple[int, object]:
        found = re.fullmatch(r"/api/v1/agent/runs/(\d+)/spec", asked.path)
        refusal = self._refusal(asked)
        if refusal or not found or int(found[1]) not in self.specs:
            return refusal or (404, {"detail": "There is no such run here."})
        return 200, self.specs[int(found[1])]

    def on_post(self, asked: BaseHTTPRequestHandler, body: bytes) -> tuple[int, object]:
        if asked.path == "/api/v1/agent/join":
            return self._join(json.loads(body))
        parts = urlsplit(asked.path)
        found = re.fullmatch(r"/api/v1/agent/runs/(\d+)/ranks/(\d+)/log", parts.path)
        refusal = self._refusal(asked)
        if refusal or not found:
            return refusal or (404, {"detail": "There is no such rank here."})
        return 200, {"next": self._keep(int(found[1]), int(found[2]), int(parts.query[7:]), body)}

    def _keep(self, run: int, rank: int, offset: int, body: bytes) -> int:
        self.offsets.append(offset)
        pieces = self.logs.setdefault((run, rank), [])
        end = pieces[-1][0] + len(pieces[-1][1]) if pieces else 0
        if offset + len(body) > end:  # an agent that died before our answer sends part of it again, with more
            pieces.append((max(offset, end), body[max(0, end - offset) :]))
        return max(end, offset + len(body))

    def _refusal(self, asked: BaseHTTPRequestHandler) -> tuple[int, object] | None:
        if self.is_away:
            return 503, {"detail": "The portal is being restarted."}
        if asked.headers["Authorization"] != f"Bearer {keys.http_token(self._row)}":
            return 401, {"detail": "No."}
        return None

    def _join(self, asked: dict[str, Any]) -> tuple[int, object]:
        self.joins.append(asked)
        if self.join_answer == 202:
            return 202, {"state": "pending", "sentence": "n01 waits for approval."}
        if self.join_answer != 200:
            return self.join_answer, {"detail": "This join token has expired."}
        return 200, {
            "state": "approved",
            "node": self.node,
            "token": keys.http_token(self._row),
            "wire_key": self.key.hex(),
            "redis_url": self._redis_url_of_node(),
            "queue": fences.queue_of(self.node),
        }

    def _redis_url_of_node(self) -> str:
        where = urlsplit(self.redis_url)
        credentials = f"{keys.redis_user(self._row)}:{keys.redis_password(self._row)}"
        return f"redis://{credentials}@{where.hostname}:{where.port}/0"

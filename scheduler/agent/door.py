"""The portal's HTTP door as the agent sees it: one kept-alive connection, short time-outs, two kinds of failure."""

import http.client
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from scheduler import wire

TIMEOUT_S = 5.0
_MAX_ANSWER = 4 * 1024 * 1024


class Away(Exception):
    """The portal did not answer, or not now: try again later."""


class Refusal(Exception):
    """The portal answered no."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Door:
    """Not for use by two threads at once: give each its own."""

    def __init__(self, url: str, token: str = "", turned_away: Callable[[], None] = lambda: None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a portal; it should look like http://portal:8000.")
        self._where, self._tls = parts.netloc.rpartition("@")[2], parts.scheme == "https"
        self._prefix = parts.path.rstrip("/") + "/api/v1/agent/"
        self._token, self._turned_away = token, turned_away
        self._line: http.client.HTTPConnection | None = None

    def get(self, path: str) -> Any:
        return self._ask("GET", path, None, "application/json")[1]

    def post_json(self, path: str, value: object) -> tuple[int, Any]:
        return self._ask("POST", path, json.dumps(value).encode(), "application/json")

    def post_bytes(self, path: str, value: bytes) -> Any:
        return self._ask("POST", path, value, "application/octet-stream")[1]

    def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()

    def _ask(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, Any]:
        headers = {"Content-Type": kind, "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        was_open = self._line is not None
        try:
            return self._once(method, path, body, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as why:
            # An idle connection that the other side closed meanwhile says nothing about the portal.
            if not was_open:
                raise Away(_sentence(why)) from why
        except (OSError, http.client.HTTPException) as why:
            raise Away(_sentence(why)) from why
        try:
            return self._once(method, path, body, headers)
        except (OSError, http.client.HTTPException) as why:
            raise Away(_sentence(why)) from why

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, Any]:
        if self._line is None:
            kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
            self._line = kind(self._where, timeout=TIMEOUT_S)
        try:
            self._line.request(method, self._prefix + path, body=body, headers=headers)
            answer = self._line.getresponse()
            text = answer.read(_MAX_ANSWER)
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.will_close or not answer.isclosed():
            self.close()
        if answer.status == 401 and self._token:
            self._turned_away()
            raise Away("The portal no longer accepts this node's token.")
        return answer.status, _understood(answer.status, text)


def _understood(status: int, text: bytes) -> Any:
    value: Any = None
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
    if 200 <= status < 300:
        if value is None:
            raise Away("The portal's answer is not JSON; is the address right?")
        return value
    said = value.get("detail") or value.get("title") if isinstance(value, dict) else None
    sentence = wire.plain(str(said)) if said else f"The portal answered {status}."
    if status >= 500 or status in (408, 425, 429):
        raise Away(sentence)
    raise Refusal(status, sentence)


def _sentence(why: Exception) -> str:
    reason = getattr(why, "strerror", None) or str(why) or type(why).__name__
    return f"The portal cannot be reached: {reason}."

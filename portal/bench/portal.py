"""A portal of one's own: `up` in a directory that is thrown away, and a client that is signed in to it."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from time import monotonic
from typing import Any, Self
from urllib.parse import urlencode

from portal.up.sockets import free_port

ROOT = Path(__file__).resolve().parent.parent.parent
READY_S, END_S = 120, 20


@contextmanager
def running(*, agents: int = 8) -> Iterator[tuple[int, Path]]:
    """Start `up`, wait until it says ready, and end it in order afterwards; yields its port and state."""
    with tempfile.TemporaryDirectory(prefix="berth-bench-", dir="/tmp") as place:
        Path(place).chmod(0o711)  # as root, jobs run under users of their own and must reach theirs
        state, port = Path(place) / "state", free_port()
        command = [sys.executable, str(ROOT / "manage.py"), "up", "--state", str(state), "--port", str(port)]
        process = subprocess.Popen(
            [*command, "--agents", str(agents)],
            env=_surroundings(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            _wait_until_ready(process, port)
            yield port, state
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def _surroundings() -> dict[str, str]:
    """Without anything that names other servers or another state: the embedded default is what is measured."""
    named = ("BERTH_", "DJANGO_", "DATABASE_URL", "REDIS_URL")
    return {name: value for name, value in os.environ.items() if not name.startswith(named)}


def _wait_until_ready(process: "subprocess.Popen[str]", port: int) -> None:
    """`up` prints its address last of all, when every part answers."""
    assert process.stdout is not None  # asked for above
    said, deadline = [], monotonic() + READY_S
    for line in process.stdout:
        said.append(line)
        if f":{port}" in line:
            return
        if monotonic() > deadline:
            break
    raise SystemExit("up did not become ready:\n" + "".join(said))


class Client:
    """Speaks to the API as a person does who made a token."""

    def __init__(self, port: int, email: str, password: str) -> None:
        self.link = HTTPConnection("127.0.0.1", port, timeout=30)
        self.headers = {"Authorization": f"Bearer {self._token(email, password)}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer as a value; what is not a success ends the measurement with the portal's own words."""
        status, _, answer = self._send(method, f"/api/v1{path}", json.dumps(body), self.headers)
        if status >= 300:
            raise SystemExit(f"{method} {path} was answered with {status}: {answer}")
        return json.loads(answer)

    def _token(self, email: str, password: str) -> str:
        _, cookies, page = self._send("GET", "/signin", "", {})
        hidden = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        form = urlencode({"email": email, "password": password, "csrfmiddlewaretoken": hidden and hidden[1]})
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": _pairs(cookies)}
        status, session, _ = self._send("POST", "/signin", form, kind)
        if status != 302:
            raise SystemExit(f"{email} could not sign in ({status}).")
        cookies.update(session)
        headers = {"Cookie": _pairs(cookies), "X-CSRFToken": cookies["berth_csrf"].value}
        ask = json.dumps({"name": "bench", "scopes": ["read", "write"], "days": 1})
        status, _, answer = self._send("POST", "/api/v1/tokens", ask, headers)
        if status != 201:
            raise SystemExit(f"no token was made ({status}): {answer}")
        return str(json.loads(answer)["secret"])

    def _send(
        self, method: str, path: str, body: str, headers: dict[str, str]
    ) -> tuple[int, "SimpleCookie", str]:
        self.link.request(method, path, body, {"Content-Type": "application/json"} | headers)
        response = self.link.getresponse()
        cookies: SimpleCookie = SimpleCookie()
        for line in response.headers.get_all("Set-Cookie", []):
            cookies.load(line)
        return response.status, cookies, response.read().decode()


def _pairs(cookies: "SimpleCookie") -> str:
    return "; ".join(f"{name}={morsel.value}" for name, morsel in cookies.items())

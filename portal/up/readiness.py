"""How a child is known to do its work: an address answers, or its log says so."""

import http.client
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from portal.up.lineup import Child


def readiness(child: Child, log: Path) -> Callable[[], bool]:
    """The question to ask until the answer is yes; a log is read from where it ends now."""
    if child.ready_url:
        return lambda: _answers(child.ready_url)
    if child.ready_words:
        words, since = child.ready_words.encode(), log.stat().st_size if log.exists() else 0
        return lambda: words in _from(log, since)
    began = time.monotonic()
    return lambda: time.monotonic() - began > 0.2  # long enough to fail at once, were it to


def _from(log: Path, since: int) -> bytes:
    if not log.exists():
        return b""
    with log.open("rb") as lines:
        lines.seek(since)
        return lines.read()


def _answers(url: str) -> bool:
    where = urlsplit(url)
    link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=5)
    try:
        link.request("GET", where.path)
        return link.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        link.close()

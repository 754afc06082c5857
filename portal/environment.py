"""Turns environment variables into settings: database addresses and secrets kept in files."""

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


def database(url: str) -> dict[str, Any]:
    """Django's settings for postgresql://user:password@host:port/name?option=value."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ValueError(
            "DATABASE_URL must start with postgresql://, for example postgresql://berth@db/berth."
        )
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or options.pop("user", "")),
        "PASSWORD": unquote(parts.password or options.pop("password", "")),
        "HOST": parts.hostname or options.pop("host", ""),
        "PORT": str(parts.port or options.pop("port", "")),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**options, "pool": {"min_size": 1, "max_size": 12, "timeout": 10}},
    }


def secret(variable: str, path: Path) -> str:
    """A secret from the environment, else from its file; the first process to ask makes the file."""
    if given := os.environ.get(variable):
        return given
    if not path.exists():
        _make(path)
    return path.read_text().strip()


def _make(path: Path) -> None:
    """Write whole under another name, then link into place, so that nobody ever reads half a secret."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(48))
    try:
        os.link(draft, path)
    except FileExistsError:  # another process was first: its secret counts
        pass
    finally:
        draft.unlink()

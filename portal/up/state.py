"""The state directory: which directories we take, what lies where in it, and who may use it now."""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.up.trouble import Trouble

FORMAT = 1
_MARKER = "berth.json"
_NEEDED_MB = 500  # a fresh database takes 40, its logs and a few days of readings the rest
_NEEDED_AGAIN_MB = 100
_LOG_LIMIT = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class State:
    """A directory of ours; `mark` tells the processes of this state from all others."""

    path: Path
    mark: str

    @property
    def run(self) -> Path:
        """What only means something while `up` runs."""
        return self.path / "run"

    @property
    def token(self) -> Path:
        """What lets the demo's agents join without being asked."""
        return self.path / "secrets" / "join-token"

    def log(self, name: str) -> Path:
        """The log of one process."""
        return self.path / "log" / f"{name}.log"


def default_path(root: Path) -> Path:
    """BERTH_STATE; else /var/lib/berth for root, and .state in the checkout for everybody else."""
    if named := os.environ.get("BERTH_STATE"):
        return Path(named)
    return Path("/var/lib/berth") if os.geteuid() == 0 else root / ".state"


def open_state(path: Path) -> State:
    """Take a directory that is ours, or make one where there is nothing; refuse every other."""
    path = path.absolute()
    try:
        _refuse_strangers(path)
        made = not (path / _MARKER).exists()
        path.mkdir(parents=True, exist_ok=True, mode=0o711 if os.geteuid() == 0 else 0o700)
        _refuse_full_disk(path, _NEEDED_MB if made else _NEEDED_AGAIN_MB)
        if made:
            write(path / _MARKER, {"format": FORMAT, "mark": secrets.token_hex(16)})
        for name in ("run", "log", "secrets"):
            (path / name).mkdir(mode=0o700, exist_ok=True)
        # Ranks of root's agents run under other users, and must reach their own directories below it.
        (path / "agents").mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, exist_ok=True)
    except OSError as error:
        raise Trouble(
            f"The state directory {path} cannot be used: {error.strerror}; give another with --state."
        ) from error
    return State(path, _read(path)["mark"])


def _refuse_strangers(path: Path) -> None:
    """Other people's files are never touched, nor what a newer Berth wrote."""
    if not path.exists():
        return
    if not path.is_dir():
        raise Trouble(f"{path} is not a directory; give another with --state.")
    found = {entry.name for entry in path.iterdir()}
    # Django's own words (./manage.py check, say) leave their key in an otherwise empty directory.
    if not found <= {"secrets"} and _MARKER not in found:
        raise Trouble(f"{path} holds something that is not Berth's; give an empty directory with --state.")
    if not os.access(path, os.W_OK | os.X_OK):
        raise Trouble(f"{path} cannot be written by this user; give another directory with --state.")
    if _MARKER in found:
        _refuse_marker(path)


def _refuse_marker(path: Path) -> None:
    owner = (path / _MARKER).stat().st_uid
    if owner != os.geteuid():
        raise Trouble(
            f"{path} belongs to user {owner}; run as that user, or give another directory with --state."
        )
    version = _read(path)["format"]
    if version != FORMAT:
        raise Trouble(
            f"{path} was made by another version of Berth (its format is {version}, this one knows {FORMAT}); "
            "use that version, or give another directory with --state."
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        marker = json.loads((path / _MARKER).read_text())
        return {"format": marker["format"], "mark": marker["mark"]}
    except (ValueError, KeyError, TypeError) as error:
        raise Trouble(
            f"{path / _MARKER} is damaged; restore it, or give another directory with --state."
        ) from error


def _refuse_full_disk(path: Path, needed_mb: int) -> None:
    free_mb = shutil.disk_usage(path).free // (1024 * 1024)
    if free_mb < needed_mb:
        raise Trouble(
            f"Only {free_mb} MB are free where {path} is, and {needed_mb} MB are needed; "
            "free some, or give a directory on another disk with --state."
        )


def lock(state: State) -> int | None:
    """Become the one `up` of this directory: a file descriptor that holds the lock, or None if there is one."""
    door = os.open(state.run / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(door)
        return None
    return door


def write(path: Path, content: object) -> None:
    """Whole or not at all, and for nobody else to read."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(content))
    draft.replace(path)


def bound(log: Path) -> None:
    """Keep a log small: what was too long moves to one older file. Writers append, so they do not mind."""
    if log.exists() and log.stat().st_size > _LOG_LIMIT:
        with contextlib.suppress(OSError):  # on a full disk it stays as it is, and nobody ends for it
            shutil.copyfile(log, log.with_suffix(".old.log"))
            os.truncate(log, 0)

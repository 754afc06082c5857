"""How PostgreSQL, which refuses root and users without an account, runs for them: no account is made for it."""

import functools
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from portal.up.trouble import Trouble


@dataclass(frozen=True, slots=True)
class Guise:
    """As whom a server runs: itself, itself by another name in a user namespace, or another user."""

    prefix: tuple[str, ...] = ()  # words before the command
    user: str | None = None


def guise() -> Guise:
    """An ordinary user runs it as itself; root, and a user without an account, in a namespace; root else as nobody."""
    if os.geteuid() != 0 and _has_account(os.geteuid()):
        return Guise()
    # In the namespace the files stay ours: nothing has to be opened to other users.
    if _namespaces_allowed():
        return Guise(prefix=_unshare())
    if os.geteuid() == 0:
        return Guise(user="nobody")
    raise Trouble(
        f"User {os.geteuid()} has no account on this machine, and PostgreSQL does not run without one; "
        "run as another user, or name a running server in DATABASE_URL."
    )


def _has_account(uid: int) -> bool:
    return any(account.pw_uid == uid for account in pwd.getpwall())


def _unshare() -> tuple[str, ...]:
    """By the name of some account that is not root's: initdb wants to look it up."""
    uid = min((account.pw_uid for account in pwd.getpwall() if account.pw_uid), default=1)
    return ("unshare", "--user", f"--map-user={uid}", f"--map-group={uid}")


@functools.cache
def _namespaces_allowed() -> bool:
    try:
        tried = subprocess.run([*_unshare(), "true"], capture_output=True, timeout=10, check=False)
    except FileNotFoundError:
        return False
    return tried.returncode == 0


def give(directory: Path, who: Guise) -> None:
    """Make the guise the owner of a directory of ours, and of all in it, where it is not yet."""
    if os.geteuid() != 0:
        return
    account = pwd.getpwnam(who.user) if who.user else None
    uid, gid = (account.pw_uid, account.pw_gid) if account else (0, 0)
    if directory.stat().st_uid == uid:
        return
    for folder, _, files in os.walk(directory):
        os.chown(folder, uid, gid)
        for name in files:
            os.chown(Path(folder) / name, uid, gid, follow_symlinks=False)


def reachable_bin(bin_dir: Path, who: Guise, directory: Path) -> Path:
    """The programs where the guise can run them: a copy inside our directory if they are out of its reach."""
    if who.user is None:
        return bin_dir
    if not _can(["test", "-x", directory], who.user):
        raise Trouble(
            f"PostgreSQL does not run as root, and the user {who.user} cannot enter {directory}; "
            "give a state directory that others may enter, for example --state /var/lib/berth."
        )
    if _can([bin_dir / "initdb", "--version"], who.user):
        return bin_dir
    package = bin_dir.parent.parent
    copy = directory / f"programs-{(bin_dir / 'postgres').stat().st_mtime_ns}"
    if not copy.exists():
        _copy_programs(package, copy)
    return copy / package.name / bin_dir.parent.name / bin_dir.name


def _copy_programs(package: Path, copy: Path) -> None:
    """The wheel's programs look for their libraries in a directory beside the package."""
    draft = copy.with_name(f"{copy.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o755)
    shutil.copytree(package, draft / package.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, draft / libraries.name)
    draft.rename(copy)


def _can(command: list[str | Path], user: str) -> bool:
    account = pwd.getpwnam(user)
    try:
        tried = subprocess.run(
            command,
            cwd="/",
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            capture_output=True,
            timeout=10,
            check=False,
        )
    except PermissionError:
        return False
    return tried.returncode == 0

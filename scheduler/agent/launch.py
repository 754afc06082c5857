"""From a spec to a directory with a running shim: what each rank finds in its environment, and as whom it runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from scheduler.agent import rundir
from scheduler.agent.boot import NOBODY
from scheduler.agent.specs import Spec, SpecRank

_ROOT = Path(__file__).resolve().parents[2]
# -I -S: nothing from the environment or the site, so that it starts in a few milliseconds.
_SHIM = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from scheduler.agent.shim import main; main()"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def launch(spec: Spec, directory: Path, *, node: str, doorbell: Path, isolated: bool) -> int:
    """The shim's pid. Nothing is left behind where it fails with an OSError."""
    fresh = directory.with_name(f"{directory.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        _furnish(fresh, spec, isolated)
        order = _order(spec, directory, node=node, doorbell=doorbell, isolated=isolated)
        rundir.write(fresh / rundir.LAUNCH, order)
        # From here on the run counts as launched: whoever finds the directory never starts it again.
        fresh.rename(directory)
        return _start_shim(directory)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _furnish(directory: Path, spec: Spec, isolated: bool) -> None:
    directory.mkdir(mode=0o711)
    directory.chmod(0o711)
    for rank in spec.ranks:
        rundir.log_dir(directory, rank.rank).mkdir(parents=True)
    work = directory / rundir.WORK
    for folder in (work, work / "tmp"):
        folder.mkdir(mode=0o700)
        if isolated:
            os.chown(folder, *_identity(spec))


def _identity(spec: Spec) -> tuple[int, int]:
    uid = NOBODY if spec.uid is None else spec.uid
    return uid, uid if spec.gid is None else spec.gid


def _order(spec: Spec, directory: Path, *, node: str, doorbell: Path, isolated: bool) -> rundir.Launch:
    uid, gid = _identity(spec) if isolated else (None, None)
    work = str(directory / rundir.WORK)
    return rundir.Launch(
        command=spec.command,
        cwd=work,
        uid=uid,
        gid=gid,
        doorbell=str(doorbell),
        gpus=spec.gpus,
        ranks=[
            rundir.LaunchRank(rank=rank.rank, env=environment(spec, rank, node=node, work=work))
            for rank in spec.ranks
        ],
    )


def environment(spec: Spec, rank: SpecRank, *, node: str, work: str) -> dict[str, str]:
    """Nothing of the agent's own but its PATH and LANG; the job's variables cannot pose as ours."""
    plain = {
        "PATH": os.environ.get("PATH", _PATH),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "HOME": work,
        "TMPDIR": f"{work}/tmp",
    }
    asked = {name: value for name, value in spec.env.items() if not name.startswith("BERTH_")}
    ours = {
        "RANK": str(rank.rank),
        "LOCAL_RANK": str(rank.local_rank),
        "WORLD_SIZE": str(spec.world_size),
        "LOCAL_WORLD_SIZE": str(len(spec.ranks)),
        "NODE_RANK": str(spec.node_rank),
        "MASTER_ADDR": spec.master_addr,
        "MASTER_PORT": str(spec.master_port),
        "CUDA_VISIBLE_DEVICES": ",".join(spec.gpus),
        "BERTH_JOB": str(spec.job),
        "BERTH_RUN": str(spec.run),
        "BERTH_EPOCH": str(spec.epoch),
        "BERTH_RANK": str(rank.rank),
        "BERTH_NODE": node,
        "BERTH_TEAM": spec.team,
        "BERTH_USER": spec.user,
        "BERTH_WORK": work,
    }
    return {**plain, **asked, **ours}


def _start_shim(directory: Path) -> int:
    """In a session of its own; it outlives us. Its few last words, if any, stay beside the run."""
    with open(directory / "shim.err", "wb") as words:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _SHIM, str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            # By this mark a later `up` finds and ends what one that was killed left behind.
            env={"PATH": _PATH, **{name: os.environ[name] for name in ("BERTH_UP",) if name in os.environ}},
            cwd="/",
            start_new_session=True,
        )
    child.returncode = 0  # the ranks' keeper reaps it; Popen must not complain that nobody did
    return child.pid

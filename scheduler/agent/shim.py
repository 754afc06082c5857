"""The one process beside a run's ranks: starts them, keeps their output and exit codes, ends their whole tree.

It outlives the agent, so it must stay small, start fast and depend on nothing but the standard library.
"""

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from scheduler.agent import proc, rundir
from scheduler.agent.spool import Spool

LEFTOVER_GRACE_S = 2.0  # for what the ranks left behind when all of them ended
INSIST_S = 600.0  # for a full disk to take the last word
DRAIN_S = 1.0  # for output still in the pipes when every process is gone
SHUTDOWN_GRACE_S = 10.0
SHUTDOWN = "The node was shut down while the ranks ran."
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None)


class Shim:
    def __init__(self, directory: Path, launch: rundir.Launch) -> None:
        self.directory, self.launch = directory, launch
        me = proc.stat(os.getpid())
        assert me is not None
        self.seen = rundir.Seen(phase="starting", pid=me.pid, ticks=me.ticks, error=None, ranks=[])
        self.spools: dict[int, Spool] = {}  # by the pipe that feeds it
        self.kill_at: float | None = None
        self.woken = True  # a stop may have been asked for before we listened
        self.shut_down = False
        self.unwritten = True
        self.poll = select.poll()

    def run(self) -> None:
        self.wake = _listen_to_signals()
        self.poll.register(self.wake, select.POLLIN)
        self.tell()
        self.start_all()
        while self.reap():  # before obey, which must know of everyone whose end woke us
            self.obey()
            self.enforce()
            self.tell()
            self.pump(self.pause_ms())
        self.drain()
        self.move("ended")
        self.insist()

    # starting

    def start_all(self) -> None:
        try:
            for rank in self.launch["ranks"]:
                self.start(rank)
        except OSError as why:  # no process or no pipe to be had: a gang is whole or not at all
            self.seen["error"] = f"A rank could not be started: {why.strerror}."
            self.stop(0)
        else:
            self.move("running")

    def start(self, rank: rundir.LaunchRank) -> None:
        outlet, inlet = os.pipe()
        os.set_blocking(outlet, False)
        # Held back until the child has given up our own way of hearing it, so that no early stop is lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        pid = os.fork()
        if pid == 0:
            _become_rank(self.launch, rank["env"], inlet)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.close(inlet)
        born = proc.stat(pid)
        self.spools[outlet] = Spool(rundir.log_dir(self.directory, rank["rank"]))
        self.poll.register(outlet, select.POLLIN)
        self.seen["ranks"].append(
            rundir.Rank(
                rank=rank["rank"],
                pid=pid,
                ticks=born.ticks if born else 0,
                started_at=time.time(),
                ended_at=None,
                exit=None,
                signal=None,
            )
        )

    # watching

    def reap(self) -> bool:
        """Note who ended. False once nobody is left: as subreaper we inherit every orphan of the tree."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            for rank in self.seen["ranks"]:
                if rank["pid"] == pid and rank["ended_at"] is None:
                    self.note_end(rank, status)

    def note_end(self, rank: rundir.Rank, status: int) -> None:
        rank["ended_at"], self.unwritten = time.time(), True
        self.hear()  # a shutdown that reached us before it reached the rank
        if self.shut_down:
            return  # how a rank takes that says nothing about the job, so it stays untold
        if os.WIFSIGNALED(status):
            rank["signal"] = os.WTERMSIG(status)
        else:
            rank["exit"] = os.WEXITSTATUS(status)

    def pump(self, pause_ms: float | None) -> None:
        """One bite from every pipe that has something, so that no loud rank starves a quiet one."""
        for fd, _ in self.poll.poll(pause_ms):
            if fd == self.wake:
                self.hear()
                continue
            try:
                output = os.read(fd, 65536)
            except BlockingIOError:
                continue
            if output:
                self.spools[fd].take(output)
            else:
                self.poll.unregister(fd)
                os.close(fd)
                self.spools.pop(fd).close()

    def hear(self) -> None:
        """The agent leaves an order before it signals; whoever sends SIGTERM without one ends the machine."""
        heard = _swallow(self.wake)
        self.woken = self.woken or bool(heard)
        if signal.SIGTERM in heard and rundir.stop_of(self.directory) is None:
            self.shut_down, self.seen["error"] = True, SHUTDOWN

    def drain(self) -> None:
        """What the dead left in the pipes; a deadline, since a stranger may hold the other end open."""
        deadline = time.monotonic() + DRAIN_S
        while self.spools and time.monotonic() < deadline:
            self.pump(50)

    def pause_ms(self) -> float | None:
        if self.unwritten:
            return 1000.0  # the disk was full: try again
        if self.kill_at is None:
            return None
        return max(200.0 * (time.monotonic() >= self.kill_at), (self.kill_at - time.monotonic()) * 1000)

    # stopping

    def obey(self) -> None:
        """A stop, asked for by the agent, or because all ranks ended and left something behind."""
        if not self.woken:
            return
        self.woken = False
        order = rundir.stop_of(self.directory)
        if order is not None:
            self.stop(order["grace_s"])
        elif self.shut_down:
            self.stop(SHUTDOWN_GRACE_S)
        elif all(rank["ended_at"] is not None for rank in self.seen["ranks"]):
            self.stop(LEFTOVER_GRACE_S)

    def stop(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        if self.kill_at is None:
            self.kill_at = deadline
            self.ask_all(signal.SIGTERM)
            self.ask_all(signal.SIGCONT)  # a stopped process hears nothing else
            self.move("stopping")
        self.kill_at = min(self.kill_at, deadline)

    def ask_all(self, signum: int) -> None:
        """Each once. The ranks' own groups as groups, which also catches what is being forked right now."""
        leaders = {rank["pid"] for rank in self.seen["ranks"]}
        members = proc.family([os.getpid()])
        proc.signal_all({-one.group for one in members if one.group in leaders}, signum)
        proc.signal_all({one.pid for one in members if one.group not in leaders}, signum)

    def enforce(self) -> None:
        if self.kill_at is not None and time.monotonic() >= self.kill_at:
            proc.signal_all(proc.descendants([os.getpid()]), signal.SIGKILL)

    # telling

    def move(self, phase: str) -> None:
        self.seen["phase"] = phase
        self.unwritten = True
        self.tell()

    def tell(self) -> None:
        if not self.unwritten:
            return
        try:
            rundir.write(self.directory / rundir.SEEN, self.seen)
        except OSError:
            return  # no room: the loop tries again
        self.unwritten = False
        rundir.ring(self.launch["doorbell"])

    def insist(self) -> None:
        """The exit codes must reach the disk, even where it is full now."""
        deadline = time.monotonic() + INSIST_S
        while self.unwritten and self.directory.exists() and time.monotonic() < deadline:
            time.sleep(1)
            self.tell()


def _listen_to_signals() -> int:
    """A pipe that becomes readable when a child ends or the agent wants something."""
    outlet, inlet = os.pipe()
    os.set_blocking(outlet, False)
    os.set_blocking(inlet, False)
    signal.set_wakeup_fd(inlet, warn_on_full_buffer=False)
    for heard in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(heard, lambda *_: None)
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    return outlet


def _swallow(fd: int) -> bytes:
    """The numbers of the signals that came."""
    with suppress(BlockingIOError):
        return os.read(fd, 4096)
    return b""


def _become_rank(launch: rundir.Launch, env: dict[str, str], output: int) -> None:
    """In the child: never returns. What goes wrong ends up in the rank's own log."""
    shim = os.getppid()
    try:
        os.setsid()
        for signum in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(signum, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if launch["uid"] is not None and launch["gid"] is not None:
            os.setgroups([])
            os.setresgid(launch["gid"], launch["gid"], launch["gid"])
            os.setresuid(launch["uid"], launch["uid"], launch["uid"])
        # After the change of user, which clears it: a killed shim must not leave ranks without a log.
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != shim:
            return
        os.umask(0o022)
        os.chdir(launch["cwd"])
        os.execve("/bin/sh", ["/bin/sh", "-c", launch["command"]], env)
    except OSError as why:
        os.write(2, f"The rank could not be started: {why}\n".encode())
    finally:
        os._exit(127)


def main() -> None:
    directory = Path(sys.argv[1])
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    launch = rundir.launch_of(directory)
    if launch is None:
        sys.exit(f"There is no {rundir.LAUNCH} in {directory}.")
    Shim(directory, launch).run()

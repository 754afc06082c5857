"""What the person sees of `up`: progress, the address and the log-ins, and Ctrl-C."""

import contextlib
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from portal.up.attention import Attention
from portal.up.descendants import collect, descendants, end
from portal.up.keeper import Keeper
from portal.up.lineup import ROOT, Lineup, lineup
from portal.up.news import Listener, Teller
from portal.up.options import Options, options
from portal.up.preflight import check_platform, check_port, check_servers, check_way
from portal.up.process import become_subreaper
from portal.up.progress import Line, say
from portal.up.record import Record, end_leftovers, running
from portal.up.state import State, bound, default_path, lock, open_state
from portal.up.trouble import Trouble

_PREDECESSOR_S = 20
_LEAVE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(argv: Sequence[str]) -> int:
    """`./manage.py up`, with argv[0] the word itself."""
    return run(options(argv[1:]), lineup_of)


def lineup_of(asked: Options, state: State) -> Lineup:
    """The real table of roles; tests bring a small one of their own."""
    if asked.agents:
        check_way(state.path)
    return lineup(state, port=asked.port, agents=asked.agents, demo=asked.demo)


def run(asked: Options, table: Callable[[Options, State], Lineup]) -> int:
    """From the first check to the last process gone; the exit status."""
    try:
        check_platform()
        state = open_state(asked.state)
        take(state)
        check_port(asked.port)
        check_servers()
        roles = table(asked, state)
    except Trouble as why:
        print(f"berth: {why}", file=sys.stderr)
        return 1
    say(f"Berth keeps its state in {state.path}")
    return Front(asked, state).run(roles)


def take(state: State) -> None:
    """Become this state's only `up`; one that was killed a moment ago gets time to end its children."""
    deadline = time.monotonic() + _PREDECESSOR_S
    line = None
    while lock(state) is None:  # never closed: it holds until both processes have ended
        if other := running(state):
            raise Trouble(
                f"Berth is running here already (process {other.front}, http://127.0.0.1:{other.port}): "
                "stop it with Ctrl-C there, or give another directory with --state and another --port."
            )
        if time.monotonic() > deadline:
            raise Trouble(f"Another `up` still holds {state.path} and does not end; look for it with ps.")
        line = line or Line("waiting for the last `up` to end")
        line.tick()
        time.sleep(0.1)
    if line:
        line.end()


class Front:
    """The process at the terminal; it starts nothing but the keeper."""

    def __init__(self, asked: Options, state: State) -> None:
        self.asked = asked
        self.state = state
        self.line: Line | None = None
        self.bye = False
        self.asked_to_leave = 0

    def run(self, table: Lineup) -> int:
        """Start the keeper, show what it says, pass on the wish to leave."""
        become_subreaper()  # so that what a killed keeper leaves becomes ours to end
        attention = Attention(_LEAVE, [signal.SIGCHLD])
        if count := end_leftovers(self.state):  # before we note ourselves where it looks
            say(f"  ended {count} processes that a killed `up` had left behind")
        keeper, hold, news = self._fork(table)
        while not news.over:
            if news in attention.wait(news, timeout_s=0.5):
                for item in news.hear():
                    self._show(item)
            elif self.line:
                self.line.tick()
            if attention.count > self.asked_to_leave:
                self._leave(hold, attention.count)
        _, status = os.waitpid(keeper, 0)
        return os.waitstatus_to_exitcode(status) if self.bye else self._end_everything()

    def _fork(self, table: Lineup) -> tuple[int, int, Listener]:
        their_hold, our_hold = os.pipe()
        our_news, their_news = os.pipe()
        record = Record(self.asked.port, os.getpid())
        record.note(self.state, "front", os.getpid())
        keeper = os.fork()
        if keeper == 0:
            os.close(our_hold)
            os.close(our_news)
            self._become_keeper(Keeper(self.state, table, record, Teller(their_news), their_hold))
        os.close(their_hold)
        os.close(their_news)
        return keeper, our_hold, Listener(our_news)

    def _become_keeper(self, keeper: Keeper) -> None:
        """In a session of its own, so that Ctrl-C and a closed terminal reach only the front."""
        os.setsid()
        log = self.state.log("up")
        bound(log)
        out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        for stream in (1, 2):
            os.dup2(out, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.exit(keeper.run())

    def _leave(self, hold: int, count: int) -> None:
        for _ in range(count - self.asked_to_leave):
            with contextlib.suppress(BrokenPipeError):
                os.write(hold, b".")
        if not self.asked_to_leave:
            say("\nStopping; Ctrl-C again to hurry.")
        self.asked_to_leave = count

    def _show(self, item: dict[str, Any]) -> None:
        match item["kind"]:
            case "step":
                self.line = Line(item["title"])
            case "done" if self.line:
                self.line.end(item.get("outcome", ""))
                self.line = None
            case "line":
                say(f"  {item['text']}")
            case "trouble":
                say(f"berth: {item['sentence']}")
            case "ready":
                self._ready(item["lines"])
            case "bye":
                self.bye = True
            case _:
                pass

    def _ready(self, lines: list[str]) -> None:
        say(f"\nBerth is ready: http://127.0.0.1:{self.asked.port}\n")
        if not self.asked.demo:
            where = (
                ""
                if self.state.path == default_path(ROOT)
                else f"BERTH_STATE={shlex.quote(str(self.state.path))} "
            )
            say(f"Make the first administrator, in another terminal: {where}./manage.py createsuperuser")
        for text in lines:
            say(f"  {text}")
        if os.geteuid() != 0:
            say("\nJobs are not isolated: without root all of them run as you, and can read your files.")
        say("\nCtrl-C stops everything.")

    def _end_everything(self) -> int:
        """The keeper was killed: everything below it is ours now."""
        say("berth: the supervisor was killed; ending everything it had started.")
        ended = end(lambda: descendants(os.getpid()), patience_s=6)
        collect()
        say("All of it has ended." if ended else "berth: some of it does not end; look for it with ps.")
        return 1

"""Ending everything in order, within ten seconds: who asks goes before who answers."""

import os
import signal
import time
from collections.abc import Callable, Iterable
from typing import Any

from portal.up.descendants import Process, collect, descendants, end
from portal.up.lineup import Stage
from portal.up.watched import Watched

_ALL_S = 9.0
_PATIENCE_S = {
    Stage.AGENTS: 2.0,
    Stage.BEAT: 0.7,
    Stage.WORKERS: 1.5,
    Stage.WEB: 2.6,  # it gives its open streams two seconds
    Stage.VALKEY: 0.7,
    Stage.POSTGRES: 3.0,
}
_RANKS_S = 1.0
_HURRIED_S = 0.3
_TITLES = {
    Stage.AGENTS: "agents and their jobs",
    Stage.BEAT: "beat",
    Stage.WORKERS: "workers",
    Stage.WEB: "web",
    Stage.VALKEY: "Valkey",
    Stage.POSTGRES: "PostgreSQL",
}


def stop_all(watched: Iterable[Watched], *, tell: Callable[..., Any], hurried: Callable[[], bool]) -> None:
    """Stage after stage; at the end nobody is left below this process, in whatever session it hid."""
    everybody = list(watched)
    over_at = time.monotonic() + _ALL_S
    for stage in Stage:
        mine = [one for one in everybody if one.stage == stage and one.alive]
        if mine:
            tell("step", title=f"stopping {_TITLES[stage]}")
            patience_s = min(_PATIENCE_S[stage], over_at - time.monotonic())
            _stop(mine, everybody, patience_s=patience_s, hurried=hurried)
        if stage is Stage.AGENTS:
            _end_strays(everybody, patience_s=_HURRIED_S if hurried() else _RANKS_S)
        if mine:
            tell("done")
    end(lambda: descendants(os.getpid()), patience_s=0)


def _stop(
    mine: list[Watched], everybody: list[Watched], *, patience_s: float, hurried: Callable[[], bool]
) -> None:
    """Ask; wait; insist. PostgreSQL is asked for its fast shutdown, then for the immediate one."""
    asking, insisting = signal.SIGTERM, signal.SIGKILL
    if mine[0].stage is Stage.POSTGRES:
        asking, insisting = signal.SIGINT, signal.SIGQUIT
    _send(mine, asking)
    began = time.monotonic()
    while any(one.alive for one in mine):
        if time.monotonic() - began > (_HURRIED_S if hurried() else max(patience_s, _HURRIED_S)):
            break
        time.sleep(0.02)
        _collect(everybody)
    _send(mine, insisting)
    deadline = time.monotonic() + 1
    while any(one.alive for one in mine) and time.monotonic() < deadline:
        time.sleep(0.02)
        _collect(everybody)


def _send(to: list[Watched], signum: int) -> None:
    for one in to:
        if one.process is not None and one.alive:
            one.process.send_signal(signum)


def _collect(everybody: list[Watched]) -> None:
    collect(one.process for one in everybody if one.process is not None)


def _end_strays(everybody: list[Watched], *, patience_s: float) -> None:
    """Ranks outlive their agent and are ours by now: end all that is below us and below no other child."""

    def strays() -> list[Process]:
        kept = {one.process.pid for one in everybody if one.process is not None and one.alive}
        kept |= {one.pid for one in descendants(*kept)}
        return [one for one in descendants(os.getpid()) if one.pid not in kept]

    end(strays, patience_s=patience_s, known=[one.process for one in everybody if one.process is not None])

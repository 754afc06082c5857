"""`./manage.py replay`: read, run, write, or say in one sentence what is wrong."""

import json
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO

from portal import words
from portal.replay import compare, inputs, options, outputs, traced
from portal.replay.running import Tell, run
from portal.replay.table import table
from scheduler.core.policy import Policy
from scheduler.sim import events
from scheduler.sim.files import BadFile

# Beside the interrupt key: somebody wants it to end, or its terminal is gone.
ENDS = (signal.SIGTERM, signal.SIGHUP)


def main(argv: list[str]) -> int:
    """0 when every job ended or can never run; 2, with nothing written, when the input is bad."""
    asked = options.read(argv[1:])
    try:
        _apart(asked)
        with _ending():
            said = _obey(asked)
    except (BadFile, options.BadChoice, outputs.NoPlace) as wrong:
        print(f"replay: {wrong}", file=sys.stderr)
        return 2
    return _say(
        said, sys.stderr if outputs.to_stdout([asked.events, asked.report, asked.page]) else sys.stdout
    )


def _obey(asked: Namespace) -> str:
    """Do what is asked; returns what to say of it."""
    if asked.convert:
        return traced.write(asked)
    return _several(asked) if asked.compare else _one(asked)


def _say(text: str, where: TextIO) -> int:
    """The files are there whoever listens, so a reader that has gone is no failure."""
    code = where.encoding or "utf-8"
    try:
        print(text.replace(words.NBSP, " ").encode(code, "replace").decode(code), file=where, flush=True)
    except OSError as why:
        os.dup2(os.open(os.devnull, os.O_WRONLY), where.fileno())  # else Python complains at its own end
        if isinstance(why, BrokenPipeError):
            return 0
        print(f"replay: the table cannot be shown ({why.strerror})", file=sys.stderr)
        return 1
    return 0


@contextmanager
def _ending() -> Iterator[None]:
    """Being told to end is an end like any other: what is half written goes."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    # Who was started so that a sign does not reach it (nohup) goes on.
    heard = [sign for sign in ENDS if signal.getsignal(sign) is not signal.SIG_IGN]
    before = {sign: signal.signal(sign, end) for sign in heard}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _one(asked: Namespace) -> str:
    """Replay one policy."""
    source = _source(asked, inputs.policy(asked.policy))
    case, name = source.case, source.case.policy.name
    with outputs.written([asked.events, asked.report]) as (lines, figures):
        found = run(case, name, *_writers(lines)).report
        _write(figures, found)
    return f"{source.told()}\n{table({name: found})}"


def _several(asked: Namespace) -> str:
    """Replay several policies over the same workload."""
    policies = compare.named(asked.compare)
    source = _source(asked, next(iter(policies.values())))
    with outputs.written([asked.report, asked.page]) as (figures, page):
        played = compare.play(source.case, policies, drawn=page is not None)
        reports = {name: each.report for name, each in played.items()}
        _write(figures, reports)
        if page:
            page.write(compare.page(played, source))
    return f"{source.told()}\n{table(reports)}"


def _source(asked: Namespace, policy: Policy) -> inputs.Source:
    if asked.trace:
        return traced.read(asked, policy)
    return inputs.files(asked.cluster, asked.jobs, asked.faults, policy)


def _apart(asked: Namespace) -> None:
    def named(*paths: Path | None) -> list[Path]:
        return [path for path in paths if path]

    outputs.distinct(
        [*named(asked.events, asked.report, asked.page), *traced.outputs_of(asked)],
        [
            *named(asked.cluster, asked.jobs, asked.faults, asked.policy),
            *named(asked.topo, asked.machines, asked.sizes, *map(Path, asked.compare or ())),
        ],
    )


def _write(file: TextIO | None, found: dict[str, Any]) -> None:
    if file:
        file.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def _writers(file: TextIO | None) -> list[Tell]:
    def write(event: events.Event) -> None:
        if file:
            file.write(events.line(event))

    return [write] if file else []

"""A published trace as what a replay takes: its files read, the person's choices checked, the result written out."""

import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from portal.replay.inputs import Source, text_of
from portal.replay.options import CHOICES, FILES, BadChoice, flag, given
from portal.replay.outputs import NoPlace, written
from scheduler.core.policy import Policy
from scheduler.sim.clock import Case
from scheduler.sim.files import cluster_json, faults_csv, jobs_csv
from scheduler.sim.traces import ROLES, BadOption, Converted, Options, Text, convert

NAMES = ("CLUSTER.json", "JOBS.csv", "FAULTS.csv")
# What some choices need to mean anything: the test, and the sentence where it fails.
Test = Callable[[str, set[str]], bool]
NEEDS: dict[str, tuple[Test, str]] = {
    "since": (lambda kind, _: kind in ("philly-log", "helios"), "the jobs of {kind} carry no date"),
    "until": (lambda kind, _: kind in ("philly-log", "helios"), "the jobs of {kind} carry no date"),
    "hosts": (lambda _, there: "topo" in there, "it counts the hosts of --topo; name that file"),
    "block": (lambda _, there: "topo" in there, "it chooses among the switches of --topo; name that file"),
    "first_day": (lambda _, there: "faults" in there, "it is a day of --faults; name that file"),
    "last_day": (lambda _, there: "faults" in there, "it is a day of --faults; name that file"),
    "teams": (lambda kind, _: kind != "lingjun", "{kind} has no teams; leave it out"),
    "nodes": (lambda _, there: not there & {"topo", "machines"}, "the file names the nodes; leave it out"),
    "load": (
        lambda _, there: not there & {"topo", "machines", "sizes", "nodes"},
        "the number of nodes is told already; leave one of the two out",
    ),
    "gpus_per_node": (lambda _, there: "machines" not in there, "the file names them; leave it out"),
}


def read(asked: Namespace, policy: Policy) -> Source:
    """The case that the command line asks for, from the files of its trace."""
    made = _converted(asked)
    case = Case(made.cluster, made.asks, made.faults, policy)
    return Source(case, f"{asked.trace} ({asked.jobs.name})", made.left_out)


def outputs_of(asked: Namespace) -> list[Path]:
    """The files that a conversion writes."""
    return [asked.convert / name for name in NAMES] if asked.convert else []


def write(asked: Namespace) -> str:
    """The files of a replay, for other programs: all three, also without faults; returns what they hold."""
    made = _converted(asked)
    texts = (cluster_json(made.cluster), jobs_csv(made.asks), faults_csv(made.faults))
    with _folder(asked.convert), written(outputs_of(asked)) as files:
        for file, text in zip(files, texts, strict=True):
            if file:
                file.write(text)
    told = Source(Case(made.cluster, made.asks, made.faults), asked.trace, made.left_out).told()
    return f"{told}; written to {asked.convert}"


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """There is such a folder; one that was made for nothing goes again."""
    new = not os.path.exists(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise NoPlace(f"{path}: is no folder and cannot be made ({why.strerror}); name another") from why
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):
                path.rmdir()
        raise


def _converted(asked: Namespace) -> Converted:
    try:
        _meaningful(asked)
        options = Options(**given(asked, *CHOICES))  # type: ignore[arg-type]  # argparse made them what they are
        return convert(asked.trace, _texts(asked), options)
    except BadOption as why:
        raise BadChoice(f"{flag(why.option)}: {why.sentence}") from why


def _meaningful(asked: Namespace) -> None:
    """A choice that would change nothing is a mistake, so it is told."""
    there = set(given(asked, "faults", "nodes", *FILES))
    for role in sorted(there & {"faults", *FILES}):
        if role not in ROLES[asked.trace]:
            files = ", ".join(map(flag, ROLES[asked.trace]))
            raise BadOption(role, f"{asked.trace} has no such file; its files are {files}")
    for name in given(asked, *NEEDS):
        holds, sentence = NEEDS[name]
        if not holds(asked.trace, there - {name}):
            raise BadOption(name, sentence.format(kind=asked.trace))


def _texts(asked: Namespace) -> dict[str, Text]:
    paths = given(asked, "jobs", "faults", *FILES)
    return {role: Text(*text_of(Path(str(path)))) for role, path in paths.items()}

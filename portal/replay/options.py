"""What `./manage.py replay` understands."""

import argparse
from pathlib import Path
from typing import NoReturn

from scheduler.sim.traces import BLOCKS, ROLES

ABOUT = """Replay a recorded or invented workload with a pretend clock and the real planner.
Needs no database, no Redis and no network. The files are described in docs/replay.md."""
TRACED = """With --trace, --jobs is a file of a published trace (plain or .gz) and --faults a file of StepFun's
node faults; the trace brings its own cluster."""
# Options that shape what a trace becomes; the words are those of scheduler.sim.traces.Options.
CHOICES = (
    *("nodes", "gpus_per_node", "load", "teams", "limits", "checkpoint_s"),
    *("hosts", "block", "since", "until", "first_day", "last_day"),
)
FILES = ("topo", "machines", "sizes")  # of a trace, beside its jobs and faults
RESULTS = ("policy", "compare", "events", "report", "page")


class BadChoice(ValueError):
    """An option that cannot be; the sentence says why, and what to choose instead."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence, not a page."""
        self.exit(2, f"replay: {message}; ./manage.py replay --help tells more\n")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    words = _Parser(prog="./manage.py replay", description=ABOUT, allow_abbrev=False)
    words.add_argument("--cluster", type=Path, metavar="CLUSTER.json", help="nodes and teams")
    words.add_argument("--jobs", type=Path, required=True, metavar="JOBS.csv", help="what is submitted when")
    words.add_argument("--faults", type=Path, metavar="FAULTS.csv", help="what goes down, up or drains when")
    words.add_argument(
        "--policy", type=Path, metavar="POLICY.json", help="the policy; default: the portal's own"
    )
    words.add_argument(
        "--events", type=Path, metavar="EVENTS.jsonl", help="write what happened, event by event"
    )
    words.add_argument("--report", type=Path, metavar="REPORT.json", help="write the figures")
    words.add_argument(
        "--compare",
        type=lambda text: tuple(name for name in text.split(",") if name),
        metavar="A,B",
        help="replay several policies (names or policy files) and show them side by side",
    )
    words.add_argument(
        "--page", type=Path, metavar="PAGE.html", help="write the comparison as a page with charts"
    )
    _add_traces(words.add_argument_group("published traces", TRACED))
    return words


def _add_traces(words: "argparse._ArgumentGroup") -> None:
    add = words.add_argument
    add("--trace", choices=tuple(ROLES), help="which trace --jobs is a file of")
    add(
        "--convert", type=Path, metavar="DIR", help="write CLUSTER.json, JOBS.csv, FAULTS.csv; replay nothing"
    )
    add("--topo", type=Path, metavar="FILE", help="lingjun: the switches of its hosts")
    add("--machines", type=Path, metavar="FILE", help="philly-log: cluster_machine_list")
    add("--sizes", type=Path, metavar="FILE", help="helios: cluster_gpu_number.csv")
    add("--nodes", type=int, metavar="N", help="so many equal nodes; default: what the load calls for")
    add("--gpus-per-node", type=int, metavar="N", help="default: 8")
    add("--load", type=float, metavar="X", help="GPU time asked for over GPU time there is; default: 0.8")
    add("--no-teams", dest="teams", action="store_const", const=False, help="no quotas: one pool")
    add("--limits", action="store_const", const=True, help="give each job its exact duration as its limit")
    add("--checkpoint-s", type=float, metavar="S", help="let each job write checkpoints so often")
    add("--hosts", type=int, metavar="N", help="of --topo, in whole switches; default: 144")
    add("--block", metavar="NAME", help=f"of --topo, what a block is: {' or '.join(BLOCKS)}")
    add("--since", metavar="DATE", help="philly-log, helios: submitted then or later, as 2020-09-01")
    add("--until", metavar="DATE", help="philly-log, helios: submitted before")
    add("--first-day", type=float, metavar="D", help="of --faults; default: 100")
    add("--last-day", type=float, metavar="D", help="of --faults; default: 125")


def read(argv: list[str]) -> argparse.Namespace:
    """The options, or an end with one sentence."""
    words = parser()
    options = words.parse_args(argv)
    if wrong := _trace_wrong(options) or _compare_wrong(options):
        words.error(wrong)
    return options


def given(options: argparse.Namespace, *names: str) -> dict[str, object]:
    """Those of these options that the command line has."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def flag(name: str) -> str:
    """An option as one types it."""
    return "--no-teams" if name == "teams" else f"--{name.replace('_', '-')}"


def _trace_wrong(options: argparse.Namespace) -> str:
    if options.trace is None:
        strange = next(iter(given(options, *FILES, *CHOICES, "convert")), "")
        if strange:
            return f"{flag(strange)} belongs to a published trace; add --trace {'|'.join(ROLES)}"
        return "" if options.cluster else "--cluster is missing; name CLUSTER.json, or a trace with --trace"
    if options.cluster:
        return "--trace brings its own cluster; leave --cluster out"
    if options.convert and (more := next(iter(given(options, *RESULTS)), "")):
        return f"--convert writes files and replays nothing; leave {flag(more)} out"
    return ""


def _compare_wrong(options: argparse.Namespace) -> str:
    if options.compare is None:
        return "--page shows a comparison; add --compare default,easy,fifo" if options.page else ""
    if options.policy:
        return "--compare names its policies itself; leave --policy out"
    if options.events:
        return "--events holds one replay; leave --compare out"
    if len(options.compare) < 2:
        return "--compare needs two policies or more, as in --compare default,easy,fifo"
    return ""

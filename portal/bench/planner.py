"""`./manage.py bench planner`: what a round of the planner costs, as a table of goals, figures and ratios."""

import argparse
import sys
from pathlib import Path

from portal.bench import bounds, cycles, lingjun, moves, philly, repairs, searches, switches
from portal.bench.rows import Options, Row, Section, heading, line

# The sections of the table, in its order: a function from options to rows, and one line that says what it measures.
SECTIONS: dict[str, tuple[Section, str]] = {
    "cycle": (
        cycles.cycle,
        "one whole round from a cold snapshot, at 1, 2, 4 and 8 times the size; warm rounds",
    ),
    "searches": (searches.searches, "one that can never run, a large gang, one GPU that is taken back"),
    "worst": (searches.worst, "rounds that ask for the most"),
    "lingjun": (lingjun.lingjun, "completion times on a recorded workload, against known ones"),
    "philly": (
        philly.philly,
        "recorded virtual clusters as teams that lend, against no walls and against each alone",
    ),
    "switches": (switches.switches, "gangs across more switches than needed, against first fit"),
    "faults": (
        repairs.repairs,
        "recorded faults: useful GPU time with swaps, against restarts of whole jobs",
    ),
    "moves": (moves.moves, "mixed workloads with and without defragmentation"),
    "bounds": (bounds.bounds, "how long production inside its quota waits, against what the pages state"),
}


def main(argv: list[str]) -> int:
    """Measure the sections asked for and print each row as soon as it is known; 1 where a goal was missed."""
    parser = argparse.ArgumentParser(
        prog="./manage.py bench planner",
        description="\n".join(f"{name:10}{what}" for name, (_, what) in SECTIONS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="sections, separated by commas; default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes that the goals speak of")
    parser.add_argument("--rounds", type=int, default=5, help="different snapshots behind a percentile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--traces", type=Path, default=None, help="where recorded workloads lie")
    parser.add_argument(
        "--whole", action="store_true", help="all of a recorded workload, where that takes long"
    )
    asked = parser.parse_args(argv)
    names = [name for name in asked.only.split(",") if name] or list(SECTIONS)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        print(f"No section {unknown[0]}; there are {', '.join(SECTIONS)}.", file=sys.stderr)
        return 2
    options = Options(asked.scale, asked.rounds, asked.seed, asked.traces, asked.whole)
    rows = [row for name in names for row in _section(name, options)]
    return 1 if any(row.missed for row in rows) else 0


def _section(name: str, options: Options) -> list[Row]:
    measure, what = SECTIONS[name]
    print(f"\n{name}: {what}\n{heading()}", flush=True)
    rows = []
    for row in measure(options):
        print(line(row), flush=True)
        rows.append(row)
    return rows

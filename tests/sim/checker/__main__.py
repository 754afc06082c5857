"""The checker as a command: `python -m tests.sim.checker CLUSTER.json JOBS.csv EVENTS.jsonl [--faults …]`."""

import csv
import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from tests.sim.checker import RULES, check


def main() -> int:
    """Prints the violations; 1 when there are any."""
    parser = ArgumentParser(prog="python -m tests.sim.checker", description=__doc__)
    for name in ("cluster", "jobs", "events"):
        parser.add_argument(name, type=Path)
    for name in ("faults", "policy", "report"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--only", action="append", choices=RULES, help="only this rule; may be repeated")
    given = parser.parse_args()
    wrong = check(
        json.loads(given.cluster.read_text("utf-8")),
        _rows(given.jobs),
        [json.loads(line) for line in given.events.read_text("utf-8").splitlines() if line.strip()],
        faults_rows=_rows(given.faults) if given.faults else (),
        policy=json.loads(given.policy.read_text("utf-8")) if given.policy else None,
        report=json.loads(given.report.read_text("utf-8")) if given.report else None,
        only=given.only,
    )
    sys.stdout.writelines(f"{sentence}\n" for sentence in wrong)
    return 1 if wrong else 0


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    sys.exit(main())

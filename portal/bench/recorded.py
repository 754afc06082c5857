"""Recorded workloads: where their files lie, and the sentence where they do not."""

from pathlib import Path

from portal.replay.inputs import text_of
from scheduler.sim.traces import Text

BESIDE = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "traces"  # beside the checkout
PHILLY_JOBS = Path("philly", "philly_jobs.csv.gz")
LINGJUN_JOBS = Path("lingjun2023", "jobs.csv")
LINGJUN_TOPO = Path("lingjun2023", "topo.csv")
STEPFUN_FAULTS = Path("faults_stepfun2024", "node_faults.csv")


def texts(place: Path | None, **roles: Path) -> dict[str, Text] | None:
    """These files by the roles they play; None, and one line on the terminal, where one of them is missing."""
    folder = place or BESIDE
    missing = [path for path in roles.values() if not (folder / path).is_file()]
    if missing:
        print(f"{missing[0]} is not in {folder}: name the folder of the traces with --traces", flush=True)
        return None
    return {role: Text(*text_of(folder / path)) for role, path in roles.items()}

"""Microsoft Philly 2017 (Jeon et al., ATC 2019) as one table: job_id, submit_s, gpus, duration_s, vc."""

from scheduler.sim.files import cells
from scheduler.sim.files.table import Columns, Values, entries
from scheduler.sim.traces.record import Record, sifted
from scheduler.sim.workload import Ask

COLUMNS: Columns = {
    "job_id": cells.name,
    "submit_s": cells.seconds,
    "gpus": cells.count,
    "duration_s": cells.seconds,
    "vc": cells.name,
}
NEEDED = tuple(column for column in COLUMNS if column != "vc")


def read_jobs(text: str, name: str) -> Record:
    """The jobs whose virtual cluster is known; it becomes their team."""
    return sifted(entries(text, name, _ask, columns=COLUMNS, needed=NEEDED))


def _ask(values: Values, line: int) -> Ask | str:
    if "vc" not in values:
        return "without a virtual cluster"
    submit, duration = values["submit_s"], values["duration_s"]
    return Ask(values["job_id"], submit, duration, values["gpus"], team=values["vc"], line=line)

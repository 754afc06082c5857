"""SenseTime Helios 2020 (Hu et al., SC 2021) as it was published: cluster_log.csv and cluster_gpu_number.csv."""

from scheduler.sim.files import cells
from scheduler.sim.files.bad import BadFile
from scheduler.sim.files.table import Columns, Values, entries
from scheduler.sim.traces.record import Record, moment, sifted
from scheduler.sim.workload import Ask

COLUMNS: Columns = {
    "job_id": cells.name,
    "user": cells.name,
    "vc": cells.name,
    "gpu_num": cells.whole,
    "submit_time": moment,
    "duration": cells.seconds,
}


def read_jobs(text: str, name: str, *, since: float | None = None, until: float | None = None) -> Record:
    """The jobs with GPUs, whatever they ended as; their virtual cluster becomes their team."""
    return sifted(entries(text, name, _ask, columns=COLUMNS, needed=COLUMNS), since, until)


def _ask(values: Values, line: int) -> Ask | str:
    if values["gpu_num"] == 0:
        return "without GPUs"
    submit, duration = values["submit_time"], values["duration"]
    team, user = values["vc"], values["user"]
    return Ask(values["job_id"], submit, duration, values["gpu_num"], team=team, user=user, line=line)


def read_sizes(text: str, name: str, day: str = "") -> dict[str, int]:
    """The GPUs of each virtual cluster on a day such as 2020-09-01; on the first day of the file by default."""
    titles = [title.strip() for title in text.removeprefix("\ufeff").split("\n", 1)[0].split(",")]
    columns: Columns = {title: cells.name if title == "date" else cells.whole for title in titles if title}
    for line, sizes in entries(text, name, _sizes, columns=columns, needed=("date", "total")):
        if day not in ("", sizes.pop("date")):
            continue
        if not sum(sizes.values()):
            raise BadFile(name, line, "total", "no virtual cluster has a GPU on this day; choose another")
        return sizes
    raise BadFile(name, 2, "date", f"there is no row for {day or 'any day'}; choose a day of this file")


def _sizes(values: Values, line: int) -> tuple[int, Values]:
    return line, {title: size for title, size in values.items() if title != "total"}

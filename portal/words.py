"""How numbers are written for people: pure functions that pages, charts and the API share."""

from collections.abc import Sequence
from datetime import timedelta

NBSP = "\u00a0"  # a number and its unit never part
MINUS, TIMES, DOT = "−", "×", "·"
MINUTE, HOUR, DAY = 60, 3_600, 86_400
MS_PER_HOUR = 3_600_000
MICROS = 1_000_000
CURRENCY = "€"


def duration(length: timedelta | float | None) -> str:
    """41 s, 18 min, 5 h 40 min, 3 d 4 h: what has fully passed, so it is cut and never rounded up."""
    if length is None:
        return ""
    total = length.total_seconds() if isinstance(length, timedelta) else length
    seconds = max(0, int(total))
    if seconds < 1:
        return unit(0, "s") if total <= 0 else f"under{NBSP}{unit(1, 's')}"
    if seconds < MINUTE:
        return unit(seconds, "s")
    if seconds < HOUR:
        return unit(seconds // MINUTE, "min")
    if seconds <= 2 * DAY:  # limits are set in hours: 24 h and 48 h say more than 1 d and 2 d
        minutes = seconds % HOUR // MINUTE
        return _joined(unit(seconds // HOUR, "h"), f"{minutes:02d}{NBSP}min" if minutes else "")
    hours = seconds % DAY // HOUR
    return _joined(unit(seconds // DAY, "d"), unit(hours, "h") if hours else "")


def _joined(large: str, small: str) -> str:
    return f"{large}{NBSP}{small}" if small else large


def count(number: int | float | None) -> str:
    """1,204: thousands with commas, a true minus."""
    if number is None:
        return ""
    text = f"{abs(number):,.0f}"
    return f"{MINUS}{text}" if number < 0 and text != "0" else text


def decimal(number: float, places: int) -> str:
    """1,204.50 with a true minus; never minus nothing."""
    text = f"{abs(number):,.{places}f}"
    return f"{MINUS}{text}" if number < 0 and text.strip("0.,") else text


def unit(number: int | float | None, name: str) -> str:
    """420 W, 64 °C; nothing where nothing was measured."""
    return "" if number is None else f"{count(number)}{NBSP}{name}"


def many(number: int, one: str, more: str = "") -> str:
    """no jobs, 1 job, 1,204 jobs."""
    if number == 1:
        return f"1{NBSP}{one}"
    return f"{count(number) if number else 'no'}{NBSP}{more or one + 's'}"


def listed(things: Sequence[object], most: int = 3) -> str:
    """n001; n001 and n002; n001, n002 and 6 more."""
    names = [str(thing) for thing in things]
    if len(names) > most:
        names = [*names[: most - 1], f"{count(len(names) - most + 1)}{NBSP}more"]
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def gpu_hours(gpu_ms: int | None) -> str:
    """For reading: 45.3 GPU-h, 1,024 GPU-h."""
    if gpu_ms is None:
        return ""
    hours = gpu_ms / MS_PER_HOUR
    places = 0 if hours >= 100 else 1 if hours >= 1 else 2
    return f"{decimal(hours, places)}{NBSP}GPU-h"


def gpu_hours_exact(gpu_ms: int | None) -> str:
    """For paying: 38.90 GPU-h."""
    return "" if gpu_ms is None else f"{decimal(gpu_ms / MS_PER_HOUR, 2)}{NBSP}GPU-h"


def money(micros: int | None) -> str:
    """For paying: €117.87. What is less than half a cent, and not nothing, says so."""
    if micros is None:
        return ""
    cents = _rounded(abs(micros), MICROS // 100)
    if micros and not cents:
        return f"under{NBSP}{CURRENCY}0.01"
    sign = MINUS if micros < 0 else ""
    return f"{sign}{CURRENCY}{cents // 100:,}.{cents % 100:02d}"


def money_round(micros: int | None) -> str:
    """For reading, in tiles: €107.46, €450,447."""
    if micros is None or abs(micros) < 1_000 * MICROS:
        return money(micros)
    sign = MINUS if micros < 0 else ""
    return f"{sign}{CURRENCY}{_rounded(abs(micros), MICROS):,}"


def _rounded(amount: int, step: int) -> int:
    """Half up, in whole numbers: a float would lose cents of large sums."""
    return (2 * amount + step) // (2 * step)


def share(part: float, whole: float) -> str:
    """87 %; a little is not nothing, and nearly all is not all."""
    if not whole:
        return ""
    percent = 100 * part / whole
    if 0 < percent < 0.5:
        return f"under{NBSP}1{NBSP}%"
    if 99.5 <= percent < 100:
        return f"over{NBSP}99{NBSP}%"
    return unit(round(percent), "%")


def change(now: float, before: float) -> str:
    """+6.0 %, −4.4 %, unchanged; the page says against what."""
    if not before:
        return ""
    percent = 100 * (now - before) / before
    if abs(percent) < 0.05:
        return "unchanged"
    return f"{'+' if percent > 0 else ''}{decimal(percent, 1)}{NBSP}%"


def memory(mib: int | None) -> str:
    """71 GB. GPU makers call 1,024 MiB a GB, and so do we."""
    if mib is None:
        return ""
    return unit(round(mib / 1024), "GB") if mib >= 1024 else unit(mib, "MB")


def size(octets: int) -> str:
    """41 B, 12 kB, 3.4 MB: files and logs count in thousands."""
    for name, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if octets >= step:
            return f"{decimal(octets / step, 1 if octets < 10 * step else 0)}{NBSP}{name}"
    return unit(octets, "B")


def gpus(number: int, gpu_type: str = "") -> str:
    """8 × H100; 16 GPUs where any type will do."""
    return f"{count(number)}{NBSP}{TIMES}{NBSP}{gpu_type}" if gpu_type else many(number, "GPU")


def shape(nodes: int, per_node: int, gpu_type: str = "") -> str:
    """8 × H100 in one node; 16 × H100 on 2 nodes."""
    where = "in one node" if nodes == 1 else f"on {many(nodes, 'node')}"
    return f"{gpus(nodes * per_node, gpu_type)} {where}"

"""A suppressed rule names its code and says why."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.house import tree

EXCUSE = re.compile(r"#\s*(?:noqa:\s*[A-Z0-9, ]+|type:\s*ignore\[[^\]]*\])(?P<why>.*)")
BLIND = "BLE001"
MAY_BE_BLIND = ("scheduler", "agent")  # a sensor that breaks in a new way must not stop the others


def unexcused(root: Path) -> list[str]:
    """Suppressions without a reason, and blind excepts outside the agent."""
    return [
        f"{place}:{number}: {wrong}"
        for place in tree.sources(root)
        for number, line in enumerate(tree.text(root / place).splitlines(), 1)
        for wrong in _wrong(line, place)
    ]


def _wrong(line: str, place: Path) -> Iterator[str]:
    excuse = EXCUSE.search(line)
    if excuse is None:
        return
    if len(excuse["why"].strip(" #.")) < 3:
        yield "a suppressed rule says why, behind its code"
    if BLIND in excuse[0] and place.parts[:2] != MAY_BE_BLIND:
        yield "`except Exception` is for the agent's sensors alone"

"""The house rules, applied to this checkout."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house import (
    clocks,
    excuses,
    leaks,
    names,
    openings,
    pages,
    promises,
    purity,
    rooms,
    sizes,
    tree,
    writes,
)

RULES: dict[str, Callable[[Path], list[str]]] = {
    "files and functions are short": sizes.too_long,
    "names say something": names.says_nothing,
    "every module says what belongs in it": openings.silent,
    "every file stands where it belongs": rooms.misplaced,
    "the scheduler imports only what it may": purity.impure,
    "only doors look at the clock": clocks.looks_at_clock,
    "only actions and apply write": writes.writes,
    "suppressed rules say why": excuses.unexcused,
    "templates keep to the content policy": pages.unfit,
    "nothing of one machine is in the repository": leaks.leaked,
    "the promises to a stranger are kept": promises.broken,
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_house_is_in_order(rule: Callable[[Path], list[str]]) -> None:
    wrong = rule(tree.ROOT)
    assert not wrong, "\n" + "\n".join(wrong)

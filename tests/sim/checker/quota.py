"""Quotas: at every start each team of the path is within nominal + borrow, and borrows only what others lend."""

from collections.abc import Iterator

from tests.sim.checker.case import Case
from tests.sim.checker.ledger import count, open_ledger


def violations(case: Case) -> Iterator[str]:
    ledger = open_ledger(case)
    if ledger is None:
        return
    for index, change in sorted(case.changes.items()):
        run = change.run
        if case.starts(index):
            added = count(case, ledger, run, +1)
            for wrong in ledger.breaches(run.job, case.gpu_type(run), added):
                yield case.say(index, wrong)
        elif run.end == index:
            count(case, ledger, run, -1)

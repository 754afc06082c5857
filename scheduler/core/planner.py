"""The policy, read top to bottom: one round from a snapshot to a plan."""

from scheduler.core.early import call_back
from scheduler.core.fill import fill
from scheduler.core.keeping import keep_places
from scheduler.core.mending import mend
from scheduler.core.model import Snapshot
from scheduler.core.serve import serve
from scheduler.core.spares import keep_spares
from scheduler.core.table import Desk, Table
from scheduler.core.tidy import tidy
from scheduler.core.verbs import Plan
from scheduler.core.verdicts import judge


def plan(snap: Snapshot, desk: Desk | None = None, *, evidence: bool = True) -> Plan:
    """Who starts now and where, who makes way, who is promised what, and for everybody else why not.

    A desk kept from the cycle before saves time and changes nothing. Without evidence the verdicts have
    the same reasons, and no search is made for the moments at which things come free.
    """
    table = Table(snap, desk or Desk())
    mend(table)  # gangs that lost a place get another one
    keep_places(table)  # places that are being made are for those they are made for
    keep_spares(table)  # and some nodes for the next gang that loses one
    line = serve(table)  # in fair order: start, make way by the rules, or be promised a place and a time
    fill(table, line)  # behind them: whoever fits and breaks no promise, the quickest first
    tidy(table, line)  # move what stands in a gang's way, when that pays
    call_back(table, line)  # or call younger work back, where those who wait gain more than it loses
    return Plan(
        starts=tuple(table.starts),
        verdicts=judge(table, line, evidence=evidence),
        steps=table.steps,
        stops=tuple(table.stops),
        swaps=tuple(table.swaps),
        claims=tuple(table.claims.values()),
        promises=tuple(table.promises.values()),
        order=tuple(job.id for job in line.order),
        restarts=tuple(table.restarts),
    )

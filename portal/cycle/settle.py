"""Writes at the end of a turn that the next one reads: what was intended, and how far use is added up."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction

from portal.accounts.models import Team, User
from portal.cycle import intent
from portal.cycle.models import Intent, Meter, Used
from portal.jobs.models import Line
from scheduler.core.share import Owner
from scheduler.core.verbs import Plan

READ_EVERY = timedelta(minutes=10)  # what was held since then is added up in every turn
WORTH_KEEPING = 1e-3  # GPU-seconds


def keep_intent(plan: Plan) -> bool:
    """Claims and promises for the next plan; written only when they changed."""
    told = intent.plain(plan)
    row = Intent.objects.filter(pk=Intent.ONLY).first() or Intent()
    if (row.claims, row.promises) == (told["claims"], told["promises"]):
        return False
    Intent.objects.update_or_create(pk=Intent.ONLY, defaults=told)
    return True


def keep_line(plan: Plan) -> bool:
    """The order of the plan for the pages; written only when it changed."""
    told = list(plan.order)
    if Line.objects.filter(pk=Line.ONLY, jobs=told).exists() or not (told or Line.objects.exists()):
        return False
    Line.objects.bulk_create(
        [Line(jobs=told)], update_conflicts=True, unique_fields=["id"], update_fields=["jobs"]
    )
    return True


def read_meter(usage: Mapping[Owner, float], *, half_life_s: float, now: datetime) -> bool:
    """Write down everybody's use as of now, when the last reading is old or for another half-life."""
    last = Meter.objects.filter(pk=Meter.ONLY, half_life_s=half_life_s, at__gt=now - READ_EVERY)
    if last.exists():
        return False
    teams = dict(Team.objects.values_list("name", "pk"))
    people = dict(User.objects.values_list("email", "pk"))
    rows = [
        Used(meter_id=Meter.ONLY, team_id=teams[team], user_id=people[user], gpu_s=gpu_s)
        for (team, user), gpu_s in usage.items()
        if gpu_s > WORTH_KEEPING and team in teams and user in people
    ]
    with transaction.atomic():
        Meter.objects.update_or_create(pk=Meter.ONLY, defaults={"at": now, "half_life_s": half_life_s})
        Used.objects.all().delete()
        Used.objects.bulk_create(rows)
    return True

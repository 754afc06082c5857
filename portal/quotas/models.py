"""Quotas: how many GPUs of a type a team, with all teams below it, owns, may borrow and lends."""

from django.db import models
from django.db.models import F, Q

from scheduler.core.model import Share


def said(share: Share | None) -> str:
    """own 64, may borrow 32, lends up to 64."""
    if share is None:
        return "no quota"
    borrow = {None: "may borrow without limit", 0: "may not borrow"}
    lend = {None: "lends all it leaves idle", 0: "lends nothing"}
    return ", ".join((
        f"own {share.nominal:,}",
        borrow.get(share.borrow) or f"may borrow {share.borrow:,}",
        lend.get(share.lend) or f"lends up to {share.lend:,}",
    ))  # fmt: skip


class Quota(models.Model):
    """No row for a team and type means: no limit and no promise at this level of the tree."""

    team = models.ForeignKey("accounts.Team", on_delete=models.CASCADE, related_name="quotas")
    gpu_type = models.CharField(max_length=40)
    nominal = models.PositiveIntegerField()
    borrow = models.PositiveIntegerField(null=True, blank=True, default=0)  # above nominal; empty: no limit
    lend = models.PositiveIntegerField(null=True, blank=True)  # of what is idle; empty: all of it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "gpu_type"], name="one_quota_per_type"),
            models.CheckConstraint(
                condition=Q(lend=None) | Q(lend__lte=F("nominal")), name="quota_lends_what_it_owns"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team}: {self.nominal} {self.gpu_type}"

    @property
    def share(self) -> Share:
        """As the planner sees it."""
        return Share(self.nominal, self.borrow, self.lend)

    @property
    def said(self) -> str:
        return said(self.share)

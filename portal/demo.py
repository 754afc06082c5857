"""The demo: people for the four roles, teams, quotas, a rate and a join token; run twice, it changes nothing."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import django
from django.utils import timezone

PASSWORD = "berth-demo"  # known to everybody who can read this file, so only `up` with a demo ever uses it
PEOPLE = {
    "engineer": ("mira@example.org", "Mira Okafor"),
    "team lead": ("yuki@example.org", "Yuki Tanaka"),
    "finance": ("ines@example.org", "Ines Duarte"),
    "administrator": ("noor@example.org", "Noor Haddad"),
}
# What each owns of the 64 GPUs, and how far above that it may go while the other leaves some idle.
QUOTAS = {"vision": {"nominal": 40, "borrow": 24}, "language": {"nominal": 24, "borrow": 40}}
H100_MICROS_PER_HOUR = 2_600_000


def main() -> None:
    """Make what is missing; print the log-ins as a table."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    django.setup()
    from django.db import transaction

    with transaction.atomic():
        _people()
        _prices()
        _join_token()
    for role, (email, _) in PEOPLE.items():
        sys.stdout.write(f"{role:<14} {email:<20} {PASSWORD}\n")


def _people() -> None:
    from portal.accounts.models import Membership, Team, User

    people = {}
    for role, (email, name) in PEOPLE.items():
        people[role] = User.objects.filter(email=email).first() or User.objects.create_user(
            email,
            PASSWORD,
            full_name=name,
            is_administrator=role == "administrator",
            is_finance=role == "finance",
        )
    research, _ = Team.objects.get_or_create(name="research", defaults={"kind": 3})
    vision, _ = Team.objects.get_or_create(name="vision", defaults={"kind": 1, "parent": research})
    language, _ = Team.objects.get_or_create(name="language", defaults={"kind": 2, "parent": research})
    for role, team, rank in (
        ("engineer", vision, Membership.Role.MEMBER),
        ("team lead", vision, Membership.Role.LEAD),
        ("administrator", language, Membership.Role.LEAD),
    ):
        Membership.objects.get_or_create(user=people[role], team=team, defaults={"role": rank})


def _prices() -> None:
    from portal.accounts.models import Team
    from portal.quotas.models import Quota
    from portal.showback.models import Rate

    for team, terms in QUOTAS.items():
        Quota.objects.get_or_create(team=Team.objects.get(name=team), gpu_type="H100", defaults=terms)
    if not Rate.objects.filter(gpu_type="H100").exists():
        Rate.objects.create(gpu_type="H100", micros_per_hour=H100_MICROS_PER_HOUR, valid_from=timezone.now())


def _join_token() -> None:
    from django.conf import settings

    from portal.accounts.queries import digest
    from portal.agents.actions import default_pool, make_join_token
    from portal.agents.models import JoinToken

    path = Path(settings.STATE) / "secrets" / "join-token"
    now = timezone.now()
    if path.exists():
        known = JoinToken.objects.filter(digest=digest(path.read_text().strip()), revoked_at=None)
        if known.filter(expires_at__gt=now + timedelta(days=1)).exists():
            return
    secret = make_join_token(pool=default_pool(), by=None, lives=timedelta(days=365), now=now)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    path.write_text(secret)


if __name__ == "__main__":
    main()

"""People, the tree of teams, who belongs where, and API tokens."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower


class People(BaseUserManager["User"]):
    """Makes people; Django's own commands expect these two names."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        """Whatever the case: telephones like to begin an address with a capital letter."""
        return self.get(email__iexact=username)

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_administrator=True, **fields)


class User(AbstractBaseUser):
    """A person. Organisation-wide roles are flags here; team roles are memberships."""

    email = models.EmailField(unique=True)
    full_name = models.CharField(max_length=100)
    is_administrator = models.BooleanField(default=False)
    is_finance = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    must_change_password = models.BooleanField(default=False)  # an administrator has seen the present one
    joined_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[People] = People()
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["full_name"]

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="email_once_in_any_case")]
        ordering = ["full_name", "id"]

    def __str__(self) -> str:
        return self.full_name

    @property
    def initials(self) -> str:
        words = self.full_name.split() or ["?"]
        return (words[0][0] + (words[-1][0] if len(words) > 1 else "")).upper()


class Team(models.Model):
    """A team; teams form a tree."""

    name = models.SlugField(max_length=40, unique=True)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="children"
    )
    kind = models.PositiveSmallIntegerField(default=0)  # its colour everywhere: k1 to k7, 0 = others
    weight = models.FloatField(default=1.0)  # its part of what nobody was promised; 0 = comes last
    priority = models.SmallIntegerField(default=0)  # what is left over goes to the higher first

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(parent=models.F("id")), name="team_is_not_its_own_parent"
            ),
            # Not a number and infinity are greater than every number, for PostgreSQL too.
            models.CheckConstraint(
                condition=models.Q(weight__gte=0, weight__lte=1_000_000), name="team_weight_is_a_number"
            ),
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person in a team. A lead of a team also leads the teams below it."""

    class Role(models.TextChoices):
        MEMBER = "member"
        LEAD = "lead"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "team"], name="one_membership_per_team")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} as {self.role}"


class Token(models.Model):
    """An API token: only its digest is kept; the token itself is shown once."""

    class Scope(models.TextChoices):
        READ = "read", "Read"
        WRITE = "write", "Submit and cancel"
        ADMINISTER = "administer", "Administer"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    prefix = models.CharField(max_length=12, unique=True)  # the part that may be shown and searched
    digest = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=12, choices=Scope.choices))
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(expires_at__gt=models.F("created_at")), name="token_expires_after_creation"
            )
        ]
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

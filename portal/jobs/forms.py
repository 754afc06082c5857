"""The forms about jobs: what one submits, and what one looks for."""

import re
from collections.abc import Sequence
from typing import Any

from django import forms

from portal.accounts.models import Team
from portal.errors import Refusal
from portal.jobs.ask import Ask
from portal.jobs.listing import NOT_OVER
from portal.jobs.models import Job

UNITS = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}
SPELLINGS = {
    "d": ("d", "day", "days"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "min": ("m", "min", "mins", "minute", "minutes"),
    "s": ("s", "sec", "secs", "second", "seconds"),
}
SIZES = {word: UNITS[unit] for unit, words in SPELLINGS.items() for word in words}
PART = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*([a-z]+)")
# Where a refusal names a field of the request, and the form calls it otherwise.
FIELDS = {"limit_s": "limit", "Idempotency-Key": None}
TIER_NOTES = {
    "production": "goes first, and nobody stops it",
    "standard": "inside quota no other team stops it",
    "opportunistic": "goes last, and makes way for others",
}


def seconds(text: str) -> int | None:
    """90 min, 24 h, 2 d 12 h; nothing is no limit."""
    plain = text.strip().lower()
    if not plain:
        return None
    if re.fullmatch(r"\d{1,12}", plain):
        raise forms.ValidationError(f"Say what {plain} counts: {plain} min or {plain} h.")
    parts = PART.findall(plain)
    known = all(unit in SIZES for _, unit in parts)
    if not parts or not known or PART.sub("", plain).strip(" ,"):
        raise forms.ValidationError("Write a length of time like 90 min, 24 h or 2 d 12 h.")
    return round(sum(float(number) * SIZES[unit] for number, unit in parts))


def spelled(total: int | None) -> str:
    """The other way round, exactly."""
    found = []
    for unit, size in UNITS.items():
        number, total = divmod(total or 0, size)
        if number:
            found.append(f"{number} {unit}")
    return " ".join(found)


def variables(text: str) -> dict[str, str]:
    """NAME=value, one in each line; empty lines and lines that start with # say nothing."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        name = name.strip().removeprefix("export ").strip()
        if not equals:
            raise forms.ValidationError(f"Line {number} has no “=”; write NAME=value.")
        if name in found:
            raise forms.ValidationError(f"Line {number} sets {name[:40]} a second time; keep one.")
        found[name] = value
    return found


class WholeNumber(forms.IntegerField):
    """A number that a person could have meant."""

    def to_python(self, value: Any) -> int | None:
        if len(str(value or "")) > 12:
            raise forms.ValidationError("This number is too large.")
        return super().to_python(value)


class Text(forms.CharField):
    """Several lines as they were typed; browsers end them in two characters, shells want one."""

    def __init__(self, *, rows: int, **options: Any) -> None:
        attrs = {"rows": rows, "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}
        super().__init__(strip=False, widget=forms.Textarea(attrs=attrs), **options)

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


def _missing(sentence: str) -> dict[str, str]:
    return {"required": sentence}


class SubmitForm(forms.Form):
    """A request for a job. What cannot be right is judged by jobs.ask; this only reads the fields."""

    key = forms.CharField(widget=forms.HiddenInput, max_length=100)
    clone = forms.IntegerField(widget=forms.HiddenInput, required=False)
    name = forms.CharField(error_messages=_missing("Give the job a name."))
    team = forms.ModelChoiceField(
        Team.objects.none(),
        label="Team that pays",
        to_field_name="name",
        empty_label=None,
        error_messages=_missing("Choose the team that pays.")
        | {"invalid_choice": "You may not submit for this team; choose one of yours."},
    )
    command = Text(
        rows=5,
        help_text="Runs in a shell, once on each GPU, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set.",
        error_messages=_missing("Write what each rank should run."),
    )
    gpu_type = forms.ChoiceField(
        label="GPU type", required=False, error_messages={"invalid_choice": "There is no such GPU type here."}
    )
    gpus_per_node = WholeNumber(
        label="GPUs per node", error_messages=_missing("How many GPUs on each node?"), initial=1
    )
    nodes = WholeNumber(label="Nodes", error_messages=_missing("How many nodes?"), initial=1)
    tier = forms.ChoiceField(
        choices=Job.Tier.choices, initial=Job.Tier.STANDARD, widget=forms.RadioSelect,
        error_messages=_missing("Choose a tier."),
    )  # fmt: skip
    limit = forms.CharField(
        label="Time limit", required=False, max_length=60,
        help_text="The run is stopped after this. Such as 90 min, 24 h or 2 d 12 h; empty for none. "
        "With one it may start in gaps; without one it may be called back for an older job.",
    )  # fmt: skip
    env = Text(
        rows=4, label="Environment", required=False,
        help_text="NAME=value, one in each line; values are taken as they are written, quotes included.",
    )  # fmt: skip

    def __init__(self, *args: Any, teams: Sequence[Team], types: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"].queryset = Team.objects.filter(pk__in=[team.pk for team in teams])  # type: ignore[attr-defined]  # fields are typed as plain ones
        self.fields["gpu_type"].choices = [("", "Any one type"), *((kind, kind) for kind in types)]  # type: ignore[attr-defined]  # fields are typed as plain ones
        self.fields["tier"].notes = TIER_NOTES  # type: ignore[attr-defined]  # fields are typed as plain ones
        for name in ("nodes", "gpus_per_node"):
            self.fields[name].widget.attrs |= {"min": 1, "inputmode": "numeric"}
        self.fields["name"].widget.attrs |= {"maxlength": 100, "autocomplete": "off"}

    def clean_limit(self) -> int | None:
        return seconds(self.cleaned_data["limit"])

    def clean_env(self) -> dict[str, str]:
        return variables(self.cleaned_data["env"])

    def ask(self, *, cloned_from: int | None) -> Ask:
        """The request, once the form is valid."""
        told = self.cleaned_data
        same = ("name", "team", "tier", "command", "nodes", "gpus_per_node", "gpu_type", "env")
        return Ask(**{name: told[name] for name in same}, limit_s=told["limit"], cloned_from=cloned_from)

    def renew_key(self, key: str) -> None:
        """The next time this form is sent, it is another request."""
        self.data = {name: self.data.get(name) for name in self.data} | {"key": key}

    def refuse(self, refusal: Refusal) -> None:
        """Show a refusal beside the field it is about."""
        name = FIELDS.get(refusal.field, refusal.field)
        self.add_error(name if name in self.fields else None, refusal.sentence)


def cloned(job: Job) -> dict[str, Any]:
    """The fields of a job, to start from."""
    same = ("name", "tier", "command", "nodes", "gpus_per_node", "gpu_type")
    return {name: getattr(job, name) for name in same} | {
        "team": job.team.name,
        "limit": spelled(job.limit_s),
        "env": "\n".join(f"{name}={value}" for name, value in sorted(job.env.items())),
        "clone": job.pk,
    }


class FilterForm(forms.Form):
    """What one looks for among jobs; every part of it stands in the address."""

    q = forms.CharField(label="Find", required=False, max_length=100)
    mine = forms.BooleanField(required=False, widget=forms.HiddenInput)
    phase = forms.ChoiceField(
        required=False, widget=forms.HiddenInput,
        choices=[("", ""), (NOT_OVER, "Not over"), *Job.Phase.choices],
    )  # fmt: skip
    team = forms.ChoiceField(required=False)
    tier = forms.ChoiceField(required=False, choices=[("", "Any"), *Job.Tier.choices])
    type = forms.ChoiceField(label="GPU type", required=False)

    def __init__(self, *args: Any, teams: Sequence[str], types: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"].choices = [("", "All"), *((name, name) for name in teams)]  # type: ignore[attr-defined]  # fields are typed as plain ones
        self.fields["type"].choices = [("", "Any"), *((kind, kind) for kind in types)]  # type: ignore[attr-defined]  # fields are typed as plain ones
        self.fields["q"].widget.attrs |= {"placeholder": "Number, name, person or team"}

    def wanted(self) -> dict[str, Any]:
        """What was asked for; an address that nobody could have clicked together is refused."""
        if not self.is_valid():
            name, errors = next(iter(self.errors.items()))
            raise Refusal(f"The filter “{name}” is not understood: {errors[0]}", field=name)
        return self.cleaned_data

"""The forms of the policy: every figure as a field of its own kind, and why."""

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms

from portal.cycle.figures import DAYS, FIGURES, GROUPS, Figure, Group, Plain
from portal.cycle.policy import WHY_LENGTH, faults
from portal.errors import Refusal
from portal.jobs.forms import WholeNumber, seconds, spelled
from scheduler.core.policy import TIERS

PEAKS_AT_MOST = 20
PEAK = ("gpus", "from_hour", "until_hour", "tiers", "weekdays")


class Length(forms.CharField):
    """90 min, 2 d 12 h; as a number of seconds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=60, **options)
        self.widget.attrs |= {"autocomplete": "off"}

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, int | float):
            whole = value == int(value) and value > 0
            return spelled(int(value)) if whole else f"{value:g} s"
        return value

    def clean(self, value: Any) -> float | None:
        found = seconds(super().clean(value))
        return None if found is None else float(found)


class Number(forms.FloatField):
    """3 and 0.75, and never 3.0."""

    def prepare_value(self, value: Any) -> Any:
        return f"{value:.15g}" if isinstance(value, float) else value


class Count(WholeNumber):
    """A whole number that the policy keeps as a float, because it may be without limit."""

    def prepare_value(self, value: Any) -> Any:
        return int(value) if isinstance(value, float) else value


class Why(forms.Form):
    """Why the policy changes; without it nobody knows later."""

    why = forms.CharField(
        label="Why", max_length=WHY_LENGTH, widget=forms.TextInput({"autocomplete": "off"}),
        error_messages={"required": "Say why, so that whoever meets the change knows."},
        help_text="Stands in the history beside your name.",
    )  # fmt: skip


class PolicyForm(Why):
    """Every figure; what stands in it is judged by the policy itself, which is the same in a replay."""

    def __init__(self, *args: Any, figures: Plain, pools: Sequence[str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._figures = figures
        for figure in FIGURES.values():
            self.fields |= self._fields_of(figure, pools)
            self.initial = {**_initial(figure, figures[figure.name]), **self.initial}
        self.order_fields([name for name in self.fields if name != "why"])

    def _fields_of(self, figure: Figure, pools: Sequence[str]) -> dict[str, forms.Field]:
        if figure.by_tier:
            kind = Length if figure.kind == "lengths" else Count
            return {
                f"{figure.name}.{tier}": _named(
                    kind(label=tier.capitalize(), required=not figure.optional), f"{figure.label}, {tier}"
                )
                for tier in TIERS
            }
        match figure.kind:
            case "length":
                return {figure.name: Length(label=figure.label, help_text=figure.help)}
            case "pools":
                known = sorted({*pools, *self._figures[figure.name]})
                return {figure.name: _checks(figure.label, [(name, name) for name in known], figure.help)}
            case "peaks":
                rows = min(len(self._figures["peaks"]) + 1, PEAKS_AT_MOST)
                return dict(field for row in range(rows) for field in _peak_fields(row))
            case "count":
                return {figure.name: WholeNumber(label=figure.label, help_text=figure.help, min_value=0)}
            case _:
                return {figure.name: Number(label=figure.label, help_text=figure.help)}

    @property
    def groups(self) -> Iterator[tuple[Group, list[tuple[Figure, list[forms.BoundField]]]]]:
        """The fields as the page shows them; those of peaks stand apart."""
        for group in GROUPS:
            yield group, [(figure, self._bound(figure)) for figure in group.figures]

    def _bound(self, figure: Figure) -> list[forms.BoundField]:
        if figure.by_tier:
            return [self[f"{figure.name}.{tier}"] for tier in TIERS]
        return [] if figure.kind == "peaks" else [self[figure.name]]

    @property
    def peaks(self) -> list[list[forms.BoundField]]:
        """A row for each peak, and an empty one."""
        rows = range(sum(name.endswith("].gpus") for name in self.fields))
        return [[self[f"peaks[{row}].{part}"] for part in PEAK] for row in rows]

    def clean(self) -> dict[str, Any]:
        """Everything that is wrong, at once. A peak is whole or absent: a row without a number of GPUs is none."""
        for gpus, *others in self.peaks:
            for part in others if self.cleaned_data.get(gpus.name) is not None else ():
                if part.name in self.cleaned_data and self.cleaned_data[part.name] in (None, []):
                    self.add_error(part.name, "A peak needs this too.")
        for fault in faults(
            {name: self._told(figure) for name, figure in FIGURES.items() if self._read(figure)}
        ):
            self.refuse(fault)
        return self.cleaned_data

    def plain(self) -> dict[str, Any]:
        """The figures as JSON values, once the form is valid."""
        return {**self._figures, **{name: self._told(figure) for name, figure in FIGURES.items()}}

    def _read(self, figure: Figure) -> bool:
        """Whether all of its fields could be read."""
        if figure.kind == "peaks":
            return not any(part.errors for row in self.peaks for part in row)
        return not any(one.errors for one in self._bound(figure))

    def _told(self, figure: Figure) -> Any:
        if figure.by_tier:
            return {tier: self.cleaned_data[f"{figure.name}.{tier}"] for tier in TIERS}
        return self._told_peaks() if figure.kind == "peaks" else self.cleaned_data[figure.name]

    def _told_peaks(self) -> list[dict[str, Any]]:
        rows = [
            {part: self.cleaned_data[f"peaks[{row}].{part}"] for part in PEAK}
            for row in range(len(self.peaks))
        ]
        return [
            row | {"weekdays": [int(day) for day in row["weekdays"]]} for row in rows if row["gpus"] is not None
        ]  # fmt: skip

    def refuse(self, refusal: Refusal) -> None:
        """Show a refusal beside the figure it is about."""
        self.add_error(refusal.field if refusal.field in self.fields else None, refusal.sentence)


def _checks(label: str, choices: Sequence[tuple[str, str]], meaning: str = "") -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=label, choices=choices, required=False, widget=forms.CheckboxSelectMultiple, help_text=meaning
    )


def _hour(label: str) -> forms.Field:
    return WholeNumber(label=label, required=False, min_value=0, max_value=24)


def _peak_fields(row: int) -> list[tuple[str, forms.Field]]:
    days = [(str(number), day) for number, day in enumerate(DAYS)]
    found: dict[str, forms.Field] = {
        "gpus": WholeNumber(label="GPUs and more", required=False, min_value=1),
        "from_hour": _hour("From hour"),
        "until_hour": _hour("Until hour"),
        "tiers": _checks("Tiers", [(tier, tier.capitalize()) for tier in TIERS]),
        "weekdays": _checks("Days", days),
    }
    return [
        (f"peaks[{row}].{name}", _named(field, f"Peak {row + 1}, {field.label}"))
        for name, field in found.items()
    ]


def _named(field: forms.Field, name: str) -> forms.Field:
    """In the list of what is wrong a field needs its whole name; beside others of its figure the short one."""
    field.named = name  # type: ignore[attr-defined]  # read by _errors.html
    return field


def _initial(figure: Figure, value: Any) -> dict[str, Any]:
    if figure.by_tier:
        return {f"{figure.name}.{tier}": value[tier] for tier in TIERS}
    if figure.kind == "peaks":
        return {
            f"peaks[{row}].{part}": [str(day) for day in peak[part]] if part == "weekdays" else peak[part]
            for row, peak in enumerate(value)
            for part in PEAK
        }
    return {figure.name: value}

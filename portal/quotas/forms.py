"""The forms of a team's quotas: three numbers for each GPU type, and its part of what is left over."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django import forms

from portal.accounts.queries import digest
from portal.quotas.actions import MOST, PRIORITIES, WEIGHT_AT_MOST
from scheduler.core.model import Share

PARTS = {
    "own": ("Own", "Promised to the team. Empty: no quota at this level; 0: it only borrows."),
    "borrow": ("May borrow", "Above its own, of what others leave idle. Empty: without limit."),
    "lend": ("Lends at most", "Of its own while idle; it comes back when the team asks. Empty: all of it."),
}


class Shares(forms.Form):
    """Own, borrow and lend for each type."""

    def __init__(self, *args: Any, types: Iterable[str], shares: Mapping[str, Share], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kinds = {_name(kind): kind for kind in types}
        for name, kind in self._kinds.items():
            known = shares.get(kind)
            # Who types only what a team owns means a limit, as long as nobody empties the field beside it.
            initial = (known.nominal, known.borrow, known.lend) if known else (None, 0, None)
            for (part, (label, meaning)), value in zip(PARTS.items(), initial, strict=True):
                self.fields[f"{name}-{part}"] = forms.IntegerField(
                    label=label, required=False, min_value=0, max_value=MOST, initial=value, help_text=meaning
                )

    @property
    def rows(self) -> Iterator[tuple[str, list[forms.BoundField]]]:
        """By type, for the page."""
        for name, kind in self._kinds.items():
            yield kind, [self[f"{name}-{part}"] for part in PARTS]

    def clean(self) -> dict[str, Any]:
        """Say at its field what cannot be: lending more than one owns."""
        told = self.cleaned_data
        for name in self._kinds:
            own, lend = told.get(f"{name}-own"), told.get(f"{name}-lend")
            if own is not None and lend is not None and lend > own:
                self.add_error(
                    f"{name}-lend", f"A team lends of what it owns: at most {own:,}, or empty for all of it."
                )
            if own is None and lend is not None and not self[f"{name}-own"].errors:
                self.add_error(
                    f"{name}-own", "Say first how many are its own; 0 for a team that only borrows."
                )
        return told

    @property
    def shares(self) -> dict[str, Share | None]:
        """What was typed; a type without its own number has no quota."""
        told = self.cleaned_data
        return {
            kind: None if told[f"{name}-own"] is None
            else Share(told[f"{name}-own"], told[f"{name}-borrow"], told[f"{name}-lend"])
            for name, kind in self._kinds.items()
        }  # fmt: skip


class Surplus(forms.Form):
    """How a team stands where GPUs are left over that nobody was promised."""

    weight = forms.FloatField(
        min_value=0, max_value=WEIGHT_AT_MOST,
        help_text="Its part beside others: 2 gets twice as much as 1, and 0 comes last.",
    )  # fmt: skip
    priority = forms.IntegerField(
        min_value=PRIORITIES[0], max_value=PRIORITIES[1],
        help_text="The higher goes first; teams of one priority share by weight.",
    )  # fmt: skip


def _name(kind: str) -> str:
    """Agents name the types; whatever stands in a name, this is fit for an id on a page."""
    return f"gpu-{digest(kind)[:8]}"

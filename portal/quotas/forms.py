"""The form of a team's quotas: one number for each GPU type."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from portal.accounts.queries import digest

MOST = 1_000_000


class Nominal(forms.Form):
    """Empty means no limit at this level; none at all is 0."""

    def __init__(self, *args: Any, types: Iterable[str], nominal: Mapping[str, int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._names = {_name(kind): kind for kind in types}
        for name, kind in self._names.items():
            self.fields[name] = forms.IntegerField(
                label=kind, required=False, min_value=0, max_value=MOST, initial=nominal.get(kind)
            )

    @property
    def nominal(self) -> dict[str, int | None]:
        return {kind: self.cleaned_data[name] for name, kind in self._names.items()}


def _name(kind: str) -> str:
    """Agents name the types; whatever stands in a name, this is fit for an id on a page."""
    return f"gpu-{digest(kind)[:8]}"

"""Template tags for the shared parts of pages: badges, form fields, addresses with one thing changed."""

from typing import Any

from django import template
from django.forms import BoundField, CheckboxSelectMultiple, RadioSelect, Textarea
from django.http import QueryDict

register = template.Library()

# One word and one look for every state of a job, a rank or a node.
STATES: dict[str, tuple[str, str]] = {
    "waiting": ("waiting", "Waiting"),
    "starting": ("starting", "Starting"),
    "running": ("running", "Running"),
    "stopping": ("finishing", "Stopping"),
    "finished": ("done", "Finished"),
    "failed": ("failed", "Failed"),
    "cancelled": ("cancelled", "Cancelled"),
    "ordered": ("starting", "Ordered"),
    "ended": ("done", "Ended"),
    "lost": ("failed", "Lost"),
    "pending": ("warning", "Awaiting approval"),
    "ready": ("running", "In service"),
    "silent": ("unknown", "Silent"),
    "drained": ("drained", "Drained"),
    "free": ("free", "Free"),
}


@register.inclusion_tag("_badge.html")
def badge(state: str, word: str = "") -> dict[str, str]:
    """{% badge job.phase %}, or with another word: {% badge "failed" "Exit 1" %}."""
    look, usual = STATES.get(state, ("unknown", state.capitalize()))
    return {"look": look, "word": word or usual}


@register.filter
def look(state: str) -> str:
    """The state class alone: class="{{ job.phase|look }}"."""
    return f"is-{STATES.get(state, ('unknown', ''))[0]}"


@register.inclusion_tag("_field.html")
def field(bound: BoundField, unit: str = "") -> dict[str, Any]:
    """A label, its field, the error and the help, tied together for screen readers."""
    widget = bound.field.widget
    several = isinstance(widget, RadioSelect | CheckboxSelectMultiple)
    id_ = bound.auto_id if several else bound.id_for_label
    parts: dict[str, Any] = {"bound": bound, "id": id_, "unit": unit, "described": _described(bound, id_)}
    if several:
        kind = "checks" if isinstance(widget, CheckboxSelectMultiple) else "choices"
        return parts | {"kind": kind, "options": _options(bound)}
    attrs: dict[str, str | bool] = {"class": "input mono" if isinstance(widget, Textarea) else "input"}
    if parts["described"]:
        attrs["aria-describedby"] = parts["described"]
    return parts | {"kind": "one", "widget": bound.as_widget(attrs=attrs)}


def _described(bound: BoundField, id_: str) -> str:
    names = ["error"] * bool(bound.errors) + ["help"] * bool(bound.help_text)
    return " ".join(f"{id_}-{name}" for name in names)


def _options(bound: BoundField) -> list[dict[str, Any]]:
    """A form may explain and lock choices: field.notes = {value: words}, field.locked = {value, …}."""
    notes, locked = getattr(bound.field, "notes", {}), getattr(bound.field, "locked", ())
    found = []
    for one in bound.subwidgets:
        value = one.data["value"]
        found.append({
            "value": value, "word": one.choice_label, "checked": one.data["selected"],
            "note": notes.get(value, ""), "locked": value in locked,
        })  # fmt: skip
    return found


@register.simple_tag(takes_context=True)
def here(context: template.Context, **changes: Any) -> str:
    """This address with some parameters changed: href="{% here phase='waiting' after='' %}"; empty removes one."""
    query: QueryDict = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value not in ("", None):
            query[name] = str(value)
    return f"?{query.urlencode()}" if query else context["request"].path

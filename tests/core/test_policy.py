"""The policy as figures: every field is read, refused with one sentence, and written back as it was."""

from dataclasses import fields
from math import inf
from typing import Any

import pytest

from scheduler.core.policy import BadPolicy, Peak, Policy

EVERY = [each.name for each in fields(Policy)]
# By field: something other than the default, and what it becomes.
READ: dict[str, tuple[Any, Any]] = {
    "name": ("easy", "easy"),
    "min_runtime_s": ({"standard": 60}, {"production": 0.0, "standard": 60.0, "opportunistic": 300.0}),
    "max_duration_s": ({"standard": 60}, {"production": inf, "standard": 60.0, "opportunistic": inf}),
    "max_jobs_per_user": (4, {"production": 4.0, "standard": 4.0, "opportunistic": 4.0}),
    "production_pools": (["live"], ("live",)),
    "sharing_pools": (["small", "dev"], ("small", "dev")),
    "peaks": (
        [{"from_hour": 9, "until_hour": 17, "gpus": 64, "tiers": ["standard"], "weekdays": [0, 6]}],
        (Peak(9, 17, 64, ("standard",), (0, 6)),),
    ),
    "guard_share": (0.5, 0.5),
}


def value_of(field: str) -> tuple[Any, Any]:
    """A whole number one above the default, where the table has nothing better."""
    default = getattr(Policy(), field)
    return READ[field] if field in READ else (int(default) + 1, type(default)(int(default) + 1))


@pytest.mark.parametrize("field", EVERY)
def test_every_field_is_read_and_written_back(field: str) -> None:
    given, becomes = value_of(field)
    policy = Policy.of({field: given})
    assert getattr(policy, field) == becomes != getattr(Policy(), field)
    assert type(getattr(policy, field)) is type(getattr(Policy(), field))
    assert Policy.of(policy.plain()) == policy


def test_what_is_missing_keeps_its_default() -> None:
    assert Policy.of({}) == Policy()
    assert Policy.of(Policy().plain()) == Policy()


def test_no_limit_is_null_in_json() -> None:
    policy = Policy.of({"max_duration_s": {"standard": None, "production": 60}})
    assert policy.max_duration_s == {"production": 60.0, "standard": inf, "opportunistic": inf}
    assert policy.plain()["max_duration_s"] == {"production": 60.0, "standard": None, "opportunistic": None}


def test_a_peak_has_defaults() -> None:
    policy = Policy.of({"peaks": [{"from_hour": 9, "until_hour": 17, "gpus": 64}]})
    assert policy.peaks == (Peak(9, 17, 64),)


@pytest.mark.parametrize("field", [name for name in EVERY if name not in ("name", "peaks")])
@pytest.mark.parametrize("value", ["7", -1, True, None, float("nan"), float("inf"), [1], {"night": 1}])
def test_every_field_refuses_what_it_cannot_be(field: str, value: object) -> None:
    if field in ("max_duration_s", "max_jobs_per_user") and value is None:
        assert getattr(Policy.of({field: value}), field) == getattr(Policy(), field)
        return
    with pytest.raises(BadPolicy) as refused:
        Policy.of({field: value})
    assert refused.value.field.split(".")[0] == field
    assert str(refused.value) == f"{refused.value.field}: {refused.value.sentence}"


PEAK = {"from_hour": 9, "until_hour": 17, "gpus": 64}
REFUSED: dict[str, tuple[dict[str, object], str, str]] = {
    "a field that does not exist": ({"halflife": 1}, "halflife", "there is no such field"),
    "a policy that does not exist": ({"name": "lifo"}, "name", "'lifo' is no policy"),
    "a half-life of zero": ({"half_life_s": 0}, "half_life_s", "above 0"),
    "a cycle of zero": ({"cycle_s": 0}, "cycle_s", "above 0"),
    "a share above one": ({"guard_share": 1.5}, "guard_share", "between 0 and 1"),
    "half a stop": ({"max_recalls": 0.5}, "max_recalls", "whole number"),
    "a tier that does not exist": ({"min_runtime_s": {"gold": 1}}, "min_runtime_s", "'gold' is no tier"),
    "a bad figure of one tier": (
        {"min_runtime_s": {"standard": -1}},
        "min_runtime_s.standard",
        "at least 0",
    ),
    "no limit where there must be one": (
        {"min_runtime_s": {"standard": None}},
        "min_runtime_s.standard",
        "at least 0",
    ),
    "a name that is no list": ({"production_pools": "live"}, "production_pools", "list of names"),
    "peaks that are no list": ({"peaks": PEAK}, "peaks", "list of peaks"),
    "a peak that is no object": ({"peaks": [9]}, "peaks[0]", "needs from_hour"),
    "a peak without a size": ({"peaks": [PEAK, {"from_hour": 9, "until_hour": 17}]}, "peaks[1]", "and gpus"),
    "a peak with a field too many": ({"peaks": [PEAK | {"day": 1}]}, "peaks[0].day", "no such field"),
    "an hour after midnight": ({"peaks": [PEAK | {"until_hour": 25}]}, "peaks[0]", "between 0 and 24"),
    "half an hour": ({"peaks": [PEAK | {"from_hour": 9.5}]}, "peaks[0].from_hour", "whole number"),
    "a size below zero": ({"peaks": [PEAK | {"gpus": -1}]}, "peaks[0].gpus", "whole number"),
    "an eighth day": ({"peaks": [PEAK | {"weekdays": [7]}]}, "peaks[0].weekdays", "0 (Monday) to 6"),
    "a day that is no list": ({"peaks": [PEAK | {"weekdays": 1}]}, "peaks[0].weekdays", "0 (Monday) to 6"),
    "a day with a point": ({"peaks": [PEAK | {"weekdays": [1.0]}]}, "peaks[0].weekdays", "0 (Monday) to 6"),
    "a tier of a peak that does not exist": (
        {"peaks": [PEAK | {"tiers": ["gold"]}]},
        "peaks[0].tiers",
        "the tiers are",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_figure_that_cannot_be_is_refused_with_one_sentence(what: str) -> None:
    given, field, words = REFUSED[what]
    with pytest.raises(BadPolicy) as refused:
        Policy.of(given)
    assert refused.value.field == field
    assert words in refused.value.sentence


def test_two_policies_with_the_same_figures_are_the_same() -> None:
    assert Policy.of({"grace_s": 120}) == Policy()
    assert Policy.of({"grace_s": 121}) != Policy()

"""Inventories in words: what a node reports, and how that differs from what was approved. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from portal import words


@dataclass(frozen=True, slots=True)
class Hardware:
    """An inventory as a person reads it before letting it in."""

    gpus: str
    products: str
    machine: str
    place: str


def described(reported: Mapping[str, Any]) -> Hardware:
    """What a node says it has."""
    gpus = reported.get("gpus", [])
    kinds = Counter((one["type"], one["memory_mib"]) for one in gpus)
    listed = [f"{words.gpus(number, kind)} ({words.memory(mib)})" for (kind, mib), number in kinds.items()]
    machine = [
        words.many(reported.get("cpus", 0), "CPU"),
        f"{words.memory(reported.get('memory_mib', 0))} memory",
        f"driver {reported['driver']}" if reported.get("driver") else "",
    ]
    place = [f"{word} {reported[word]}" for word in ("block", "rack") if reported.get(word)]
    return Hardware(
        gpus=words.listed(listed) if listed else "no GPUs",
        products=words.listed(list(dict.fromkeys(str(one["name"]) for one in gpus))),
        machine=", ".join(part for part in machine if part),
        place=", ".join(place) or "no place reported",
    )


def changes(approved: Mapping[str, Any], reported: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Lines of a diff: ("gone" or "added", what); what stayed is not listed."""
    before, after = (_inventory(one) for one in (approved, reported))
    return [("gone", one) for one in before if one not in after] + [
        ("added", one) for one in after if one not in before
    ]


def _inventory(reported: Mapping[str, Any]) -> list[str]:
    gpus = [
        f"GPU {one['slot']}: {one['name']}, {words.memory(one['memory_mib'])}, "
        f"NVLink domain {one['nvlink_domain']}, {one['uuid']}"
        for one in reported.get("gpus", [])
    ]
    return gpus + [f"{key}: {reported[key]}" for key in sorted(reported) if key != "gpus"]

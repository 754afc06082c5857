"""Which files may stand where: the same furniture in every room, and nothing at the top that nobody asked for."""

from pathlib import Path

from tests.house import tree

TOP = {
    *("portal", "scheduler", "templates", "static", "tests", "docs", "manage.py", "pyproject.toml"),
    *("README.md", "requirements.lock", ".ci", ".gitignore", "LICENSE", "CHANGELOG.md"),
}
ROOMS = {
    *("home", "cycle", "agents", "jobs", "showback", "quotas", "telemetry", "cluster", "accounts", "journal"),
}
FURNITURE = {
    *("__init__.py", "models.py", "queries.py", "actions.py", "forms.py", "charts.py"),
    *("views.py", "api.py", "tasks.py", "urls.py"),
}
# Modules with a domain name of their own, where the furniture has no place for it, and what kind of
# furniture each one is: it reads, it writes (as actions.py may), or it is a door (and looks at the clock).
READS, WRITES, DOOR = "reads", "writes", "door"
EXTRAS = {
    "accounts": {
        "may.py": READS,
        "models.py": WRITES,  # create_user is Django's name, and Django's place for it
        "people.py": DOOR,  # what administrators do to people; views.py holds what one does oneself
        "roster.py": WRITES,
        "rules.py": READS,
        "tree.py": WRITES,
        "tries.py": READS,
    },
    "agents": {
        "ears.py": DOOR,  # a bootstep of a worker: nobody above it could pass the time
        "fences.py": READS,
        "hearing.py": WRITES,
        "keys.py": READS,
        "orders.py": WRITES,
        "refusals.py": WRITES,
    },
    "cluster": {"cells.py": READS, "hardware.py": READS},
    "cycle": {
        **dict.fromkeys(("figures.py", "intent.py", "machines.py", "snapshot.py"), READS),
        **dict.fromkeys(("stopped.py", "summary.py", "usage.py"), READS),
        **dict.fromkeys(("apply.py", "policy.py", "seating.py", "settle.py", "stops.py", "watch.py"), WRITES),
    },
    "home": dict.fromkeys(("asks.py", "context.py", "live.py", "spending.py"), READS),
    "jobs": {
        **dict.fromkeys(
            ("ask.py", "capacity.py", "download.py", "follow.py", "gang.py", "lines.py", "listing.py"), READS
        ),
        **dict.fromkeys(
            ("order.py", "outlook.py", "pages.py", "portrait.py", "receipts.py", "shown.py", "waits.py"),
            READS,
        ),
        **dict.fromkeys(("spec.py", "story.py"), READS),
        "logs.py": WRITES,
        "runs.py": WRITES,
    },
    "showback": {"pricing.py": READS},
}
PORTAL = {
    *("__init__.py", "settings.py", "urls.py", "asgi.py", "celery.py", "api.py", "errors.py", "bell.py"),
    *("demo.py", "environment.py", "guard.py", "moments.py", "streams.py", "words.py"),
}
TOOLS = {"up", "checks", "bench", "replay"}  # words of manage.py; they are not rooms
SCHEDULER = {"__init__.py", "wire.py", "shape.py", "core", "sim", "agent", "decisions"}
CORE = {
    *("fill.py", "herd.py", "keeping.py", "line.py", "making.py", "mending.py", "policy.py", "recall.py"),
    *(
        "early.py",
        "afterwards.py",
        "beside.py",
        "boards.py",
        "called.py",
        "moments.py",
        "moving.py",
        "pledges.py",
        "regroup.py",
        "risk.py",
        "serve.py",
        "spares.py",
        "table.py",
        "thinkable.py",
        "tidy.py",
        "verbs.py",
    ),
    *("__init__.py", "ruff.toml", "model.py", "reasons.py", "planner.py", "order.py", "quota.py", "place.py"),
    *("board.py", "timeline.py", "explain.py", "possible.py", "spell.py", "tree.py", "why.py"),
    *("about.py", "blame.py", "ends.py", "ladder.py", "limited.py", "misfit.py", "shortage.py", "silence.py"),
    *("verdicts.py", "explain_never.py", "explain_room.py", "precedence.py"),
    *("burden.py", "field.py", "fragment.py", "ground.py", "layout.py", "mixed.py", "search.py", "seats.py"),
    *("shapes.py", "slate.py", "spread.py", "tally.py"),
    *("alike.py", "capacity.py", "leaving.py", "race.py"),
    *("ahead.py", "allowed.py", "ledger.py", "lineage.py", "promise.py", "scale.py", "share.py", "walls.py"),
    *("behind.py", "heat.py", "hurry.py", "merits.py", "rule.py"),
    *("attempt.py", "candidates.py", "clearing.py", "cost.py", "cover.py", "defrag.py", "elastic.py"),
    *("maystop.py", "preempt.py", "receipts.py", "relief.py", "swap.py", "victims.py", "want.py"),
    "wishes.py",
}


def kind(place: Path) -> str:
    """What kind of furniture a module of a room is."""
    if place.name in tree.DOORS:
        return DOOR
    standing = WRITES if place.name == "actions.py" else READS
    return EXTRAS.get(place.parts[1], {}).get(place.name, standing)


def modules(root: Path) -> list[Path]:
    """Every module of every room."""
    return [place for place in tree.python(root, "portal") if place.parts[1] in ROOMS]


def misplaced(root: Path) -> list[str]:
    """Every file that stands where no file of its name belongs."""
    return [f"{place}: {wrong}" for place in tree.files(root) if (wrong := _wrong(place.parts))]


def _wrong(parts: tuple[str, ...]) -> str:
    if parts[0] not in TOP:
        return "nothing else belongs at the top"
    if parts[1:2] == ("decisions",):
        is_page = len(parts) == 3 and parts[2][:4].isdigit() and parts[2].endswith(".md")
        return "" if is_page else "a decision is a page: 0001-what-was-decided.md"
    within = {"portal": _in_portal, "scheduler": _in_scheduler, "templates": _in_templates}
    return within[parts[0]](*parts[1:]) if parts[0] in within else ""


def _in_portal(name: str, *inside: str) -> str:
    if name in ROOMS:
        return _in_room(name, *inside)
    return "" if name in PORTAL | TOOLS else "neither a room nor one of the portal's own modules"


def _in_room(room: str, name: str, *inside: str) -> str:
    if inside and name == "migrations":
        well_named = inside[0] == "__init__.py" or inside[0][:4].isdigit()
        return "" if well_named else "not a migration"
    known = name in FURNITURE | EXTRAS.get(room, {}).keys() and not inside
    return "" if known or name == "templatetags" else f"not furniture of a room, and no extra of {room}"


def _in_scheduler(name: str, *inside: str) -> str:
    if name == "core" and inside[0] not in CORE:
        return "the core has no such part"
    return "" if name in SCHEDULER else "the scheduler has no such part"


def _in_templates(folder: str, *inside: str) -> str:
    if inside and folder not in ROOMS | {"errors"}:
        return "templates stand in the folder of their room"
    return ""

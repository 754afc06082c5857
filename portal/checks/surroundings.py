"""Where the checks run and what their tools may see: the checkout, and an environment that reaches no real server."""

import os
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Settings must load without a server, and a check must never touch one that a person works with.
NOWHERE = {
    "DATABASE_URL": "postgresql://nobody@/nothing?host=/nonexistent",
    "REDIS_URL": "redis://nobody@127.0.0.1:1/0",
    "BERTH_STATE": "/nonexistent",
    "BERTH_SECRET_KEY": "the checks' own key",
    "BERTH_WIRE_KEY": "the checks' own key, for the wire",
    "BERTH_URL": "http://127.0.0.1:1",
}


def environment() -> dict[str, str]:
    """The caller's environment without anything that names a server, a state or a demo."""
    return {name: value for name, value in os.environ.items() if _is_harmless(name)} | NOWHERE


def _is_harmless(name: str) -> bool:
    return name == "BERTH_VENV" or not name.startswith(("BERTH_", "DJANGO_"))


def tool(name: str) -> str:
    """A program that came with requirements.lock."""
    return str(Path(sysconfig.get_path("scripts")) / name)

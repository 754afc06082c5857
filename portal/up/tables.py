"""Whether the database's tables are what the code wants, told in a moment and without starting Django."""

import hashlib

import psycopg

from portal.up.lineup import ROOT
from portal.up.trouble import Trouble


def fingerprint(url: str) -> str:
    """Changes with any migration of ours, with any package (Django brings tables too), and with what was applied."""
    found = hashlib.sha256((ROOT / "requirements.lock").read_bytes())
    for path in sorted((ROOT / "portal").glob("*/migrations/*.py")):
        found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    for row in _applied(url):
        found.update("\0".join(row).encode())
    return found.hexdigest()


def _applied(url: str) -> list[tuple[str, str]]:
    try:
        with psycopg.connect(url, connect_timeout=5) as link:
            return link.execute("select app, name from django_migrations order by app, name").fetchall()
    except psycopg.errors.UndefinedTable:
        return []
    except psycopg.Error as error:
        raise Trouble(f"The database answers no longer: {str(error).strip()}") from error

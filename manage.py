#!/usr/bin/env python3
"""The one command: enters its own environment, making it first where it is missing, and obeys."""

import importlib
import os
import shutil
import sys

# Old Pythons must still be able to read this file, to say no: keep to the syntax of 3.6 here.
WORDS = {
    "up": ("portal.up.front", "run the whole portal here, with a demo cluster"),
    "test": ("portal.checks", "everything that must hold, in one run"),
    "verify": (
        "portal.checks",
        "the quick part of that: format, lint, types, layers, migrations, fast tests",
    ),
    "lock": ("portal.checks", "refresh requirements.lock"),
    "bench": ("portal.bench", "measure"),
    "replay": ("portal.replay.command", "try a policy on a recorded workload, with a pretend clock"),
}


def main() -> int:
    try:
        return enter_and_obey()
    except KeyboardInterrupt:  # nothing is half done: whatever was interrupted begins again next time
        print("\nberth: stopped.", file=sys.stderr)
        return 130


def enter_and_obey() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036  # here is where we find out
        return refuse_python()
    from portal.up import venv

    if not venv.enter(sys.argv):
        return 1
    return obey(sys.argv[1:])


def refuse_python() -> int:
    newer = [name for name in ("python3.13", "python3.12", "python3.11") if shutil.which(name)]
    hint = f"try: {newer[0]} manage.py" if newer else "install one: sudo apt install python3.11"
    print(f"berth: Python 3.11 or newer is needed, this is {sys.version.split()[0]}; {hint}", file=sys.stderr)
    return 1


def obey(argv: "list[str]") -> int:
    """A word of our own, or one of Django's."""
    if not argv:
        lines = [f"  {word:8}{what}" for word, (_, what) in WORDS.items()]
        print("\n".join(["Words of our own:", *lines, "Any other word goes to Django: ./manage.py help"]))
        return 0
    if argv[0] in WORDS:
        return int(importlib.import_module(WORDS[argv[0]][0]).main(argv))
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    from portal.up import record, venv

    record.speak_to_running(venv.ROOT)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    try:
        execute_from_command_line(["manage.py", *argv])
    except OperationalError as why:
        hint = "start it with ./manage.py up, or name it in DATABASE_URL; BERTH_STATE if `up` has another --state"
        print(f"berth: the database does not answer ({str(why).splitlines()[0]}): {hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

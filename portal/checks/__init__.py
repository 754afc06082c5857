"""`./manage.py verify`, `test` and `lock`: what must hold, in one word each."""

from portal.checks import lock, suite, verify

WORDS = {"verify": verify.main, "test": suite.main, "lock": lock.main}


def main(argv: list[str]) -> int:
    """Run the word that stands first in argv; what follows belongs to it."""
    try:
        return WORDS[argv[0]](argv[1:])
    except KeyboardInterrupt:
        print(f"\n{argv[0]}: stopped by you; nothing is left running")
        return 130

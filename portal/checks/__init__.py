"""`./manage.py verify`, `test` and `lock`: what must hold, in one word each."""

from portal.checks import lock, suite, verify

WORDS = {"verify": verify.main, "test": suite.main, "lock": lock.main}


def main(argv: list[str]) -> int:
    """Run the word that stands first in argv; what follows belongs to it."""
    return WORDS[argv[0]](argv[1:])

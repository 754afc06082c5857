"""`./manage.py bench WORD`: measurements on real parts, started for the purpose and ended after it."""

import sys

from portal.bench import latency, planner

WORDS = {
    "latency": (latency.main, "submit over the API to the first rank running, on the embedded default"),
    "planner": (planner.main, "one round of the planner and its searches, against the goals"),
}


def main(argv: list[str]) -> int:
    """Run the measurement that stands second in argv."""
    if len(argv) < 2 or argv[1] not in WORDS:
        lines = [f"  {word:10}{what}" for word, (_, what) in WORDS.items()]
        print("\n".join(["Usage: ./manage.py bench WORD", *lines]), file=sys.stderr)
        return 2
    return WORDS[argv[1]][0](argv[2:])

"""What belongs to one machine or one workplace and not to the repository."""

import re
from pathlib import Path

from tests.house import tree

# Written in pieces, so that this file does not find itself.
FORBIDDEN = {
    "a machine's own path": re.compile(r"(?<![\w.>-])/(?:" + r"work|ro" + r"ot|(?:ho" + r"me|Us" + r"ers)/[a-z]\w*)/"),
    "a package registry's address": re.compile(
        "|".join(("py" + r"pi\.org", "python" + r"hosted\.org", "registry" + r"\.npm", "npm" + r"js\.(?:org|com)",
                  "arti" + "factory", r"(?:index-url|registry)\s*[= ]\s*\S*://"))
    ),
    "a credential": re.compile(r"-----BEGIN [A-Z ]*PRIVATE " + "KEY-----"),
}  # fmt: skip
SKIPPED = {".png", ".jpg", ".svg", ".ico", ".woff2", ".gz"}


def leaked(root: Path) -> list[str]:
    """Every line that names such a thing."""
    return [
        f"{place}:{number}: {what}: {line.strip()[:100]}"
        for place in tree.files(root)
        if place.suffix not in SKIPPED and "vendor" not in place.parts
        for number, line in enumerate((root / place).read_text("utf-8", "replace").splitlines(), 1)
        for what, pattern in FORBIDDEN.items()
        if pattern.search(line)
    ]

"""What may not stand in a template: style and script inside the page, other people's servers, unescaped text."""

import re
from pathlib import Path

from tests.house import tree

FORBIDDEN = {
    "a style attribute": re.compile(r"<[^>]*\sstyle\s*=", re.IGNORECASE),
    "a <style> element": re.compile(r"<style\b", re.IGNORECASE),
    "an inline script": re.compile(r"<script\b(?![^>]*\bsrc\s*=)[^>]*>", re.IGNORECASE),
    "an event attribute": re.compile(r"<[^>]*\s(?:on[a-z]+|hx-on[:\w-]*)\s*=", re.IGNORECASE),
    "a javascript: address": re.compile(r"javascript:", re.IGNORECASE),
    "a script, style or picture from another server": re.compile(
        r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)\s*=\s*[\"']?(?:https?:)?//", re.IGNORECASE
    ),
    "text without escaping": re.compile(r"\|\s*safe(?:seq)?\b|autoescape\s+off"),
}
COMMENT = re.compile(r"\{#.*?#\}|\{% comment .*?%\}.*?\{% endcomment %\}", re.DOTALL)


def unfit(root: Path) -> list[str]:
    """Every such thing in every template."""
    return [
        f"{place}:{source.count(chr(10), 0, found.start()) + 1}: {what}; the content policy forbids it"
        for place in tree.templates(root)
        for source in [COMMENT.sub(_blank, tree.text(root / place))]
        for what, pattern in FORBIDDEN.items()
        for found in pattern.finditer(source)
    ]


def _blank(comment: re.Match[str]) -> str:
    """Comments go, their lines stay, so that line numbers stay true."""
    return "\n" * comment[0].count("\n")

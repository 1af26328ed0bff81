""".dockerignore: which files of the context never reach the image. Pure but for the file itself."""

import re
from collections.abc import Sequence
from pathlib import Path

from compose.broken import Broken


def read_ignored(path: Path) -> list[str]:
    """Its patterns in order; a pattern that begins with ! takes a file back in."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def is_ignored(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path below the context is left out: the last pattern that matches it, or a folder of it, decides."""
    parts = Path(path).parts
    above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    ignored = False
    for pattern in patterns:
        if any(_expression(pattern.removeprefix("!")).fullmatch(each) for each in above):
            ignored = not pattern.startswith("!")
    return ignored


def _expression(pattern: str) -> "re.Pattern[str]":
    if "\\" in pattern:
        raise Broken(f".dockerignore: {pattern}: a backslash is not read here")
    text = re.escape(pattern.strip("/"))
    for written, means in ((r"\*\*/", "(?:.*/)?"), (r"\*\*", ".*"), (r"\*", "[^/]*"), (r"\?", "[^/]"), (r"\[", "[")):
        text = text.replace(written, means)
    return re.compile(text.replace(r"\]", "]"))

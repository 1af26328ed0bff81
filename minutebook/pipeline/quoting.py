"""Stored content inside the block that we hand to an agent: it cannot end the block or add to its structure. Pure."""

import re

from minutebook.pipeline.shapes import one_line

OPENING = "<minutebook-memory>"
CLOSING = "</minutebook-memory>"

_TAG = re.compile(r"<(?=\s*/?\s*(?:minutebook|system-reminder))", re.IGNORECASE)
"""Our own block, and the one into which a host may put what a hook prints."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRUCTURE = re.compile(r"\s*(?:#|\[|>|<|=|`{3}|~{3}|[-*_]{2})")
"""What begins a heading, a record, a quotation, a tag, a fence or a rule when a line begins with it."""


def harmless(text: str) -> str:
    """Content as one line that can neither open nor close a block (003-084); lone surrogates as replacement marks."""
    line = one_line(text)
    if not line.isascii():
        line = _SURROGATE.sub("\ufffd", line)
    return _TAG.sub(r"<\\", line)


def harmless_lines(text: str) -> list[str]:
    """Content of several lines: each harmless, and as a quotation where it would begin a heading or a record."""
    lines = (harmless(line) for line in text.splitlines() if line.strip())
    return [f"> {line}" if _STRUCTURE.match(line) else line for line in lines]


def without_tags(text: str) -> str:
    """Content of several lines as it is, but for tags that could pass for our block or the host's own, and surrogates.

    For exact sources that are shown to an agent: each such tag gets a backslash after its bracket.
    """
    return _TAG.sub(r"<\\", text if text.isascii() else _SURROGATE.sub("\ufffd", text))

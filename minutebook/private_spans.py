"""What stands between `<private>` and `</private>` leaves the text before anything is stored, hashed or sent. Pure.

Tags may be nested, in any case, and with attributes; a span that is never closed goes to the end of its entry.
"""

import re
from dataclasses import replace

from minutebook.records import Part, SourceEntry

PRIVATE_PLACEHOLDER = "[private: left out]"
"""The same for every span: neither length nor content can be guessed from it."""
_TAG = re.compile(r"(?:<|\\u003c)((?:\\?/)?)private(?:\s[^<>]{0,400}?)?(?:>|\\u003e)", re.IGNORECASE)
"""Also as JSON text may have it, in a tool's arguments or its result."""


def without_private(text: str) -> str:
    """The text with every private span replaced by one placeholder. Idempotent."""
    if not _may_hold(text):
        return text
    return _replaced(text, 0)[0]


def entry_without_private(entry: SourceEntry) -> SourceEntry:
    """The entry with the private spans of all its parts replaced; a span that is open at a part's end goes on."""
    for part in entry.parts:
        if _may_hold(part.text):
            return _with_parts_replaced(entry)
    return entry


def _with_parts_replaced(entry: SourceEntry) -> SourceEntry:
    parts: list[Part] = []
    depth = 0
    for part in entry.parts:
        text, depth = _replaced(part.text, depth)
        parts.append(replace(part, text=text))
    return replace(entry, parts=tuple(parts))


def _may_hold(text: str) -> bool:
    # A tag begins with one of the two: most texts have neither, and to look for a single character costs nothing.
    return ("<" in text or "\\" in text) and "private" in text.lower() and _TAG.search(text) is not None


def _replaced(text: str, depth: int) -> tuple[str, int]:
    """The text, and how many spans are open at its end; depth: how many are at its beginning."""
    pieces: list[str] = [PRIVATE_PLACEHOLDER] if depth and text else []
    kept_from = 0
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if depth == 0:
                pieces += (text[kept_from : tag.start()], PRIVATE_PLACEHOLDER)
            depth += 1
        elif depth:
            depth -= 1
            kept_from = tag.end()
    return "".join(pieces) + ("" if depth else text[kept_from:]), depth

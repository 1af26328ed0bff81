"""Whether the words of a source entry are still those that came in, by the hash that was taken of them then. Pure."""

import re
from hashlib import sha256

from minutebook.pipeline.sourcetext import entry_text
from minutebook.private_spans import PRIVATE_PLACEHOLDER
from minutebook.records import SourceEntry
from minutebook.redaction import PLACEHOLDER

SHORTENED = re.compile(r"\[…[0-9,]+ characters…\]")
"""What excerpts.head_and_tail leaves, as in an entry that was larger than a box takes."""
_PRIVATE = re.compile(re.escape(PRIVATE_PLACEHOLDER))
"""Of tags within tags the redactor may take more than left before the hash was taken."""
PARTS_MAX = 100
"""Of an entry of more, a shortened part may have no room for the mark."""
_PAIRS = re.compile("[\U00010000-\U0010ffff]")
"""Two halves of a character that came in apart are one when they are read back: other bytes, the same words."""


def is_other_text(entry: SourceEntry) -> bool:
    """Whether the text is for certain not the one that was hashed.

    Not where that cannot be told: without a hash, and where secrets or private spans were replaced or the text was
    shortened, as the hash is of the text before it.
    """
    if not entry.text_sha256:
        return False
    text = entry_text(entry)
    if sha256(text.encode("utf-8", "surrogatepass")).hexdigest() == entry.text_sha256:
        return False
    changed = any(each.search(text) for each in (PLACEHOLDER, SHORTENED, _PRIVATE, _PAIRS))
    return not changed and len(entry.parts) <= PARTS_MAX

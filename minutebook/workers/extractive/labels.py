"""Things that only a number tells apart: queue1 and queue2, node-1 and node-2, region 1 and region 2. Pure."""

import re
from functools import lru_cache

from minutebook.workers.extractive.subjects import EXAMINED_CHARACTERS, plain_of, values_of

_LABEL = re.compile(
    r"\b(?P<stem>[^\W\d_]{2,})(?:[-_]?(?P<joined>\d{1,6})(?![\w.]*\w)|\s(?P<apart>\d{1,6})(?=\s(?:is|are|was|were|has|have|must|"
    r"should|shall|will|can|may|needs?|uses?|runs?|listens?|goes|gets?|stays?|lives?|belongs?|points?|takes?)\b))"
)
"""A number at the end of a name, or between a word and the verb of which it is the subject; "port 80" is a value."""


@lru_cache(maxsize=8_192)
def labels_of(text: str) -> frozenset[tuple[str, str]]:
    """Word and number of each such thing that a text names."""
    found = _LABEL.finditer(plain_of(text[:EXAMINED_CHARACTERS]))
    return frozenset((label["stem"], label["joined"] or label["apart"]) for label in found)


def tells_apart(one: str, other: str) -> bool:
    """Whether two statements are about two such things: they name another number, and state another value, too.

    Where nothing but the number differs ("deploys go to server1", "deploys go to server2"), it is what is stated.
    """
    ours, theirs = labels_of(one), labels_of(other)
    if not ours or not theirs or not ours.isdisjoint(theirs):
        return False
    stems = {stem for stem, _ in ours} & {stem for stem, _ in theirs}
    return bool(stems) and bool(_stated(one) - _stated(other))


def _stated(text: str) -> frozenset[str]:
    """The values of a text, without its labels."""
    plain = _LABEL.sub(" ", plain_of(text[:EXAMINED_CHARACTERS]))
    return frozenset(value.text for value in values_of(plain))

"""A program's list of messages against what is known of it: what is new, and where it can be cut. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.hosts.python_messages import Message

ALIKE_LEAST = 2
"""So many equal ones at the beginning are no accident where a list may begin."""
ALIKE_MOSTLY = 4
"""Where only most are equal it takes more, """
ALIKE_ANYWHERE = 6
"""and where a list may begin anywhere, more still."""
BEGINNINGS_MOST = 20
AHEAD = 40
"""So many may have been taken out of a list between two that stayed."""


@dataclass(frozen=True, slots=True)
class New:
    """start: index of the first new one of what was given. after: how many of the known ones stand before it.

    Where that is not all of them, the program has gone back, and another branch begins there.
    """

    start: int
    after: int


def find_new(
    known: Sequence[str],
    given: Sequence[str],
    typed: Sequence[bool],
    *,
    windows: Sequence[int] = (0,),
    whole: bool = False,
) -> New:
    """What of the given keys is new. known: keys of all that was recorded, in order. typed: which a person typed.

    Given is the whole list again or its end (it overlaps with the end of what is known); the same with something
    changed or cleared in it; the list cut back, after which it goes on otherwise; else only new ones. A prompt that is
    not known is new in any case. windows: where in the known ones the program's list may begin. whole: it is known to
    hand over whole lists, so that one equal message is proof enough.
    """
    overlap = overlapping(known, given)
    if overlap:
        return New(overlap, len(known))
    for window in windows:
        found = _aligned(known, window, given, typed)
        if _begins_alike(known, window, given, 1 if whole else ALIKE_LEAST) or found.is_plain(ALIKE_MOSTLY):
            return _after(known, found, given)
    best = max((_aligned(known, at, given, typed) for at in _beginnings(known, given)), default=NOTHING)
    return _after(known, best, given) if best.is_plain(ALIKE_ANYWHERE) else New(0, len(known))


@dataclass(frozen=True, slots=True, order=True)
class Aligned:
    """alike: how many are the same. start, after: up to where the list and the known ones go together, as counts."""

    alike: int
    start: int
    after: int

    def is_plain(self, least: int) -> bool:
        """So many and most of them: no accident."""
        return self.alike >= least and 2 * self.alike > self.start


NOTHING = Aligned(0, 0, 0)


def _after(known: Sequence[str], found: Aligned, given: Sequence[str]) -> New:
    """A list that was cut back and holds nothing new changes nothing, yet."""
    again = found.start == len(given)
    if again and len(given) < ALIKE_LEAST:  # that very message once more, perhaps: a prompt is not lost
        return New(0, len(known))
    return New(found.start, len(known) if again else found.after)


def _begins_alike(known: Sequence[str], window: int, given: Sequence[str], least: int) -> bool:
    return len(given) >= least and list(known[window : window + least]) == list(given[:least])


def _beginnings(known: Sequence[str], given: Sequence[str]) -> list[int]:
    """Where in the known ones the list may begin, the last such places."""
    return [at for at, key in enumerate(known) if given and key == given[0]][-BEGINNINGS_MOST:]


def _aligned(known: Sequence[str], window: int, given: Sequence[str], typed: Sequence[bool]) -> Aligned:
    """How far the list is the known one from there on; what was changed or cleared, or taken out, is passed over.

    Not a prompt: one that is not there is a new one.
    """
    alike, start, after = 0, 0, window
    if not given or list(known[window : window + 1]) != [given[0]]:
        return NOTHING
    for index, key in enumerate(given):
        at = next((at for at in range(after, min(after + AHEAD, len(known))) if known[at] == key), None)
        if at is not None:
            alike, start, after = alike + 1, index + 1, at + 1
        elif typed[index]:
            break
    return Aligned(alike, start, after)


def overlapping(known: Sequence[str], given: Sequence[str]) -> int:
    """The most that the end of what is known and the beginning of what is given have in common."""
    failing = _failing(given)
    matched = 0
    for key in known[max(0, len(known) - len(given)) :]:
        while matched and (matched == len(given) or given[matched] != key):
            matched = failing[matched - 1]
        if matched < len(given) and given[matched] == key:
            matched += 1
    return matched


def _failing(given: Sequence[str]) -> list[int]:
    """Of each beginning, the longest shorter beginning that is also its end (Knuth, Morris, Pratt)."""
    table = [0] * len(given)
    matched = 0
    for at in range(1, len(given)):
        while matched and given[at] != given[matched]:
            matched = table[matched - 1]
        matched += given[at] == given[matched]
        table[at] = matched
    return table


def cut_at(messages: Sequence[Message], keep_tokens: int) -> int:
    """Index of the first message that stays: the newest of at most keep_tokens, and the calls that they answer.

    At least the last one stays. Where a result stays, everything from its call on does, and a reasoning stays with
    what it leads to. Messages of the system at the beginning count as cut: they are kept apart.
    """
    start, used = len(messages), 0
    while start and (used + messages[start - 1].tokens <= keep_tokens or start == len(messages)):
        start -= 1
        used += messages[start].tokens
    called = {call: index for index, message in enumerate(messages) for call in message.calls}
    index = len(messages) - 1
    while index >= start:
        start = min([start, *(called[call] for call in messages[index].answers if call in called)])
        while 0 < start < len(messages) and messages[start - 1].leads:
            start -= 1
        index -= 1
    return start

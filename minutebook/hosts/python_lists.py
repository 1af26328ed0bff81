"""A program's list of messages against what is known of it: what is new, and where it can be cut. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.hosts.python_messages import Message

ALIKE_LEAST = 2
"""So many equal ones are no accident."""


@dataclass(frozen=True, slots=True)
class New:
    """start: index of the first new one of what was given. after: how many of the known ones stand before it.

    Where that is not all of them, the program has gone back, and another branch begins there.
    """

    start: int
    after: int


def find_new(known: Sequence[str], given: Sequence[str], *, windows: Sequence[int] = (0,), whole: bool = False) -> New:
    """What of the given keys is new. known: keys of all that was recorded, in order.

    Given is the whole list again or its end (it overlaps with the end of what is known); the same with something
    changed or cleared in it (the last known one is still there, and most of what stands before it); the list cut back
    (it begins as the program's list began, and then differs: windows are the places where it may have begun, whole says
    that one equal message is proof enough); else only new ones.
    """
    overlap = overlapping(known, given)
    if overlap:
        return New(overlap, len(known))
    edited = _after_last_known(known, given)
    if edited:
        return New(edited, len(known))
    for window in windows:
        same = _same(known, window, given)
        again = same == len(
            given
        )  # cut back to its first message, or that very message once more: a prompt is not lost
        if same >= (1 if whole and not again else ALIKE_LEAST):
            return New(same, len(known) if same == len(given) else window + same)
    return New(0, len(known))


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


def _after_last_known(known: Sequence[str], given: Sequence[str]) -> int:
    """Where the list goes on after the last known message, if most before that is known, too; else 0."""
    if not known or known[-1] not in given:
        return 0
    end = len(given) - given[::-1].index(known[-1])
    there = frozenset(known[-2 * end :])
    alike = sum(key in there for key in given[:end])
    return end if alike >= max(ALIKE_LEAST, (end + 1) // 2) else 0


def _same(known: Sequence[str], window: int, given: Sequence[str]) -> int:
    count = 0
    for key, other in zip(known[window : window + len(given)], given, strict=False):
        if key != other:
            break
        count += 1
    return count


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

"""The one rule of what a provider's reported usage counts (spec 003-055)."""

from typing import Any


def context_tokens(
    *, total: object, input: object, output: object, cache_read: object, cache_write: object, failed: bool = False
) -> int | None:
    """Tokens that a reply says its context holds: its total if positive, else the sum of the four if all are there.

    None where it cannot be used: the reply failed or was aborted, a count is missing, or everything is zero.
    """
    if failed:
        return None
    reported = _count(total)
    if reported:
        return reported
    counts = [_count(value) for value in (input, output, cache_read, cache_write)]
    known = [count for count in counts if count is not None]
    return (sum(known) or None) if len(known) == len(counts) else None


def _count(value: Any) -> int | None:
    if type(value) is int and 0 <= value < 1e15:  # as nearly always
        return value
    if type(value) not in (int, float) or not 0 <= value < 1e15:  # a bool is neither
        return None
    return int(value)

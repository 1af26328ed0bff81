"""The fields of a row that came from elsewhere, each checked as it is read. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from minutebook.errors import BadInput

NAME_MAX_CHARACTERS = 100_000
"""Of ids, keys, names and times."""
TEXT_MAX_CHARACTERS = 200_000_000
COUNT_MAX = 2**53
DEPTH_MAX = 200
DIGEST = re.compile(r"[0-9a-f]{64}")


class Fields:
    """One row; every method raises BadInput that names the row and the field."""

    def __init__(self, row: Any, kind: str, *, named: bool = True, within: str = "") -> None:
        """named: whether the row must say what it is. within: the field of the row in which this stands."""
        self.kind = kind
        self.inside = f"{within}: " if within else ""
        if not isinstance(row, Mapping):
            raise BadInput(f"a {kind} row: {self.inside}no JSON object")
        if named and row.get("row") != kind:
            raise BadInput(f"a {kind} row is wanted, this one is {str(row.get('row'))[:40]!r}")
        self.row = row

    def wrong(self, field: str, wanted: str) -> BadInput:
        """The error for a field."""
        return BadInput(f"a {self.kind} row: {self.inside}{field}: {wanted}, not {_shown(self.row.get(field))}")

    def missing(self, field: str) -> bool:
        """Whether the field is absent or null."""
        return self.row.get(field) is None

    def name(self, field: str, default: str | None = None) -> str:
        """A short text; without a default it must be there and not empty."""
        value = self.row.get(field)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or (default is None and not value):
            raise self.wrong(field, "a text")
        return self.checked(field, value)

    def checked(self, field: str, value: Any) -> str:
        """A value of that field as a short text."""
        if not isinstance(value, str):
            raise self.wrong(field, "texts")
        if len(value) > NAME_MAX_CHARACTERS:
            raise self.wrong(field, f"at most {NAME_MAX_CHARACTERS:,} characters")
        return value

    def text(self, field: str) -> str:
        """A text of any length that an agent has seen; "" when it is absent."""
        value = self.row.get(field, "")
        if not isinstance(value, str) or len(value) > TEXT_MAX_CHARACTERS:
            raise self.wrong(field, f"a text of at most {TEXT_MAX_CHARACTERS:,} characters")
        return value

    def names(self, field: str) -> list[str]:
        """A list of short texts."""
        return [self.checked(field, each) for each in self.items(field)]

    def items(self, field: str) -> Sequence[Any]:
        """A list of whatever; [] when it is absent."""
        value = self.row.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(field, "a list")
        return value

    def count(self, field: str, default: int | None = None) -> int:
        """A whole number, not negative."""
        if self.missing(field) and default is not None:
            return default
        return self.whole(field, self.row.get(field))

    def whole(self, field: str, value: Any) -> int:
        """A value of that field as a whole number, not negative."""
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= COUNT_MAX:
            raise self.wrong(field, "a whole number")
        return value

    def seconds(self, field: str) -> float:
        """Seconds since the epoch; 0 when it is absent."""
        value = self.row.get(field)
        if value is None:
            return 0.0
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < COUNT_MAX:
            raise self.wrong(field, "seconds")
        return float(value)

    def flag(self, field: str) -> bool:
        """true or false; false when it is absent."""
        value = self.row.get(field, False)
        if not isinstance(value, bool):
            raise self.wrong(field, "true or false")
        return value

    def one_of(self, field: str, allowed: Sequence[str]) -> str:
        """One of some words."""
        value = self.row.get(field)
        if not isinstance(value, str) or value not in allowed:
            raise self.wrong(field, f"one of {', '.join(allowed)}")
        return value

    def digest(self, field: str) -> str:
        """A SHA-256 in lowercase hex, or ""."""
        value = self.name(field, "")
        if value and not DIGEST.fullmatch(value):
            raise self.wrong(field, "64 lowercase hex characters")
        return value

    def within(self, field: str) -> "Fields | None":
        """The fields of an object in this field; None when it is absent."""
        value = self.row.get(field)
        return None if value is None else Fields(value, self.kind, named=False, within=field)


def plain_data(given: Fields, field: str) -> dict[str, Any]:
    """The JSON object of a field, {} when it is absent: nothing in it but what JSON has, nested within reason."""
    value = given.row.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise given.wrong(field, "an object")
    if not _is_plain(value, DEPTH_MAX):
        raise given.wrong(field, f"plain JSON, nested at most {DEPTH_MAX} deep")
    return value


def _is_plain(value: Any, depth: int) -> bool:
    if depth == 0:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each, depth - 1) for key, each in value.items())
    if isinstance(value, list):
        return all(_is_plain(each, depth - 1) for each in value)
    if isinstance(value, float):
        return value == value and abs(value) != float("inf")
    return value is None or isinstance(value, str | bool | int)


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool) or value is None else f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:59]}…"

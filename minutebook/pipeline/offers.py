"""Memory that a laptop offers to a box: what may be offered, and how it is made safe. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from minutebook.errors import BadInput, NotFound
from minutebook.records import DIGEST, DROPS, FOLD, GAP, OBSERVATIONS, REFLECTIONS, RETIREMENTS, MemoryEntry
from minutebook.redaction import Redactor

PERSON = "user"
BY_ROLES = (OBSERVATIONS, REFLECTIONS, DROPS, RETIREMENTS, GAP)
"""What a box may have lost of its workers' work; a digest is made anew."""
BY_PERSON = (FOLD, OBSERVATIONS, REFLECTIONS, DIGEST, DROPS, RETIREMENTS)
RECORDS = {OBSERVATIONS: "observations", REFLECTIONS: "reflections"}
TEXTS = frozenset(["content", "reason"])
"""Names under which texts stand in an entry's data; all else is ids, times, numbers."""


def check_offered(entry: MemoryEntry, reach: int) -> None:
    """Whether a laptop may offer this for a branch of that length: BadInput.

    A fold, a person's word, memory of its host, or what a role recorded that the box has lost since. NotFound when it
    is about sources that are not there yet.
    """
    if not may_offer(entry):
        mind = str(entry.data.get("mind", PERSON))[:40]
        raise BadInput(f"memory entry {entry.id!r}: {entry.kind} of {mind!r} is made on the box alone")
    if entry.covers > reach:
        raise NotFound(f"memory entry {entry.id!r} covers {entry.covers} entries, the box has {reach}: send them first")


def may_offer(entry: MemoryEntry) -> bool:
    """Whether a box takes such an entry where it finds the place."""
    return entry.kind in BY_ROLES or (by_person(entry) and entry.kind in BY_PERSON)


def by_person(entry: MemoryEntry) -> bool:
    """Whether no role's mind made it."""
    return bool(entry.data.get("mind", PERSON) == PERSON)


def without_records(entry: MemoryEntry, recorded: Collection[str]) -> MemoryEntry | None:
    """A role's entry without the records that are there already; None when nothing else is in it."""
    name = RECORDS.get(entry.kind)
    rows = entry.data.get(name) if name else None
    if name is None or by_person(entry) or not isinstance(rows, list) or not rows:
        return entry
    new = [row for row in rows if not (isinstance(row, Mapping) and row.get("id") in recorded)]
    if len(new) == len(rows):
        return entry
    return replace(entry, data={**entry.data, name: new}) if new else None


def cleaned(redactor: Redactor, entry: MemoryEntry) -> MemoryEntry:
    """The entry with its texts redacted once more; the same object where nothing was found."""
    data = _cleaned(redactor, entry.data, named="")
    return entry if data == entry.data else replace(entry, data=data)


def _cleaned(redactor: Redactor, value: Any, *, named: str) -> Any:
    if isinstance(value, str):
        return redactor.redact(value) if named in TEXTS else value
    if isinstance(value, Mapping):
        return {key: _cleaned(redactor, each, named=key) for key, each in value.items()}
    return [_cleaned(redactor, each, named=named) for each in value] if isinstance(value, list) else value

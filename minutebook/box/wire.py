"""What the box answers, checked field by field before anything of it is used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from minutebook.errors import BadInput
from minutebook.pipeline.hashed import is_other_text
from minutebook.pipeline.rows import (
    Lengths,
    branch_of_row,
    lengths_of_row,
    memory_of_row,
    session_of_row,
    source_of_row,
)
from minutebook.pipeline.sessions import Session
from minutebook.records import Branch, MemoryEntry, SourceEntry

T = TypeVar("T")
TEXT_CHARACTERS = 2_000
TIME_MAX_SECONDS = 1e11


class Rubbish(Exception):
    """What an answer is instead of what was asked for. Never leaves client.py."""


@dataclass(frozen=True, slots=True)
class Me:
    """The token's user, and patterns of the projects that it may send and read.

    version, time: of the box and its clock, in seconds since 1970; "" and 0 where an older one does not tell.
    """

    user: str
    projects: tuple[str, ...]
    version: str = ""
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class Listed:
    """A session on the box, with what the box has of its branches. owner: the user whose it is."""

    session: Session
    branches: tuple[Branch, ...]
    lengths: Mapping[str, Lengths]
    owner: str


@dataclass(frozen=True, slots=True)
class Sessions:
    """A page of sessions. next: the cursor for what is touched after them, now or later."""

    found: tuple[Listed, ...]
    next: str


def me(answer: Mapping[str, Any]) -> Me:
    """GET /v1/me."""
    version = _text(answer, "version") if "version" in answer else ""
    time = answer.get("time", 0.0)
    if not isinstance(time, (int, float)) or not 0 <= time < TIME_MAX_SECONDS:
        raise Rubbish("no usable time")
    return Me(_text(answer, "user"), tuple(_words(answer, "projects")), version, float(time))


def lengths(answer: Mapping[str, Any]) -> Lengths:
    """What each push is answered with."""
    return _of_row(lengths_of_row, answer)


def lengths_of_many(answer: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Lengths | None]:
    """POST /v1/lengths: one answer for each key."""
    found = _field(answer, "branches", dict)
    if set(found) != set(keys):
        raise Rubbish("lengths of other branches than those that were asked for")
    return {key: None if found[key] is None else lengths(_object(found[key])) for key in keys}


def memory_page(answer: Mapping[str, Any], *, branch: str, after: int, limit: int) -> tuple[list[MemoryEntry], Lengths]:
    """GET /v1/memory: entries that follow each other without a hole."""
    return _page(answer, memory_of_row, "index", branch, after, limit), lengths(_field(answer, "lengths", dict))


def sources_page(
    answer: Mapping[str, Any], *, branch: str, after: int, limit: int
) -> tuple[list[SourceEntry], Lengths]:
    """GET /v1/sources, likewise, each with the words of which its hash was taken."""
    entries = _page(answer, source_of_row, "position", branch, after, limit)
    for at, entry in enumerate(entries, start=after):
        if is_other_text(entry):
            raise Rubbish(f"other words in entry {at} of {branch} than its hash is of: they were changed on the box")
    return entries, lengths(_field(answer, "lengths", dict))


def sessions(answer: Mapping[str, Any]) -> Sessions:
    """GET /v1/sessions."""
    return Sessions(tuple(map(_listed, _field(answer, "sessions", list))), _text(answer, "next"))


def why_not_made(answer: Mapping[str, Any]) -> str:
    """GET /v1/status: the one thing that a laptop cannot see by itself."""
    return _text(answer, "why_not_made")


def _listed(value: Any) -> Listed:
    row = _object(value)
    session = _of_row(session_of_row, _field(row, "session", dict))
    branches = tuple(_of_row(branch_of_row, _object(each)) for each in _field(row, "branches", list))
    found = {key: lengths(_object(each)) for key, each in _field(row, "lengths", dict).items()}
    if any(branch.key not in found for branch in branches):
        raise Rubbish("a branch without its lengths")
    return Listed(session, branches, found, _text(row, "owner"))


def _page(
    answer: Mapping[str, Any], read: Callable[[Any], T], place: str, branch: str, after: int, limit: int
) -> list[T]:
    rows = [_object(row) for row in _field(answer, "entries", list)]
    if len(rows) > limit:
        raise Rubbish(f"{len(rows)} entries where at most {limit} were asked for")
    for at, row in enumerate(rows, start=after):
        if row.get("branch") != branch or row.get(place) != at:
            raise Rubbish(f"an entry in another place than {at} of {branch}")
    return [_of_row(read, row) for row in rows]


def _of_row(read: Callable[[Any], T], row: Mapping[str, Any]) -> T:
    try:
        return read(row)
    except BadInput as error:
        raise Rubbish(str(error)) from error


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Rubbish("something else where an object belongs")
    return value


def _field(answer: Mapping[str, Any], name: str, kind: type[T]) -> T:
    value = answer.get(name)
    if not isinstance(value, kind):
        raise Rubbish(f"no usable {name}")
    return value


def _text(answer: Mapping[str, Any], name: str) -> str:
    text = _field(answer, name, str)
    if len(text) > TEXT_CHARACTERS:
        raise Rubbish(f"no usable {name}")
    return text


def _words(answer: Mapping[str, Any], name: str) -> list[str]:
    found = _field(answer, name, list)
    if not all(isinstance(each, str) for each in found):
        raise Rubbish(f"no usable {name}")
    return found

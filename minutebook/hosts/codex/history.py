"""Where a rollout goes on from another one.

Codex 0.171 copies nothing into the file of a fork, nor into the new file in which a session goes on whose last turns
were undone: it names the thread and the byte at which what they share ends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minutebook.hosts.fields import text_of
from minutebook.hosts.lines import Lines
from minutebook.hosts.walking import Walk

_REACHES = (64 * 1024, 1024 * 1024, 16 * 1024 * 1024)
_NAME = "rollout-*-{thread}*.jsonl"


class GoingOn(Walk):
    """A walk that may begin behind entries of another file. after: id of the entry that the next one follows, or ""."""

    after: str = ""


@dataclass(frozen=True, slots=True)
class Shared:
    """The last source entry that two rollouts share. thread: in whose rollout it stands. file: the base's."""

    entry: str = ""
    thread: str = ""
    file: str = ""


def last_shared(path: Path, base: dict[str, Any], walk: Callable[[Path], GoingOn]) -> Shared:
    """What the rollout at `path` goes on from; all "" where that cannot be told.

    base: session_meta's history_base. walk: a new walk over a file.
    """
    thread, stop, ordinal = (
        text_of(base.get("thread_id")),
        base.get("end_byte_offset"),
        base.get("end_ordinal_exclusive"),
    )
    if thread.replace("-", "").isalnum() and isinstance(stop, int) and isinstance(ordinal, int) and stop > 0:
        for file in _files_of(path, thread):
            if file != path and file.is_file() and (found := _last_source(file, stop, ordinal, walk)):
                return Shared(found.last or found.after, _thread_of(found) or thread, str(file))
    return Shared()


def _thread_of(walk: GoingOn) -> str:
    """Of a thread that has said nothing yet: the one that it goes on from."""
    return walk.head.forked_from if walk.head and not walk.last else ""


def _files_of(path: Path, thread: str) -> list[Path]:
    """A thread's rollouts, the latest first: it has another one for each time that its last turns were undone."""
    days = path.absolute().parents
    dated = len(days) > 3 and all(folder.name.isdigit() for folder in days[:3])
    pattern = _NAME.format(thread=thread)
    return sorted(days[3].glob(f"*/*/*/{pattern}") if dated else days[0].glob(pattern), reverse=True)


def _last_source(file: Path, stop: int, ordinal: int, walk: Callable[[Path], GoingOn]) -> GoingOn | None:
    """The walk that came to the last source before a byte of a file whose next row would have that ordinal.

    As little is read as will do.
    """
    try:
        for reach in (*_REACHES, stop):
            walked = walk(file)
            if _last_ordinal(walked, file, max(0, stop - reach), stop) != ordinal - 1:
                return None
            if walked.last or walked.after:
                return walked
            if reach >= stop:
                return None
    except OSError:
        pass
    return None


def _last_ordinal(walk: GoingOn, file: Path, start: int, stop: int) -> object:
    """Walk these bytes; the ordinal of their last row."""
    ordinal: object = None
    with file.open("rb") as opened:
        opened.seek(start)
        begin = start + len(opened.readline()) if start else 0
        for row in Lines(opened, begin, 0, stop):
            walk.takes(row)
            ordinal = row.data.get("ordinal")
    return ordinal

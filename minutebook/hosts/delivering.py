"""A session's file into the ledger, from where it was read to: what `om ingest`, the worker and answering hooks share.

A large file is read and taken in step by step, and where it was read to is written with each step. So a delivery that
ends early, by its budget or by a kill, costs nothing but time: the next one goes on there.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from minutebook.errors import BadTranscript
from minutebook.hosts.reading import Reader
from minutebook.pipeline.deliveries import Reading
from minutebook.pipeline.intake import Accepted, accept_turns
from minutebook.pipeline.keeping_out import keep_out
from minutebook.pipeline.sessions import Session, find_session, session_key
from minutebook.store.kernel import Store

STEP_BYTES = 1024 * 1024
"""A file is read and taken in by so much at a time."""
BUDGET_STEP_BYTES = 128 * 1024
"""Smaller where the time is counted: a budget is looked at between two steps only."""
HEAD_BYTES = 64 * 1024
RESTS_MOST = 16
"""Forks of forks; and files that would name each other."""
HEAD_MAX_BYTES = 8 * 1024 * 1024
READERS: Mapping[str, str] = {
    "claude_code": "minutebook.hosts.claude_code.reader",
    "codex": "minutebook.hosts.codex.reader",
    "pi": "minutebook.hosts.pi.reader",
    "opencode": "minutebook.hosts.opencode.reader",
    "neutral": "minutebook.hosts.neutral",
}
"""Host → the module that reads its files: a hook loads its own and no other."""

Advance = Callable[[Path, int, int], None]


@dataclass(slots=True, kw_only=True)
class Delivered:
    """What came of a file. session: its key, "" where the file does not say yet. agent: a sub-agent's id, else "".

    branches: keys of those that got something new. recognised: there is something of that host in it. whole: it was
    read to its end, as it was then, or nothing of it may be taken in. purged: because its session was removed on
    purpose.
    """

    session: str = ""
    agent: str = ""
    new: int = 0
    duplicates: int = 0
    versions: int = 0
    branches: tuple[str, ...] = ()
    recognised: bool = False
    whole: bool = True
    purged: bool = False

    def add(self, done: Accepted) -> None:
        """Count what one step brought."""
        self.session = done.session or self.session
        self.purged = self.purged or done.purged
        self.new += done.new
        self.duplicates += done.duplicates
        self.versions += done.versions
        self.branches = tuple(dict.fromkeys([*self.branches, *done.branches]))


def reader_of(host: str) -> Reader:
    """The reader of a host's files; BadTranscript for a host that is not known."""
    if host not in READERS:
        raise BadTranscript(f"{host}: no such host (known: {', '.join(READERS)})")
    reader: Any = import_module(READERS[host])
    return reader  # type: ignore[no-any-return]  # a module


def deliver(
    store: Store,
    host: str,
    path: Path,
    *,
    zone: str = "UTC",
    seconds: float | None = None,
    step_bytes: int | None = None,
    key: str = "",
    ignore: Sequence[str] = (),
    each: Callable[[Reading], None] | None = None,
    advance: Advance | None = None,
    rests: int = RESTS_MOST,
) -> Delivered:
    """Take a session's file in from where it was read to, in steps; idempotent, safe beside others that do the same.

    zone: for a session whose host names none. seconds: no step begins later than so long after the first, once it has
    come further. step_bytes: how much a step reads. key: of the session whose file it should be, where that is known;
    only saves a look. ignore: the setting's globs. each: told what is kept of every step's reading; advance: file,
    bytes read, its size. rests: how many files, each going on from the next, are taken in before it. Raises
    BadTranscript of a file that cannot be read, StoreError.
    """
    until = None if seconds is None else time.monotonic() + seconds
    reader, delivered = reader_of(host), Delivered()
    session = read_before(store, reader, path, key)
    if session is None and not _has_what_it_rests_on(store, host, reader, path, until, (zone, ignore), rests):
        return replace(delivered, recognised=True, whole=False)
    step = step_bytes or (STEP_BYTES if until is None else BUDGET_STEP_BYTES)
    cursor = session.cursor if session else None
    begin = _offset(cursor or {})
    for whole, last in _steps(reader, path, cursor, step, advance):
        reading = keep_out(store, whole, ignore)
        if each is not None:
            each(reading)
        if reading.head is not None and not delivered.session:
            delivered.session, delivered.agent = session_key(reading.head), reading.head.agent
        if _says_something(reading, session):
            delivered.add(accept_turns(store, reading, path=str(path), zone=zone))
        delivered.recognised = delivered.recognised or whole.head is not None
        if delivered.purged or (whole.head is not None and reading.head is None):
            break  # nothing is noted of it, so that the next delivery begins here again
        moved = _offset(whole.cursor) != begin  # else a long record would be begun again each time
        if moved and not last and until is not None and time.monotonic() >= until:
            delivered.whole = False
            break
    return delivered


def _has_what_it_rests_on(
    store: Store,
    host: str,
    reader: Reader,
    path: Path,
    until: float | None,
    how: tuple[str, Sequence[str]],
    rests: int,
) -> bool:
    """Whether the file that a new one goes on from is in the ledger, or cannot be. A fork opens at its own place only
    if that is there."""
    head = head_of(reader, path)
    if head is None or not head.rests_on or not rests:
        return True
    zone, ignore = how
    seconds = None if until is None else max(0.0, until - time.monotonic())
    try:
        base = Path(head.rests_on)
        return deliver(store, host, base, zone=zone, seconds=seconds, ignore=ignore, rests=rests - 1).whole
    except BadTranscript:
        return True


def deliver_reading(
    store: Store, reading: Reading, *, path: str = "", zone: str = "UTC", ignore: Sequence[str] = ()
) -> Accepted:
    """Take in what a host handed over otherwise than by a file. path: of the file in which it stands, too, if any.

    Without what is paused or ignored. ignore: the setting's globs.
    """
    return accept_turns(store, keep_out(store, reading, ignore), path=path, zone=zone)


def readings(
    reader: Any, file: Path, cursor: Mapping[str, Any] | None, advance: Advance | None = None, step: int = STEP_BYTES
) -> Iterator[Reading]:
    """The file from the cursor on, step by step, so that a large one is not held in memory at once."""
    for reading, _ in _steps(reader, file, cursor, step, advance):
        yield reading


def read_before(store: Store, reader: Reader, path: Path, key: str = "") -> Session | None:
    """The session that this file was read for before; BadTranscript of a file that cannot be read."""
    session = find_session(store, key) if key else None
    if session is None or session.path != str(path):
        head = head_of(reader, path)
        session = find_session(store, session_key(head)) if head is not None else None
    return session if session is not None and session.path == str(path) else None


def _steps(
    reader: Any, file: Path, cursor: Mapping[str, Any] | None, step_bytes: int, advance: Advance | None
) -> Iterator[tuple[Reading, bool]]:
    """Each reading, and whether it is the last one."""
    size = size_of(file)
    began = _offset(cursor) if cursor else 0
    step = step_bytes
    stop = began + step
    while True:
        last = stop >= size
        reading: Reading = reader.read(file, cursor, stop=None if last else stop)
        at = _offset(reading.cursor)
        if advance is not None:
            advance(file, at, size)
        yield reading, last
        if last:
            return
        step = step * 2 if at == began else step_bytes  # a record longer than the step is not read ever again
        cursor, began = reading.cursor, at
        stop = max(stop, at) + step


def head_of(reader: Reader, path: Path) -> Any:
    """From its first rows: of a file that does not say for so long, the reading itself has to."""
    for reading in readings(reader, path, None, step=HEAD_BYTES):
        if reading.head is not None or _offset(reading.cursor) > HEAD_MAX_BYTES:
            return reading.head
    return None


def _says_something(reading: Reading, session: Session | None) -> bool:
    """Whether there is anything since the cursor: a file that did not change does not make its session the latest."""
    if session is None or reading.events or reading.replaced or (reading.ended and not session.ended):
        return True
    return _offset(reading.cursor) != _offset(session.cursor)


def _offset(cursor: Mapping[str, Any]) -> int:
    offset = cursor.get("offset", 0)
    return offset if isinstance(offset, int) else 0


def size_of(file: Path) -> int:
    """Its bytes; 0 where that cannot be told."""
    try:
        return file.stat().st_size
    except (OSError, ValueError):
        return 0

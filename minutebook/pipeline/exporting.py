"""A store as rows, for another store: sessions with their branches, sources, memory and marks (docs/formats.md).

Parents come before their forks, and nothing in it depends on the backend: a store that took the rows in gives the same
rows again. What only caches, counts runs or waits for a host is left out; it is made anew. Read while others write, it
holds each session as of some moment.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from minutebook.errors import NotFound
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import (
    READ_CHUNK,
    list_branches,
    memory_stream,
    source_stream,
)
from minutebook.pipeline.copies import SHARED_MARKS
from minutebook.pipeline.following import origin_of
from minutebook.pipeline.outbox import outbox
from minutebook.pipeline.purged import PURGED
from minutebook.pipeline.readings import session_key_of
from minutebook.pipeline.rows import Row, branch_row, memory_row, session_row, source_row
from minutebook.pipeline.sessions import Session, list_sessions
from minutebook.pipeline.workbook import iso_time
from minutebook.records import Branch
from minutebook.store import codec
from minutebook.store.kernel import Put, Store

EXPORT_VERSION = 1
EXPORTS = "exports"
EXPORTED_MARKS = (*SHARED_MARKS, ledger.BOX, ledger.TAKEN)


@dataclass(frozen=True, slots=True)
class Exported:
    """An export that was made: where it was written, when (ISO 8601, UTC), and the keys of its sessions."""

    path: str
    time: str
    sessions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """What an export holds: sessions by key, branches with parents first, and whether that is the whole store."""

    sessions: Sequence[Session]
    branches: Sequence[Branch]
    whole: bool


def select(store: Store, keys: Collection[str] = ()) -> Selection:
    """The sessions of these keys, with their sub-agents and with those whose beginning they share; all without keys.

    Raises NotFound for a key that is not in the store.
    """
    sessions = {session.key: session for session in list_sessions(store)}
    branches = {branch.key: branch for branch in list_branches(store)}
    for key in keys:
        if key not in sessions:
            raise NotFound(f"no session {key!r} in this store; `om sessions` lists what there is")
    wanted = _closed(set(keys), sessions, branches) if keys else {*sessions, *map(session_key_of, branches.values())}
    held = [branch for branch in branches.values() if session_key_of(branch) in wanted]
    return Selection(
        sessions=[sessions[key] for key in sorted(wanted) if key in sessions],
        branches=sorted(held, key=lambda branch: (_depth(branch, branches), branch.key)),
        whole=not keys,
    )


def export_rows(store: Store, selection: Selection, *, with_redaction_key: bool = False) -> Iterator[Row]:
    """The rows, one after the other; what is held is a page of them.

    with_redaction_key: so that the same secret keeps its placeholder in the other store. Whoever has the key can test
    guesses of a secret against the placeholders, so it goes along only when it is asked for.
    """
    yield {"row": "export", "version": EXPORT_VERSION}
    if with_redaction_key and (document := store.get("store", "redaction_key")):
        yield {"row": "redaction_key", "key": codec.from_json(document.body)["key"]}
    for session in selection.sessions:
        yield session_row(session, here=True)
    for branch in selection.branches:
        yield from _branch_rows(store, branch)
    if selection.whole:
        for document in store.documents(PURGED):
            yield {"row": "purged", "key": document.key, "body": codec.from_json(document.body)}


def as_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Each row as a line, and a last one that says how many there are and hashes them: a cut file shows."""
    digest, count = sha256(), 0
    for row in rows:
        line = codec.to_json(row) + "\n"
        digest.update(line.encode())
        count += 1
        yield line
    yield codec.to_json({"row": "end", "rows": count, "sha256": digest.hexdigest()}) + "\n"


def note_export(store: Store, path: str, selection: Selection) -> None:
    """Keep that these sessions were written there, so that a purge can name the file."""
    time, keys = iso_time(store.now()), [session.key for session in selection.sessions]
    body = {"v": codec.VERSION, "path": path, "time": time, "sessions": keys}
    store.put(
        Put(EXPORTS, f"{time} {sha256(path.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}", codec.to_json(body))
    )


def list_exports(store: Store) -> list[Exported]:
    """The exports that were made of this store, oldest first."""
    found = map(codec.from_json, (document.body for document in store.documents(EXPORTS)))
    return [Exported(str(body["path"]), str(body["time"]), tuple(body["sessions"])) for body in found]


def _closed(keys: set[str], sessions: dict[str, Session], branches: dict[str, Branch]) -> set[str]:
    """With all that these sessions need or started."""
    agents = {key for key, session in sessions.items() if session.agent and f"{session.host}:{session.session}" in keys}
    wanted, todo = set[str](), [*keys, *agents]
    while todo:
        key = todo.pop()
        if key in wanted:
            continue
        wanted.add(key)
        session = sessions.get(key)
        named = [session.branch, *session.branches, *(place[0] for place in session.passed)] if session else []
        for branch in (branches[name] for name in named if name in branches):
            todo += map(session_key_of, _chain(branch, branches))
    return wanted


def _chain(branch: Branch, branches: dict[str, Branch]) -> Iterator[Branch]:
    yield branch
    while branch.parent in branches:
        branch = branches[branch.parent]
        yield branch


def _depth(branch: Branch, branches: dict[str, Branch]) -> int:
    return sum(1 for _ in _chain(branch, branches))


def _branch_rows(store: Store, branch: Branch) -> Iterator[Row]:
    tip = store.tip(memory_stream(branch.key))  # before the sources: memory is about what was there before it
    length = store.tip(source_stream(branch.key)).length
    first = store.read(source_stream(branch.key), 0, 1)
    is_origin = bool(first) and origin_of(store, branch.host, first[0].id) == branch.key
    yield branch_row(branch) | {"origin": is_origin}
    for at in range(0, length, READ_CHUNK):
        for stored in store.read(source_stream(branch.key), at, min(at + READ_CHUNK, length)):
            yield source_row(branch.key, stored.position, codec.source_entry(stored), here=True)
    for at in range(0, tip.length, READ_CHUNK):
        for entry in ledger.read_own(store, branch, min(at + READ_CHUNK, tip.length), start=at):
            yield memory_row(entry)
    for entry in outbox(store, branch):
        yield memory_row(replace(entry, index=-1)) | {"row": "waiting"}
    marks = {name: value for name in EXPORTED_MARKS if (value := tip.marks.get(name, 0))}
    if marks:
        yield {"row": "marks", "branch": branch.key, "marks": marks}

"""accept_turns: where a turn enters.

Everything is redacted before it is written. The order of delivery is the spine; a host's parent ids are advice: only a
typed prompt whose known parent is not the tip (or an entry that the host itself says has moved) opens a branch.
Delivering the same again, late or in other pieces, changes nothing.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from minutebook.errors import StoreBusy
from minutebook.pipeline import calibration
from minutebook.pipeline.branches import BRANCHES, Path, find_branch, load_branch, source_stream
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory, Reading, SessionHead
from minutebook.pipeline.excerpts import head_and_tail
from minutebook.pipeline.forks import fork_branch, root_branch, subagent_branch
from minutebook.pipeline.importing import Importer
from minutebook.pipeline.sessions import (
    COMPACTIONS_KNOWN,
    Session,
    find_session,
    new_session,
    note_reading,
    session_key,
    session_put,
)
from minutebook.pipeline.sourcetext import entry_text, entry_tokens
from minutebook.records import INJECTED, NOTE, Branch, SourceEntry
from minutebook.redaction import Redactor
from minutebook.store import codec
from minutebook.store.kernel import Document, Put, Stale, Store

WINDOW = 200
"""Source entries looked up and written together, in one transaction where they stay on one branch."""
INTAKE_TRIES = 20
ROOTS = "roots"
PARALLEL_ROLES = ("tool_result", "custom")
PARALLEL_MAX = 64
TITLE_CHARACTERS = 80


@dataclass(slots=True, kw_only=True)
class Accepted:
    """What one delivery changed. branches: keys of those that got something new."""

    session: str
    new: int = 0
    duplicates: int = 0
    versions: int = 0
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    """Where an entry stands: position on the path of its own branch."""

    branch: str
    position: int
    sha: str


class SessionMoved(Exception):
    """Another process took in the same session meanwhile: begin again, what is there already is a no-op."""


def accept_turns(store: Store, reading: Reading, *, path: str = "", zone: str = "UTC") -> Accepted:
    """Take a reading into the ledger and mark the branches that moved. Idempotent; safe beside other writers.

    zone: for a session whose host names none. Raises StoreError; nothing is half-written then.
    """
    if reading.head is None:
        return Accepted(session="")
    for _ in range(INTAKE_TRIES):
        session = find_session(store, session_key(reading.head)) or new_session(reading.head, path=path, zone=zone)
        session.path = path or session.path
        try:
            return _Intake(store, session, reading.head).run(reading)
        except SessionMoved:
            continue
    raise StoreBusy(f"session {session_key(reading.head)}: {INTAKE_TRIES} other deliveries came first; try again")


def mark_ended(store: Store, key: str) -> None:
    """Note that a session is over, so that its tail is observed without waiting."""
    for _ in range(INTAKE_TRIES):
        session = find_session(store, key)
        if session is None or session.ended:
            return
        session.ended = True
        if not isinstance(store.put(session_put(session)), Stale):
            store.mark_dirty(session.branch)
            return


def redactor_of(store: Store) -> Redactor:
    """The store's redactor: its key is made once, so that the same secret always has the same placeholder."""
    document = store.get("store", "redaction_key")
    if document is None:
        made = store.put(Put("store", "redaction_key", codec.to_json({"key": secrets.token_hex(16)}), if_version=0))
        document = made if isinstance(made, Document) else store.get("store", "redaction_key")
    assert document is not None
    return Redactor(bytes.fromhex(codec.from_json(document.body)["key"]))


class _Intake:
    """One delivery on its way into the ledger."""

    def __init__(self, store: Store, session: Session, head: SessionHead) -> None:
        self.store = store
        self.session = session
        self.head = head
        self.redactor = redactor_of(store)
        self.done = Accepted(session=session.key)
        self.known: dict[str, _Known] = {}
        self.pending: list[tuple[SourceEntry, int]] = []
        self.moved: list[str] = []
        self.branch: Branch | None = find_branch(store, session.branch) if session.branch else None
        self.paths: dict[str, Path] = {}
        self.length = 0
        self.tokens = 0
        self.learned = calibration.from_data(session.calibration)
        self.importer = Importer(store)
        if self.branch:
            self._enter(self.branch)

    def run(self, reading: Reading) -> Accepted:
        events = reading.events
        for start in range(0, len(events), WINDOW):
            window = events[start : start + WINDOW]
            self._look_up([event for event in window if isinstance(event, SourceEntry)])
            for event in window:
                self._take(event)
            self._flush()
        self._close(reading)
        self.done.branches = tuple(dict.fromkeys(self.moved))
        return self.done

    # -- one event ---------------------------------------------------------------------------------------------

    def _take(self, event: SourceEntry | HostCompaction | ImportedMemory) -> None:
        match event:
            case SourceEntry():
                self._take_source(event)
            case HostCompaction():
                self._take_compaction(event)
            case ImportedMemory() if not self.session.follows:
                self.importer.add(event, self._position_of(event.after), self._position_of(event.covers_id))

    def _take_source(self, entry: SourceEntry) -> None:
        sha = sha256(_identity(entry).encode("utf-8", "surrogatepass")).hexdigest()
        entry = replace(entry, text_sha256=sha)
        if self._follow(entry):
            return
        known = self.known.get(entry.id)
        if known is None:
            self._add(entry, self._target(entry))
        elif known.sha == sha:
            self.done.duplicates += 1
        else:
            self._add_version(entry, known)

    def _add_version(self, entry: SourceEntry, known: _Known) -> None:
        """The same id with another text is kept beside the first, at the tip, and counted."""
        version = replace(entry, id=f"{entry.id}~{entry.text_sha256[:8]}", version_of=entry.id)
        if version.id in self.known:
            self.done.duplicates += 1
            return
        self.session.versions += 1
        self.done.versions += 1
        self._add(version, self.branch or load_branch(self.store, known.branch))

    def _add(self, entry: SourceEntry, branch: Branch) -> None:
        if self.branch is None or branch.key != self.branch.key:
            self._flush()
            self._enter(branch)
        entry = self.redactor.redact_entry(entry)
        weight = 0 if entry.custom_type in (NOTE, INJECTED) else entry_tokens(entry)
        self.pending.append((entry, weight))
        self.known[entry.id] = _Known(branch.key, self.length, entry.text_sha256)
        self.length += 1
        self.tokens += weight
        self._notice(entry)

    def _notice(self, entry: SourceEntry) -> None:
        session = self.session
        session.last_time = max(session.last_time, entry.time)
        if entry.typed:
            session.prompts += 1
            session.title = session.title or head_and_tail(" ".join(entry_text(entry).split()), TITLE_CHARACTERS)
        if entry.usage is not None:
            session.model = entry.usage.model or session.model
            self.learned = calibration.learn(self.learned, entry.usage, self.tokens)

    def _take_compaction(self, event: HostCompaction) -> None:
        if event.id in self.session.compactions or self.branch is None:
            return
        self._flush()
        self.session.compactions = [*self.session.compactions, event.id][-COMPACTIONS_KNOWN:]
        kept = self._position_of(event.first_kept)
        after = self._position_of(event.after)
        at = self.length if after is None else after + 1
        self.importer.compacted(self.branch, event, kept=at if kept is None else kept, at=at)
        self.moved.append(self.branch.key)

    # -- where an entry goes -----------------------------------------------------------------------------------

    def _follow(self, entry: SourceEntry) -> bool:
        """While a new session repeats the beginning of another one, nothing is written; where it parts, it forks."""
        if self.branch is None and not self.session.follows:
            root = self.store.get(ROOTS, f"{self.head.host}:{entry.id}")
            if root is None or self.head.agent:
                return False
            self.session.follows = [codec.from_json(root.body)["branch"], 0]
        if not self.session.follows:
            return False
        key, matched = self.session.follows
        path = self._path(load_branch(self.store, key))
        placed = path.at(matched)
        if placed is not None and placed.entry.id == entry.id:
            self.session.follows = [key, matched + 1]
            self.done.duplicates += 1
            return True
        self._part_from(path, matched, entry)
        return False

    def _part_from(self, path: Path, matched: int, entry: SourceEntry) -> None:
        self.session.follows = []
        owner = path.owner(matched - 1)
        name = self.session.key
        branch = fork_branch(self.store, owner, fork=matched, key=name, session=self.session)
        self._enter(branch)
        self.known.update(
            {placed.entry.id: _known_of(path, placed.position, placed.entry) for placed in path.walk(0, matched)}
        )

    def _target(self, entry: SourceEntry) -> Branch:
        """The branch that a new entry continues or opens."""
        if self.branch is None:
            return self._first_branch(entry)
        parent = self.known.get(entry.parent) if entry.parent else None
        if parent is None:
            return self._fork_at(self.branch, 0, entry) if entry.moved and not entry.parent else self.branch
        if not self._on_path(parent):
            return self._elsewhere(entry, parent)
        if parent.position + 1 == self.length or not (entry.typed or entry.moved):
            return self.branch
        if not entry.moved and self._only_parallel_after(parent.position):
            return self.branch
        return self._fork_at(self.branch, parent.position + 1, entry)

    def _elsewhere(self, entry: SourceEntry, parent: _Known) -> Branch:
        branch = load_branch(self.store, parent.branch)
        self._flush()
        at_tip = parent.position + 1 == self._path(branch).length()
        if at_tip or not (entry.typed or entry.moved):
            return branch
        return self._fork_at(branch, parent.position + 1, entry)

    def _fork_at(self, branch: Branch, fork: int, entry: SourceEntry) -> Branch:
        self._flush()
        path = self._path(branch)
        owner = path.owner(max(fork - 1, 0))
        key = f"{self.session.key}@{entry.id}"
        return fork_branch(self.store, owner, fork=fork, key=key, session=self.session)

    def _first_branch(self, entry: SourceEntry) -> Branch:
        if self.head.agent:
            return subagent_branch(self.session)
        return root_branch(self.session)

    def _on_path(self, known: _Known) -> bool:
        assert self.branch is not None
        if known.branch == self.branch.key:
            return True
        segments = self._path(self.branch).segments
        return any(s.branch.key == known.branch and s.stop is not None and known.position < s.stop for s in segments)

    def _only_parallel_after(self, position: int) -> bool:
        """Nothing but results of parallel tool calls stands between: the prompt still follows the tip."""
        assert self.branch is not None
        self._flush()
        after = self._path(self.branch).read(position + 1, limit=PARALLEL_MAX)
        return len(after) < PARALLEL_MAX and all(placed.entry.role in PARALLEL_ROLES for placed in after)

    # -- reading and writing -----------------------------------------------------------------------------------

    def _enter(self, branch: Branch) -> None:
        self.branch = branch
        self.session.branch = branch.key
        self.session.lineage = branch.lineage
        if branch.key not in self.session.branches:
            self.session.branches.append(branch.key)
            self._save()  # before its data: whoever takes over after a crash must know where to look
        path = self._path(branch)
        self.length, self.tokens = path.length(), path.tokens()

    def _path(self, branch: Branch) -> Path:
        return self.paths.setdefault(branch.key, Path(self.store, branch))

    def _look_up(self, entries: Sequence[SourceEntry]) -> None:
        """Find which of the window's entries, parents and other versions the session has already."""
        wanted = {id_ for entry in entries for id_ in (entry.id, entry.parent) if id_} - self.known.keys()
        self._find(wanted)
        changed = (entry for entry in entries if entry.id in self.known)
        self._find(
            {
                f"{entry.id}~{sha256(_identity(entry).encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
                for entry in changed
            }
        )

    def _find(self, ids: Iterable[str]) -> None:
        wanted = list(ids)
        if not wanted:
            return
        for key in self._readable():
            branch = load_branch(self.store, key)
            for id_, stored in self.store.find(source_stream(key), wanted).items():
                sha = codec.source_entry(stored).text_sha256
                self.known.setdefault(id_, _Known(key, branch.fork + stored.position, sha))

    def _readable(self) -> list[str]:
        """Branches of the session, and those that they share a prefix with."""
        keys: dict[str, None] = {}
        for branch in filter(None, (find_branch(self.store, key) for key in self.session.branches)):
            keys.update(dict.fromkeys(segment.branch.key for segment in self._path(branch).segments))
        return list(keys)

    def _position_of(self, id_: str) -> int | None:
        """Position of a source entry on the current path, None when it is not there."""
        if not id_ or self.branch is None:
            return None
        if id_ not in self.known:
            self._find([id_])
        known = self.known.get(id_)
        return known.position if known is not None and self._on_path(known) else None

    def _flush(self) -> None:
        if self.branch is not None:
            self._write(self.branch, self.pending)
            self.pending = []
            self.importer.flush(self.branch)

    def _close(self, reading: Reading) -> None:
        """Write the session's document last, so that no cursor runs ahead of its data."""
        note_reading(self.session, reading)
        self.session.calibration = calibration.to_data(self.learned)
        self.session.touched = self.store.now()
        self._save()

    def _save(self) -> None:
        saved = self.store.put(session_put(self.session))
        if isinstance(saved, Stale):
            raise SessionMoved
        self.session.version = saved.version

    def _write(self, branch: Branch, pending: Sequence[tuple[SourceEntry, int]]) -> None:
        if not pending:
            return
        items = [codec.source_item(entry, weight) for entry, weight in pending]
        start = self.length - len(pending) - branch.fork
        puts = self._root_puts(branch, pending[0][0]) if start == 0 else []
        result = self.store.append(source_stream(branch.key), items, expect_length=start, dirty=branch.key, puts=puts)
        if isinstance(result, Stale):
            raise SessionMoved
        self.done.new += len(pending)
        self.moved.append(branch.key)

    def _root_puts(self, branch: Branch, entry: SourceEntry) -> list[Put]:
        """With its first entry a root branch is written, and can be found by that entry's id."""
        if branch.parent or self.store.get(BRANCHES, branch.key) is not None:
            return []
        puts = [Put(BRANCHES, branch.key, codec.branch_json(branch), if_version=0)]
        root = f"{branch.host}:{entry.id}"
        if branch.kind == "main" and self.store.get(ROOTS, root) is None:
            puts.append(Put(ROOTS, root, codec.to_json({"branch": branch.key})))
        return puts


def _known_of(path: Path, position: int, entry: SourceEntry) -> _Known:
    return _Known(path.owner(position).key, position, entry.text_sha256)


def _identity(entry: SourceEntry) -> str:
    """The text whose hash tells one version of an entry from another: as the agent saw it, before redaction."""
    return entry_text(entry)

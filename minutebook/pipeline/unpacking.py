"""An export into a store. First it is read whole and held against what is there, then it is written.

What is there already is left as it is; a store that went on since keeps what it has. A session of which the store has
other entries in the same places fails as a whole, with every session that shares some of it, and nothing of it is
written. Cut short, the same import ends it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from minutebook.errors import BadInput, BoxDiverged, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import (
    Path,
    branch_put,
    find_branch,
    load_branch,
    memory_stream,
    source_stream,
)
from minutebook.pipeline.copies import Sides, known_of
from minutebook.pipeline.exportfile import Begun, Block, Buried, Ended, Key, Memories, Sources, read_blocks
from minutebook.pipeline.exporting import EXPORTED_MARKS
from minutebook.pipeline.extending import extend_memory
from minutebook.pipeline.following import origin_put
from minutebook.pipeline.forks import inherit
from minutebook.pipeline.intake import redactor_of
from minutebook.pipeline.offers import cleaned
from minutebook.pipeline.outbox import outbox_put, read_outbox
from minutebook.pipeline.outcomes import moved_forward
from minutebook.pipeline.purged import is_purged, keep_tombstone, living
from minutebook.pipeline.readings import session_key_of
from minutebook.pipeline.sessions import Session, find_session, session_put
from minutebook.pipeline.sourcetext import weight_of
from minutebook.records import Branch
from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store

SIDES = Sides("in this store", "in the file")
UNPACK_TRIES = 50
Lines = Callable[[], Iterable[bytes]]


@dataclass(slots=True)
class Found:
    """A session of the file. new: the store lacks it; grows: lacks entries; ahead: has more. why: it fails, or ""."""

    new: bool = False
    grows: bool = False
    ahead: bool = False
    why: str = ""


@dataclass(slots=True)
class Unpacked:
    """What an import did, or would do. sources, memory: entries that were new. own_key: the store kept another key."""

    sessions: dict[str, Found] = field(default_factory=dict)
    sources: int = 0
    memory: int = 0
    own_key: bool = False

    def failed(self) -> dict[str, str]:
        """Sessions that were not taken → why."""
        return {key: found.why for key, found in self.sessions.items() if found.why}

    def taken(self) -> list[str]:
        """Sessions of which something was taken in."""
        return [key for key, found in self.sessions.items() if not found.why and (found.new or found.grows)]


def unpack(store: Store, lines: Lines, name: str, *, dry_run: bool = False) -> Unpacked:
    """Take an export in. lines: reads the file from its beginning, called twice. name: of the file, for errors.

    Raises BadInput that names the line; nothing is written then.
    """
    survey = _Survey(store)
    for block in read_blocks(lines(), name):
        survey.see(block, name)
    done = survey.ended()
    if not dry_run:
        writer = _Writer(store, done)
        for block in read_blocks(lines(), name):
            writer.write(block)
        writer.write_sessions()
    return done


class _Survey:
    """What the file holds against what the store has."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.done = Unpacked()
        self.parents: dict[str, tuple[str, str]] = {}
        self.branch: Branch | None = None
        self.counts = [0, 0]

    def see(self, block: Block, name: str) -> None:
        match block:
            case Session():
                self._session(block)
            case Begun():
                self._begun(block, name)
            case Sources():
                self._compare(source_stream, block, 0)
            case Memories():
                self._compare(memory_stream, block, 1)
            case Ended():
                self._ended()
            case Key():
                document = self.store.get("store", "redaction_key")
                self.done.own_key = document is not None and codec.from_json(document.body)["key"] != block.hex
            case Buried():
                pass

    def ended(self) -> Unpacked:
        """With those that hang on one that fails."""
        found, failing = self.done.sessions, -1
        while failing != (failing := len(self.done.failed())):
            for branch, (session, parent) in self.parents.items():
                above = found[self.parents[parent][0]] if parent in self.parents else Found()
                if above.why and not found[session].why:
                    found[session].why = f"{branch} shares what another session of the file has, which fails"
        return self.done

    def _session(self, session: Session) -> None:
        found = self._found(session.key)
        if is_purged(self.store, session.key, session.agent):
            found.why = "it was purged here"

    def _found(self, session: str) -> Found:
        if session not in self.done.sessions:
            self.done.sessions[session] = Found(new=find_session(self.store, session) is None)
        return self.done.sessions[session]

    def _begun(self, block: Begun, name: str) -> None:
        branch = block.branch
        if branch.key in self.parents:
            raise BadInput(f"{name}, line {block.line}: branch {branch.key!r} comes twice")
        if branch.parent and branch.parent not in self.parents and find_branch(self.store, branch.parent) is None:
            raise BadInput(f"{name}, line {block.line}: the parent of branch {branch.key!r} is not there")
        self.parents[branch.key] = session_key_of(branch), branch.parent
        self.branch, self.counts = branch, [0, 0]
        there = find_branch(self.store, branch.key)
        found = self._found(session_key_of(branch))
        found.grows = found.grows or there is None
        if there is not None and shape(there) != shape(branch):
            found.why = found.why or f"{branch.key} shares something else of its parent in this store"

    def _compare(self, stream: Callable[[str], str], block: Sources | Memories, which: int) -> None:
        assert self.branch is not None
        name, ids = stream(self.branch.key), [entry.id for entry in block.entries]
        self.counts[which] += len(ids)
        length = self.store.tip(name).length
        known = max(0, min(len(ids), length - block.at))
        new = len(ids) - known
        if which:
            self.done.memory += new
        else:
            self.done.sources += new
        found = self._found(session_key_of(self.branch))
        found.grows = found.grows or new > 0
        try:
            known_of(self.store, name, min(block.at, length), None, ids[:known], SIDES)
        except BoxDiverged as error:
            found.why = found.why or str(error)

    def _ended(self) -> None:
        assert self.branch is not None
        here = [self.store.tip(stream(self.branch.key)).length for stream in (source_stream, memory_stream)]
        if any(length > count for length, count in zip(here, self.counts, strict=True)):
            self._found(session_key_of(self.branch)).ahead = True


def shape(branch: Branch) -> tuple[str, int, int]:
    """What a branch shares of which other one."""
    return branch.parent, branch.fork, branch.parent_memory


class _Writer:
    """Writes what is new of the sessions that do not fail."""

    def __init__(self, store: Store, done: Unpacked) -> None:
        self.store = store
        self.done = done
        self.sessions: list[Session] = []
        self.branch: Branch | None = None
        self.origin = False
        self.alive: set[str] | None = None

    def write(self, block: Block) -> None:
        match block:
            case Key():
                made = codec.to_json({"key": block.hex})
                self.store.put(Put("store", "redaction_key", made, if_version=0))
            case Buried():
                self.alive = living(self.store) if self.alive is None else self.alive
                keep_tombstone(self.store, block.key, block.body, self.alive)
            case Session():
                self.sessions.append(block)
            case Begun():
                fails = self._found(block.branch).why
                self.branch, self.origin = None if fails else self._opened(block.branch), block.origin
            case Sources() if self.branch:
                self._sources(self.branch, block)
            case Memories() if self.branch:
                self._memory(self.branch, block)
            case Ended() if self.branch:
                self._ended(self.branch, block)

    def write_sessions(self) -> None:
        """Last, like a cursor: what they point to is there."""
        for session in self.sessions:
            found = self.done.sessions[session.key]
            stored = find_session(self.store, session.key)
            if found.why or (stored is not None and (found.ahead or not found.grows)):
                continue
            self.store.put(session_put(replace(session, version=stored.version if stored else 0)))
            for key in session.branches:
                self.store.mark_dirty(key)

    def _found(self, branch: Branch) -> Found:
        return self.done.sessions[session_key_of(branch)]

    def _opened(self, branch: Branch) -> Branch:
        there = find_branch(self.store, branch.key)
        if there is not None:
            return there
        marks, puts = dict[str, int](), list[Put]()
        if branch.parent:
            parent = load_branch(self.store, branch.parent)
            branch = replace(branch, base_tokens=Path(self.store, parent).tokens_before(branch.fork))
            inherited = inherit(self.store, branch, {})
            marks, puts = {**inherited.marks}, [*inherited.puts]
        self.store.append(memory_stream(branch.key), [], advance=marks, puts=[branch_put(branch), *puts])
        return load_branch(self.store, branch.key)

    def _sources(self, branch: Branch, block: Sources) -> None:
        stream, redactor = source_stream(branch.key), redactor_of(self.store)
        for _ in range(UNPACK_TRIES):
            known = known_of(self.store, stream, block.at, None, [entry.id for entry in block.entries], SIDES)
            new = [redactor.redact_entry(entry) for entry in block.entries[known:]]
            start = block.at + known
            puts = origin_put(self.store, branch, new[0]) if new and start == 0 and self.origin else []
            items = [codec.source_item(entry, weight_of(entry)) for entry in new]
            if not new or not isinstance(self.store.append(stream, items, expect_length=start, puts=puts), Stale):
                return
        raise StoreBusy(f"{branch.key}: {UNPACK_TRIES} others wrote to it first; import the file again")

    def _memory(self, branch: Branch, block: Memories) -> None:
        redactor = redactor_of(self.store)
        entries = [cleaned(redactor, entry) for entry in block.entries]
        extend_memory(self.store, branch, block.at, None, entries, sides=SIDES, expect={}, marks={})

    def _ended(self, branch: Branch, block: Ended) -> None:
        """The marks exactly where the session is new here; else only forward."""
        found, stream = self._found(branch), memory_stream(branch.key)
        if found.ahead:
            return
        tip = self.store.tip(stream)
        exact = {name: block.marks.get(name, 0) for name in EXPORTED_MARKS}
        forward = moved_forward(
            {name: value for name, value in block.marks.items() if name in ledger.COVERED}, tip.marks
        )
        marks = {
            name: value for name, value in (exact if found.new else forward).items() if tip.marks.get(name, 0) != value
        }
        held = read_outbox(self.store, branch.key)
        there = self.store.find(stream, [entry.id for entry in block.waiting])
        waiting = [entry for entry in block.waiting if entry.id not in there and entry.id not in held.ids]
        if marks or waiting:
            puts = [outbox_put(branch.key, held, waiting)] if waiting else []
            self.store.append(stream, [], advance=marks, puts=puts)

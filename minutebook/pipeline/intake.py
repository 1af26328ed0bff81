"""accept_turns: where a turn enters.

Everything is redacted before it is written. The order of delivery is the spine; a host's parent ids are advice: only a
typed prompt whose known parent is not the tip (or an entry that the host itself says has moved) opens a branch.
Delivering the same again, late or in other pieces, changes nothing.

A window of entries and the session's document are one transaction; the cursor is written last. So a crash at any point
only means that the same is delivered again.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from minutebook.errors import NotFound, StoreBusy
from minutebook.pipeline import calibration
from minutebook.pipeline.branches import branch_put, find_branch, load_branch, source_stream
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory, Reading, SessionHead
from minutebook.pipeline.folds import close_fold, compaction_marks
from minutebook.pipeline.following import Following, first_branch
from minutebook.pipeline.forks import fork_branch
from minutebook.pipeline.importing import Importer, is_foreign_fold
from minutebook.pipeline.ledger import chain_of
from minutebook.pipeline.outcomes import Refused
from minutebook.pipeline.placing import Event, Known, Places, Spine, fork_key, named_ids, version_id, with_hash
from minutebook.pipeline.purged import SessionPurged, check_not_purged, is_purged
from minutebook.pipeline.readings import session_key_of
from minutebook.pipeline.sessions import (
    COMPACTIONS_KNOWN,
    Session,
    SessionMoved,
    find_session,
    load_session,
    new_session,
    note_reading,
    session_key,
    session_put,
    shortened,
)
from minutebook.pipeline.sourcetext import entry_text, weight_of, with_own_type
from minutebook.records import Branch, SourceEntry
from minutebook.redaction import Redactor
from minutebook.store import codec
from minutebook.store.kernel import Document, Put, Stale, Store

WINDOW = 500
"""Events looked up together; their source entries are one transaction where they stay on one branch."""
INTAKE_TRIES = 50
PARALLEL_ROLES = ("tool_result", "custom")
PARALLEL_MAX = 64


@dataclass(slots=True, kw_only=True)
class Accepted:
    """What one delivery changed. versions: of the new ones, those that came before with another text.

    branches: keys of those that got something new. purged: nothing, because the session was removed on purpose.
    """

    session: str
    new: int = 0
    duplicates: int = 0
    versions: int = 0
    branches: tuple[str, ...] = ()
    purged: bool = False


def accept_turns(store: Store, reading: Reading, *, path: str = "", zone: str = "UTC") -> Accepted:
    """Take a reading into the ledger and mark the branches that moved. Idempotent; safe beside other writers.

    zone: for a session whose host names none. Raises StoreError; nothing is half-written then.
    """
    if reading.head is None:
        return Accepted(session="")
    try:
        intake = _Intake(store, reading.head, path=path, zone=zone)
        for start in range(0, len(reading.events), WINDOW):
            window = [with_hash(event) for event in reading.events[start : start + WINDOW]]
            intake.until_done(partial(intake.take, window))
        intake.importer.flush()
        intake.until_done(partial(intake.close, reading))
        return intake.accepted(reading)
    except (SessionPurged, NotFound) as error:  # NotFound: a branch went while it was written to
        key = session_key(reading.head)
        if isinstance(error, NotFound) and not is_purged(store, key, reading.head.agent):
            raise
        return Accepted(session=key, purged=True)


def mark_ended(store: Store, key: str) -> None:
    """Note that a session is over, so that its tail is observed without waiting, on each of its branches."""
    for _ in range(INTAKE_TRIES):
        session = find_session(store, key)
        if session is None:
            return
        if not session.ended:
            session.ended = True
            if isinstance(store.put(session_put(session)), Stale):
                continue
        for branch in session.branches:  # also when it was over before: whoever noted it may have died here
            store.mark_dirty(branch)
        return


def own_branch(store: Store, key: str) -> Branch:
    """The branch on which a session's next entry arrives, for composing and noting; NotFound.

    A session that so far only repeats another one gets its own here: what the other one did later is not its past.
    """
    for _ in range(INTAKE_TRIES):
        session = load_session(store, key)
        if not session.follows:
            return load_branch(store, session.branch)
        with suppress(SessionMoved):
            return Following(store, session, ()).part()
    raise StoreBusy(f"session {key}: {INTAKE_TRIES} other deliveries came first; try again")


def redactor_of(store: Store) -> Redactor:
    """The store's redactor: its key is made once, so that the same secret always has the same placeholder."""
    document = store.get("store", "redaction_key")
    if document is None:
        key = os.urandom(16).hex()  # the module secrets does the same, and a hook would have to load it
        made = store.put(Put("store", "redaction_key", codec.to_json({"key": key}), if_version=0))
        document = made if isinstance(made, Document) else store.get("store", "redaction_key")
    assert document is not None
    return Redactor(bytes.fromhex(codec.from_json(document.body)["key"]))


class _Intake:
    """One delivery on its way into the ledger."""

    def __init__(self, store: Store, head: SessionHead, *, path: str, zone: str) -> None:
        self.store = store
        self.head = head
        self.path = path
        self.zone = zone
        self.redactor = redactor_of(store)
        self.importer = Importer(store, self.redactor)
        self.done = Accepted(session=session_key(head))
        self.moved: list[str] = []
        self.refresh()

    def until_done(self, step: Callable[[], None]) -> None:
        """Do a step; when another delivery came in between, do it again from what the store has then."""
        for _ in range(INTAKE_TRIES):
            try:
                return step()
            except SessionMoved:
                self.refresh()
        raise StoreBusy(f"session {self.session.key}: {INTAKE_TRIES} other deliveries came first; try again")

    def refresh(self) -> None:
        """Begin from what the store has now; SessionPurged when that is nothing, on purpose."""
        check_not_purged(self.store, session_key(self.head), self.head.agent)
        found = find_session(self.store, session_key(self.head))
        self.session: Session = found or new_session(self.head, path=self.path, zone=self.zone)
        self.session.path = self.path or self.session.path
        self.places = Places(self.store, self.session)
        self.learned = calibration.from_data(self.session.calibration)
        self.pending: list[tuple[SourceEntry, int]] = []
        self.writing: Spine | None = None
        self.followed = list(self.session.follows)
        branch = None if self.session.follows else find_branch(self.store, self.session.branch)
        self.current: Spine | None = self.places.spine(branch) if branch else None

    def take(self, window: Sequence[Event]) -> None:
        """Take in one window, as a whole or not at all per branch."""
        entries = [event for event in window if isinstance(event, SourceEntry)]
        self.window = window
        self.following = Following(self.store, self.session, entries)
        self._look_up()
        for event in window:
            match event:
                case SourceEntry():
                    self._take_source(event)
                case HostCompaction():
                    self._take_compaction(event)
                case ImportedMemory():
                    self._take_memory(event)
        self._flush()
        if self.session.follows != self.followed:  # it stands nowhere else: a later refresh must find it
            self._save()

    def close(self, reading: Reading) -> None:
        """Write the cursor, when everything before it is there."""
        note_reading(self.session, reading, grew=self.done.new > 0)
        self.session.calibration = calibration.to_data(self.learned)
        self.session.touched = self.store.now()
        self._save()

    def _save(self) -> None:
        saved = self.store.put(session_put(self.session))
        if isinstance(saved, Stale):
            raise SessionMoved
        self.session.version = saved.version
        self.followed = list(self.session.follows)

    def accepted(self, reading: Reading) -> Accepted:
        delivered = len([event for event in reading.events if isinstance(event, SourceEntry)])
        self.done.duplicates = delivered - self.done.new
        self.done.branches = tuple(dict.fromkeys([*self.moved, *self.importer.moved]))
        return self.done

    # -- source entries ----------------------------------------------------------------------------------------

    def _take_source(self, entry: SourceEntry) -> None:
        if self.following.repeats(entry):
            return
        if self.session.follows:
            self._part()
        known = self.places.known.get(entry.id)
        if known is None:
            self._add(entry, self._target(entry))
        elif known.sha != entry.text_sha256:
            self._add_version(entry)

    def _add_version(self, entry: SourceEntry) -> None:
        """The same id with another text is kept beside the first, at the tip, and counted."""
        version = replace(entry, id=version_id(entry), version_of=entry.id)
        if version.id not in self.places.known and self.current is not None:
            self._add(version, self.current)
            self.session.versions += 1  # not before: what is written first is what came before this entry

    def _add(self, entry: SourceEntry, spine: Spine) -> None:
        if self.writing is not spine:
            self._flush()
            self.writing = spine
        entry = self.redactor.redact_entry(with_own_type(entry))
        weight = weight_of(entry)
        self.pending.append((entry, weight))
        self.places.known[entry.id] = Known(spine.branch.key, spine.length, entry.text_sha256)
        spine.length += 1
        spine.tokens += weight
        self._notice(entry, spine)

    def _notice(self, entry: SourceEntry, spine: Spine) -> None:
        session = self.session
        session.last_time = max(session.last_time, entry.time)
        if entry.typed and not entry.version_of:
            session.prompts += 1
            session.title = session.title or shortened(entry_text(entry))
        if entry.usage is not None and spine is self.current:
            session.model = entry.usage.model or session.model
            self.learned = calibration.learn(self.learned, entry.usage, spine.tokens)

    # -- where an entry goes -----------------------------------------------------------------------------------

    def _target(self, entry: SourceEntry) -> Spine:
        """The branch that a new entry continues or opens. One that comes late for another branch changes no course."""
        if self.current is None:
            return self._enter(first_branch(self.store, self.head, self.session, entry))
        parent = self.places.known.get(entry.parent) if entry.parent else None
        if parent is None:
            return self._fork(self.current, 0, entry) if entry.moved and not entry.parent else self.current
        after = parent.position + 1
        if after == self.current.length and parent.branch == self.current.branch.key:  # it goes on, as nearly all do
            return self.current
        home = self.places.home(parent, self.current)
        opens = entry.typed or entry.moved
        if home is None:  # a path of the session that this one copied, which it left
            return self._fork(self.places.spine_of(parent.branch), after, entry) if opens else self.current
        if not opens:
            return home
        if after < home.length and (entry.moved or self._goes_back(home, after)):
            return self._fork(home, after, entry)
        return self._enter(home.branch)

    def _goes_back(self, spine: Spine, after: int) -> bool:
        """Whether anything stands there but results of parallel tool calls, notes, and versions of older entries."""
        self._flush()
        between = spine.path.read(after, limit=PARALLEL_MAX)
        return len(between) == PARALLEL_MAX or not all(
            placed.entry.role in PARALLEL_ROLES or placed.entry.version_of for placed in between
        )

    def _fork(self, spine: Spine, fork: int, entry: SourceEntry) -> Spine:
        self._flush()
        self.importer.flush()  # what came before the fork is inherited
        owner = spine.path.owner(fork - 1) if fork else self._first_branch(spine)
        key = fork_key(self.session.key, entry)
        return self._enter(fork_branch(self.store, owner, fork=fork, key=key, session=self.session))

    def _first_branch(self, spine: Spine) -> Branch:
        """What a new root hangs on, which shares nothing: roots one behind the other would be an ever longer chain."""
        own = self.session.branches
        return self.places.spine_of(own[0]).branch if own else spine.path.owner(0)

    def _enter(self, branch: Branch) -> Spine:
        if self.current is None or self.current.branch.key != branch.key:
            self._flush()
            self.session.enter(branch)
            self.current = self.places.spine(branch)
        return self.current

    def _part(self) -> None:
        self._enter(self.following.part())
        self.followed = []
        self._look_up()

    # -- signals -----------------------------------------------------------------------------------------------

    def _take_memory(self, event: ImportedMemory) -> None:
        if self.session.follows:
            if self.importer.has(load_branch(self.store, self.session.branch), event):
                return
            self._part()
        spine, at = self._standing(event.after)
        covers = self.places.position(event.covers_id, spine)
        key = spine.branch.key if spine else self.session.key
        at = at if event.after else 0
        self.importer.add(key, event, at=at, covers=None if covers is None else covers + 1)

    def _take_compaction(self, event: HostCompaction) -> None:
        if event.id in self.session.compactions or (self.session.follows and self._copied(event)):
            return
        if self.session.follows:
            self._part()
        spine, at = self._standing(event.after)
        if spine is not None:
            kept = self.places.position(event.first_kept, spine)
            self._compacted(event, spine, compaction_marks(at if kept is None else kept, at))

    def _standing(self, after: str) -> tuple[Spine | None, int]:
        """The branch on which a signal came, by the source entry before it, and how many entries came before.

        Not simply the current one: the session may have moved on when the same file is delivered again.
        """
        known = self.places.known.get(after)
        if known is None or self.current is None:
            return self.current, self.current.length if self.current else 0
        own = known.branch in self.session.branches
        return self.places.spine_of(known.branch) if own else self.current, known.position + 1

    def _compacted(self, event: HostCompaction, spine: Spine, marks: dict[str, int]) -> None:
        self._flush()
        self.learned = calibration.shrunk(self.learned)
        if is_foreign_fold(event):
            self.importer.add_fold(spine.branch.key, event, marks)
            return
        self.session.compactions = [*self.session.compactions, event.id][-COMPACTIONS_KNOWN:]
        self.session.calibration = calibration.to_data(self.learned)
        branch = spine.branch
        done = close_fold(
            self.store, branch, time=event.time, advance=marks, puts=[session_put(self.session)], by=event.fold
        )
        if isinstance(done, Refused):
            raise SessionMoved
        self.session.version += 1
        self.moved.append(branch.key)

    def _copied(self, event: HostCompaction) -> bool:
        """Whether the followed session has this compaction, too: then it is part of the copy, and no own one."""
        followed = load_branch(self.store, self.session.branch)
        if is_foreign_fold(event):
            return self.importer.has(followed, event)
        sessions = {session_key_of(branch) for branch in chain_of(self.store, followed)}
        return any(event.id in session.compactions for key in sessions if (session := find_session(self.store, key)))

    # -- reading and writing -----------------------------------------------------------------------------------

    def _look_up(self) -> None:
        """Find which of the window's entries, of those that it names, and of their versions there are already."""
        entries = [event for event in self.window if isinstance(event, SourceEntry)]
        self.places.look_up([id_ for event in self.window for id_ in named_ids(event)])
        known = self.places.known
        changed = (entry for entry in entries if entry.id in known and known[entry.id].sha != entry.text_sha256)
        self.places.look_up(map(version_id, changed))

    def _flush(self) -> None:
        if self.writing is None or not self.pending:
            return
        branch, pending = self.writing.branch, self.pending
        start = self.writing.length - len(pending) - branch.fork
        self.session.calibration = calibration.to_data(self.learned)
        result = self.store.append(
            source_stream(branch.key),
            [codec.source_item(entry, weight) for entry, weight in pending],
            expect_length=start,
            dirty=branch.key,
            puts=[session_put(self.session), *self._branch_puts(branch, pending, begins=start == 0)],
        )
        if isinstance(result, Stale):
            raise SessionMoved
        self.session.version += 1
        self.pending = []
        self.done.new += len(pending)
        self.done.versions += len([entry for entry, _ in pending if entry.version_of])
        self.moved.append(branch.key)

    def _branch_puts(self, branch: Branch, pending: Sequence[tuple[SourceEntry, int]], *, begins: bool) -> list[Put]:
        """With its first entry a root branch is written; any branch can be found by that entry's id, and by others."""
        there = branch.parent or not begins or find_branch(self.store, branch.key) is not None
        puts = self.following.origin_puts(branch, [entry for entry, _ in pending], begins=begins)
        return [*([] if there else [branch_put(branch)]), *puts]

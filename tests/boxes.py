"""A laptop and a box as two stores, without a network between them: rows go over as JSON, one pass at a time."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from builders import memory_of, observed

from minutebook.errors import BoxDiverged, NotFound
from minutebook.pipeline import ledger
from minutebook.pipeline.boxing import (
    Lengths,
    Page,
    adopted,
    box_key,
    branch_as_seen,
    branch_to_send,
    hand_over,
    is_in_line,
    is_same_memory,
    lengths,
    marks_to_offer,
    memory_after,
    memory_to_offer,
    memory_to_send,
    outbox,
    own_key,
    owner_of,
    part_from_box,
    receive_memory,
    receive_sources,
    retake_memory,
    session_as_seen,
    sources_after,
    sources_to_send,
    take_memory,
    take_session,
    take_sources,
)
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import list_branches, load_branch, memory_stream
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.ledger import BOX, PARTED, chain_of, read_memory
from minutebook.pipeline.outcomes import Entry, Outcome, append_memory, commit_outcome, memory_entry
from minutebook.pipeline.readings import session_of
from minutebook.pipeline.rows import (
    branch_of_row,
    branch_row,
    lengths_of_row,
    lengths_row,
    memory_of_row,
    memory_row,
    session_of_row,
    session_row,
    source_of_row,
    source_row,
)
from minutebook.pipeline.sessions import Session, list_sessions, load_session
from minutebook.pipeline.shapes import observation_data
from minutebook.records import OBSERVATIONS, Branch, MemoryEntry, SourceEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

ALICE, BOB = "alice", "bob"
KEY, BOXED = "neutral:s1", "alice~neutral:s1"
OBSERVE = Settings(observe_after_tokens=1)
"""Whatever is not observed is due."""


@contextmanager
def stores(count: int) -> Iterator[list[Store]]:
    """So many empty stores."""
    with TemporaryDirectory() as folder:
        made = [SqliteStore(Path(folder) / f"{at}.db", busy_seconds=5, create=True) for at in range(count)]
        try:
            yield [*made]
        finally:
            for store in made:
                store.close()


def back_up(store: Store) -> None:
    """Keep a whole SQLite store as it is now, beside its file."""
    copied(file_of(store), f"{file_of(store)}.backup")


def put_back(store: Store) -> None:
    copied(f"{file_of(store)}.backup", file_of(store))


def copied(source: str, target: str) -> None:
    with closing(sqlite3.connect(source)) as held, closing(sqlite3.connect(target)) as connection:
        held.backup(connection)


def file_of(store: Store) -> str:
    return store.url.removeprefix("sqlite:///")


def over_wire(row: dict[str, Any]) -> Any:
    """A row as it arrives."""
    return json.loads(json.dumps(row))


def wired_session(session: Session) -> Session:
    return session_of_row(over_wire(session_row(session)))


def wired_branch(branch: Branch) -> Branch:
    return branch_of_row(over_wire(branch_row(branch)))


def wired_sources(entries: Sequence[Any]) -> list[SourceEntry]:
    return [source_of_row(over_wire(source_row("", 0, entry))) for entry in entries]


def wired_memory(entries: Sequence[Any]) -> list[MemoryEntry]:
    return [memory_of_row(over_wire(memory_row(entry))) for entry in entries]


def wired_lengths(found: Lengths | None) -> Lengths | None:
    return None if found is None else lengths_of_row(over_wire(lengths_row(found)))


class Line:
    """What one user's laptop and the box say to each other. twice: every message arrives two times."""

    def __init__(self, laptop: Store, box: Store, user: str = ALICE, *, page: int = 3, twice: bool = False) -> None:
        self.laptop, self.box, self.user, self.page, self.times = laptop, box, user, page, 1 + twice

    # -- the box's answers

    def lengths(self, key: str) -> Lengths | None:
        boxed = box_key(self.user, key)
        return wired_lengths(lengths(self.box, [boxed])[boxed])

    def send_sources(self, session: Session, branch: Branch, page: Page) -> Lengths:
        told = wired_session(session), wired_branch(branch_to_send(self.laptop, branch))
        return self._each(
            lambda: receive_sources(self.box, self.user, *told, page.at, page.before, wired_sources(page.entries))
        )

    def send_memory(self, key: str, at: int | None, before: str, entries: Sequence[Any]) -> Lengths:
        return self._each(lambda: receive_memory(self.box, box_key(self.user, key), at, before, wired_memory(entries)))

    def _each(self, say: Callable[[], Lengths]) -> Lengths:
        for _ in range(self.times):
            found = wired_lengths(say())
        assert found is not None
        return found

    # -- the laptop's pass

    def sync(self) -> list[str]:
        """One pass: everything is sent and pulled; keys of the branches that parted in it."""
        parted = []
        for branch in self.own_branches():
            try:
                self.sync_or_heal(branch.key)
            except BoxDiverged as error:
                part_from_box(self.laptop, branch, str(error))
                parted.append(branch.key)
            except NotFound:  # hangs on a branch that parted
                continue
        self.pull_sessions()
        return parted

    def sync_or_heal(self, key: str) -> None:
        try:
            self.sync_branch(key)
        except BoxDiverged:
            healed = [self.heal(each.key) for each in chain_of(self.laptop, load_branch(self.laptop, key))]
            if not any(healed):
                raise
            self.sync_branch(key)

    def heal(self, key: str) -> bool:
        """Where only the memory differs: the box is offered what is here, and its memory is taken anew."""
        there = self.lengths(key)
        if there is None:
            return False
        self._send_sources(load_branch(self.laptop, key), there)
        branch = adopted(self.laptop, load_branch(self.laptop, key), there)
        self.pull_sources(key)
        entries, _ = self.whole_memory(key)
        if is_in_line(self.laptop, branch, entries):
            return False
        offered, marks = memory_to_offer(self.laptop, branch), marks_to_offer(self.laptop, branch)
        for at in range(0, len(offered), self.page):
            self.send_memory(key, None, "", offered[at : at + self.page])
        self._each(lambda: receive_memory(self.box, box_key(self.user, key), None, "", [], marks=marks))
        entries, there = self.whole_memory(key)
        retake_memory(self.laptop, branch, entries, there.marks)
        return True

    def whole_memory(self, key: str) -> tuple[list[MemoryEntry], Lengths]:
        found: list[MemoryEntry] = []
        while True:
            entries, there = memory_after(self.box, box_key(self.user, key), len(found), self.page)
            found += wired_memory(entries)
            if len(found) >= there.memory:
                return found, there

    def own_branches(self) -> list[Branch]:
        """Those of this user that a box may have, parents first."""
        found = [branch for branch in list_branches(self.laptop) if not owner_of(branch.key)]
        shared = [b for b in found if self.laptop.tip(memory_stream(b.key)).marks.get(BOX, 0) != PARTED]
        return sorted(shared, key=lambda branch: (len(chain_of(self.laptop, branch)), branch.key))

    def sync_branch(self, key: str) -> None:
        there = self.lengths(key)
        branch = hand_over(self.laptop, load_branch(self.laptop, key), there)
        there = self._send_lacking(branch, there) if there else None
        there = self._send_sources(branch, there)
        self._send_lacking(branch, there)
        waiting = outbox(self.laptop, branch)
        if waiting:
            self.send_memory(key, None, "", waiting)
        self.pull(key)

    def _send_sources(self, branch: Branch, there: Lengths | None) -> Lengths:
        session = session_of(self.laptop, branch)
        assert session is not None
        while (page := sources_to_send(self.laptop, branch, there, self.page)) is not None:
            there = self.send_sources(session, branch, page)
        assert there is not None
        self.send_sources(session, branch, Page(there.sources, there.sources_tip, []))
        return there

    def _send_lacking(self, branch: Branch, there: Lengths) -> Lengths:
        while (page := memory_to_send(self.laptop, branch, there, self.page)) is not None:
            there = self.send_memory(branch.key, page.at, page.before, page.entries)
        return there

    def pull(self, key: str) -> None:
        """What the box has and this laptop lacks, of one branch."""
        self.pull_sources(key)
        branch, boxed = load_branch(self.laptop, key), box_key(self.user, key)
        at = max(0, _of(lengths(self.laptop, [key])[key]).memory - 1)
        while True:
            memory, there = memory_after(self.box, boxed, at, self.page)
            here = take_memory(self.laptop, branch, at, wired_memory(memory), there.marks)
            at = here.memory
            if at >= there.memory:
                break
        if at == there.memory and not is_same_memory(here, there):
            raise BoxDiverged(f"{key}: other memory among the first {at}")

    def pull_sources(self, key: str) -> None:
        branch, boxed = load_branch(self.laptop, key), box_key(self.user, key)
        at = max(0, _of(lengths(self.laptop, [key])[key]).sources - 1)
        while True:
            entries, there = sources_after(self.box, boxed, at, self.page)
            at = take_sources(self.laptop, branch, at, wired_sources(entries))
            if at >= there.sources:
                break

    def pull_sessions(self) -> None:
        """Sessions of this user that another machine recorded."""
        mine = [each for each in list_sessions(self.box) if owner_of(each.key) == self.user]
        found = [load_branch(self.box, key) for session in mine for key in session.branches]
        for branch in sorted(found, key=lambda branch: (len(chain_of(self.box, branch)), branch.key)):
            key = own_key(self.user, branch.key)
            if self.laptop.tip(memory_stream(key)).marks.get(BOX, 0) == PARTED:
                continue
            take_sources(self.laptop, wired_branch(branch_as_seen(self.user, branch)), 0, [])
            self.pull(key)
        for session in mine:
            take_session(self.laptop, wired_session(session_as_seen(self.user, session)))


def _of(found: Lengths | None) -> Lengths:
    assert found is not None
    return found


# -- what tests do with both


def thought(store: Store, key: str, content: str, covers: int) -> Any:
    """An observer's outcome."""
    branch = load_branch(store, key)
    read = store.tip(memory_stream(key)).marks.get(ledger.OBSERVER, 0)
    data = {"observations": [observation_data(observed(content))], "mind": "test"}
    entry = memory_entry(Entry(kind=OBSERVATIONS, covers=covers, since=read, data=data))
    outcome = Outcome(role="observer", branch=key, read=read, advance={ledger.OBSERVER: covers}, entries=(entry,))
    return commit_outcome(store, branch, outcome)


def contents(store: Store, key: str) -> list[str]:
    return [held.record.content for held in memory_of(store, load_branch(store, key)).observations.values()]


def same_memory(line: Line, key: str = KEY) -> None:
    """Both fold to the same, and compose the same bytes."""
    here, there = load_branch(line.laptop, key), load_branch(line.box, f"{ALICE}~{key}")
    plain = [replace(entry, branch="") for entry in read_memory(line.laptop, here)]
    assert plain == [replace(entry, branch="") for entry in read_memory(line.box, there)]
    for boundary in range(6):
        a, b = (look_at_memory(s, at, boundary, OBSERVE) for s, at in ((line.laptop, here), (line.box, there)))
        assert (a and a.text) == (b and b.text)


def send_all(line: Line, key: str = KEY, user: str = ALICE, **changes: Any) -> Any:
    """All sources of a branch in one message."""
    branch = load_branch(line.laptop, key)
    told = wired_session(load_session(line.laptop, key)), wired_branch(branch_to_send(line.laptop, branch))
    entries = [each.entry for each in branch_path(line.laptop, branch)]
    return receive_sources(line.box, user, *told, 0, "", wired_sources(entries))


def branch_path(store: Store, branch: Branch) -> list[Any]:
    return SourcePath(store, branch).read()


def retire_any(store: Store, branch: Branch) -> None:
    append_memory(store, branch, [memory_entry(Entry(kind=OBSERVATIONS, covers=0, since=0, data={}))])

"""One branch between this machine and the box: what the box lacks goes there, what the box has comes here.

Each step asks the store what is here and the last answer what is there, so that it may be broken off after any of them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from minutebook.box.chunks import ENTRIES_MAX, SMALLEST_MAX_BYTES, chunks, sendable_row
from minutebook.box.client import BoxClient
from minutebook.box.report import Report
from minutebook.errors import BoxDiverged, BoxFailed
from minutebook.pipeline import ledger
from minutebook.pipeline.boxing import (
    Lengths,
    Page,
    adopted,
    branch_to_send,
    hand_over,
    is_in_line,
    is_same_memory,
    lengths_of,
    marks_to_offer,
    memory_to_offer,
    memory_to_send,
    outbox,
    retake_memory,
    sources_to_send,
    take_memory,
    take_sources,
)
from minutebook.pipeline.branches import find_branch, load_branch, memory_stream, source_stream
from minutebook.pipeline.notices import tell
from minutebook.pipeline.rows import Row, branch_row, memory_row, session_row
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.workbook import iso_time
from minutebook.records import Branch, MemoryEntry, SourceEntry
from minutebook.store.kernel import Store

PULLED_AT_ONCE = 500
NO_PROGRESS = "the box tells of entries that it does not give"


@dataclass(slots=True)
class Steps:
    """max_bytes: of the entries of one request; less once a box has refused so much."""

    store: Store
    client: BoxClient
    report: Report
    max_bytes: int

    def send(self, session: Session, branch: Branch, there: Lengths | None) -> Lengths:
        """Hand a branch over and send what the box lacks; what it has then. session: as the box is to know it."""
        branch = hand_over(self.store, branch, there)
        while True:
            # Memory first: new sources set the box's workers to work on what it stands on.
            if there is not None and (memory := memory_to_send(self.store, branch, there, ENTRIES_MAX)):
                there = self._send_memory(branch, memory)
                continue
            there, more = self._send_some(session, branch, there)
            if not more:
                return there

    def tell_session(self, session: Session, branch: Branch, there: Lengths) -> None:
        """What is new about the session itself, such as that it ended."""
        self.client.send_sources(*self._heads(session, branch), there.sources, there.sources_tip, [])

    def offer(self, session: Session, branch: Branch) -> Lengths | None:
        """Have the box place what waits in the outbox; what it has then, None when nothing waited."""
        there = None
        for rows in chunks(map(memory_row, outbox(self.store, branch)), self.max_bytes):
            there = self.client.send_memory(branch.key, None, "", rows)
            self.report.offered += len(rows)
            self.report.sent.add(session.key)
        return there

    def bring(self, session: Session, branch: Branch, there: Lengths) -> None:
        """Take what the box has of a branch and this store does not: sources of another machine, then memory."""
        here = find_branch(self.store, branch.key)
        if here is None or lengths_of(self.store, here).sources < there.sources:
            self._bring_sources(session, branch, there)
        self._bring_memory(session, branch, there)

    def bring_copy(self, session: Session, branch: Branch, there: Lengths) -> None:
        """The same for a session that this machine adds nothing to: where the memory is another one, taken anew."""
        try:
            self._bring_adopted(session, branch, there)
        except BoxDiverged:
            if not self._retake(session, branch):
                raise

    def _bring_adopted(self, session: Session, branch: Branch, there: Lengths) -> None:
        here = find_branch(self.store, branch.key)
        if here is not None:
            adopted(self.store, here, there)
        self.bring(session, branch, there)

    def heal(self, session: Session, branch: Branch) -> bool:
        """Where only the memory differs, offer the box what is here and take its memory anew; whether it was so.

        BoxDiverged where the sources differ.
        """
        there = self.client.lengths([branch.key])[branch.key]
        if there is None:
            return False
        more = True
        while more:
            there, more = self._send_some(session, branch, there)
        self._bring_sources(session, branch, there)
        branch = adopted(self.store, load_branch(self.store, branch.key), there)
        return self._retake(session, branch, offering=True)

    # -- healing -------------------------------------------------------------------------------------------------

    def _retake(self, session: Session, branch: Branch, *, offering: bool = False) -> bool:
        entries, there = self._whole_memory(branch)
        if is_in_line(self.store, branch, entries):
            return False
        if offering:
            self._offer_again(session, branch)
            entries, there = self._whole_memory(branch)
        known = self.store.find(memory_stream(branch.key), [entry.id for entry in entries])
        self.report.memory_received += len(entries) - len(known)
        self.report.received.add(session.key)
        retake_memory(self.store, branch, entries, there.marks)
        self.report.retaken.add(session.key)
        today = iso_time(self.store.now())[:10]
        tell(self.store, f"retaken {session.key} {today}", _retaken(session), about=session.key)
        return True

    def _whole_memory(self, branch: Branch) -> tuple[list[MemoryEntry], Lengths]:
        found: list[MemoryEntry] = []
        while True:
            entries, there = self.client.memory(branch.key, len(found), PULLED_AT_ONCE)
            found += entries
            if len(found) >= there.memory:
                return found, there
            if not entries:
                raise BoxFailed(f"{branch.key}: {NO_PROGRESS}")

    def _offer_again(self, session: Session, branch: Branch) -> None:
        lost = [*chunks(map(memory_row, memory_to_offer(self.store, branch)), self.max_bytes)]
        marks = marks_to_offer(self.store, branch)
        for rows in lost[:-1]:
            self.client.send_memory(branch.key, None, "", rows)
        self.client.send_memory(branch.key, None, "", lost[-1] if lost else [], marks)
        self.report.offered += sum(map(len, lost))
        self.report.sent.add(session.key)

    # -- sending -----------------------------------------------------------------------------------------------

    def _fitting(self, branch: Branch, at: int) -> int:
        """How many entries to read at once: by what their weights say, not many megabytes."""
        stream, count = source_stream(branch.key), ENTRIES_MAX
        before = self.store.total_before(stream, at)
        while count > 1 and 4 * (self.store.total_before(stream, at + count) - before) > 2 * self.max_bytes:
            count //= 2
        return count

    def _send_some(self, session: Session, branch: Branch, there: Lengths | None) -> tuple[Lengths, bool]:
        """The next source entries that the box lacks; whether there were any."""
        sources = sources_to_send(self.store, branch, there, self._fitting(branch, there.sources if there else 0))
        if sources is None:
            assert there is not None
            return there, False
        return self._send_sources(session, branch, sources), True

    def _send_sources(self, session: Session, branch: Branch, page: Page) -> Lengths:
        entries = cast(Sequence[SourceEntry], page.entries)

        def rows() -> Iterable[Row]:
            for at, entry in enumerate(entries, start=page.at):
                row, shortened = sendable_row(branch.key, at, entry, self.max_bytes)
                if shortened:
                    tell(self.store, f"shortened {branch.key} {entry.id}", _shortened(branch, at))
                yield row

        def send(sent: list[Row]) -> Lengths:
            whole = len(sent) == len(entries) and page.at + len(sent) == self._length(branch)
            heads = self._heads(replace(session, ended=session.ended and whole), branch)
            return self.client.send_sources(*heads, page.at, page.before, sent)

        sent, there = self._first_chunk(rows, send)
        self.report.sources_sent += sent
        self.report.sent.add(session.key)
        return there

    def _send_memory(self, branch: Branch, page: Page) -> Lengths:
        entries, here = cast(Sequence[MemoryEntry], page.entries), lengths_of(self.store, branch)

        def send(rows: list[Row]) -> Lengths:
            marks = {name: value for name, value in here.marks.items() if name in ledger.COVERED}
            marks = marks if page.at + len(rows) == here.memory else {}
            return self.client.send_memory(branch.key, page.at, page.before, rows, marks)

        sent, there = self._first_chunk(lambda: map(memory_row, entries), send)
        self.report.memory_sent += sent
        return there

    def _first_chunk(
        self, rows: Callable[[], Iterable[Row]], send: Callable[[list[Row]], Lengths]
    ) -> tuple[int, Lengths]:
        """Send as many of the rows as fit, fewer where the box says that they are too large; how many."""
        while True:
            chunk = next(chunks(rows(), self.max_bytes), [])
            try:
                return len(chunk), send(chunk)
            except BoxFailed as error:
                if error.status != 413 or self.max_bytes <= SMALLEST_MAX_BYTES:
                    raise
                self.max_bytes = max(SMALLEST_MAX_BYTES, self.max_bytes // 2)

    def _heads(self, session: Session, branch: Branch) -> tuple[Row, Row]:
        told = replace(branch_to_send(self.store, branch), project=session.project)
        return session_row(session), branch_row(told)

    def _length(self, branch: Branch) -> int:
        return self.store.tip(source_stream(branch.key)).length

    # -- bringing ----------------------------------------------------------------------------------------------

    def _bring_sources(self, session: Session, branch: Branch, there: Lengths) -> None:
        """From one entry before the end of what is here on, so that both are seen to hold the same there."""
        here = self._length(branch)
        first = not here
        while first or here < there.sources:
            first, at = False, max(0, here - 1)
            entries, there = self.client.sources(branch.key, at, PULLED_AT_ONCE) if there.sources else ([], there)
            reached = take_sources(self.store, branch, at, entries)
            if reached <= here and reached < there.sources:
                raise BoxFailed(f"{branch.key}: {NO_PROGRESS}")
            self.report.sources_received += reached - here
            self.report.received.add(session.key)
            here = reached

    def _bring_memory(self, session: Session, branch: Branch, there: Lengths) -> None:
        here = lengths_of(self.store, branch)
        if here.memory == there.memory and here.memory_tip == there.memory_tip:
            check_same(branch, here, there)
            if here.marks != there.marks:
                take_memory(self.store, branch, here.memory, [], there.marks)
            return
        while here.memory < there.memory:
            at = max(0, here.memory - 1)
            entries, there = self.client.memory(branch.key, at, PULLED_AT_ONCE)
            reached = take_memory(self.store, branch, at, entries, there.marks)
            if reached.memory <= here.memory:
                raise BoxFailed(f"{branch.key}: {NO_PROGRESS}")
            self.report.memory_received += reached.memory - here.memory
            self.report.received.add(session.key)
            here = reached
        if here.memory == there.memory:
            check_same(branch, here, there)


def check_same(branch: Branch, here: Lengths, there: Lengths) -> None:
    """BoxDiverged where as many memory entries are here as there, and not the same ones."""
    if not is_same_memory(here, there):
        raise BoxDiverged(f"{branch.key}: among its first {here.memory} memory entries are others on the box")


def has_parted(store: Store, branch_key: str) -> bool:
    """Whether this machine goes on with the branch alone."""
    return store.tip(memory_stream(branch_key)).marks.get(ledger.BOX, 0) == ledger.PARTED


def _retaken(session: Session) -> str:
    return (
        f"{session.key}: the box lost the last of its memory and went on with another; the two were put together there,"
        " and this machine took its copy anew"
    )


def _shortened(branch: Branch, at: int) -> str:
    return f"{branch.key}: entry {at} is larger than a box takes; the box has the heads and tails of its texts"

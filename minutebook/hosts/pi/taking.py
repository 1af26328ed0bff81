"""A Pi session into the ledger: from its file, as every reader does; what is not in the file, from the extension.

The extension hands over every new entry, in the order of the file. The file stays the spool: read from there, an entry
has its exact place, and whoever reads the file again finds where it was read to. Where there is no file yet, or it does
not hold what the extension handed over, the very same walk takes the entries as they came: the same ids either way.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minutebook.errors import BadTranscript
from minutebook.hosts.delivering import deliver, deliver_reading
from minutebook.hosts.lines import Row
from minutebook.hosts.pi.reader import PiWalk
from minutebook.hosts.reading import Reading
from minutebook.hosts.walking import Event
from minutebook.pipeline.sessions import Session, find_session
from minutebook.records import RawPointer
from minutebook.store.kernel import Store

BUDGET_SECONDS = 0.8
"""A long file that was never read is the worker's: what the session's end of the pipe spends on it is bounded."""
WAITING_MOST = 5_000
"""Entries that wait while the store is busy; beyond that only the file has them."""


class PipedWalk(PiWalk):
    """The same walk over entries that stand in no file."""

    def pointer(self, row: Row) -> RawPointer | None:
        return None

    def take_all(self, rows: Sequence[Mapping[str, Any]]) -> list[Event]:
        """The events of these rows."""
        for row in rows:
            self.takes(Row(0, 0, 0, dict(row)))
        self.places.clear()
        events, self.events = self.events, []
        return events


class Intake:
    """One session's. file: its path, which may not be there yet. header: the first row of the file."""

    def __init__(self, key: str, file: Path, header: Mapping[str, Any], zone: str, ignore: Sequence[str] = ()) -> None:
        self.key, self.file, self.zone, self.ignore = key, file, zone, ignore
        self.behind = False
        self._moved = False
        self._header = header
        self._walk: PipedWalk | None = None
        self._waiting: list[Event] = []

    @property
    def moved(self) -> bool:
        """Whether something was new when it was looked for last."""
        return self._moved

    def begin(self, store: Store) -> bool:
        """Take in what the file holds already; False where there is none, so that all has to come by the pipe."""
        there = self._take_file(store)
        session = find_session(store, self.key)
        memory = session.cursor.get("memory", {}) if there and session else {}
        self._walk = PipedWalk(str(self.file), None, memory)
        self._walk.take_all([self._header])
        return there

    def hold(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Note new entries, in order. From here on they are not asked for again."""
        if self._walk is not None and entries:
            self._waiting = [*self._waiting, *self._walk.take_all(entries)][-WAITING_MOST:]

    def take(self, store: Store) -> bool:
        """Take in what came; True where something was new. Raises StoreError: the same is taken the next time."""
        self._moved = False
        if not self._take_file(store) or not self._reached(find_session(store, self.key)):
            self._take_waiting(store)
        self._waiting = []
        return self._moved

    def _take_file(self, store: Store) -> bool:
        try:
            done = deliver(
                store, "pi", self.file, zone=self.zone, seconds=BUDGET_SECONDS, key=self.key, ignore=self.ignore
            )
        except BadTranscript:
            return False
        self.behind = not done.whole
        self._moved = self._moved or bool(done.branches)
        return True

    def _reached(self, session: Session | None) -> bool:
        """Whether the file was read up to the last entry that the extension handed over, or will be."""
        if self._walk is None or self.behind or session is None or not self._waiting:
            return True
        return bool(session.cursor.get("memory", {}).get("last", "") == self._walk.last)

    def _take_waiting(self, store: Store) -> None:
        if self._walk is not None and self._walk.head is not None and self._waiting:
            reading = Reading(head=self._walk.head, events=list(self._waiting))
            done = deliver_reading(store, reading, path=str(self.file), zone=self.zone, ignore=self.ignore)
            self._moved = self._moved or bool(done.branches)

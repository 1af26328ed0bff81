"""One laptop of the rounds: its session grows, a person adds notes, its agent compacts. In the driver's own process."""

import random
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

from fuzz.seen import Delivery
from killing.killed_sessions import SETTINGS, session_rows, write_session

from minutebook.errors import CompactionOpen
from minutebook.hosts import neutral
from minutebook.pipeline.branches import load_branch, source_stream
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.corrections import note
from minutebook.pipeline.deliveries import Reading
from minutebook.pipeline.folds import confirm_fold
from minutebook.pipeline.intake import accept_turns, mark_ended
from minutebook.pipeline.sessions import load_session
from minutebook.records import Branch, SourceEntry
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

TURNS = 24
NOTES, COMPACTIONS = 0.3, 0.3
"""So often in a round."""


class Laptop:
    """delivered: every call of intake. notes: the ids of the observations that a person added."""

    def __init__(self, home: Path, seed: int) -> None:
        home.mkdir()
        self.home, self.name = home, f"s{seed}"
        self.path = home / "minutebook.sqlite"
        self.file = write_session(home / f"{self.name}.jsonl", session_rows(seed, turns=TURNS, session=self.name))
        self.reading = neutral.read(self.file)
        self.key = f"neutral:{self.name}"
        self.at = 0
        self.delivered: list[Delivery] = []
        self.notes: list[str] = []
        SqliteStore(self.path).close()

    def work(self, rng: random.Random) -> Counter[str]:
        """A few more entries, now and then a note or a compaction."""
        with closing(self.store()) as store:
            self._deliver(store, rng.randrange(2, 8))
            branch = load_branch(store, load_session(store, self.key).branch)
            done = Counter[str]()
            if rng.random() < NOTES:
                self._note(store, branch)
                done["notes"] += 1
            if rng.random() < COMPACTIONS:
                done["compactions"] += int(self._compact(store, branch))
        return done

    def finish(self) -> None:
        """The rest of its session, which is then over."""
        with closing(self.store()) as store:
            self._deliver(store, len(self.reading.events))
            mark_ended(store, self.key)

    def store(self) -> SqliteStore:
        return SqliteStore(self.path)

    def _deliver(self, store: Store, count: int) -> None:
        """Some of it once more, as hosts do."""
        first, self.at = max(0, self.at - 1), min(self.at + count, len(self.reading.events))
        events = self.reading.events[first : self.at]
        began = time.monotonic()
        accept_turns(store, Reading(head=self.reading.head, events=events))
        sources = tuple(event for event in events if isinstance(event, SourceEntry))
        self.delivered.append(Delivery(session=self.key, entries=sources, began=began, ended=time.monotonic()))

    def _note(self, store: Store, branch: Branch) -> None:
        text = f"Note {len(self.notes)} of {self.name}: keep the ledger as it is."
        stamp = "2026-03-01 10:00"
        self.notes.append(note(store, branch, text, timestamp=stamp, time=f"2026-03-01T10:00:{len(self.notes):02}Z").id)

    def _compact(self, store: Store, branch: Branch) -> bool:
        with suppress(CompactionOpen):
            tip = branch.fork + store.tip(source_stream(branch.key)).length
            if compose_memory(store, branch, tip, SETTINGS) is not None:
                return confirm_fold(store, branch)
        return False

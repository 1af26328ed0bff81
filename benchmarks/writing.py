"""Writes a session into a store: in bulk by the store's own append, or entry by entry through the product's doors."""

import re
from dataclasses import replace
from hashlib import sha256
from time import perf_counter

from minutebook.pipeline.branches import load_branch, memory_stream, source_stream
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.deliveries import Reading, SessionHead
from minutebook.pipeline.folds import compaction_marks, confirm_fold
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.sourcetext import entry_text, entry_tokens
from minutebook.records import Branch, SourceEntry
from minutebook.settings import Settings
from minutebook.store import codec
from minutebook.store.kernel import Item, Store

BULK = 5_000
VOCABULARY = re.findall(
    r"\w+", "build check cursor deploy error fixture handler import journal kernel limit migration node output patch"
)
SPREAD = [VOCABULARY[at * 5 % len(VOCABULARY)] for at in range(len(VOCABULARY) + 128)]


def words(seed: int, count: int) -> str:
    """Up to 128 words that depend on the seed alone."""
    start = (seed * 7 + seed // 8) % len(VOCABULARY)
    return " ".join(SPREAD[start : start + count])


class Writer:
    """One session of the host "neutral". It begins with the first source entry that is written."""

    def __init__(self, store: Store, session: str, branch: Branch | None = None) -> None:
        self.store = store
        self.head = SessionHead(host="neutral", session=session)
        self._branch = branch
        self._sources: list[Item] = []
        self._memory: list[Item] = []
        self._arriving: list[SourceEntry] = []
        self.memory_length = store.tip(memory_stream(branch.key)).length if branch else 0

    @property
    def branch(self) -> Branch:
        if self._branch is None:
            self._branch = load_branch(self.store, f"neutral:{self.head.session}")
        return self._branch

    # -- in bulk -----------------------------------------------------------------------------------------------

    def source(self, entry: SourceEntry) -> None:
        """A source entry; the first one goes through intake, which makes session and branch."""
        if self._branch is None:
            self.arriving(entry)
            self.arrive()
            _ = self.branch
            return
        text_hash = sha256(entry_text(entry).encode()).hexdigest()
        self._sources.append(codec.source_item(replace(entry, text_sha256=text_hash), entry_tokens(entry)))
        if len(self._sources) >= BULK:
            self.flush()

    def memory(self, entry: Entry) -> None:
        """A memory entry."""
        self._memory.append(codec.memory_item(memory_entry(entry)))
        self.memory_length += 1

    def flush(self) -> None:
        """Write what is gathered; nothing before the first source entry."""
        if self._branch is None:
            return
        for stream, items in (
            (source_stream(self.branch.key), self._sources),
            (memory_stream(self.branch.key), self._memory),
        ):
            self.store.append(stream, items)
            items.clear()

    # -- through the doors -------------------------------------------------------------------------------------

    def arriving(self, entry: SourceEntry) -> None:
        """A source entry that waits for what comes next in its turn."""
        self._arriving.append(entry)

    def arrive(self) -> None:
        """The host delivers what waits."""
        if self._arriving:
            accept_turns(self.store, Reading(head=self.head, events=[*self._arriving]))
            self._arriving.clear()

    def commit(self, entry: Entry) -> float:
        """Record memory; the seconds that it took."""
        self.arrive()
        start = perf_counter()
        append_memory(self.store, self.branch, [memory_entry(entry)])
        return perf_counter() - start

    def compact(self, boundary: int) -> None:
        """A host's compaction: composed, then confirmed."""
        self.arrive()
        compose_memory(self.store, self.branch, boundary, Settings())
        at = self.store.tip(source_stream(self.branch.key)).length
        confirm_fold(self.store, self.branch, advance=compaction_marks(boundary, at))

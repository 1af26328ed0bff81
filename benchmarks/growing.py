"""Sessions of any length whose memory grows with them, in three profiles.

mixed: of 40 entries 36 are messages, two record 5 observations each, one records 2 reflections, one drops what is over
350 active observations; every 400th is a confirmed compaction. nodrop: the same without drops. dense: of 8 entries
two record observations, one reflections, one drops.

All but the last entries are written in bulk by the store's own append; the last ones go through the doors that a
running system uses, so that marks, sums and checkpoint are what it would have.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.writing import Writer, words
from minutebook.pipeline.outcomes import Entry
from minutebook.pipeline.shapes import counted_observation, counted_reflection, observation_data, reflection_data
from minutebook.records import (
    DROPS,
    FOLD,
    OBSERVATIONS,
    REFLECTIONS,
    RELEVANCES,
    Branch,
    Observation,
    Part,
    Reflection,
    SourceEntry,
    Usage,
    observation_id,
    reflection_id,
)
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
COMPACTION_EVERY = 400
KEPT_ENTRIES = 30
"""Entries before a compaction that stay in the agent's context."""
ACTIVE_MAX = 350


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Which of `period` entries are memory; the others are messages."""

    name: str
    period: int
    observations: frozenset[int]
    reflections: int
    drops: int | None


MIXED = Profile(name="mixed", period=40, observations=frozenset({19, 37}), reflections=38, drops=39)
NODROP = Profile(name="nodrop", period=40, observations=frozenset({19, 37}), reflections=38, drops=None)
DENSE = Profile(name="dense", period=8, observations=frozenset({3, 5}), reflections=6, drops=7)


@dataclass(frozen=True, slots=True)
class Compaction:
    """The host compacts: the first kept entry's position, and how memory would have been folded."""

    boundary: int
    full_fold: bool
    reference: int | None


@dataclass(slots=True)
class Growing:
    """What the session so far leads to. visible_tokens: of the pool that a compaction shows."""

    profile: Profile
    count: int = 0
    sources: int = 0
    covered: int = 0
    observed: int = 0
    reflected: int = 0
    last_id: str = ""
    recent: list[str] = field(default_factory=list)
    active: deque[Observation] = field(default_factory=deque)
    supports: deque[str] = field(default_factory=lambda: deque(maxlen=4))
    starts: deque[int] = field(default_factory=lambda: deque(maxlen=KEPT_ENTRIES))
    visible_tokens: int = 0
    dropped_tokens: int = 0
    reference: int | None = None

    def entries(self, count: int) -> Iterator[SourceEntry | Entry | Compaction]:
        """The next entries."""
        for number in range(self.count, self.count + count):
            made = self._next(number)
            self.count = number + 1
            self.starts.append(self.sources)
            if isinstance(made, SourceEntry):
                self.sources, self.last_id = self.sources + 1, made.id
                self.recent.append(made.id)
            yield made

    def _next(self, number: int) -> SourceEntry | Entry | Compaction:
        profile, place = self.profile, number % self.profile.period
        if number and number % COMPACTION_EVERY == 0:
            return self._compaction()
        if place in profile.observations and self.recent:
            return self._observations(number)
        if place == profile.reflections and self.supports:
            return self._reflections()
        if place == profile.drops and len(self.active) > ACTIVE_MAX:
            return self._drops()
        return message(number)

    def _observations(self, number: int) -> Entry:
        made = [self._observation(number, self.observed + at) for at in range(5)]
        self.observed += len(made)
        self.active.extend(made)
        self.supports.extend(each.id for each in made)
        self.visible_tokens += sum(each.tokens for each in made)
        self.recent.clear()
        since, self.covered = self.covered, self.sources
        data = {"observations": [*map(observation_data, made)], "mind": "bench"}
        return Entry(kind=OBSERVATIONS, since=since, covers=self.sources, covers_id=self.last_id, data=data)

    def _observation(self, number: int, at: int) -> Observation:
        content, stamp = f"{words(at, 14)} {at}", f"{_time(number):%Y-%m-%d %H:%M}"
        sources = tuple(self.recent[: 1 + at % 3])
        key = observation_id(content, stamp, sources)
        relevance = RELEVANCES[at % 4]
        return counted_observation(
            Observation(id=key, content=content, timestamp=stamp, relevance=relevance, source_ids=sources)
        )

    def _reflections(self) -> Entry:
        contents = [f"{words(self.reflected + at, 16)} {self.reflected + at}" for at in range(2)]
        self.reflected += len(contents)
        supports = tuple(self.supports)
        made = [
            counted_reflection(Reflection(id=reflection_id(said), content=said, support_ids=supports))
            for said in contents
        ]
        data = {"reflections": [*map(reflection_data, made)], "mind": "bench"}
        return Entry(kind=REFLECTIONS, since=self.sources, covers=self.sources, covers_id=self.last_id, data=data)

    def _drops(self) -> Entry:
        gone = [self.active.popleft() for _ in range(len(self.active) - ACTIVE_MAX)]
        self.dropped_tokens += sum(each.tokens for each in gone)
        data = {"observationIds": [each.id for each in gone], "by": "dropper", "mind": "bench"}
        return Entry(kind=DROPS, since=self.sources, covers=self.sources, covers_id=self.last_id, data=data)

    def _compaction(self) -> Compaction:
        """By the product's own rule; in bulk the pool is known without folding."""
        boundary = self.starts[0]
        full = self.visible_tokens >= Settings().observations_pool_max_tokens
        if full:
            self.reference = boundary
            self.visible_tokens, self.dropped_tokens = self.visible_tokens - self.dropped_tokens, 0
        return Compaction(boundary, full, self.reference)


def message(number: int, session: str = "") -> SourceEntry:
    """A prompt, an assistant's call of a tool, its result, or an answer. session: what its id begins with."""
    kind, at = number % 4, f"{_time(number):%Y-%m-%dT%H:%M:%SZ}"
    key = f"{session}{number:08x}"
    if kind == 0:
        return SourceEntry(id=key, role="user", time=at, parts=(_text(number, 20),), typed=True)
    if kind == 2:
        call_id = f"call_{number - 1}"
        return SourceEntry(
            id=key, role="tool_result", time=at, parts=(_text(number, 120),), tool_name="bash", call_id=call_id
        )
    parts = [_text(number, 40)]
    if kind == 1:
        arguments = f'{{"command":"{words(number, 8)}"}}'
        parts.append(Part(kind="tool_call", text=arguments, name="bash", call_id=f"call_{number}"))
    usage = Usage(reply_id=f"reply_{number}", model="bench-1", context_tokens=20_050 + number % 400 * 200)
    return SourceEntry(id=key, role="assistant", time=at, parts=tuple(parts), usage=usage)


def _text(number: int, count: int) -> Part:
    return Part(kind="text", text=words(number, count))


def _time(number: int) -> datetime:
    return BEGIN + timedelta(seconds=number)


def fold_entry(compaction: Compaction, length: int) -> Entry:
    """A confirmed compaction, as the ledger keeps it. length: of the memory stream that it read."""
    data = {
        "fullFold": compaction.full_fold,
        "reference": compaction.reference,
        "length": length,
        "producer": "minutebook",
    }
    return Entry(kind=FOLD, since=compaction.boundary, covers=compaction.boundary, data=data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """A store with one session, and what goes on with it."""

    store: Store
    branch: Branch
    growing: Growing

    @property
    def boundary(self) -> int:
        """The first kept entry of a compaction at the tip."""
        return self.growing.starts[0]

    def grow(self, count: int) -> list[float]:
        """More entries, through the doors one by one; seconds of each commit of memory."""
        writer = Writer(self.store, "growing", self.branch)
        return [*live(writer, self.growing.entries(count))]


def grow(url: Path | str, profile: Profile, count: int, tail: int) -> Grown:
    """A session of so many entries, memory and compactions counted."""
    store = open_store(str(url))
    writer, growing = Writer(store, "growing"), Growing(profile)
    for made in growing.entries(count - tail):
        if isinstance(made, SourceEntry):
            writer.source(made)
        else:
            writer.memory(made if isinstance(made, Entry) else fold_entry(made, writer.memory_length))
    writer.flush()
    for _ in live(writer, growing.entries(tail)):
        pass
    return Grown(store=store, branch=writer.branch, growing=growing)


def live(writer: Writer, entries: Iterator[SourceEntry | Entry | Compaction]) -> Iterator[float]:
    """Entries through the doors; yields the seconds of each commit of memory."""
    for made in entries:
        if isinstance(made, SourceEntry):
            writer.arriving(made)
        elif isinstance(made, Entry):
            yield writer.commit(made)
        else:
            writer.compact(made.boundary)
    writer.arrive()

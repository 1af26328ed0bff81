"""A checkpoint is a cache: whatever it answers is what the whole fold would have said."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.pipeline import checkpoints
from minutebook.pipeline.checkpoints import CHECKPOINTS, checkpoint_put, read_checkpoint
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.folding import BeyondCheckpoint, Memory, fold
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.projection import compaction_projection
from minutebook.pipeline.rendering import render
from minutebook.records import DIGEST, DROPS, FOLD, OBSERVATIONS, REFLECTIONS, RETIREMENTS, Branch, MemoryEntry
from minutebook.settings import Settings
from minutebook.store.sqlite import SqliteStore

BRANCH = Branch(key="neutral:s", host="neutral", session="s", lineage="neutral:s")
RELEVANCE = ("low", "medium", "high", "critical")


class Story:
    """A random history of one branch's memory, as the workers could have written it."""

    def __init__(self, seed: int, length: int, *, longest: int = 300) -> None:
        self.dice = random.Random(seed)
        self.at = 0
        self.longest = longest
        self.observations: list[str] = []
        self.reflections: list[str] = []
        self.entries: list[MemoryEntry] = []
        self.reference: int | None = None
        self.boundary = 0
        for _ in range(length):
            observe, rest = self.observe, self.rest
            self.dice.choice([observe, observe, observe, self.reflect, self.drop, self.correct, rest])()

    def add(self, kind: str, since: int, covers: int, data: dict[str, object]) -> None:
        said = Entry(kind=kind, since=since, covers=covers, data={**data, "nth": len(self.entries)})
        self.entries.append(memory_entry(said))

    def some(self, ids: list[str], most: int) -> list[str]:
        return self.dice.sample(ids, min(len(ids), self.dice.randint(1, most)))

    def observe(self) -> None:
        rows = []
        for _ in range(self.dice.randint(0, 4)):
            key = f"{len(self.observations):012x}"
            self.observations.append(key)
            text = "word " * min(self.longest, self.dice.choice([1, 3, 9, 300])) + key
            rows.append({"id": key, "content": text, "timestamp": "2026-05-02 10:30", "tokenCount": 0}
                        | {"relevance": self.dice.choice(RELEVANCE), "sourceEntryIds": ["e1"]})  # fmt: skip
        since, self.at = self.at, self.at + self.dice.randint(1, 9)
        self.add(OBSERVATIONS, since, self.at, {"observations": rows})

    def reflect(self) -> None:
        rows = []
        for _ in range(self.dice.randint(0, 3) if self.observations else 0):
            key = f"f{len(self.reflections):011x}"
            self.reflections.append(key)
            supports = self.some(self.observations, 4)
            text = f"so {key} " * min(self.longest, self.dice.choice([1, 4, 200]))
            rows.append({"id": key, "content": text, "tokenCount": 0, "supportingObservationIds": supports})
        self.add(REFLECTIONS, self.at, self.at, {"reflections": rows})

    def drop(self) -> None:
        if self.observations:
            by = self.dice.choice(["dropper", "dropper", "superseded", "user"])
            since = 0 if by == "user" else max(0, self.at - 3)
            covers = 0 if by == "user" else self.at
            self.add(DROPS, since, covers, {"observationIds": self.some(self.observations, 3), "by": by})

    def correct(self) -> None:
        if self.reflections:
            since = max(0, self.at - self.dice.randint(0, 5))
            self.add(RETIREMENTS, since, self.at, {"reflectionIds": self.some(self.reflections, 2), "by": "superseded"})

    def rest(self) -> None:
        self.digest() if self.dice.random() < 0.5 else self.compact()

    def digest(self) -> None:
        if self.reflections:
            through = self.dice.choice(self.reflections)
            self.add(DIGEST, self.at, self.at, {"content": f"digest of {through}", "coversThroughReflectionId": through}
                     | {"tokenCount": 9})  # fmt: skip

    def compact(self) -> None:
        self.boundary = self.dice.randint(self.boundary, max(self.boundary, self.at))
        full = self.dice.random() < 0.3
        self.reference = self.boundary if full else self.reference
        data = {"fullFold": full, "reference": self.reference, "length": len(self.entries), "producer": "minutebook"}
        self.add(FOLD, self.boundary, self.boundary, data)


def text_of(memory: Memory, boundary: int, max_tokens: int, pool: int) -> tuple[object, ...]:
    projection = compaction_projection(memory, boundary, pool_max_tokens=pool, digest_tokens=4_000)
    rendered = render(projection, max_tokens=max_tokens, reflections_tokens=max_tokens // 3, tiers=projection.tiers())
    return rendered.text, rendered.left_out, projection.full_fold, projection.pool_tokens, projection.reference


def from_checkpoint(memory: Memory) -> tuple[Memory, int]:
    put = checkpoint_put(BRANCH, memory, 0)
    assert put is not None
    body = json.loads(put.body)
    return checkpoints._memory(body), body["floor"]


@given(
    seed=st.integers(0, 10**9),
    length=st.integers(1, 60),
    small=st.booleans(),
    max_tokens=st.sampled_from([300, 600, 2_000]),
    pool=st.sampled_from([1, 400, 10**6]),
    ahead=st.integers(0, 40),
)
@settings(max_examples=200, deadline=None)
def test_what_a_checkpoint_says_is_what_the_whole_fold_says(
    seed: int, length: int, small: bool, max_tokens: int, pool: int, ahead: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(checkpoints, "ROW_BYTES", 2_200)
            patch.setattr(checkpoints, "REFLECTION_BYTES", 700)
            patch.setattr(checkpoints, "DIGESTS_KEPT", 1)
        whole = fold(Story(seed, length).entries)
        reduced, floor = from_checkpoint(whole)
        try:
            said = text_of(reduced, floor + ahead, max_tokens, pool)
        except BeyondCheckpoint:
            return
        assert said == text_of(whole, floor + ahead, max_tokens, pool)


def test_it_answers_and_stays_small_where_memory_is_large() -> None:
    """Of 6,000 observations and 4,500 reflections a compaction shows the same, from a bounded checkpoint."""
    story = Story(7, 0, longest=9)
    for _ in range(3_000):
        story.observe()
        story.reflect()
    story.boundary = story.at - 5
    story.compact()
    whole = fold(story.entries)
    put = checkpoint_put(BRANCH, whole, 0)
    assert put is not None and len(put.body) <= checkpoints.CHECKPOINT_BYTES
    reduced, floor = from_checkpoint(whole)
    assert reduced.beyond.observations > 1_000 and reduced.beyond.reflections > 500
    for boundary in (floor, floor + 3, story.at, story.at + 1):
        assert text_of(reduced, boundary, 32_000, 20_000) == text_of(whole, boundary, 32_000, 20_000)


def test_every_commit_leaves_one_that_compaction_reads(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.sqlite", busy_seconds=5, create=True)
    story = Story(11, 40)
    append_memory(store, BRANCH, story.entries)
    boundary = story.boundary + 50
    assert read_checkpoint(store, BRANCH, len(story.entries), boundary) is not None
    composed = look_at_memory(store, BRANCH, boundary, Settings())
    store.delete(CHECKPOINTS, BRANCH.key)
    again = look_at_memory(store, BRANCH, boundary, Settings())
    assert composed is not None and again is not None and composed.text == again.text
    store.close()


def test_one_of_another_length_or_boundary_is_not_used(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.sqlite", busy_seconds=5, create=True)
    story = Story(3, 0)
    story.observe()
    story.compact()
    append_memory(store, BRANCH, story.entries)
    assert read_checkpoint(store, BRANCH, 2, story.boundary) is not None
    assert read_checkpoint(store, BRANCH, 1, story.boundary) is None
    assert story.boundary == 0 or read_checkpoint(store, BRANCH, 2, story.boundary - 1) is None
    store.close()

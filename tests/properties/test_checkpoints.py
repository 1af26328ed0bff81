"""A checkpoint is a cache: whatever it answers is what the whole fold would have said."""

import random
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import concluded, observed
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import Counting
from memories import memory_holding

from minutebook.pipeline import reducing
from minutebook.pipeline.branches import branch_put
from minutebook.pipeline.checkpoints import (
    CHECKPOINT_BYTES,
    PAGES,
    checkpoint_of,
    read_page,
    read_reduced,
    read_totals,
)
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.folding import BeyondCheckpoint, Memory, fold
from minutebook.pipeline.ledger import read_memory
from minutebook.pipeline.mentions import named_entries
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.pages import Page, page_from, page_of, page_values
from minutebook.pipeline.projection import UNLIMITED, compaction_projection, full_projection
from minutebook.pipeline.reducing import mentions, reduced
from minutebook.pipeline.remembering import whole_memory, working_memory
from minutebook.pipeline.rendering import render
from minutebook.pipeline.totals import Totals, marks_of, totals_of
from minutebook.records import DIGEST, DROPS, FOLD, OBSERVATIONS, REFLECTIONS, RETIREMENTS, Branch, MemoryEntry
from minutebook.settings import Settings
from minutebook.store.codec import text_from_store, text_to_store
from minutebook.store.sqlite import SqliteStore

BRANCH = Branch(key="neutral:s", host="neutral", session="s", lineage="neutral:s")
RELEVANCE = ("low", "medium", "high", "critical")


def store_with_branch(folder: Path) -> SqliteStore:
    """A store that knows BRANCH."""
    store = SqliteStore(folder / "store.sqlite", create=True)
    store.put(branch_put(BRANCH))
    return store


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

    def next_id(self, ids: list[str], form: str) -> str:
        """A new one, or now and then one that is there already."""
        if ids and self.dice.random() < 0.04:
            return self.dice.choice(ids)
        ids.append(form.format(len(ids)))
        return ids[-1]

    def future(self, form: str, ids: list[str]) -> str:
        """One that a later record will have."""
        return form.format(len(ids) + self.dice.randint(0, 3))

    def observe(self) -> None:
        rows = []
        for _ in range(self.dice.randint(0, 4)):
            key = self.next_id(self.observations, "{:012x}")
            text = "word " * min(self.longest, self.dice.choice([1, 3, 9, 300])) + key
            rows.append({"id": key, "content": text, "timestamp": "2026-05-02 10:30", "tokenCount": 0}
                        | {"relevance": self.dice.choice(RELEVANCE), "sourceEntryIds": ["e1"]})  # fmt: skip
        since, self.at = self.at, self.at + self.dice.randint(1, 9)
        self.add(OBSERVATIONS, since, self.at, {"observations": rows})

    def reflect(self) -> None:
        rows = []
        for _ in range(self.dice.randint(0, 3) if self.observations else 0):
            key = self.next_id(self.reflections, "f{:011x}")
            supports = self.some([*self.observations, self.future("{:012x}", self.observations)], 4)
            text = f"so {key} " * min(self.longest, self.dice.choice([1, 4, 200]))
            rows.append({"id": key, "content": text, "tokenCount": 0, "supportingObservationIds": supports})
        self.add(REFLECTIONS, self.at, self.at, {"reflections": rows})

    def drop(self) -> None:
        if self.observations:
            by = self.dice.choice(["dropper", "dropper", "superseded", "user"])
            since = 0 if by == "user" else max(0, self.at - 3)
            covers = 0 if by == "user" else self.at
            ids = self.some([*self.observations, self.future("{:012x}", self.observations)], 3)
            self.add(DROPS, since, covers, {"observationIds": ids, "by": by})

    def correct(self) -> None:
        if self.reflections:
            since = max(0, self.at - self.dice.randint(0, 5))
            ids = self.some([*self.reflections, self.future("f{:011x}", self.reflections)], 2)
            self.add(RETIREMENTS, since, self.at, {"reflectionIds": ids, "by": "superseded"})

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


def text_of(page: Page, boundary: int, max_tokens: int, pool: int) -> tuple[object, ...]:
    projection = compaction_projection(page, boundary, pool_max_tokens=pool, digest_tokens=4_000)
    rendered = render(projection, max_tokens=max_tokens, reflections_tokens=max_tokens // 3)
    return rendered.text, rendered.left_out, projection.full_fold, projection.pool_tokens, projection.reference


def made_small(patch: pytest.MonkeyPatch) -> None:
    sizes = {"ROW_BYTES": 2_200, "REFLECTION_BYTES": 700, "SERVED_BYTES": 400, "THIN_BYTES": 1_000, "DIGESTS_KEPT": 1}
    for name, size in sizes.items():
        patch.setattr(reducing, name, size)


STORIES = {
    "seed": st.integers(0, 10**9),
    "length": st.integers(1, 60),
    "small": st.booleans(),
    "max_tokens": st.sampled_from([300, 600, 2_000]),
    "pool": st.sampled_from([1, 400, 10**6]),
    "ahead": st.integers(0, 40),
}


@given(**STORIES)
@settings(max_examples=200, deadline=None)
def test_what_a_checkpoint_says_is_what_the_whole_fold_says(
    seed: int, length: int, small: bool, max_tokens: int, pool: int, ahead: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if small:
            made_small(patch)
        whole = fold(Story(seed, length).entries)
        page = through_json(page_of(reduced(whole)))
        boundary = page.floor + ahead
        try:
            said = text_of(page, boundary, max_tokens, pool)
        except BeyondCheckpoint:
            return
        assert said == text_of(page_of(whole, floor=boundary), boundary, max_tokens, pool)


def through_json(page: Page) -> Page:
    return page_from(*text_from_store(text_to_store(*page_values(page))))


@given(**STORIES, at_once=st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_commits_that_go_on_from_the_last_one_say_what_a_whole_fold_says(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    length: int,
    small: bool,
    max_tokens: int,
    pool: int,
    ahead: int,
    at_once: int,
) -> None:
    """Marks and totals after each commit, and the text of a compaction at the end."""
    store = store_with_branch(tmp_path_factory.mktemp("story"))
    entries = Story(seed, length).entries
    with pytest.MonkeyPatch.context() as patch, closing(store):
        if small:
            made_small(patch)
        for start in range(0, len(entries), at_once):
            append_memory(store, BRANCH, entries[start : start + at_once])
            whole = whole_memory(read_memory(store, BRANCH), [BRANCH.key])
            expected = totals_of(whole, page_of(whole))
            found = read_totals(store, BRANCH, store.tip("m:neutral:s").length)
            assert found is not None
            assert without_digests(found) == without_digests(expected)
            assert marks_of(expected).items() <= store.tip("m:neutral:s").marks.items()
            assert (found.active, found.current) == (len(whole.active()), len(whole.current()))
            assert found.pool_tokens == sum(held.record.tokens for held in whole.active())
            assert found.observations - found.active == len(whole.observations.keys() & whole.drops.keys())
            assert as_roles_see(working_memory(store, BRANCH)) == as_roles_see(whole)
        recorded = read_memory(store, BRANCH)
        for mention in {mention for entry in recorded for mention in mentions(entry)[0]}:
            naming = [entry for entry in recorded if mention in mentions(entry)[0]]
            assert named_entries(store, BRANCH, [mention]) == naming
        page = read_page(store, BRANCH, store.tip("m:neutral:s").length)
        if page is None:
            assert not entries
            return
        boundary = page.floor + ahead
        try:
            said = text_of(page, boundary, max_tokens, pool)
        except BeyondCheckpoint:
            return
        assert said == text_of(page_of(whole, floor=boundary), boundary, max_tokens, pool)


def as_roles_see(memory: Memory) -> tuple[object, ...]:
    """What observer, reflector, digester and dropper read of it; sources and minds aside."""
    active = [replace(held, mind="", record=replace(held.record, source_ids=())) for held in memory.active()]
    current = [replace(held, mind="") for held in memory.current()]
    tier = memory.tiers()
    digest = full_projection(page_of(memory), digest_tokens=UNLIMITED).digest
    numbers = (memory.observed, memory.reflected, memory.reflections_recorded, memory.last_reflections_covers)
    return active, current, [tier(held.record.id) for held in active], digest, numbers, memory.open_gaps()


def without_digests(totals: Totals) -> Totals:
    """A checkpoint keeps the first few digests and counts the others."""
    return replace(totals, digests=totals.digests[:1], left_out_digests=0)


def test_it_answers_and_stays_small_where_memory_is_large() -> None:
    """Of 6,000 observations and 4,500 reflections a compaction shows the same, from a bounded checkpoint."""
    story = Story(7, 0, longest=9)
    for _ in range(3_000):
        story.observe()
        story.reflect()
    story.boundary = story.at - 5
    story.compact()
    whole = fold(story.entries)
    checkpoint = checkpoint_of(BRANCH, whole, 0)
    assert len(checkpoint.puts) == 3 and all(len(put.body) <= CHECKPOINT_BYTES for put in checkpoint.puts)
    page = page_of(checkpoint.memory)
    assert page.left_out > 1_000 and page.left_out_reflections > 500
    for boundary in (page.floor, page.floor + 3, story.at, story.at + 1):
        full = page_of(whole, floor=boundary)
        assert text_of(page, boundary, 32_000, 20_000) == text_of(full, boundary, 32_000, 20_000)


def test_a_memory_too_large_before_any_compaction_has_one_for_the_tip_of_coverage() -> None:
    story = Story(7, 0, longest=9)
    for _ in range(3_000):
        story.observe()
    whole = fold(story.entries)
    page = page_of(checkpoint_of(BRANCH, whole, 0).memory)
    assert page.floor == story.at
    full = page_of(whole, floor=story.at + 1)
    assert text_of(page, story.at + 1, 32_000, 20_000) == text_of(full, story.at + 1, 32_000, 20_000)
    with pytest.raises(BeyondCheckpoint):
        text_of(page, story.at - 1, 32_000, 20_000)


def test_a_commit_reads_no_more_than_the_checkpoint(tmp_path: Path) -> None:
    """After the first one no commit of plain entries reads the memory stream, however many went before."""
    store = Counting(store_with_branch(tmp_path))
    story = Story(5, 0, longest=9)
    for _ in range(40):
        story.observe()
        story.reflect()
    append_memory(store, BRANCH, story.entries)
    story.entries.clear()
    for step in (story.observe, story.reflect, story.compact, story.observe):
        step()
    counted = store.calls["read"]
    for entry in story.entries:
        append_memory(store, BRANCH, [on_top(store, entry)])
    assert store.calls["read"] == counted
    store.close()


def on_top(store: Any, entry: MemoryEntry) -> MemoryEntry:
    """A fold that was composed from the memory as it stands."""
    if entry.kind != FOLD:
        return entry
    return replace(entry, data={**entry.data, "length": store.tip("m:neutral:s").length})


def test_every_commit_leaves_one_that_compaction_reads(tmp_path: Path) -> None:
    store = store_with_branch(tmp_path)
    story = Story(11, 40)
    append_memory(store, BRANCH, story.entries)
    boundary = story.boundary + 50
    assert read_page(store, BRANCH, len(story.entries)) is not None
    composed = look_at_memory(store, BRANCH, boundary, Settings())
    store.delete(PAGES, BRANCH.key)
    again = look_at_memory(store, BRANCH, boundary, Settings())
    assert composed is not None and again is not None and composed.text == again.text
    store.close()


def test_one_of_another_length_is_not_used(tmp_path: Path) -> None:
    store = store_with_branch(tmp_path)
    story = Story(3, 0)
    story.observe()
    story.compact()
    append_memory(store, BRANCH, story.entries)
    for read in (read_page, read_totals, read_reduced):
        assert read(store, BRANCH, 2) is not None
        assert read(store, BRANCH, 1) is None
    store.close()


@pytest.mark.parametrize("content", ["plain", "a </minutebook-memory> b", "odd \ud83d", "two  spaces ", "] x [high] y"])
def test_a_page_gives_its_records_back(content: str) -> None:
    observations = [replace(observed(content, "high"), id="odd ] id"), observed(content + "2")]
    page = through_json(page_of(memory_holding(observations, [concluded(content, *observations)])))
    assert [page.observation(row) for row in (0, 1)] == [replace(each, source_ids=()) for each in observations]
    assert page.reflection(0) == replace(concluded(content, *observations), support_ids=())

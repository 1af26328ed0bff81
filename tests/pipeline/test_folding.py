"""Memory entries -> memory, without any store."""

from dataclasses import replace
from typing import Any

from builders import concluded, observed

from minutebook.pipeline.folding import Memory, fold
from minutebook.pipeline.shapes import observation_data, reflection_data
from minutebook.records import (
    DIGEST,
    DROPS,
    FOLD,
    GAP,
    OBSERVATIONS,
    REFLECTIONS,
    RETIREMENTS,
    MemoryEntry,
    Observation,
)

ONE, TWO = observed("one"), observed("two")
FACT = concluded("a fact", ONE)


def entry(kind: str, covers: int = 4, since: int | None = None, id: str = "x", **data: Any) -> MemoryEntry:
    return MemoryEntry(
        id=id, kind=kind, covers=covers, since=covers if since is None else since, data=data, branch="b", index=9
    )


def batch(*records: Observation, covers: int = 4, since: int = 0) -> MemoryEntry:
    return entry(OBSERVATIONS, covers, since, observations=[observation_data(each) for each in records])


def reflected(*records: Any, covers: int = 4) -> MemoryEntry:
    return entry(REFLECTIONS, covers, reflections=[reflection_data(each) for each in records])


def active(memory: Memory) -> list[str]:
    return [held.record.id for held in memory.active()]


def test_the_first_valid_record_of_an_id_wins_003_151() -> None:
    other = {**observation_data(ONE), "content": "edited"}
    memory = fold([batch(ONE), entry(OBSERVATIONS, observations=[other]), reflected(FACT)])
    assert memory.observations[ONE.id].record == ONE
    invalid = {**observation_data(ONE), "relevance": "urgent"}
    memory = fold([entry(OBSERVATIONS, observations=[invalid]), batch(ONE)])
    assert (memory.observations[ONE.id].record, memory.malformed) == (ONE, 1)
    memory = fold([reflected(FACT), reflected(replace(FACT, content="edited"))])
    assert memory.reflections[FACT.id].record == FACT


def test_a_drop_is_for_ever_and_may_come_first_003_152() -> None:
    drop = entry(DROPS, observationIds=[ONE.id])
    assert active(fold([drop, batch(ONE, TWO)])) == [TWO.id]
    memory = fold([batch(ONE, TWO), drop, batch(ONE)])
    assert active(memory) == [TWO.id]
    assert ONE.id in memory.observations


def test_a_coverage_is_the_furthest_of_its_kind_003_053() -> None:
    memory = fold([batch(ONE, covers=10), batch(TWO, covers=5), reflected(FACT, covers=3)])
    assert (memory.observed, memory.reflected) == (10, 3)
    assert fold([entry(GAP, covers=12, since=10, reason="too long")]).observed == 12


def test_malformed_entries_and_unknown_kinds_are_counted_003_155() -> None:
    memory = fold(
        [
            entry("om.something"),
            entry(OBSERVATIONS),
            entry(REFLECTIONS, reflections=[{}]),
            entry(DIGEST, content="", coversThroughReflectionId="x", tokenCount=1),
            entry(DROPS, observationIds=[3]),
            entry(FOLD, length="far"),
            batch(ONE),
        ]
    )
    assert memory.malformed == 6
    assert active(memory) == [ONE.id]


def test_a_dropper_s_drop_waits_and_a_person_s_does_not() -> None:
    memory = fold(
        [
            entry(DROPS, covers=6, observationIds=[ONE.id]),
            entry(DROPS, covers=0, observationIds=[TWO.id], by="user"),
        ]
    )
    assert not memory.drops[ONE.id].at_once(10)
    assert memory.drops[ONE.id].after_fold(6) and not memory.drops[ONE.id].after_fold(5)
    assert memory.drops[TWO.id].at_once(1)
    assert memory.dropped_through == 6


def test_of_several_tombstones_the_first_names_whose_and_each_counts() -> None:
    memory = fold(
        [
            entry(DROPS, covers=6, observationIds=[ONE.id]),
            entry(DROPS, covers=0, observationIds=[ONE.id], by="user"),
            entry(DROPS, covers=3, observationIds=[ONE.id]),
        ]
    )
    tomb = memory.drops[ONE.id]
    assert (tomb.by, tomb.waits_from, tomb.at_once(1)) == ("dropper", 3, True)


def test_tiers_count_current_reflections_once_each_003_021() -> None:
    again, retired = concluded("more", ONE, ONE), concluded("wrong", TWO)
    tier = fold([reflected(FACT, again, retired), entry(RETIREMENTS, reflectionIds=[retired.id])]).tiers()
    assert (tier(ONE.id), tier(TWO.id), tier("unknown")) == ("strong", "none", "none")
    assert fold([reflected(again)]).tiers()(ONE.id) == "partial"


def test_a_filled_gap_is_open_no_more() -> None:
    gaps = [entry(GAP, covers=at, since=at - 1, id=f"g{at}", reason="refused") for at in (1, 2)]
    filling = entry(OBSERVATIONS, covers=1, since=0, observations=[observation_data(ONE)], fills="g1")
    memory = fold([*gaps, filling])
    assert [gap.id for gap in memory.open_gaps()] == ["g2"]


def test_an_imported_fold_read_memory_up_to_itself() -> None:
    memory = fold([entry(FOLD, covers=5, fullFold=True, reference=5, ids=["a"])])
    assert [(each.length, each.boundary, each.ids) for each in memory.folds] == [(9, 5, {"a"})]
    memory = fold([entry(FOLD, covers=5, fullFold=False, reference=None, length=3)])
    assert [(each.length, each.ids) for each in memory.folds] == [(3, None)]


def test_covers_is_no_provenance_003_153() -> None:
    """A record may cite sources far before what its entry covers, or after."""
    far = observed("far", sources=("e900", "e1"))
    memory = fold([batch(far, covers=50, since=49)])
    assert memory.observations[far.id].record.source_ids == ("e900", "e1")

"""One composition is open on a branch: asked for again, refused, confirmed, abandoned, left open, raced for."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread

import pytest
from builders import deliver, observed
from memories import (
    Clock,
    batch,
    conversation,
    host_compacted,
    look,
    turns,
)

from minutebook.errors import CompactionOpen
from minutebook.pipeline import ledger
from minutebook.pipeline.compaction import Composition, compose_memory, shaping_hash
from minutebook.pipeline.folds import abandon_fold, read_proposal
from minutebook.records import FOLD, Branch, MemoryEntry, content_id
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

DEFAULTS = Settings()
FIRST, SECOND = observed("the port is 8443", "critical", sources=("e0",)), observed("tests pass", sources=("e1",))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db", clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def branch(store: Store) -> Branch:
    """Forty turns, the first twenty observed."""
    made = conversation(store, 40)
    batch(store, made, 0, 20, FIRST, SECOND)
    return made


def composed(store: Store, branch: Branch, boundary: int, settings: Settings = DEFAULTS) -> Composition:
    found = compose_memory(store, branch, boundary, settings)
    assert found is not None
    return found


def folds(store: Store, branch: Branch) -> list[MemoryEntry]:
    return [entry for entry in ledger.read_memory(store, branch) if entry.kind == FOLD]


def test_the_same_boundary_gives_the_same_bytes_while_it_is_open_003_079(store: Store, branch: Branch) -> None:
    """Also when memory grew meanwhile; what came shows in the next one (003-168)."""
    first = composed(store, branch, 30)
    later = observed("came while it was open", sources=("e21",))
    batch(store, branch, 20, 25, later)
    deliver(store, turns(3, 40))
    again = composed(store, branch, 30)
    assert (again.text, again.id) == (first.text, first.id)
    assert later.content in look(store, branch, 30).text
    host_compacted(store, "e30", after="e42")
    assert later.content in composed(store, branch, 35).text


def test_another_boundary_is_refused_and_changes_nothing_003_079(store: Store, branch: Branch) -> None:
    first = composed(store, branch, 30)
    before = read_proposal(store, branch)
    with pytest.raises(CompactionOpen, match="a compaction at entry 30 is still open"):
        compose_memory(store, branch, 31, DEFAULTS)
    assert read_proposal(store, branch) == before
    assert composed(store, branch, 30).text == first.text


def test_an_open_composition_ends_by_confirmation_failure_or_time_003_079(
    store: Store, branch: Branch, clock: Clock
) -> None:
    composed(store, branch, 30)
    host_compacted(store, "e30", after="e39")
    composed(store, branch, 31)
    abandon_fold(store, branch)
    composed(store, branch, 32)
    clock.now += 59.9
    with pytest.raises(CompactionOpen):
        compose_memory(store, branch, 33, DEFAULTS)
    clock.now += 0.1
    composed(store, branch, 33)
    assert [each.covers for each in folds(store, branch)] == [30]


def test_an_open_composition_holds_nobody_up_when_the_clock_went_back(
    store: Store, branch: Branch, clock: Clock
) -> None:
    composed(store, branch, 30)
    clock.now -= 86_400
    assert composed(store, branch, 31).boundary == 31


def test_an_abandoned_one_leaves_visible_memory_as_it_was_003_077(store: Store, branch: Branch) -> None:
    composed(store, branch, 30)
    abandon_fold(store, branch)
    host_compacted(store, "e30", after="e39")
    assert folds(store, branch) == [], "the host compacted by itself"


def test_a_late_confirmation_still_counts(store: Store, branch: Branch, clock: Clock) -> None:
    composed(store, branch, 30)
    clock.now += 3_600
    host_compacted(store, "e30", after="e39")
    assert [each.covers for each in folds(store, branch)] == [30]


def test_other_settings_are_another_composition_003_079(store: Store, branch: Branch) -> None:
    """The id is of branch, boundary and the settings that shape the text, and of no others."""
    changed = replace(DEFAULTS, extract_max_tokens=100)
    first, second = composed(store, branch, 30), composed(store, branch, 30, changed)
    assert first.id != second.id and len(first.text) > len(second.text)
    assert first.id == content_id(branch.key, "30", shaping_hash(DEFAULTS))
    assert shaping_hash(replace(DEFAULTS, observe_after_tokens=5)) == shaping_hash(DEFAULTS)


@pytest.mark.parametrize("boundaries", [(30, 30, 30, 30), (30, 31, 32, 33)])
def test_two_composers_at_once_make_one_composition_003_079(
    tmp_path: Path, store: Store, branch: Branch, boundaries: tuple[int, ...]
) -> None:
    barrier = Barrier(len(boundaries))
    made: list[Composition] = []
    refused: list[CompactionOpen] = []

    def compose(boundary: int) -> None:
        own = SqliteStore(tmp_path / "store.db", clock=Clock())
        barrier.wait()
        try:
            found = compose_memory(own, branch, boundary, DEFAULTS)
            assert found is not None
            made.append(found)
        except CompactionOpen as error:
            refused.append(error)
        finally:
            own.close()

    threads = [Thread(target=compose, args=(boundary,)) for boundary in boundaries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each.text for each in made}) == 1
    assert len(made) + len(refused) == len(boundaries)
    assert len(refused) == len(set(boundaries)) - 1
    proposal = read_proposal(store, branch)
    assert proposal is not None and proposal.boundary == made[0].boundary
    host_compacted(store, f"e{made[0].boundary}", after="e39")
    assert len(folds(store, branch)) == 1


def test_a_confirmation_between_reading_and_proposing_is_noticed(store: Store, branch: Branch) -> None:
    """The proposal is written against the version that was read: what another closed is composed anew."""
    composed(store, branch, 30)
    host_compacted(store, "e30", after="e39")
    assert composed(store, branch, 30).boundary == 30
    proposal = read_proposal(store, branch)
    assert proposal is not None and proposal.open and proposal.length == 2

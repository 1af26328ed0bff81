"""commit_outcome: one winner, no conflict with other roles, sums that equal a fresh fold."""

import threading
from pathlib import Path
from typing import Any

import pytest
from builders import concluded, deliver, memory_of, observed, remember, sums
from ledgers import Breaking, Broken, Counting, dump, turns

from minutebook.errors import StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.ledger import read_memory
from minutebook.pipeline.outcomes import (
    Committed,
    Entry,
    Outcome,
    Refused,
    append_memory,
    commit_outcome,
    memory_entry,
)
from minutebook.pipeline.shapes import observation_data, reflection_data
from minutebook.records import OBSERVATIONS, REFLECTIONS, Branch, MemoryEntry
from minutebook.store.kernel import Put, Store
from minutebook.store.sqlite import SqliteStore


@pytest.fixture
def branch(store: Store) -> Branch:
    return deliver(store, turns(10))


def batch(content: str, covers: int, since: int = 0) -> MemoryEntry:
    data = {"observations": [observation_data(observed(content))]}
    return memory_entry(Entry(kind=OBSERVATIONS, covers=covers, since=since, data=data))


def outcome(branch: Branch, *entries: MemoryEntry, role: str = "observer", read: int = 0, covers: int = 4) -> Outcome:
    mark = ledger.COVERAGE_OF_ROLE[role]
    return Outcome(role=role, branch=branch.key, read=read, advance={mark: covers}, entries=entries)


def marks(store: Store, branch: Branch) -> dict[str, int]:
    return dict(store.tip(memory_stream(branch.key)).marks)


def summed(store: Store, branch: Branch) -> dict[str, int]:
    """The marks as a fresh fold gives them."""
    return sums(memory_of(store, branch))


def test_a_job_that_runs_twice_records_once_003_167(store: Store, branch: Branch) -> None:
    first = commit_outcome(store, branch, outcome(branch, batch("one", 4)))
    before = dump(store)
    second = commit_outcome(store, branch, outcome(branch, batch("other words", 4)))
    assert isinstance(first, Committed)
    assert isinstance(second, Refused)
    assert (second.stale.what, second.stale.expected, second.stale.found) == (ledger.OBSERVER, 0, 4)
    assert dump(store) == before


def test_entries_of_other_roles_meanwhile_are_no_conflict_003_167(store: Store, branch: Branch) -> None:
    """They land between the reading of the memory and the append."""
    seen = observed("seen")
    remember(store, branch, observations=[seen], covers=4)

    class Meanwhile(Counting):
        def __getattr__(self, name: str) -> Any:
            if name == "append" and not self.calls["append"]:
                remember(self.store, branch, reflections=[concluded("a fact", seen)], covers=4)
            return super().__getattr__(name)

    racing = Meanwhile(store)
    done = commit_outcome(racing, branch, outcome(branch, batch("two", 8, 4), read=4, covers=8))
    assert isinstance(done, Committed)
    assert racing.calls["append"] == 2
    assert [entry.kind for entry in read_memory(store, branch)] == [OBSERVATIONS, REFLECTIONS, OBSERVATIONS]
    assert [entry.index for entry in done.entries] == [2]
    assert summed(store, branch).items() <= marks(store, branch).items()


def test_of_many_at_once_one_wins(store: Store, branch: Branch, tmp_path: Path) -> None:
    done: list[Any] = []
    ready = threading.Barrier(6)

    def run(at: int) -> None:
        own = SqliteStore(tmp_path / "store.db", busy_seconds=30)
        ready.wait()
        done.append(commit_outcome(own, branch, outcome(branch, batch(f"by {at}", 4))))
        own.close()

    threads = [threading.Thread(target=run, args=(at,)) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(each).__name__ for each in done) == ["Committed", *["Refused"] * 5]
    assert len(read_memory(store, branch)) == 1


def test_marks_equal_a_fresh_fold(store: Store, branch: Branch) -> None:
    first, second = observed("one"), observed("two")
    remember(store, branch, observations=[first, second], covers=4)
    fact = concluded("a fact", first)
    remember(store, branch, reflections=[fact, concluded("another", second)], covers=4)
    remember(store, branch, dropped=[first], digest=("short", fact), covers=4)
    remember(store, branch, retired=[fact], covers=4)
    found = marks(store, branch)
    assert summed(store, branch).items() <= found.items()
    assert found[ledger.POOL_TOKENS] == second.tokens
    assert found[ledger.REFLECTIONS_RECORDED] == 2


def test_nothing_to_record_moves_the_coverage_and_reads_no_memory_003_009(store: Store, branch: Branch) -> None:
    counting = Counting(store)
    assert isinstance(commit_outcome(counting, branch, outcome(branch)), Committed)
    assert marks(store, branch)[ledger.OBSERVER] == 4
    assert counting.calls["read"] == 0
    append_memory(store, branch, [batch("covers less", 2)])
    assert marks(store, branch)[ledger.OBSERVER] == 4


def test_each_role_has_its_own_coverage_003_053(store: Store, branch: Branch) -> None:
    commit_outcome(store, branch, outcome(branch, batch("one", 4)))
    before = marks(store, branch)
    data = {"reflections": [reflection_data(concluded("a fact", observed("one")))]}
    entry = memory_entry(Entry(kind=REFLECTIONS, covers=3, since=3, data=data))
    commit_outcome(store, branch, outcome(branch, entry, role="reflector", covers=3))
    after = marks(store, branch)
    assert (before[ledger.OBSERVER], after[ledger.OBSERVER]) == (4, 4)
    assert (before[ledger.REFLECTOR], after[ledger.REFLECTOR]) == (0, 3)


def test_a_coverage_never_goes_back_003_053(store: Store, branch: Branch) -> None:
    append_memory(store, branch, [batch("far", 8)])
    append_memory(store, branch, [batch("near", 3)], advance={ledger.OBSERVER: 3})
    assert marks(store, branch)[ledger.OBSERVER] == 8


def test_the_outcome_stays_on_the_branch_that_was_read_003_159(store: Store, branch: Branch) -> None:
    """The agent went back and on while the observer was at work."""
    (back,) = turns(1)
    other = deliver(store, [back.__class__(id="x", parent="e3", role="user", typed=True, parts=back.parts)])
    assert other.key != branch.key
    commit_outcome(store, branch, outcome(branch, batch("one", 8), covers=8))
    assert len(read_memory(store, branch)) == 1
    assert read_memory(store, other) == []
    assert marks(store, other)[ledger.OBSERVER] == 0


def test_the_branch_is_marked_in_the_same_transaction_003_056(store: Store, branch: Branch) -> None:
    for taken in store.take_dirty(10):
        store.settle_dirty(taken)
    commit_outcome(store, branch, outcome(branch, batch("one", 4)))
    assert [taken.key for taken in store.take_dirty(10)] == [branch.key]


def test_an_entry_that_is_there_is_left_out(store: Store, branch: Branch) -> None:
    one, two = batch("one", 4), batch("two", 4)
    append_memory(store, branch, [one])
    done = append_memory(store, branch, [one, two, two])
    assert [(entry.id, entry.index) for entry in done.entries] == [(two.id, 1)]
    assert done.duplicates == (one.id,)
    assert len(read_memory(store, branch)) == 2


def test_a_document_that_moved_is_an_error_and_nothing_is_written(store: Store, branch: Branch) -> None:
    store.put(Put("other", "key", "{}"))
    before = dump(store)
    with pytest.raises(StoreBusy, match="other/key"):
        append_memory(store, branch, [batch("one", 4)], puts=[Put("other", "key", "{}", if_version=7)])
    assert dump(store) == before


def test_a_commit_that_dies_writes_nothing(store: Store, branch: Branch) -> None:
    before = dump(store)
    for at in range(3):
        with pytest.raises(Broken):
            commit_outcome(Breaking(store, at, after=False), branch, outcome(branch, batch("one", 4)))
        assert dump(store) == before


def test_a_recorded_reflection_is_never_changed_003_027(store: Store, branch: Branch) -> None:
    """Whatever is recorded later under its id, or by its correction, its bytes stay."""
    fact = concluded("a fact", observed("one"))
    remember(store, branch, reflections=[fact], covers=4)
    (before,) = store.read(memory_stream(branch.key))
    changed = {**reflection_data(fact), "content": "edited", "supportingObservationIds": ["0" * 12]}
    append_memory(
        store, branch, [memory_entry(Entry(kind=REFLECTIONS, covers=4, since=4, data={"reflections": [changed]}))]
    )
    remember(store, branch, reflections=[concluded("corrected")], retired=[fact], covers=6)
    assert store.read(memory_stream(branch.key))[0] == before
    assert memory_of(store, branch).reflections[fact.id].record == fact


def test_equal_outcomes_have_equal_ids() -> None:
    assert batch("one", 4).id == batch("one", 4).id
    assert len({batch("one", 4).id, batch("one", 5).id, batch("two", 4).id, batch("one", 4, 1).id}) == 4

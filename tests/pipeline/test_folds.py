"""Proposed when composed, confirmed when the host compacted (003-077)."""

import threading
from pathlib import Path

import pytest
from builders import deliver, memory_of, observed, remember
from ledgers import Breaking, Broken, take, turns

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.deliveries import HostCompaction
from minutebook.pipeline.folds import abandon_fold, close_fold, compaction_marks, confirm_fold, read_proposal
from minutebook.pipeline.ledger import chain_of, read_memory
from minutebook.pipeline.outcomes import Refused
from minutebook.pipeline.projection import visible_projection
from minutebook.records import FOLD, Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Put, Store
from minutebook.store.sqlite import SqliteStore

SETTINGS = Settings()


@pytest.fixture
def branch(store: Store) -> Branch:
    branch = deliver(store, turns(10))
    remember(store, branch, observations=[observed("one")], covers=6)
    return branch


def visible(store: Store, branch: Branch) -> int:
    chain = [each.key for each in chain_of(store, branch)]
    return len(visible_projection(read_memory(store, branch), chain, digest_tokens=4000).observations)


def test_a_proposal_shows_nothing_until_it_is_confirmed_003_077(store: Store, branch: Branch) -> None:
    assert compose_memory(store, branch, 8, SETTINGS) is not None
    assert visible(store, branch) == 0
    assert confirm_fold(store, branch, time="T", advance=compaction_marks(8, 10))
    assert visible(store, branch) == 1
    marks = store.tip(memory_stream(branch.key)).marks
    assert (marks[ledger.COMPACTED_FROM], marks[ledger.COMPACTED_AT]) == (8, 10)


def test_an_aborted_compaction_leaves_visible_memory_as_it_was_003_077(store: Store, branch: Branch) -> None:
    compose_memory(store, branch, 8, SETTINGS)
    abandon_fold(store, branch)
    assert not confirm_fold(store, branch)
    assert visible(store, branch) == 0
    assert compose_memory(store, branch, 9, SETTINGS) is not None


def test_a_fold_does_not_grow_over_100_compactions_003_077(store: Store, branch: Branch) -> None:
    """Memory grows at every one of them; the fold entry does not, but for the digits of its two numbers."""
    sizes = []
    for at in range(100):
        take(store, turns(1, 10 + at))
        remember(store, branch, observations=[observed(f"seen {at} " + "x" * 200)], covers=10 + at)
        assert compose_memory(store, branch, 10 + at, SETTINGS) is not None
        take(store, [HostCompaction(id=f"c{at}", after=f"e{10 + at}")])
        (*_, last) = store.read(memory_stream(branch.key), kinds=[FOLD])
        sizes.append(len(last.body))
    assert len(memory_of(store, branch).folds) == 100
    assert max(sizes) - min(sizes) <= 12


def test_a_compaction_of_the_host_s_own_restarts_the_clock_alone(store: Store, branch: Branch) -> None:
    take(store, [HostCompaction(id="c", first_kept="e7", after="e9")])
    assert memory_of(store, branch).folds == []
    assert store.tip(memory_stream(branch.key)).marks[ledger.COMPACTED_FROM] == 7


def test_without_a_known_first_kept_entry_the_clock_starts_after_the_compaction_003_057(
    store: Store, branch: Branch
) -> None:
    take(store, [HostCompaction(id="c", first_kept="never seen", after="e8")])
    marks = store.tip(memory_stream(branch.key)).marks
    assert (marks[ledger.COMPACTED_FROM], marks[ledger.COMPACTED_AT]) == (9, 9)


def test_a_compaction_before_any_entry_is_passed_over(store: Store) -> None:
    assert take(store, [HostCompaction(id="c")]).branches == ()


def test_a_compaction_delivered_again_confirms_no_later_proposal(store: Store, branch: Branch) -> None:
    """The process dies after any call; what it confirmed is known to be confirmed."""
    compacted = [HostCompaction(id="c", after="e9")]
    compose_memory(store, branch, 8, SETTINGS)
    for at in range(40):
        try:
            take(Breaking(store, at, after=True), compacted)
        except Broken:
            proposal = read_proposal(store, branch)
            if proposal is not None and not proposal.open:
                break
    compose_memory(store, branch, 9, SETTINGS)
    take(store, compacted)
    proposal = read_proposal(store, branch)
    assert proposal is not None and (proposal.boundary, proposal.open) == (9, True)
    assert [each.boundary for each in memory_of(store, branch).folds] == [8]


def test_of_two_confirmations_at_once_one_records(store: Store, branch: Branch, tmp_path: Path) -> None:
    compose_memory(store, branch, 8, SETTINGS)
    done: list[bool] = []
    ready = threading.Barrier(4)

    def run() -> None:
        own = SqliteStore(tmp_path / "store.db", busy_seconds=30)
        ready.wait()
        done.append(confirm_fold(own, branch, time="T"))
        own.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [False, False, False, True]
    assert len(memory_of(store, branch).folds) == 1


def test_a_stale_document_beside_it_writes_nothing(store: Store, branch: Branch) -> None:
    compose_memory(store, branch, 8, SETTINGS)
    put = Put("sessions", "nobody", "{}", if_version=3)
    done = close_fold(store, branch, time="T", advance={}, puts=[put])
    assert isinstance(done, Refused) and done.stale.what == "sessions/nobody"
    proposal = read_proposal(store, branch)
    assert proposal is not None and proposal.open


def test_a_fold_on_a_branch_is_its_own_003_158(store: Store, branch: Branch) -> None:
    compose_memory(store, branch, 8, SETTINGS)
    take(store, [HostCompaction(id="c", after="e9")])
    (back,) = turns(1)
    fork = deliver(store, [back.__class__(id="x", parent="e6", role="user", typed=True, parts=back.parts)])
    assert visible(store, fork) == 0
    assert visible(store, branch) == 1

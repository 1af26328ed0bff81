"""Faults that are planted in the product: a fuzz that could not find them would prove nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from fuzz.dealing import SEEDS, scenario_of
from fuzz.playing import play

from minutebook.pipeline import checkpoints, compaction, folds, following, forks, intake, ledger, outcomes
from minutebook.pipeline.outcomes import Outcome, commit_outcome
from minutebook.pipeline.placing import Places
from minutebook.redaction import Redactor
from minutebook.store.kernel import Put
from minutebook.store.sqlite import SqliteStore
from minutebook.workers import observer
from minutebook.workers.runner import _Run

Plant = Callable[[pytest.MonkeyPatch], None]


def a_commit_does_not_compare_its_mark(patch: pytest.MonkeyPatch) -> None:
    real = outcomes.offer_memory

    def offered(*args: Any, expect: Any = None, **more: Any) -> Any:
        return real(*args, **more)

    patch.setattr(outcomes, "offer_memory", offered)


def intake_forgets_what_it_has(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Places, "look_up", lambda self, ids: None)


def a_session_is_written_over(patch: pytest.MonkeyPatch) -> None:
    real = intake.session_put

    def put(session: Any) -> Put:
        made = real(session)
        return Put(made.collection, made.key, made.body)

    for module in (intake, forks):
        patch.setattr(module, "session_put", put)


def coverage_moves_on_failure(patch: pytest.MonkeyPatch) -> None:
    real = _Run._span_failed

    def failed(self: Any, error: Any) -> Any:
        if self.job.role == "observer" and self.prepared is not None:
            advance = {ledger.OBSERVER: self.prepared.covers}
            commit_outcome(
                self.store,
                self.branch,
                Outcome(role="observer", branch=self.branch.key, read=self.coverage, advance=advance),
            )
        return real(self, error)

    patch.setattr(_Run, "_span_failed", failed)


def a_dirty_mark_is_lost(patch: pytest.MonkeyPatch) -> None:
    _appends(patch, lambda stream, more: {**more, "dirty": None} if stream.startswith("m:") else more)


def a_fork_inherits_all_that_its_parent_has(patch: pytest.MonkeyPatch) -> None:
    real = ledger.read_own
    patch.setattr(ledger, "read_own", lambda store, branch, stop=None, *, start=0: real(store, branch, start=start))


def a_checkpoint_answers_for_any_length(patch: pytest.MonkeyPatch) -> None:
    real = checkpoints._stored

    def stored(store: Any, collection: str, branch: Any, length: int) -> Any:
        older = (real(store, collection, branch, each) for each in range(length, -1, -1))
        return next(filter(None, older), None)

    patch.setattr(checkpoints, "_stored", stored)


def a_composition_is_written_over(patch: pytest.MonkeyPatch) -> None:
    real = folds.proposal_put

    def put(branch: Any, proposal: Any, *, if_version: int) -> Put:
        made = real(branch, proposal, if_version=if_version)
        return Put(made.collection, made.key, made.body)

    for module in (folds, compaction):
        patch.setattr(module, "proposal_put", put)


def results_of_tools_are_not_redacted(patch: pytest.MonkeyPatch) -> None:
    real = Redactor.redact_entry
    patch.setattr(
        Redactor, "redact_entry", lambda self, entry: entry if entry.role == "tool_result" else real(self, entry)
    )


def a_chunk_covers_one_entry_more_than_it_sends(patch: pytest.MonkeyPatch) -> None:
    real = observer.take_chunk

    def taken(path: Any, *args: Any, **more: Any) -> Any:
        chunk = real(path, *args, **more)
        return replace(chunk, covers=min(chunk.covers + 1, path.length()))

    patch.setattr(observer, "take_chunk", taken)


def the_extract_begins_one_entry_late(patch: pytest.MonkeyPatch) -> None:
    real = compaction._extract
    patch.setattr(
        compaction, "_extract", lambda path, observed, boundary, settings: real(path, observed + 1, boundary, settings)
    )


def a_copy_forgets_where_it_turned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(following.Following, "_was_passed", lambda self, entry: False)
    patch.setattr(intake._Intake, "_save", lambda self: None)


def _appends(patch: pytest.MonkeyPatch, change: Callable[[str, Mapping[str, Any]], Mapping[str, Any]]) -> None:
    real = SqliteStore.append

    def append(self: SqliteStore, stream: str, items: Any, **more: Any) -> Any:
        return real(self, stream, items, **change(stream, more))

    patch.setattr(SqliteStore, "append", append)


PLANTED: dict[Plant, int] = {
    a_commit_does_not_compare_its_mark: 6,
    intake_forgets_what_it_has: 0,
    a_session_is_written_over: 10,
    coverage_moves_on_failure: 3,
    a_dirty_mark_is_lost: 0,
    a_fork_inherits_all_that_its_parent_has: 1,
    a_checkpoint_answers_for_any_length: 11,
    a_composition_is_written_over: 24,
    results_of_tools_are_not_redacted: 0,
    a_chunk_covers_one_entry_more_than_it_sends: 0,
    the_extract_begins_one_entry_late: 1,
    a_copy_forgets_where_it_turned: 4,
}
"""Fault → a seed that found it when this was written: tried first, so that the test is short."""


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    first = PLANTED[plant]
    assert any(play(scenario_of(seed)).broken for seed in [first, *range(SEEDS)])

"""The reflector: what it is sent, what its desk accepts, what it records."""

from typing import Any

import pytest
from builders import NOTHING, ScriptedMind, concluded, deliver, memory_of, observed, remember, say

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.folds import confirm_fold
from minutebook.pipeline.outcomes import Committed, commit_outcome
from minutebook.records import REFLECTIONS, RETIREMENTS, Branch, Observation, reflection_line, tier_of_citations
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens
from minutebook.workers.reflector import ReflectorDesk, ReflectPrepared, prepare, reflect_batch, think
from minutebook.workers.roles import Context
from minutebook.workers.showing import NONE_YET, lines_or_none, weighed_line
from minutebook.workers.weighing import request_tokens

A, B, C = observed("a"), observed("b", "critical"), observed("c", "low")


def context(store: Store, branch: Branch, **more: Any) -> Context:
    return Context(store=store, branch=branch, settings=Settings(), now="2026-05-02T12:00:00Z", **more)


def prepared_of(store: Store, branch: Branch, **more: Any) -> ReflectPrepared:
    prepared = prepare(context(store, branch, **more))
    assert isinstance(prepared, ReflectPrepared)
    return prepared


def branch_with(store: Store, *observations: Observation, **more: Any) -> Branch:
    branch = deliver(store, [say("one", id="e1"), say("two", id="e2")])
    remember(store, branch, observations=observations, **more)
    return branch


def proposal(content: str = "The user prefers tabs", **fields: Any) -> dict[str, Any]:
    return {"content": content, "supports": [A.id], **fields}


def desk_of(store: Store, branch: Branch) -> ReflectorDesk:
    prepared = prepared_of(store, branch)
    return ReflectorDesk(prepared.batch, prepared.known)


def run(store: Store, branch: Branch, *script: Any) -> Committed:
    done = commit_outcome(store, branch, think(prepared_of(store, branch), ScriptedMind(script)))
    assert isinstance(done, Committed)
    return done


def reflected(store: Store, branch: Branch) -> int:
    return store.tip(memory_stream(branch.key)).marks.get(ledger.REFLECTOR, 0)


def test_the_request_has_current_reflections_and_active_observations_with_tiers_003_020(store: Store) -> None:
    first, second, old = concluded("first", A, A), concluded("second", A, B), concluded("old", C)
    branch = branch_with(store, A, B, C, observed("dropped"))
    remember(store, branch, reflections=[first, second, old], covers=1)
    remember(store, branch, dropped=[observed("dropped")], retired=[old])
    batch = prepared_of(store, branch).batch
    assert [reflection_line(each) for each in batch.reflections] == [f"[{first.id}] first", f"[{second.id}] second"]
    assert [weighed_line(each) for each in batch.observations] == [
        f"[{A.id}] 2026-05-02 10:30 [medium] [coverage: strong] a",
        f"[{B.id}] 2026-05-02 10:30 [critical] [coverage: partial] b",
        f"[{C.id}] 2026-05-02 10:30 [low] [coverage: none] c",
    ]
    assert batch.left_out == 0


def test_an_empty_list_is_none_yet_003_020(store: Store) -> None:
    batch = prepared_of(store, branch_with(store, A)).batch
    assert lines_or_none(map(reflection_line, batch.reflections)) == NONE_YET == "(none yet)"


def test_what_does_not_fit_the_window_is_counted_003_020(store: Store) -> None:
    seen = [observed(f"event {n}") for n in range(100)]
    branch = branch_with(store, *seen)
    remember(store, branch, reflections=[concluded(f"conclusion {n}") for n in range(100)], covers=1)
    batch = prepared_of(store, branch, window=4_000).batch
    lines = [*map(reflection_line, batch.reflections), *map(weighed_line, batch.observations)]
    assert 900 <= estimate_tokens("\n".join(lines)) <= 1_000
    assert batch.left_out == 200 - len(lines) > 0
    assert batch.reflections[-1].content == "conclusion 99"
    assert batch.observations[-1].observation.content == "event 99"
    assert reflect_batch(memory_of(store, branch), 60_000).left_out == 0


@pytest.mark.parametrize(
    ("window", "tokens"),
    [(200_000, 92_000), (32_000, 8_000), (4_096, 1_024), (None, 60_000), (0, 60_000), (-1, 60_000), (1, 1)],
)
def test_half_of_the_window_or_of_a_small_one_a_quarter_is_for_memory_003_020(window: int | None, tokens: int) -> None:
    assert request_tokens(window) == tokens


@pytest.mark.parametrize(("citations", "tier"), [(0, "none"), (1, "partial"), (2, "strong"), (7, "strong")])
def test_tier_of_citations_003_021(citations: int, tier: str) -> None:
    assert tier_of_citations(citations) == tier


def test_an_uncovered_critical_observation_forces_no_reflection_003_021(store: Store) -> None:
    branch = branch_with(store, B)
    run(store, branch, NOTHING)
    assert not memory_of(store, branch).reflections


def test_supports_are_kept_once_in_the_order_of_the_observations_003_022(store: Store) -> None:
    branch = branch_with(store, A, B, C)
    desk = desk_of(store, branch)
    desk.record([proposal(supports=[C.id, A.id, C.id, f"[{B.id}]"])])
    assert [each.support_ids for each in desk.accepted.values()] == [(A.id, B.id, C.id)]


@pytest.mark.parametrize("wrong", ["ffffffffffff", observed("dropped").id, "", "not an id"])
def test_one_wrong_support_refuses_that_reflection_alone_003_022(store: Store, wrong: str) -> None:
    branch = branch_with(store, A, B, observed("dropped"))
    remember(store, branch, dropped=[observed("dropped")])
    desk = desk_of(store, branch)
    receipt = desk.record([proposal("bad", supports=[A.id, wrong, B.id]), proposal("good")])
    assert [each.content for each in desk.accepted.values()] == ["good"]
    (reason,) = receipt.refused
    assert reason.startswith("proposal 1: supports:") and (wrong or '""') in reason


@pytest.mark.parametrize("supports", [[], None, "text"])
def test_a_reflection_without_supports_is_refused_003_022(store: Store, supports: Any) -> None:
    receipt = desk_of(store, branch_with(store, A)).record([proposal(supports=supports)])
    assert receipt.refused[0].startswith("proposal 1: supports:")


@pytest.mark.parametrize("content", ["   ", "", "two\nlines", "two\r\nlines", "two\rlines", None, 5])
def test_content_must_be_one_line_003_023(store: Store, content: Any) -> None:
    receipt = desk_of(store, branch_with(store, A)).record([proposal(content), proposal("good")])
    assert (receipt.recorded, len(receipt.refused)) == (1, 1)
    assert receipt.refused[0].startswith("proposal 1: content:")


@pytest.mark.parametrize(
    ("given", "stored"), [("  trimmed \n", "trimmed"), ("x" * 10_001, "x" * 10_000 + " […1 characters cut]")]
)
def test_content_is_trimmed_and_bounded_003_023(store: Store, given: str, stored: str) -> None:
    desk = desk_of(store, branch_with(store, A))
    desk.record([proposal(given)])
    assert [each.content for each in desk.accepted.values()] == [stored]


def test_the_wording_of_an_existing_reflection_is_a_duplicate_003_023(store: Store) -> None:
    current, retired = concluded("current", A), concluded("retired", A)
    branch = branch_with(store, A, reflections=[current, retired], covers=1)
    remember(store, branch, observations=[B], retired=[retired])
    desk = desk_of(store, branch)
    receipt = desk.record([proposal("current"), proposal("retired"), proposal("new"), proposal("new")])
    assert (receipt.recorded, receipt.duplicate, receipt.refused, receipt.total) == (1, 3, (), 1)


def test_a_reflection_that_was_retired_long_ago_is_a_duplicate_too_003_023(store: Store) -> None:
    """003-023: a compaction after which no rendering can show it makes no difference."""
    retired = concluded("retired", A)
    branch = branch_with(store, A, reflections=[retired], covers=1)
    remember(store, branch, retired=[retired])
    assert compose_memory(store, branch, 2, Settings()) and confirm_fold(store, branch)
    deliver(store, [say("three", id="e3")])
    remember(store, branch, observations=[B])
    receipt = desk_of(store, branch).record([proposal("retired", supports=[B.id])])
    assert (receipt.recorded, receipt.duplicate, receipt.refused) == (0, 1, ())


def test_it_covers_the_observations_that_it_read_003_024(store: Store) -> None:
    branch = branch_with(store, A)
    deliver(store, [say("not observed yet")])
    prepared = prepared_of(store, branch)
    deliver(store, [say("later")])
    remember(store, branch, observations=[B])
    outcome = think(prepared, ScriptedMind([[proposal()]]))
    commit_outcome(store, branch, outcome)
    (written,) = outcome.entries
    assert (written.kind, written.since, written.covers, written.covers_id) == (REFLECTIONS, 2, 2, "e2")
    assert written.data["mind"] == "scripted"
    assert reflected(store, branch) == 2
    assert memory_of(store, branch).observed == 4


def test_without_observations_there_is_nothing_to_do_003_024(store: Store) -> None:
    branch = deliver(store, [say("one")])
    assert prepare(context(store, branch)) is None
    remember(store, branch, observations=[A])
    remember(store, branch, dropped=[A])
    assert prepare(context(store, branch)) is None


def test_nothing_to_record_covers_what_was_read_003_025(store: Store) -> None:
    branch = branch_with(store, A)
    run(store, branch, NOTHING)
    assert reflected(store, branch) == 2
    assert not memory_of(store, branch).reflections
    assert prepare(context(store, branch)) is None


@pytest.mark.parametrize("error", [SpanFailed("cut"), ProviderFailed("stream error")])
def test_a_broken_run_records_nothing_003_026(store: Store, error: Exception) -> None:
    branch = branch_with(store, A)
    with pytest.raises(type(error)):
        run(store, branch, [proposal()], error)
    assert reflected(store, branch) == 0


@pytest.mark.parametrize(
    ("script", "reason"), [([], "nothing_called"), ([[]], "nothing_called"), ([[proposal("")]], "all_refused")]
)
def test_a_run_that_ends_without_a_word_fails_003_026(store: Store, script: list[Any], reason: str) -> None:
    branch = branch_with(store, A)
    with pytest.raises(SpanFailed, match="without an accepted reflection") as failed:
        run(store, branch, *script)
    assert failed.value.reason == reason
    assert reflected(store, branch) == 0


def test_a_stored_reflection_is_never_changed_003_027(store: Store) -> None:
    branch = branch_with(store, A, reflections=[concluded("stored", A)], covers=1)
    remember(store, branch, observations=[B])
    before = ledger.read_memory(store, branch)
    run(store, branch, [proposal("stored", supports=[A.id, B.id])])
    assert ledger.read_memory(store, branch)[: len(before)] == before
    assert memory_of(store, branch).reflections[concluded("stored").id].record.support_ids == (A.id,)


def test_a_correction_is_a_new_reflection_with_the_old_one_retired_003_027(store: Store) -> None:
    old, other = concluded("old", A), concluded("other", A)
    branch = branch_with(store, A, B, reflections=[old, other], covers=1)
    remember(store, branch, observations=[C])
    done = run(store, branch, [proposal("new", supersedes=[old.id, "ffffffffffff"])])
    assert [(each.kind, each.since, each.covers) for each in done.entries] == [(REFLECTIONS, 2, 2), (RETIREMENTS, 2, 2)]
    assert done.entries[1].data["by"] == "superseded"
    assert [held.record.content for held in memory_of(store, branch).current()] == ["other", "new"]


def test_unknown_superseded_ids_are_counted(store: Store) -> None:
    receipt = desk_of(store, branch_with(store, A)).record([proposal(supersedes=["ffffffffffff"])])
    assert (receipt.recorded, receipt.ignored) == (1, 1)

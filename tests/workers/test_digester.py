"""The digester: what it folds, what its desk accepts, what it records."""

from collections.abc import Sequence
from typing import Any

import pytest
from builders import NOTHING, ScriptedMind, concluded, deliver, memory_of, observed, remember, say

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.clocks import due_roles
from minutebook.pipeline.outcomes import Committed, Outcome, Refused, commit_outcome
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import digest_budget, full_projection
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.recall import recall
from minutebook.records import DIGEST, Branch, Reflection, reflection_line
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens
from minutebook.workers.digester import DigestPrepared, in_steps, kept_verbatim, prepare, selected, think
from minutebook.workers.roles import Context

SEEN = observed("seen")
TOTAL = 250
"""Splits into 100 for the digest and 150 for the rest."""


def sized(name: str, tokens: int) -> Reflection:
    """A reflection whose rendered line has exactly so many tokens."""
    made = concluded(f"{name} ".ljust(tokens * 4 - 15, "."), SEEN)
    assert made.tokens == tokens
    return made


SIX = [sized(f"r{n}", 40) for n in range(6)]


def settings(total: int = TOTAL) -> Settings:
    return Settings(reflection_context_max_tokens=total)


def context(store: Store, branch: Branch, total: int = TOTAL, **more: Any) -> Context:
    return Context(store=store, branch=branch, settings=settings(total), now="2026-05-02T12:00:00Z", **more)


def prepared_of(store: Store, branch: Branch, total: int = TOTAL, **more: Any) -> DigestPrepared:
    prepared = prepare(context(store, branch, total, **more))
    assert isinstance(prepared, DigestPrepared)
    return prepared


def branch_with(store: Store, *reflections: Reflection) -> Branch:
    branch = deliver(store, [say("one", id="e1")])
    remember(store, branch, observations=[SEEN], reflections=reflections)
    return branch


def run(store: Store, branch: Branch, *script: Any, total: int = TOTAL) -> Committed | Refused:
    outcome = think(prepared_of(store, branch, total), ScriptedMind(script))
    return commit_outcome(store, branch, outcome)


def text(content: str) -> list[dict[str, str]]:
    return [{"content": content}]


def due(store: Store, branch: Branch, total: int = TOTAL) -> bool:
    return "digester" in due_roles(read_state(store, branch), settings(total))


def folded(prepared: DigestPrepared) -> list[Reflection]:
    return [reflection for step in prepared.steps for reflection in step]


def contents(reflections: Sequence[Reflection]) -> list[str]:
    return [each.content.split()[0] for each in reflections]


@pytest.mark.parametrize(
    ("total", "digest", "high_water"),
    [(10_000, 4_000, 6_000), (9_000, 3_600, 5_400), (1, 1, 0), (2, 1, 1), (TOTAL, 100, 150)],
)
def test_budget_003_029(total: int, digest: int, high_water: int) -> None:
    budget = digest_budget(total)
    assert (budget.digest, budget.high_water, budget.target) == (digest, high_water, digest)


def test_due_only_over_the_high_water_mark_with_a_new_reflection_003_030(store: Store) -> None:
    branch = branch_with(store, *SIX[:3], sized("edge", 30))
    assert not due(store, branch)
    remember(store, branch, reflections=[sized("one over", 10)])
    assert due(store, branch)
    run(store, branch, text("folded"))
    assert not due(store, branch)


def test_a_lowered_budget_rebuilds_from_the_reflections_003_031(store: Store) -> None:
    branch = branch_with(store, *SIX)
    run(store, branch, text("old digest " * 30))
    before = prepared_of(store, branch, 100)
    assert due(store, branch, 100)
    assert before.previous == ""
    assert contents(folded(before)) == ["r0", "r1", "r2", "r3", "r4"]
    assert before.budget_tokens == 40
    run(store, branch, text("small"), total=100)
    assert not due(store, branch, 100)
    assert full_projection(page_of(memory_of(store, branch)), digest_tokens=40).digest is not None


def test_a_rebuild_reaches_at_least_the_old_watermark_003_031(store: Store) -> None:
    """003-031: even where the newest reflection is inside the old digest."""
    branch = branch_with(store, *SIX)
    remember(store, branch, digest=("long " * 300, SIX[5]))
    assert contents(folded(prepared_of(store, branch))) == ["r0", "r1", "r2", "r3", "r4", "r5"]


def test_a_digest_that_tells_a_retired_reflection_is_rebuilt(store: Store) -> None:
    branch = branch_with(store, *SIX)
    run(store, branch, text("tells r0"))
    remember(store, branch, retired=[SIX[0]])
    prepared = prepared_of(store, branch)
    assert (prepared.previous, contents(folded(prepared))) == ("", ["r1", "r2", "r3"])


@pytest.mark.parametrize(
    ("sizes", "target", "kept"),
    [([2, 3, 4, 5], 9, 2), ([2, 3, 4, 5], 8, 1), ([2, 3, 4, 5], 14, 4), ([50], 9, 1), ([1, 50], 9, 1), ([], 9, 0)],
)
def test_how_many_stay_word_for_word_003_032(sizes: list[int], target: int, kept: int) -> None:
    assert kept_verbatim(sizes, target) == kept


def test_the_newest_that_fit_the_target_are_not_sent_003_032(store: Store) -> None:
    branch = branch_with(store, *SIX)
    assert contents(folded(prepared_of(store, branch))) == ["r0", "r1", "r2", "r3"]


def test_with_nothing_older_no_mind_is_asked_003_032(store: Store) -> None:
    branch = branch_with(store, sized("large", 500))
    assert due(store, branch)
    outcome = prepare(context(store, branch))
    assert isinstance(outcome, Outcome) and outcome.entries == ()
    commit_outcome(store, branch, outcome)
    assert not due(store, branch)
    remember(store, branch, reflections=[sized("newer", 40)])
    assert contents(folded(prepared_of(store, branch))) == ["large"]


def test_without_reflections_there_is_nothing_to_do(store: Store) -> None:
    assert prepare(context(store, deliver(store, [say("one")]))) is None


def test_the_second_request_has_the_first_digest_and_only_what_is_newer_003_033(store: Store) -> None:
    branch = branch_with(store, *SIX)
    run(store, branch, text("first digest"))
    remember(store, branch, reflections=[sized(f"n{n}", 40) for n in range(3)])
    mind = ScriptedMind([text("second digest")])
    commit_outcome(store, branch, think(prepared_of(store, branch), mind))
    (batch,) = mind.batches
    assert (batch.previous, contents(batch.reflections), batch.budget_tokens) == (
        "first digest",
        ["r4", "r5", "n0"],
        100,
    )
    assert full_projection(page_of(memory_of(store, branch)), digest_tokens=100).digest is not None


def test_a_rebuild_goes_in_steps_that_fit_the_window_003_033(store: Store) -> None:
    branch = branch_with(store, *SIX)
    prepared = prepared_of(store, branch, window=800)
    assert [contents(step) for step in prepared.steps] == [["r0", "r1"], ["r2", "r3"]]
    mind = ScriptedMind(lambda batch, desk: desk.record(text(batch.previous + "+" + batch.reflections[-1].content[:2])))
    (written,) = think(prepared, mind).entries
    assert [batch.previous for batch in mind.batches] == ["", "+r1"]
    assert written.data["content"] == "+r1+r3"


def test_steps_are_whole_reflections_003_033() -> None:
    assert [len(step) for step in in_steps(SIX, 41)] == [1] * 6
    assert [len(step) for step in in_steps(SIX, 1)] == [1] * 6
    assert [len(step) for step in in_steps(SIX, 123)] == [3, 3]
    assert in_steps([], 100) == ()


def test_an_answer_is_trimmed_and_freed_of_carriage_returns_003_034(store: Store) -> None:
    branch = branch_with(store, *SIX)
    run(store, branch, text("  one\r\ntwo\rthree \n"))
    assert memory_of(store, branch).digests[-1].content == "one\ntwothree"


@pytest.mark.parametrize("answer", ["", " \r\n ", "x" * 401, None])
def test_an_empty_or_over_long_answer_is_refused_003_034(store: Store, answer: Any) -> None:
    branch = branch_with(store, *SIX)
    with pytest.raises(SpanFailed, match="without a digest"):
        run(store, branch, [{"content": answer}])
    assert memory_of(store, branch).digests == []


def test_an_answer_of_exactly_the_budget_is_taken_003_034(store: Store) -> None:
    branch = branch_with(store, *SIX)
    mind = ScriptedMind([text("x" * 401), text("x" * 400)])
    commit_outcome(store, branch, think(prepared_of(store, branch), mind))
    assert memory_of(store, branch).digests[-1].tokens == 100
    assert [receipt.total for receipt in mind.receipts] == [0, 1]
    assert mind.receipts[0].refused[0].startswith("proposal 1: content: about 101 tokens, 1 over")


def test_two_over_long_answers_make_a_digest_by_selection_003_034(store: Store) -> None:
    branch = branch_with(store, *SIX)
    run(store, branch, text("y" * 401), text("z" * 404))
    (digest,) = memory_of(store, branch).digests
    lines = digest.content.split("\n")
    assert set(lines) <= {each.content for each in SIX[:4]} and SIX[3].content in lines
    assert 0 < digest.tokens <= 100
    assert digest.through == SIX[3].id


def test_the_second_receipt_says_that_the_run_has_its_digest_003_034(store: Store) -> None:
    mind = ScriptedMind([text("y" * 401), text("z" * 401)])
    think(prepared_of(store, branch_with(store, *SIX)), mind)
    assert [(receipt.recorded, receipt.total) for receipt in mind.receipts] == [(0, 0), (0, 1)]
    assert mind.receipts[1].refused[0].endswith("you can end")


def test_a_selection_tells_of_all_that_it_covers_003_034(store: Store) -> None:
    """003-034: also of what only the previous digest told."""
    branch = branch_with(store, *SIX)
    run(store, branch, text("first digest"))
    remember(store, branch, reflections=[sized("n0", 40), sized("n1", 60), sized("n2", 40)])
    run(store, branch, text("y" * 401), text("z" * 401))
    last = memory_of(store, branch).digests[-1]
    assert last.content != "first digest" and last.tokens <= 100


@pytest.mark.parametrize("budget", [1, 2, 9, 40, 1_000])
def test_a_selection_never_exceeds_its_budget_003_034(budget: int) -> None:
    chosen = selected(SIX, budget)
    assert chosen and estimate_tokens(chosen) <= budget


def test_what_a_digest_records_003_035(store: Store) -> None:
    branch = branch_with(store, *SIX)
    done = run(store, branch, text("a digest"))
    assert isinstance(done, Committed)
    (written,) = done.entries
    assert (written.kind, written.covers, written.since, written.covers_id) == (DIGEST, 1, 1, "e1")
    assert {name: written.data[name] for name in ("content", "coversThroughReflectionId", "tokenCount", "mind")} == {
        "content": "a digest",
        "coversThroughReflectionId": SIX[3].id,
        "tokenCount": 2,
        "mind": "scripted",
    }


def test_a_reflection_under_the_watermark_stays_in_the_ledger_003_035(store: Store) -> None:
    branch = branch_with(store, *SIX)
    run(store, branch, text("a digest"))
    assert [each.record for each in recall(store, branch, SIX[0].id).reflections] == [SIX[0]]
    projection = full_projection(page_of(memory_of(store, branch)), digest_tokens=100)
    assert projection.recent_lines() == [reflection_line(each) for each in SIX[4:]]
    assert [each.id for each in projection.reflection_records()] == [each.id for each in SIX]


def test_a_digest_that_lands_meanwhile_wins_003_036(store: Store) -> None:
    branch = branch_with(store, *SIX)
    outcome = think(prepared_of(store, branch), ScriptedMind([text("late")]))
    remember(store, branch, digest=("came first", SIX[4]))
    refused = commit_outcome(store, branch, outcome)
    assert isinstance(refused, Refused) and refused.stale.what == ledger.DIGESTS_RECORDED
    assert [digest.content for digest in memory_of(store, branch).digests] == ["came first"]


def test_a_reflection_retired_meanwhile_refuses_the_digest_003_036(store: Store) -> None:
    branch = branch_with(store, *SIX)
    outcome = think(prepared_of(store, branch), ScriptedMind([text("late")]))
    remember(store, branch, retired=[SIX[0]])
    refused = commit_outcome(store, branch, outcome)
    assert isinstance(refused, Refused) and refused.stale.what == ledger.REFLECTIONS_RETIRED
    assert memory_of(store, branch).digests == []


def test_new_reflections_meanwhile_leave_the_prefix_as_it_was_003_036(store: Store) -> None:
    branch = branch_with(store, *SIX)
    outcome = think(prepared_of(store, branch), ScriptedMind([text("in time")]))
    remember(store, branch, reflections=[sized("newer", 40)])
    assert isinstance(commit_outcome(store, branch, outcome), Committed)
    state = read_state(store, branch)
    assert (state.digester_read, state.reflections_recorded) == (6, 7)


@pytest.mark.parametrize(
    "script",
    [(text("accepted"), SpanFailed("cut")), (text("accepted"), ProviderFailed("stream error")), (), (text(""),)],
    ids=["cut", "stream error", "silence", "an empty text"],
)
def test_a_failed_run_appends_nothing_003_037(store: Store, script: Sequence[Any]) -> None:
    branch = branch_with(store, *SIX)
    before = store.tip(memory_stream(branch.key))
    with pytest.raises((SpanFailed, ProviderFailed)):
        run(store, branch, *script)
    assert store.tip(memory_stream(branch.key)) == before
    assert due(store, branch)


def test_the_explicit_nothing_waits_for_another_reflection(store: Store) -> None:
    branch = branch_with(store, *SIX)
    run(store, branch, NOTHING)
    assert memory_of(store, branch).digests == []
    assert not due(store, branch)

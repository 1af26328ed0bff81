"""The dropper: what it is sent, how proposals are cut, what it records."""

from typing import Any

import pytest
from builders import NOTHING, ScriptedMind, concluded, deliver, memory_of, observed, remember, say

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline.outcomes import Committed, commit_outcome
from minutebook.pipeline.readings import read_state
from minutebook.records import DROPS, Branch, Observation, Relevance, Tier
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers.contract import Weighed
from minutebook.workers.dropper import DropperDesk, DropPrepared, first_to_go, max_drops, prepare, think
from minutebook.workers.roles import Context
from minutebook.workers.showing import UNREADABLE_TIME, weighed_line

TEN = [observed(f"event {n}", timestamp=f"2026-05-02 10:{n:02}") for n in range(10)]
POOL = sum(each.tokens for each in TEN)
DURABLE = concluded("durable", TEN[0])


def context(store: Store, branch: Branch, target: int = POOL // 2, **more: Any) -> Context:
    settings = Settings(observations_pool_target_tokens=target)
    return Context(store=store, branch=branch, settings=settings, now="2026-05-02T12:00:00Z", **more)


def prepared_of(store: Store, branch: Branch, target: int = POOL // 2, **more: Any) -> DropPrepared:
    prepared = prepare(context(store, branch, target, **more))
    assert isinstance(prepared, DropPrepared)
    return prepared


def branch_with(store: Store, *observations: Observation, reflections: Any = (DURABLE,)) -> Branch:
    branch = deliver(store, [say("one", id="e1"), say("two", id="e2")])
    remember(store, branch, observations=observations, reflections=reflections)
    return branch


def run(store: Store, branch: Branch, *script: Any, target: int = POOL // 2) -> Committed:
    done = commit_outcome(store, branch, think(prepared_of(store, branch, target), ScriptedMind(script)))
    assert isinstance(done, Committed)
    return done


def drops(*observations: Observation) -> list[dict[str, str]]:
    return [{"id": each.id, "reason": "covered"} for each in observations]


def active(store: Store, branch: Branch) -> list[Observation]:
    return [held.record for held in memory_of(store, branch).active()]


def weighed(tier: Tier, relevance: Relevance, timestamp: str = "2026-05-02 10:30", content: str = "") -> Weighed:
    return Weighed(observation=observed(content or f"{tier}{relevance}", relevance, timestamp=timestamp), tier=tier)


def test_it_reads_the_reflections_recorded_since_its_last_run_003_039(store: Store) -> None:
    branch = branch_with(store, *TEN)
    assert read_state(store, branch).dropper_read < read_state(store, branch).reflections_recorded == 1
    assert prepared_of(store, branch).batch.reflections == (DURABLE,)
    run(store, branch, drops(TEN[0]))
    assert read_state(store, branch).dropper_read == 1


def test_a_failed_run_leaves_the_reflection_unread_003_039(store: Store) -> None:
    branch = branch_with(store, *TEN)
    with pytest.raises(SpanFailed):
        run(store, branch)
    assert read_state(store, branch).dropper_read == 0
    assert prepared_of(store, branch).batch.reflections == (DURABLE,)


def test_the_pool_is_the_sum_of_rendered_lines_003_040(store: Store) -> None:
    fifty = [observed(f"{n}" * (200 - 41)) for n in range(2)]
    assert [each.tokens for each in fifty] == [50, 50]
    branch = branch_with(store, *fifty)
    assert prepare(context(store, branch, 100)) is None
    assert prepared_of(store, branch, 99).batch.pool_tokens == 100
    remember(store, branch, dropped=[fifty[0]])
    assert prepared_of(store, branch, 49).batch.pool_tokens == read_state(store, branch).pool_tokens == 50


@pytest.mark.parametrize(
    ("pool", "target", "count", "most"),
    [
        (100, 100, 10, 0),
        (100, 90, 10, 1),
        (100, 91, 10, 1),
        (100, 89, 10, 2),
        (100, 50, 10, 5),
        (100, 0, 10, 10),
        (100, 99, 1, 1),
        (0, 0, 0, 0),
        (50, 100, 5, 0),
    ],
)
def test_max_drops_003_041(pool: int, target: int, count: int, most: int) -> None:
    assert max_drops(pool, target, count) == most


def test_the_request_tells_pool_target_maximum_and_tiers_003_042(store: Store) -> None:
    branch = branch_with(store, *TEN)
    batch = prepared_of(store, branch, POOL // 2).batch
    assert (batch.pool_tokens, batch.target_tokens) == (POOL, POOL // 2)
    assert batch.max_drops == max_drops(POOL, POOL // 2, 10) == 5
    assert [each.tier for each in batch.observations] == ["partial"] + ["none"] * 9
    assert weighed_line(batch.observations[0]) == (
        f"[{TEN[0].id}] 2026-05-02 10:00 [medium] [coverage: partial] event 0"
    )


def test_at_the_target_or_without_observations_there_is_nothing_to_do_003_042(store: Store) -> None:
    branch = branch_with(store, *TEN)
    assert prepare(context(store, branch, POOL)) is None
    remember(store, branch, dropped=TEN)
    assert prepare(context(store, branch, 1)) is None


def test_what_does_not_fit_the_window_is_not_shown_and_cannot_be_dropped(store: Store) -> None:
    branch = branch_with(store, *TEN)
    batch = prepared_of(store, branch, 1, window=200).batch
    assert 0 < len(batch.observations) < 10
    assert batch.max_drops == len(batch.observations)
    assert batch.observations[0].observation.id == TEN[0].id
    assert batch.pool_tokens == POOL


def test_only_ids_that_were_shown_are_taken_once_003_043(store: Store) -> None:
    gone = observed("gone")
    branch = branch_with(store, *TEN, gone)
    remember(store, branch, dropped=[gone])
    desk = DropperDesk(prepared_of(store, branch).batch)
    first = desk.record([*drops(TEN[0], gone, TEN[0]), {"id": "ffffffffffff"}, {"reason": "no id"}])
    second = desk.record([*drops(TEN[0], TEN[1]), {"id": f"[{TEN[2].id}]", "content": "rewritten"}])
    assert (first.recorded, first.duplicate, len(first.refused), first.total) == (1, 1, 3, 1)
    assert (second.recorded, second.duplicate, len(second.refused), second.total) == (2, 1, 0, 3)
    assert list(desk.proposed) == [TEN[0].id, TEN[1].id, TEN[2].id]


def test_nothing_but_ids_is_recorded_003_043(store: Store) -> None:
    branch = branch_with(store, *TEN)
    (written,) = run(store, branch, drops(TEN[3], TEN[2])).entries
    assert written.kind == DROPS
    assert written.data["observationIds"] == [TEN[2].id, TEN[3].id]
    assert written.data["by"] == "dropper"
    assert "covered" not in str(written.data)


def test_the_order_of_dropping_003_044() -> None:
    ordered = [
        weighed("strong", "low"),
        weighed("strong", "critical"),
        weighed("partial", "low", "2026-05-01 00:00"),
        weighed("partial", "low", "2026-05-02 00:00"),
        weighed("partial", "low", "2020-99-02 00:00", "unreadable"),
        weighed("partial", "medium"),
        weighed("none", "low"),
        weighed("none", "high"),
    ]
    for maximum in range(len(ordered) + 2):
        assert first_to_go(reversed(ordered), maximum) == ordered[:maximum]


def test_of_equal_ones_the_first_proposed_goes_first_003_044() -> None:
    equal = [weighed("none", "low", content=word) for word in ("c", "a", "b")]
    assert first_to_go(equal, 2) == equal[:2]
    assert first_to_go([weighed("none", "low", UNREADABLE_TIME), equal[0]], 1) == [equal[0]]


def test_proposals_of_all_calls_are_cut_once_003_044(store: Store) -> None:
    """003-044: the critical, strongly covered one goes before the uncovered low ones."""
    critical = observed("critical", "critical", timestamp="2026-05-02 11:00")
    low = [observed(f"low {n}", "low", timestamp=f"2026-05-02 10:{n:02}") for n in range(3)]
    branch = branch_with(store, *low, critical, reflections=[concluded("x", critical), concluded("y", critical)])
    pool = sum(each.tokens for each in [*low, critical])
    assert prepared_of(store, branch, pool // 2).batch.max_drops == 2
    run(store, branch, drops(low[2]), drops(low[1], low[0]), drops(critical), target=pool // 2)
    assert active(store, branch) == [low[1], low[2]]


@pytest.mark.parametrize(("observed_to", "reflected_to", "covers"), [(2, 1, 1), (1, 2, 1), (2, 2, 2)])
def test_it_covers_the_earlier_of_both_coverages_003_045(
    store: Store, observed_to: int, reflected_to: int, covers: int
) -> None:
    branch = deliver(store, [say("one", id="e1"), say("two", id="e2")])
    remember(store, branch, observations=TEN, covers=observed_to)
    remember(store, branch, reflections=[DURABLE], covers=reflected_to)
    (written,) = run(store, branch, drops(TEN[0])).entries
    assert (written.covers, written.since, written.covers_id) == (covers, covers, f"e{covers}")


def test_no_safe_drops_waits_for_another_reflection_003_046(store: Store) -> None:
    branch = branch_with(store, *TEN)
    done = run(store, branch, NOTHING)
    assert done.entries == ()
    state = read_state(store, branch)
    assert state.dropper_read == state.reflections_recorded == 1
    assert active(store, branch) == TEN


@pytest.mark.parametrize("error", [SpanFailed("cut"), ProviderFailed("stream error")])
def test_a_broken_run_drops_nothing_003_046(store: Store, error: Exception) -> None:
    branch = branch_with(store, *TEN)
    with pytest.raises(type(error)):
        run(store, branch, drops(TEN[0]), error)
    assert active(store, branch) == TEN


def test_a_run_without_a_word_fails_003_046(store: Store) -> None:
    branch = branch_with(store, *TEN)
    with pytest.raises(SpanFailed, match="without an accepted drop"):
        run(store, branch, [{"id": "ffffffffffff"}])

"""due_roles and the compaction clock, at, under and over each threshold."""

from dataclasses import replace

import pytest

from minutebook.pipeline.clocks import (
    BranchState,
    compact_reading,
    compaction_due,
    due_roles,
    observe_reading,
    reflect_reading,
)
from minutebook.settings import Settings

DEFAULTS = Settings()


def due(state: BranchState, settings: Settings = DEFAULTS) -> set[str]:
    return set(due_roles(state, settings))


@pytest.mark.parametrize(("tokens", "is_due"), [(0, False), (9_999, False), (10_000, True), (10_001, True)])
@pytest.mark.parametrize("observed", [0, 40])
def test_observer_at_its_threshold_003_049(tokens: int, is_due: bool, observed: int) -> None:
    assert ("observer" in due(BranchState(unobserved_tokens=tokens, observed=observed))) is is_due


@pytest.mark.parametrize(("tokens", "is_due"), [(999, False), (1_000, True)])
@pytest.mark.parametrize("quiet", [{"ended": True}, {"idle_seconds": 300.0}])
def test_a_tail_is_flushed_when_the_session_ended_or_went_idle_003_050(
    tokens: int, is_due: bool, quiet: dict[str, float]
) -> None:
    assert due(BranchState(unobserved_tokens=tokens, **quiet)) == ({"observer"} if is_due else set())  # type: ignore[arg-type]
    assert due(BranchState(unobserved_tokens=tokens, idle_seconds=299.9)) == set()


@pytest.mark.parametrize(("tokens", "is_due"), [(19_999, False), (20_000, True), (20_001, True)])
def test_reflector_at_its_threshold_003_051(tokens: int, is_due: bool) -> None:
    state = BranchState(unreflected_tokens=tokens, observed=5, reflected=4, pool_tokens=1)
    assert ("reflector" in due(state)) is is_due


def test_reflector_waits_for_observations_past_its_coverage_003_051() -> None:
    assert due(BranchState(unreflected_tokens=20_000, observed=5, reflected=5, pool_tokens=1)) == set()
    assert due(BranchState(unreflected_tokens=20_000)) == set()


def test_reflector_is_not_due_without_an_active_observation_003_024() -> None:
    """A span with nothing to record is covered by no observation: there is nothing to reflect on."""
    covered = BranchState(unreflected_tokens=30_000, observed=5)
    assert due(covered) == set()
    assert due(replace(covered, pool_tokens=1)) == {"reflector"}


def test_reflector_and_observer_do_not_wait_for_each_other_003_052() -> None:
    both = BranchState(unobserved_tokens=10_000, unreflected_tokens=30_000, observed=5, pool_tokens=1)
    assert due(both) == {"observer", "reflector"}
    assert due(replace(both, unobserved_tokens=0)) == {"reflector"}


@pytest.mark.parametrize(
    ("tokens", "factor", "is_due"),
    [(5_000, 2.0, True), (4_999, 2.0, False), (10_000, 0.5, False), (20_000, 0.5, True), (3_334, 3.0, True)],
)
def test_the_learned_factor_scales_the_clock_003_054(tokens: int, factor: float, is_due: bool) -> None:
    assert ("observer" in due(BranchState(unobserved_tokens=tokens, factor=factor))) is is_due


def test_the_factor_scales_the_reflector_and_not_the_compaction_003_054_003_057() -> None:
    state = BranchState(unreflected_tokens=10_000, compacted_from_tokens=80_999, factor=2.0, observed=1, pool_tokens=1)
    assert reflect_reading(state, DEFAULTS).tokens == 20_000
    assert due(state) == {"reflector"}
    assert not compact_reading(state, DEFAULTS).reached


@pytest.mark.parametrize(("tokens", "reached"), [(80_999, False), (81_000, True)])
@pytest.mark.parametrize("window", [1_000_000, 0, None])
def test_calibrated_mode_ignores_the_window_003_058(tokens: int, reached: bool, window: int | None) -> None:
    assert compact_reading(BranchState(compacted_from_tokens=tokens), DEFAULTS, window).reached is reached


@pytest.mark.parametrize(
    ("window", "threshold"),
    [(1_000_000, 500_000), (200_000, 100_000), (1, 1), (0, 81_000), (-5, 81_000), (None, 81_000)],
)
def test_ratio_mode_003_059(window: int | None, threshold: int) -> None:
    settings = Settings(compact_after_tokens_mode="ratio", compact_after_tokens_ratio=0.5)
    assert compact_reading(BranchState(), settings, window).threshold == threshold


def test_no_second_compaction_before_enough_new_sources_003_063() -> None:
    kept = BranchState(compacted_from_tokens=90_000, compacted=True)
    assert not compaction_due(kept, DEFAULTS)
    assert not compaction_due(replace(kept, compacted_from_tokens=99_999, since_compaction_tokens=9_999), DEFAULTS)
    assert compaction_due(replace(kept, compacted_from_tokens=100_000, since_compaction_tokens=10_000), DEFAULTS)
    assert compaction_due(BranchState(compacted_from_tokens=81_000), DEFAULTS)


@pytest.mark.parametrize(("tokens", "is_due"), [(6_000, False), (6_001, True)])
def test_digester_over_its_high_water_mark_003_030(tokens: int, is_due: bool) -> None:
    state = BranchState(undigested_tokens=tokens, reflections_recorded=3, digester_read=2, digest_budget=10_000)
    assert ("digester" in due(state)) is is_due
    assert "digester" not in due(replace(state, digester_read=3))


def test_digester_over_its_share_when_something_changed_003_031() -> None:
    state = BranchState(digest_tokens=4_001, reflections_recorded=3, digester_read=3, digest_budget=10_000)
    assert due(state) == set()
    assert due(replace(state, digester_read=2)) == {"digester"}
    lowered = Settings(reflection_context_max_tokens=1_000)
    assert due(state, lowered) == {"digester"}
    assert due(replace(state, digest_budget=1_000), lowered) == set()
    assert due(replace(state, digest_tokens=4_000, digester_read=2)) == set()


@pytest.mark.parametrize(("tokens", "is_due"), [(10_000, False), (10_001, True)])
def test_dropper_over_its_target_after_a_reflection_003_039(tokens: int, is_due: bool) -> None:
    state = BranchState(pool_tokens=tokens, reflections_recorded=1)
    assert ("dropper" in due(state)) is is_due
    assert "dropper" not in due(replace(state, dropper_read=1))


FULL = BranchState(
    unobserved_tokens=50_000,
    unreflected_tokens=50_000,
    observed=9,
    pool_tokens=50_000,
    undigested_tokens=50_000,
    reflections_recorded=9,
    compacted_from_tokens=200_000,
    ended=True,
)


def test_passive_makes_nothing_due_003_139() -> None:
    passive = Settings(passive=True)
    assert due(FULL) == {"observer", "reflector", "digester", "dropper"}
    assert due(FULL, passive) == set()
    assert compaction_due(FULL, DEFAULTS)
    assert not compaction_due(FULL, passive)


def test_subagents_only_where_they_are_to_be_observed() -> None:
    state = replace(FULL, subagent=True)
    assert due(state) == set()
    assert due(state, Settings(observe_subagents=True)) == due(FULL)


def test_a_reason_tells_reading_and_threshold() -> None:
    told = due_roles(BranchState(unobserved_tokens=12_345), DEFAULTS)
    assert told == {"observer": "12,345 unobserved tokens ≥ 10,000"}
    assert observe_reading(BranchState(unobserved_tokens=12_345), DEFAULTS).reached

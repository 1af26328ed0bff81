"""due_roles and the compaction clock where two rules meet; the plain thresholds are in test_clocks.py."""

from dataclasses import replace

import pytest

from minutebook.pipeline.clocks import BranchState, compact_reading, compaction_due, due_roles
from minutebook.settings import Settings

DEFAULTS = Settings()


def test_the_defaults_that_the_clocks_compare() -> None:
    names = {
        "observe_after_tokens": 10_000,
        "flush_min_tokens": 1_000,
        "flush_idle_seconds": 300,
        "reflect_after_tokens": 20_000,
        "observations_pool_max_tokens": 20_000,
        "observations_pool_target_tokens": 10_000,
        "reflection_context_max_tokens": 10_000,
        "compact_after_tokens": 81_000,
        "compact_after_tokens_mode": "calibrated",
        "compact_after_tokens_ratio": 0.68,
    }
    assert {name: getattr(DEFAULTS, name) for name in names} == names


FULL = BranchState(
    unreflected_tokens=30_000,
    observed=9,
    reflected=4,
    pool_tokens=15_000,
    undigested_tokens=9_000,
    reflections_recorded=3,
    dropper_read=2,
    digester_read=2,
)
"""Reflector, dropper and digester have something to do."""


@pytest.mark.parametrize(
    ("failed", "others"),
    [
        ({}, {"reflector", "digester", "dropper"}),
        ({"observed": 4}, {"digester", "dropper"}),
        ({"dropper_read": 3, "digester_read": 3}, {"reflector"}),
        ({"observed": 4, "dropper_read": 3, "digester_read": 3}, set()),
        ({"dropper_read": 3}, {"reflector", "digester"}),
    ],
    ids=["none", "observer", "reflector", "both", "nothing new for the dropper alone"],
)
def test_what_one_role_did_not_do_is_no_work_for_another_003_166(failed: dict[str, int], others: set[str]) -> None:
    assert due_roles(replace(FULL, **failed), DEFAULTS).keys() == others


@pytest.mark.parametrize(("factor", "is_due"), [(0.5, False), (1.0, False), (1.25, True)])
def test_a_tail_is_weighed_by_the_learned_factor_too_003_054(factor: float, is_due: bool) -> None:
    state = BranchState(unobserved_tokens=800, factor=factor, ended=True)
    assert bool(due_roles(state, DEFAULTS)) is is_due


@pytest.mark.parametrize(
    ("kept", "new", "is_due"),
    [(1_000, 3_999, False), (1_000, 4_000, True), (5_000, 0, False), (5_000, 9_999, False), (5_000, 10_000, True)],
)
def test_only_kept_entries_that_reach_the_threshold_alone_hold_the_trigger_003_063(
    kept: int, new: int, is_due: bool
) -> None:
    """With a threshold below observe_after_tokens, an ordinary kept tail does not delay the next compaction."""
    state = BranchState(compacted=True, compacted_from_tokens=kept + new, since_compaction_tokens=new)
    assert compaction_due(state, replace(DEFAULTS, compact_after_tokens=5_000)) is is_due


def test_the_first_compaction_waits_for_nothing_but_its_threshold_003_063() -> None:
    assert compaction_due(BranchState(compacted_from_tokens=81_000), DEFAULTS)
    assert not compaction_due(BranchState(compacted_from_tokens=80_999), DEFAULTS)


@pytest.mark.parametrize("window", [3, 7, 100, 128_000, 200_000, 1_000_000])
def test_the_ratio_is_floored_and_at_least_one_003_059(window: int) -> None:
    settings = replace(DEFAULTS, compact_after_tokens_mode="ratio")
    threshold = compact_reading(BranchState(), settings, window).threshold
    assert max(1, window * 68 // 100 - 1) <= threshold <= max(1, window * 68 // 100)


def test_ratio_mode_reaches_its_own_threshold_003_059() -> None:
    settings = replace(DEFAULTS, compact_after_tokens_mode="ratio", compact_after_tokens_ratio=0.5)
    assert compaction_due(BranchState(compacted_from_tokens=50_000), settings, 100_000)
    assert not compaction_due(BranchState(compacted_from_tokens=49_999), settings, 100_000)


def test_nothing_is_due_on_an_empty_branch() -> None:
    assert due_roles(BranchState(ended=True, idle_seconds=10**9), DEFAULTS) == {}

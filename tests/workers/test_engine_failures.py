"""Failures in the engine: kept apart by role and branch, and none ends a thread."""

from dataclasses import replace

import pytest
from builders import ScriptedMind, memory_of
from jobs import (
    BACKENDS,
    ROLES,
    SMALL,
    WAIT,
    Clock,
    contents,
    do_all,
    engine,
    observing_mind,
    session_of_entries,
)

from minutebook.errors import BadSetting, ProviderFailed, StoreCorrupt
from minutebook.pipeline.status import role_errors, work_done
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers.contract import Mind
from minutebook.workers.engine import Engine


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("failing", ROLES)
def test_each_role_failing_in_turn_003_166(clocked: Store, clock: Clock, failing: str) -> None:
    branch = session_of_entries(clocked, 6)
    settings = replace(
        SMALL,
        reflect_after_tokens=50,
        observations_pool_max_tokens=2,
        observations_pool_target_tokens=1,
        reflection_context_max_tokens=1,
    )
    asked: list[str] = []

    def minds(role: str, chosen: Settings, branch: Branch) -> Mind:
        asked.append(role)
        return ScriptedMind([ProviderFailed("down")] if role == failing else do_all)

    with Engine(clocked, minds=minds, settings_for=lambda _: settings) as working:
        assert not working.run_until_idle(WAIT)
    memory = memory_of(clocked, branch)
    ran = {role for role, row in work_done(clocked, branch).items() if row["recorded"] or row["nothing"]}
    expected = {
        "observer": set(),
        "reflector": {"observer"},
        "dropper": {"observer", "reflector"},
        "digester": {"observer", "reflector", "dropper"},
    }
    assert expected[failing] <= ran and failing not in ran
    assert bool(memory.observations) is (failing != "observer")
    assert bool(memory.reflections) is (failing not in ("observer", "reflector"))
    assert [error.role for error in role_errors(clocked, branch)] == [failing]
    if failing == "dropper":
        assert "digester" in asked


def test_one_branch_that_cannot_be_read_does_not_hold_up_the_others(store: Store) -> None:
    bad, good = session_of_entries(store, 3, "bad", project="/bad"), session_of_entries(store, 3, "good")

    def settings_for(branch: Branch) -> Settings:
        if branch.project == "/bad":
            raise BadSetting("/bad/.minutebook.toml, line 1: nonsense")
        return SMALL

    with Engine(store, mind=observing_mind(), settings_for=settings_for) as working:
        assert working.run_until_idle(WAIT)
    assert (len(contents(memory_of(store, good))), len(contents(memory_of(store, bad)))) == (3, 0)
    assert "line 1" in role_errors(store, bad)[0].error


def test_a_bug_in_a_role_ends_no_thread(clocked: Store, clock: Clock) -> None:
    branch = session_of_entries(clocked, 3)
    mind = ScriptedMind([ZeroDivisionError("a bug")])
    with engine(clocked, mind, concurrency=1) as working:
        assert not working.run_until_idle(WAIT)
        assert role_errors(clocked, branch)[0].error == "ZeroDivisionError: a bug"
        mind.script = do_all
        clock.now += 300
        assert working.run_until_idle(WAIT)


def test_a_store_that_cannot_be_used_ends_the_engine(store: Store) -> None:
    working = engine(store, observing_mind())

    def broken() -> int:
        raise StoreCorrupt("store.db: no readable store")

    store.data_version = broken  # type: ignore[attr-defined]
    with pytest.raises(StoreCorrupt):
        working.run_until_idle(WAIT)
    assert working.stop()

"""The checks can fail: with a fault planted in a store they find it, and without it the same kills do no harm."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from killing.deaths import Death
from killing.family import KILLED, Nursery
from killing.free_running import Scene
from killing.homes import opened
from killing.killed_sessions import SETTINGS, assignments, session_rows, write_session
from killing.plans import Tally
from killing.results import differences, result_of

PATIENCE_SECONDS = 60


@pytest.mark.parametrize("fault", ["", "torn_append"])
def test_an_append_in_two_transactions_is_found(nursery: Nursery, tmp_path: Path, fault: str) -> None:
    file = write_session(tmp_path / "s.jsonl", session_rows(1, turns=3, forks=0))
    words = ["replay", "--step", "--json", *assignments(SETTINGS), str(file), "--store"]

    def played(store: Path, death: Death | None = None) -> int:
        return nursery.wait(nursery.start("om", words=[*words, str(store)], death=death, fault=fault))

    assert played(tmp_path / "whole.db") == 0

    def different() -> Iterator[str]:
        for statement in (7, 8, 9):
            store = tmp_path / f"{statement}.db"
            assert played(store, Death("store.append", 1, "within", statement)) == KILLED
            try:
                assert played(store) == 0
            except AssertionError as error:  # it cannot even go on
                yield str(error)
                continue
            yield from differences(result_of(str(tmp_path / "whole.db")), result_of(str(store)))

    assert any(different()) == bool(fault)


@pytest.mark.parametrize("fault", ["", "blind_commit"])
def test_a_commit_that_compares_nothing_is_found(nursery: Nursery, tmp_path: Path, fault: str) -> None:
    """Two workers do the same work, because the board was lost under the first one."""
    scene = Scene(nursery, tmp_path / "scene", 2, Tally("planted"), forks=0)
    scene.grow(0.5)
    scene.take_in("ingest")
    gate = tmp_path / "gate"
    first = nursery.start("work", words=scene.words("worker"), fault=fault, gate=str(gate))
    with opened(scene.store) as store:
        until(lambda: [state for state in store.jobs() if state.state == "running"])
        store.wipe_board()
    scene.grow(1)
    scene.take_in("ingest")
    assert nursery.wait(nursery.start("work", words=scene.words("worker"), fault=fault)) == 0
    gate.touch()
    assert nursery.wait(first) == 0
    scene.finish()
    assert any("covers from" in each for each in scene.broken()) == bool(fault)


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another process does."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.01)

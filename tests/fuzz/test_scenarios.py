"""Seeds that failed once, shrunk: what each of them broke is mended."""

from pathlib import Path

import pytest
from builders import reply, say
from fuzz.acts import Compact, Deliver
from fuzz.playing import Die, Run, Scenario, play
from ledgers import ids_of, take, turns

from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.sessions import load_session
from minutebook.store.sqlite import SqliteStore


def test_a_copy_that_turned_knows_what_it_left() -> None:
    """1: b copies a, which went back: a2 and a3 stand on the branch that both left, and are b's too."""
    scenario = Scenario(
        seed=505,
        actors={
            "host of a": [Deliver("a", 0, 9, changed=(5, 6))],
            "host of b": [Deliver("b", 0, 2)],
        },
        moves=[],
    )
    assert play(scenario).broken == []


def test_a_copy_delivered_beside_a_later_piece_of_it() -> None:
    """1: how far b followed a was lost when b's later piece had come in before it was noted."""
    scenario = Scenario(
        seed=496,
        actors={
            "host of a": [Deliver("a", 0, 5)],
            "host of b": [Deliver("b", 0, 5), Deliver("b", 4, 8)],
            "second host of b": [Deliver("b", 0, 3)],
        },
        moves=[Run("host of a", 6), Die("host of b"), Run("host of a", 5), Run("second host of b", 4)],
        small=1,
    )
    assert play(scenario).broken == []


def test_a_copy_that_parts_while_more_of_it_comes_in() -> None:
    """1: a's own branch was open at entry 2 when another process had followed to 5: those between were lost."""
    scenario = Scenario(
        seed=665,
        actors={
            "host of a": [Deliver("a", 0, 5)],
            "host of b": [Deliver("b", 0, 7)],
            "second host of a": [Deliver("a", 0, 2), Deliver("a", 7, 8)],
        },
        moves=[Run("host of b", 33), Run("second host of a", 13)],
    )
    assert play(scenario).broken == []


def test_a_branch_without_entries_of_its_own_is_worked_off_without_a_sweep() -> None:
    """5: b parts from a and goes back at once; its first branch is due by what it shares, and was never marked."""
    scenario = Scenario(
        seed=15,
        actors={"host of a": [Deliver("a", 0, 8)], "host of b": [Deliver("b", 0, 4)]},
        moves=[],
    )
    assert play(scenario).broken == []


def test_paths_are_looked_up_while_another_actor_stands_in_the_middle_of_a_look_up() -> None:
    """5: one lock for all paths of the process was held during a read; played alternately, two actors never ended."""
    scenario = Scenario(
        seed=505,
        actors={
            "host of a": [Deliver("a", 0, 17), Compact("a", 2)],
            "second host of a": [Deliver("a", 0, 17), Compact("a", 0)],
        },
        moves=[Run(name, 1) for _ in range(80) for name in ("host of a", "second host of a")],
    )
    assert play(scenario).broken == []


@pytest.mark.parametrize("typed", [True, False])
def test_what_follows_an_entry_on_a_path_that_the_copy_left(tmp_path: Path, typed: bool) -> None:
    """1: it never goes into the other session's branch: a prompt forks from there, an answer stays where it came."""
    went_back = [*turns(6), say("again", id="x", parent="e1"), reply("yes", id="y", parent="x")]
    store = SqliteStore(tmp_path / "store.db", create=True)
    take(store, went_back, "a")
    take(store, went_back, "b")
    late = say("go on there", id="z", parent="e5") if typed else reply("late", id="z", parent="e5")
    take(store, [late], "b")
    stands = load_branch(store, load_session(store, "neutral:b").branch)
    shared = ["e0", "e1", "e2", "e3", "e4", "e5"] if typed else ["e0", "e1", "x", "y"]
    assert [placed.entry.id for placed in SourcePath(store, stands).walk()] == [*shared, "z"]
    assert ids_of(store, "neutral:a") == ["e0", "e1", "e2", "e3", "e4", "e5"]
    assert ids_of(store, "neutral:a@x") == ["x", "y"]
    store.close()

"""What was lost on one side: filled again. Where the box recorded something else since: test_boxing_healing."""

import pytest
from boxes import ALICE, BOXED, KEY, Line, contents, same_memory, stores, thought, wired_branch
from builders import say
from ledgers import ids_of, take, turns

from minutebook.errors import BoxDiverged, NotFound
from minutebook.pipeline.boxing import (
    give_to_box,
    outbox,
    part_from_box,
    take_memory,
    take_sources,
)
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.corrections import note
from minutebook.pipeline.sessions import load_session


def test_a_laptop_whose_store_was_deleted_pulls_everything_back(pair: Line) -> None:
    take(pair.laptop, turns(4))
    thought(pair.laptop, KEY, "local", 2)
    pair.sync()
    take(pair.laptop, [say("again", id="f", parent="e1"), say("more", id="g", parent="f")])
    pair.sync()
    thought(pair.box, f"{BOXED}@f", "on the fork", 4)
    pair.sync()
    with stores(1) as (fresh,):
        line = Line(fresh, pair.box)
        line.sync()
        for key in (KEY, f"{KEY}@f"):
            assert ids_of(fresh, key) == ids_of(pair.laptop, key)
            assert load_branch(fresh, key).base_tokens == load_branch(pair.laptop, key).base_tokens
            same_memory(line, key)
        session = load_session(fresh, KEY)
        assert session.branch == f"{KEY}@f" and session.branches == [KEY, f"{KEY}@f"]
        take(fresh, [*turns(4), say("again", id="f", parent="e1"), say("new", id="h", parent="g")])
        assert ids_of(fresh, f"{KEY}@f") == ["f", "g", "h"]
        line.sync()
        assert ids_of(pair.box, f"{BOXED}@f") == ["f", "g", "h"]


def test_a_store_that_was_made_anew_from_the_file_takes_the_boxs_forks(pair: Line) -> None:
    """Its fork was made when no memory was here; the box's shares some."""
    story = [*turns(4), say("again", id="f", parent="e1"), say("more", id="g", parent="f")]
    take(pair.laptop, turns(4))
    pair.sync()
    thought(pair.box, BOXED, "before", 2)
    pair.sync()
    take(pair.laptop, story)
    pair.sync()
    with stores(1) as (fresh,):
        line = Line(fresh, pair.box)
        take(fresh, story)
        assert line.sync() == []
        line.sync()
        assert contents(fresh, f"{KEY}@f") == ["before"]
        same_memory(line, f"{KEY}@f")


def test_two_laptops_go_on_in_turn(pair: Line) -> None:
    take(pair.laptop, turns(3))
    pair.sync()
    with stores(1) as (second,):
        other = Line(second, pair.box)
        other.sync()
        take(second, turns(3, first=3))
        other.sync()
        thought(pair.box, BOXED, "seen", 5)
        pair.sync()
        assert ids_of(pair.laptop) == [f"e{at}" for at in range(6)]
        take(pair.laptop, turns(1, first=6))
        assert pair.sync() == [] and other.sync() == []
        assert ids_of(second) == ids_of(pair.laptop) == ids_of(pair.box, BOXED)
        same_memory(pair)
        same_memory(other)
        assert load_session(second, KEY).prompts == load_session(pair.laptop, KEY).prompts == 4


def test_a_box_that_was_put_back_is_filled_again(pair: Line) -> None:
    take(pair.laptop, turns(3))
    pair.sync()
    with stores(1) as (backup,):
        Line(pair.laptop, backup).sync()
        take(pair.laptop, [*turns(3, first=3), say("again", id="f", parent="e1")])
        pair.sync()
        thought(pair.box, BOXED, "seen", 4)
        thought(pair.box, f"{BOXED}@f", "seen on the fork", 3)
        pair.sync()
        again = Line(pair.laptop, backup)
        assert again.sync() == []
        for key in (KEY, f"{KEY}@f"):
            same_memory(again, key)
            assert ids_of(backup, f"{ALICE}~{key}") == ids_of(pair.laptop, key)


def test_what_waits_is_kept_when_the_two_part(pair: Line) -> None:
    take(pair.laptop, turns(3))
    pair.sync()
    branch = load_branch(pair.laptop, KEY)
    note(pair.laptop, branch, "keep me", timestamp="2026-05-02 10:30", time="T")
    part_from_box(pair.laptop, branch, "a test")
    part_from_box(pair.laptop, branch, "a test")
    assert contents(pair.laptop, KEY) == ["keep me"] and outbox(pair.laptop, branch) == []
    with pytest.raises(BoxDiverged):
        give_to_box(pair.laptop, branch)
    with pytest.raises(BoxDiverged):
        take_memory(pair.laptop, branch, 1, [], {})


def test_memory_of_a_fork_waits_for_what_it_shares(pair: Line) -> None:
    """On a fresh laptop: folded without its parent's, its checkpoint would lack some for ever."""
    take(pair.laptop, turns(4))
    pair.sync()
    thought(pair.box, BOXED, "before", 2)
    pair.sync()
    take(pair.laptop, [say("again", id="f", parent="e1")])
    pair.sync()
    thought(pair.box, f"{BOXED}@f", "on the fork", 3)
    fork = f"{KEY}@f"
    with stores(1) as (fresh,):
        line = Line(fresh, pair.box)
        take_sources(fresh, wired_branch(load_branch(pair.laptop, KEY)), 0, turns(4))
        take_sources(fresh, wired_branch(load_branch(pair.laptop, fork)), 0, [])
        with pytest.raises(NotFound, match="not here yet"):
            line.pull(fork)
        line.pull(KEY)
        line.pull(fork)
        same_memory(line, fork)

"""A box that lost memory and recorded another: what is here is offered to it, and its memory taken anew."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from boxes import ALICE, BOB, BOXED, KEY, Line, contents, same_memory, stores, thought, wired_branch
from builders import concluded, memory_of, say
from dying import Everywhere
from ledgers import Breaking, Broken, ids_of, take, turns
from memories import digested

from minutebook.errors import BoxDiverged, NotFound
from minutebook.pipeline import ledger
from minutebook.pipeline.boxing import (
    give_to_box,
    is_same_memory,
    lengths_of,
    outbox,
    part_from_box,
    rejoin_box,
    retake_memory,
    take_memory,
    take_sources,
)
from minutebook.pipeline.branches import load_branch, memory_stream
from minutebook.pipeline.checkpoints import read_page
from minutebook.pipeline.checksums import CHECKSUM
from minutebook.pipeline.corrections import note
from minutebook.pipeline.ledger import read_own
from minutebook.pipeline.mentions import MENTIONED
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.recall import recall
from minutebook.pipeline.sessions import load_session
from minutebook.pipeline.shapes import reflection_data
from minutebook.records import GAP, OBSERVATIONS, REFLECTIONS
from minutebook.store.kernel import Store

FORK = f"{KEY}@f"
STEP = int(os.environ.get("MINUTEBOOK_HEALING_STEP", "25"))
"""A death at every so many calls; 1 for all of them."""


def lost_and_went_on(pair: Line, backup: Store) -> Line:
    """A laptop that has seen "kept", "lost" and "lost, too", and a box that had only "kept" and says "otherwise"."""
    take(pair.laptop, turns(6))
    pair.sync()
    thought(pair.box, BOXED, "kept", 2)
    pair.sync()
    assert Line(pair.laptop, backup).sync() == []
    thought(pair.box, BOXED, "lost", 3)
    thought(pair.box, BOXED, "lost, too", 5)
    pair.sync()
    thought(backup, BOXED, "otherwise", 4)
    return Line(pair.laptop, backup)


def marks_at(store: Store, key: str) -> Mapping[str, int]:
    return store.tip(memory_stream(key)).marks


def reflected(store: Store, key: str, content: str, **more: Any) -> Any:
    """A reflection on the branch's first observation."""
    fact = concluded(content, next(iter(memory_of(store, load_branch(store, key)).observations)))
    data = {"reflections": [reflection_data(fact)], "mind": "test"}
    append_memory(store, load_branch(store, key), [memory_entry(Entry(kind=REFLECTIONS, covers=2, since=2, data=data))])
    return fact


def test_both_memories_are_put_together_on_the_box(pair: Line) -> None:
    with stores(1) as (backup,):
        line = lost_and_went_on(pair, backup)
        shown = [*memory_of(pair.laptop, load_branch(pair.laptop, KEY)).observations]
        assert line.sync() == []
        assert contents(pair.laptop, KEY) == ["kept", "otherwise", "lost", "lost, too"]
        same_memory(line)
        assert all(recall(pair.laptop, load_branch(pair.laptop, KEY), id_).found for id_ in shown)
        here, there = lengths_of(pair.laptop, load_branch(pair.laptop, KEY)), line.lengths(KEY)
        assert there is not None and here.marks == there.marks and here.marks[ledger.OBSERVER] == 5
        sums = ledger.POOL_TOKENS, MENTIONED
        assert all(marks_at(pair.laptop, KEY)[name] == marks_at(backup, BOXED)[name] > 0 for name in sums)
        thought(backup, BOXED, "afterwards", 6)
        assert line.sync() == []
        same_memory(line)


def test_a_coverage_that_moved_without_an_entry_never_goes_back(pair: Line) -> None:
    with stores(1) as (backup,):
        line = lost_and_went_on(pair, backup)
        pair.box.append(memory_stream(BOXED), [], advance={ledger.OBSERVER: 6})
        pair.sync()
        assert line.sync() == []
        for store, key in ((pair.laptop, KEY), (backup, BOXED)):
            assert store.tip(memory_stream(key)).marks[ledger.OBSERVER] == 6


def test_sources_that_differ_still_part_and_nothing_is_removed(pair: Line) -> None:
    take(pair.laptop, turns(2))
    with stores(1) as (second,):
        other = Line(second, pair.box)
        take(second, [*turns(1), say("something else", id="x", parent="e0")])
        pair.sync()
        thought(second, KEY, "here", 2)
        thought(pair.box, BOXED, "there", 2)
        assert other.sync() == [KEY]
        assert contents(second, KEY) == ["here"] and contents(pair.box, BOXED) == ["there"]
        assert rejoin_box(second, load_session(second, KEY)) == 1
        assert other.sync() == [KEY]
        assert contents(second, KEY) == ["here"] and contents(pair.box, BOXED) == ["there"]


def test_what_waits_stays_in_the_outbox(pair: Line) -> None:
    with stores(1) as (backup,):
        line = lost_and_went_on(pair, backup)
        branch = load_branch(pair.laptop, KEY)
        note(pair.laptop, branch, "waits", timestamp="2026-05-02 10:30", time="T")
        assert line.heal(KEY)
        assert [entry.kind for entry in outbox(pair.laptop, branch)] == [OBSERVATIONS]
        assert line.sync() == [] and outbox(pair.laptop, branch) == []
        assert contents(backup, BOXED) == ["kept", "otherwise", "lost", "lost, too", "waits"]
        same_memory(line)


def test_gaps_come_back_and_digests_do_not(pair: Line) -> None:
    """A digest covers all reflections before one of them, and the box may have others there."""
    with stores(1) as (backup,):
        take(pair.laptop, turns(6))
        pair.sync()
        thought(pair.box, BOXED, "kept", 2)
        pair.sync()
        Line(pair.laptop, backup).sync()
        box = load_branch(pair.box, BOXED)
        digested(pair.box, box, 2, "all of it", reflected(pair.box, BOXED, "lost conclusion"), mind="test")
        append_memory(pair.box, box, [memory_entry(Entry(kind=GAP, covers=4, since=2, data={"reason": "refused"}))])
        pair.sync()
        reflected(backup, BOXED, "other conclusion")
        line = Line(pair.laptop, backup)
        assert line.sync() == []
        memory = memory_of(pair.laptop, load_branch(pair.laptop, KEY))
        assert [each.record.content for each in memory.current()] == ["other conclusion", "lost conclusion"]
        assert memory.digests == [] and [gap.reason for gap in memory.gaps] == ["refused"]
        same_memory(line)


def test_the_same_entry_in_the_same_place_behind_another_one_is_seen(pair: Line) -> None:
    """A span that is refused twice gives the same gap: lengths and last ids agree, and the copies do not."""
    refused = memory_entry(Entry(kind=GAP, covers=4, since=2, data={"reason": "refused"}))
    with stores(1) as (backup,):
        take(pair.laptop, turns(6))
        pair.sync()
        Line(pair.laptop, backup).sync()
        for box, words in ((pair.box, "lost"), (backup, "otherwise")):
            thought(box, BOXED, words, 2)
            append_memory(box, load_branch(box, BOXED), [refused])
        pair.sync()
        line = Line(pair.laptop, backup)
        here, there = lengths_of(pair.laptop, load_branch(pair.laptop, KEY)), line.lengths(KEY)
        assert there is not None and here.memory_tip == there.memory_tip and not is_same_memory(here, there)
        assert line.sync() == []
        assert contents(pair.laptop, KEY) == ["otherwise", "lost"]
        same_memory(line)


def test_memory_of_older_versions_has_no_checksum_and_passes(pair: Line) -> None:
    take(pair.laptop, turns(3))
    pair.sync()
    thought(pair.box, BOXED, "old", 2)
    pair.box.append(memory_stream(BOXED), [], advance={CHECKSUM: 0})
    assert pair.sync() == []
    thought(pair.box, BOXED, "new", 3)
    assert pair.sync() == []
    here, there = lengths_of(pair.laptop, load_branch(pair.laptop, KEY)), pair.lengths(KEY)
    assert there is not None and here.marks[CHECKSUM] == there.marks[CHECKSUM] > 0


# -- forks -----------------------------------------------------------------------------------------------------------


def test_a_fork_that_the_box_does_not_know_shares_the_same_by_ids(pair: Line) -> None:
    with stores(1) as (backup,):
        line = lost_and_went_on(pair, backup)
        take(pair.laptop, [say("again", id="f", parent="e4")])
        take(pair.laptop, [say("and again", id="g", parent="f"), say("otherwise", id="h", parent="f")])
        deeper = f"{KEY}@h"
        before = {key: contents(pair.laptop, key) for key in (FORK, deeper)}
        assert before == {FORK: ["kept", "lost", "lost, too"], deeper: ["kept", "lost", "lost, too"]}
        assert line.sync() == []
        for key in (KEY, FORK, deeper):
            same_memory(line, key)
            assert {"kept", "lost", "lost, too"} <= set(contents(pair.laptop, key))
        fork = load_branch(pair.laptop, FORK)
        assert fork.parent_memory == 4 and fork.memory_id == read_own(pair.laptop, load_branch(pair.laptop, KEY))[3].id


def test_a_fork_that_the_box_knows_shares_what_was_not_lost(pair: Line) -> None:
    with stores(1) as (backup,):
        take(pair.laptop, [*turns(4), say("again", id="f", parent="e2")])
        pair.sync()
        thought(pair.box, BOXED, "kept", 2)
        pair.sync()
        line = Line(pair.laptop, backup)
        line.sync()
        thought(pair.box, f"{ALICE}~{FORK}", "lost on the fork", 4)
        thought(pair.box, BOXED, "lost", 4)
        pair.sync()
        thought(backup, BOXED, "otherwise", 3)
        thought(backup, f"{ALICE}~{FORK}", "otherwise on the fork", 3)
        assert line.sync() == []
        for key in (KEY, FORK):
            same_memory(line, key)
        assert contents(pair.laptop, FORK)[-2:] == ["otherwise on the fork", "lost on the fork"]


def test_memory_of_a_fork_waits_until_what_it_shares_is_taken_anew(pair: Line) -> None:
    """A fork that another laptop opened after the loss: here the parent is still the old one, and long enough."""
    with stores(2) as (backup, fresh):
        line = lost_and_went_on(pair, backup)
        other = Line(fresh, backup)
        other.sync()
        take(fresh, [*turns(6), say("again", id="f", parent="e4")])
        other.sync()
        thought(backup, f"{ALICE}~{FORK}", "on the fork", 5)
        take_sources(pair.laptop, wired_branch(load_branch(fresh, FORK)), 0, [])
        with pytest.raises(NotFound, match="not here yet"):
            line.pull(FORK)
        assert line.sync() == [] and other.sync() == []
        for each in (line, other):
            same_memory(each, KEY)
            same_memory(each, FORK)


# -- several laptops, others' sessions --------------------------------------------------------------------------------


def test_two_laptops_give_back_what_each_has(pair: Line) -> None:
    with stores(2) as (backup, second):
        take(pair.laptop, turns(6))
        pair.sync()
        Line(pair.laptop, backup).sync()
        thought(pair.box, BOXED, "seen by both", 2)
        pair.sync()
        Line(second, pair.box).sync()
        thought(pair.box, BOXED, "seen by one", 4)
        pair.sync()
        thought(backup, BOXED, "otherwise", 3)
        lines = [Line(second, backup), Line(pair.laptop, backup)]
        for line in [*lines, *lines]:
            assert line.sync() == []
        for line in lines:
            assert contents(line.laptop, KEY) == ["otherwise", "seen by both", "seen by one"]
            same_memory(line)


def test_a_copy_of_anothers_session_is_taken_anew_and_offers_nothing(pair: Line) -> None:
    with stores(2) as (backup, colleague):
        line = lost_and_went_on(pair, backup)
        bob = Line(colleague, pair.box, BOB)
        take_sources(colleague, wired_branch(load_branch(pair.box, BOXED)), 0, turns(6))
        bob.pull(BOXED)
        copy = load_branch(colleague, BOXED)
        entries, there = line.whole_memory(KEY)
        with pytest.raises(BoxDiverged):
            take_memory(colleague, copy, 0, entries, there.marks)
        retake_memory(colleague, copy, entries, there.marks)
        assert contents(colleague, BOXED) == ["kept", "otherwise"] == contents(backup, BOXED)


# -- parted before, dying, others at the same time --------------------------------------------------------------------


def test_a_branch_that_parted_for_its_memory_comes_together_again(pair: Line) -> None:
    with stores(1) as (backup,):
        line = lost_and_went_on(pair, backup)
        branch = load_branch(pair.laptop, KEY)
        part_from_box(pair.laptop, branch, "memory")
        take(pair.laptop, [say("again", id="f", parent="e4")])
        thought(pair.laptop, KEY, "alone", 6)
        assert line.sync() == [] and contents(backup, BOXED) == ["kept", "otherwise"]
        assert rejoin_box(pair.laptop, load_session(pair.laptop, KEY)) == 2
        assert rejoin_box(pair.laptop, load_session(pair.laptop, KEY)) == 0
        assert line.sync() == []
        assert contents(pair.laptop, KEY) == ["kept", "otherwise", "lost", "lost, too", "alone"]
        for key in (KEY, FORK):
            same_memory(line, key)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("on_box", [False, True])
def test_dying_at_any_call_while_it_heals(on_box: bool, after: bool) -> None:
    def until(at: int) -> bool:
        with stores(3) as (laptop, box, backup):
            line = lost_and_went_on(Line(laptop, box), backup)
            take(laptop, [say("again", id="f", parent="e4")])
            breaking: Any = Breaking(backup if on_box else laptop, at, after=after)
            broken = Line(laptop, breaking) if on_box else Line(breaking, backup)
            with suppress(Broken):
                assert broken.sync() == []
                return False
            assert laptop.tip(memory_stream(KEY)).marks[ledger.BOX] == ledger.BOXED
            assert contents(laptop, KEY) in (["kept", "lost", "lost, too"], ["kept", "otherwise", "lost", "lost, too"])
            assert line.sync() == []
            for key in (KEY, FORK):
                same_memory(line, key)
            assert contents(laptop, KEY) == ["kept", "otherwise", "lost", "lost, too"]
            return True

    assert next(at for at in count(0, STEP) if not until(at)) > 60


def test_taking_anew_is_one_write(everywhere: Everywhere) -> None:
    with stores(2) as (laptop, box):
        line = Line(laptop, box)
        take(laptop, turns(4))
        line.sync()
        for words, covers in (("a", 2), ("b", 3)):
            thought(box, BOXED, words, covers)
        entries, there = line.whole_memory(KEY)

    def prepare(store: Store) -> None:
        take(store, turns(4))
        thought(store, KEY, "mine", 2)
        give_to_box(store, load_branch(store, KEY))

    everywhere(prepare, lambda store: retake_memory(store, load_branch(store, KEY), entries, there.marks))


def overtaken(store: Store, name: str, act: Callable[[], Any]) -> Any:
    """The store; before its first call of that name something else is done."""

    class Overtaken:
        def __getattr__(self, called: str) -> Any:
            nonlocal act
            if called == name:
                first, act = act, lambda: None
                first()
            return getattr(store, called)

    return Overtaken()


def test_a_checkpoint_of_the_same_length_is_never_of_the_other_memory(pair: Line) -> None:
    """Whoever writes at a length that is the same again, and another memory, is told so."""
    with stores(1) as (backup,):
        line = lost_and_went_on(pair, backup)
        entries, there = line.whole_memory(KEY)
        branch = load_branch(pair.laptop, KEY)
        old = read_own(pair.laptop, branch)
        retake_memory(pair.laptop, branch, [*entries, old[1]], there.marks)
        assert read_page(pair.laptop, branch, 3) is not None
        assert contents(pair.laptop, KEY) == ["kept", "otherwise", "lost"]

        def anew() -> None:
            retake_memory(pair.laptop, branch, old, there.marks)

        part = overtaken(pair.laptop, "append", anew)
        note(pair.laptop, branch, "waits", timestamp="2026-05-02 10:30", time="T")
        part_from_box(part, branch, "meanwhile")
        assert contents(pair.laptop, KEY) == ["kept", "lost", "lost, too", "waits"]
        page = read_page(pair.laptop, branch, 4)
        assert page is not None and [page.observation(row).content for row in range(4)] == contents(pair.laptop, KEY)


def test_a_fork_that_is_opened_while_memory_is_taken_anew(pair: Line) -> None:
    with stores(1) as (backup,):
        line = lost_and_went_on(pair, backup)

        def heal() -> None:
            assert line.heal(KEY)

        take(overtaken(pair.laptop, "append", heal), [say("again", id="f", parent="e4")])
        assert ids_of(pair.laptop, FORK) == ["f"]
        assert line.sync() == []
        for key in (KEY, FORK):
            same_memory(line, key)


def test_a_memory_of_ones_own_is_not_taken_anew(pair: Line) -> None:
    take(pair.laptop, turns(4))
    branch = load_branch(pair.laptop, KEY)
    with pytest.raises(BoxDiverged, match="this machine's own"):
        retake_memory(pair.laptop, branch, [], {})
    assert contents(pair.laptop, KEY) == []

"""A laptop and its box: what is sent and what comes back."""

from dataclasses import replace
from typing import Any

import pytest
from boxes import (
    ALICE,
    BOXED,
    KEY,
    OBSERVE,
    Line,
    contents,
    retire_any,
    same_memory,
    send_all,
    stores,
    thought,
    wired_branch,
    wired_session,
    wired_sources,
)
from builders import concluded, deliver, memory_of, observed, remember, say
from ledgers import ids_of, take, turns

from minutebook.errors import BoxDiverged, NotFound, StoreBusy
from minutebook.pipeline import ledger
from minutebook.pipeline.boxing import (
    give_to_box,
    lengths,
    memory_after,
    outbox,
    receive_sources,
)
from minutebook.pipeline.branches import list_branches, load_branch, memory_stream
from minutebook.pipeline.checkpoints import read_page
from minutebook.pipeline.clocks import due_roles
from minutebook.pipeline.compaction import compose_memory, look_at_memory
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.deliveries import HostCompaction, Reading, SessionHead
from minutebook.pipeline.folds import confirm_fold
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.ledger import read_own
from minutebook.pipeline.outcomes import Outcome, Refused, commit_outcome
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.recall import recall
from minutebook.pipeline.search import search
from minutebook.pipeline.sessions import find_session, load_session
from minutebook.pipeline.viewing import view_lines, viewed


def test_a_session_reaches_the_box_and_its_memory_comes_back(pair: Line) -> None:
    take(pair.laptop, turns(5))
    pair.sync()
    assert ids_of(pair.box, BOXED) == ids_of(pair.laptop) == ["e0", "e1", "e2", "e3", "e4"]
    assert pair.box.tip("s:" + BOXED).total == pair.laptop.tip("s:" + KEY).total > 0
    thought(pair.box, BOXED, "made on the box", 4)
    pair.sync()
    assert contents(pair.laptop, KEY) == ["made on the box"]
    assert pair.laptop.tip(memory_stream(KEY)).marks[ledger.OBSERVER] == 4
    same_memory(pair)


def test_nothing_is_due_on_the_laptop_once_the_box_has_it(pair: Line) -> None:
    take(pair.laptop, turns(5))
    branch = load_branch(pair.laptop, KEY)
    assert "observer" in due_roles(read_state(pair.laptop, branch), OBSERVE)
    pair.sync()
    assert due_roles(read_state(pair.laptop, branch), OBSERVE) == {}
    assert isinstance(thought(pair.laptop, KEY, "late", 3), Refused)
    assert "observer" in due_roles(read_state(pair.box, load_branch(pair.box, BOXED)), OBSERVE)


def test_memory_of_before_the_hand_over_goes_first(pair: Line) -> None:
    take(pair.laptop, turns(5))
    for at in range(1, 5):
        thought(pair.laptop, KEY, f"local {at}", at)
    pair.sync()
    thought(pair.box, BOXED, "on the box", 5)
    pair.sync()
    assert contents(pair.box, BOXED) == [*(f"local {at}" for at in range(1, 5)), "on the box"]
    same_memory(pair)


def test_the_box_waits_for_that_memory(pair: Line) -> None:
    """Its sources are there, the entries that its laptop made are not: whoever worked now would take their place."""
    take(pair.laptop, turns(5))
    thought(pair.laptop, KEY, "local", 2)
    branch = load_branch(pair.laptop, KEY)
    assert give_to_box(pair.laptop, branch) == give_to_box(pair.laptop, branch) == 1
    send_all(pair)
    there = load_branch(pair.box, BOXED)
    assert due_roles(read_state(pair.box, there), OBSERVE) == {}
    assert isinstance(thought(pair.box, BOXED, "too early", 5), Refused)
    with pytest.raises(StoreBusy, match="on its way"):
        retire_any(pair.box, there)
    pair.sync()
    assert due_roles(read_state(pair.box, there), OBSERVE)
    same_memory(pair)


def test_a_persons_note_and_retirement_go_through_the_outbox(pair: Line) -> None:
    take(pair.laptop, turns(3))
    pair.sync()
    branch = load_branch(pair.laptop, KEY)
    noted = note(pair.laptop, branch, "remember this", timestamp="2026-05-02 10:30", time="2026-05-02T10:30:00Z")
    assert read_own(pair.laptop, branch) == [] and len(outbox(pair.laptop, branch)) == 1
    retire(pair.laptop, branch, noted.id, time="2026-05-02T10:31:00Z")
    thought(pair.box, BOXED, "meanwhile", 2)
    pair.sync()
    assert outbox(pair.laptop, branch) == []
    assert contents(pair.laptop, KEY) == ["meanwhile", "remember this"]
    assert noted.id in memory_of(pair.box, load_branch(pair.box, BOXED)).drops
    assert ids_of(pair.box, BOXED)[-1].startswith("note-")
    same_memory(pair)


def test_a_confirmed_compaction_goes_through_the_outbox(pair: Line) -> None:
    take(pair.laptop, turns(6))
    pair.sync()
    thought(pair.box, BOXED, "seen", 5)
    pair.sync()
    branch = load_branch(pair.laptop, KEY)
    assert compose_memory(pair.laptop, branch, 4, OBSERVE) is not None
    deliver(pair.laptop, [HostCompaction(id="c1", first_kept="e4", after="e5")], "s1")
    assert len(outbox(pair.laptop, branch)) == 1
    assert pair.laptop.tip(memory_stream(KEY)).marks[ledger.COMPACTED_FROM] == 4
    deliver(pair.laptop, [HostCompaction(id="c1", first_kept="e4", after="e5")], "s1")
    pair.sync()
    assert memory_of(pair.laptop, branch).folds[-1].boundary == 4
    assert not confirm_fold(pair.laptop, branch)
    same_memory(pair)


def test_a_fork_inherits_what_it_inherited_on_the_laptop(pair: Line) -> None:
    take(pair.laptop, turns(4))
    pair.sync()
    thought(pair.box, BOXED, "before", 1)
    pair.sync()
    thought(pair.box, BOXED, "not here yet", 2)
    take(pair.laptop, [say("again", id="f", parent="e1"), say("more", id="g", parent="f")])
    pair.sync()
    fork, there = load_branch(pair.laptop, f"{KEY}@f"), load_branch(pair.box, f"{BOXED}@f")
    assert (fork.fork, fork.parent_memory) == (there.fork, there.parent_memory) == (2, 1)
    assert contents(pair.laptop, fork.key) == contents(pair.box, there.key) == ["before"]
    assert pair.box.tip(memory_stream(there.key)).marks[ledger.OBSERVER] == 1  # not 2, of which nothing is inherited
    assert due_roles(read_state(pair.laptop, fork), OBSERVE) == {}
    same_memory(pair, fork.key)


def test_a_fork_is_refused_before_what_it_shares(pair: Line) -> None:
    take(pair.laptop, turns(4))
    take(pair.laptop, [say("again", id="f", parent="e1")])
    with pytest.raises(NotFound, match="parent"):
        pair.sync_branch(f"{KEY}@f")
    assert list_branches(pair.box) == []


def test_a_fork_waits_for_the_sources_that_it_shares(pair: Line) -> None:
    take(pair.laptop, turns(4))
    session, branch = load_session(pair.laptop, KEY), load_branch(pair.laptop, KEY)
    receive_sources(pair.box, ALICE, session, branch, 0, "", turns(1))
    take(pair.laptop, [say("again", id="f", parent="e1")])
    with pytest.raises(NotFound, match="send that first"):
        pair.sync_branch(f"{KEY}@f")


def test_a_fork_of_another_beginning_is_refused(pair: Line) -> None:
    """The parent is there, and long enough, but not the same."""
    take(pair.laptop, turns(4))
    pair.sync()
    with stores(1) as (other,):
        take(other, [*turns(1), say("else", id="x", parent="e0"), say("more", id="y", parent="x")])
        take(other, [say("again", id="f", parent="x")])
        with pytest.raises(BoxDiverged, match="something else on the box"):
            Line(other, pair.box).sync_branch(f"{KEY}@f")


def test_two_that_pull_the_same_at_once(pair: Line) -> None:
    """Whoever comes second finds it there, and the checkpoint is of the right length."""
    take(pair.laptop, turns(4))
    pair.sync()
    for at in range(1, 4):
        thought(pair.box, BOXED, f"seen {at}", at)

    class Overtaken:
        """A store in which another pass comes just after the memory that came was looked for."""

        def __init__(self) -> None:
            self.calm = False

        def __getattr__(self, name: str) -> Any:
            return getattr(pair.laptop, name)

        def find(self, stream: str, ids: Any) -> Any:
            found = pair.laptop.find(stream, ids)
            if stream == memory_stream(KEY) and not self.calm:
                self.calm = True
                pair.sync()
            return found

    overtaken: Any = Overtaken()
    Line(overtaken, pair.box).pull(KEY)
    assert overtaken.calm and contents(pair.laptop, KEY) == ["seen 1", "seen 2", "seen 3"]
    same_memory(pair)
    assert read_page(pair.laptop, load_branch(pair.laptop, KEY), 3) is not None


def test_a_fork_waits_for_the_memory_that_it_shares(pair: Line) -> None:
    take(pair.laptop, turns(4))
    thought(pair.laptop, KEY, "local", 2)
    take(pair.laptop, [say("again", id="f", parent="e1")])
    send_all(pair)
    with pytest.raises(NotFound, match="send that first"):
        pair.sync_branch(f"{KEY}@f")
    assert pair.sync() == []
    same_memory(pair, f"{KEY}@f")


def test_a_note_that_waits_holds_for_a_fork(pair: Line) -> None:
    """It was made before the fork, and the box places it afterwards."""
    take(pair.laptop, turns(4))
    pair.sync()
    note(pair.laptop, load_branch(pair.laptop, KEY), "hold this", timestamp="2026-05-02 10:30", time="T")
    take(pair.laptop, [say("again", id="f", parent="e1")])
    pair.sync()
    assert contents(pair.laptop, f"{KEY}@f") == contents(pair.box, f"{BOXED}@f") == ["hold this"]
    assert contents(pair.laptop, KEY) == ["hold this"]


def test_marks_that_moved_without_an_entry_come_along(pair: Line) -> None:
    take(pair.laptop, turns(4))
    pair.sync()
    outcome = Outcome(role="observer", branch=BOXED, read=0, advance={ledger.OBSERVER: 3})
    commit_outcome(pair.box, load_branch(pair.box, BOXED), outcome)
    pair.sync()
    assert pair.laptop.tip(memory_stream(KEY)).marks[ledger.OBSERVER] == 3


def test_marks_come_with_the_last_page_alone(pair: Line) -> None:
    take(pair.laptop, turns(4))
    pair.sync()
    for at in range(1, 4):
        thought(pair.box, BOXED, f"seen {at}", at)
    assert memory_after(pair.box, BOXED, 0, 2)[1].marks == {}
    assert memory_after(pair.box, BOXED, 2, 2)[1].marks[ledger.OBSERVER] == 3


def test_messages_that_come_twice_change_nothing() -> None:
    with stores(2) as (laptop, box):
        line = Line(laptop, box, twice=True)
        take(laptop, turns(7))
        thought(laptop, KEY, "local", 2)
        line.sync()
        note(laptop, load_branch(laptop, KEY), "noted", timestamp="2026-05-02 10:30", time="T")
        line.sync()
        assert contents(box, BOXED) == ["local", "noted"]
        same_memory(line)


def test_an_old_message_does_not_turn_the_session_back(pair: Line) -> None:
    take(pair.laptop, turns(3))
    old = wired_session(load_session(pair.laptop, KEY))
    take(pair.laptop, [*turns(2, first=3), say("rewritten", id="e1")], ended=True)
    pair.sync()
    assert load_session(pair.box, BOXED).ended
    branch = wired_branch(load_branch(pair.laptop, KEY))
    receive_sources(pair.box, ALICE, old, branch, 0, "", wired_sources(turns(3)))
    session = load_session(pair.box, BOXED)
    assert session.ended and (session.prompts, session.versions) == (3, 1)


def test_an_end_wakes_the_branches_and_new_entries_end_it(pair: Line) -> None:
    take(pair.laptop, turns(3))
    pair.sync()
    pair.box.wipe_board()
    take(pair.laptop, [], ended=True, cursor={"x": 1})
    pair.sync()
    assert load_session(pair.box, BOXED).ended
    assert [dirty.key for dirty in pair.box.take_dirty(9)] == [BOXED]
    take(pair.laptop, turns(2, first=3), cursor={"x": 2})
    pair.sync()
    assert not load_session(pair.box, BOXED).ended


def test_what_the_box_keeps_of_a_session_names_no_file(pair: Line) -> None:
    head = SessionHead(host="neutral", session="s1", project="acme/orders")
    accept_turns(pair.laptop, Reading(head=head, events=[*turns(2)], cursor={"offset": 7}), path="/home/alice/x.jsonl")
    pair.sync()
    session = load_session(pair.box, BOXED)
    assert (session.path, session.cursor, session.project) == ("", {}, "acme/orders")
    assert session.touched > 0 and session.title == "words of turn 0" and session.prompts == 1


def test_lengths_of_what_is_not_known(pair: Line) -> None:
    take(pair.laptop, turns(3))
    found = lengths(pair.laptop, [KEY, "neutral:none"])
    assert found["neutral:none"] is None
    known = found[KEY]
    assert known is not None and (known.sources, known.sources_tip, known.memory, known.boxed) == (3, "e2", 0, False)


def test_sub_agents_and_versions_and_copies_go_over(pair: Line) -> None:
    take(pair.laptop, turns(4))
    take(pair.laptop, turns(3), agent="helper")
    take(pair.laptop, [replace(turns(2)[1], parts=say("rewritten").parts)])
    take(pair.laptop, [*turns(2), say("x", id="x", parent="e1")], "copy")
    take(pair.laptop, turns(2), "follows")
    pair.sync()
    pair.sync()
    for key in ("neutral:s1/helper", KEY, "neutral:copy"):
        assert ids_of(pair.box, f"{ALICE}~{key}") == ids_of(pair.laptop, key) != []
    copy = load_branch(pair.box, f"{ALICE}~neutral:copy")
    assert (copy.parent, copy.fork) == (BOXED, 2)
    assert find_session(pair.box, f"{ALICE}~neutral:follows") is None
    assert load_branch(pair.box, f"{ALICE}~neutral:s1/helper").kind == "subagent"


def test_reflections_digests_and_drops_come_back(pair: Line) -> None:
    take(pair.laptop, turns(5))
    pair.sync()
    a, b = observed("first"), observed("second")
    there = load_branch(pair.box, BOXED)
    fact = concluded("a fact", a)
    remember(pair.box, there, observations=[a, b], reflections=[fact], dropped=[b], digest=("short", fact), covers=4)
    pair.sync()
    same_memory(pair)
    sums = ("pool_tokens", "undigested_tokens", "digest_tokens", "reflections_recorded", "digests_recorded")
    here, boxed = pair.laptop.tip(memory_stream(KEY)).marks, pair.box.tip(memory_stream(BOXED)).marks
    assert {name: here[name] for name in sums} == {name: boxed[name] for name in sums}


def test_a_persons_word_holds_before_the_box_has_it(pair: Line) -> None:
    """In what a compaction gives, in the view, in search and recall; and the same when it came back."""
    take(pair.laptop, turns(5))
    pair.sync()
    thought(pair.box, BOXED, "seen wrongly", 4)
    pair.sync()
    branch = load_branch(pair.laptop, KEY)
    noted = note(pair.laptop, branch, "remember this", timestamp="2026-05-02 10:30", time="T")
    retire(pair.laptop, branch, observed("seen wrongly").id, time="T")
    assert len(outbox(pair.laptop, branch)) == 2

    def shown() -> tuple[Any, ...]:
        composed = look_at_memory(pair.laptop, branch, 5, OBSERVE)
        lines = list(view_lines(viewed(pair.laptop, branch, OBSERVE, full=True), "recorded"))
        hits = [hit.id for hit in search(pair.laptop, [branch], "remember this")]
        return composed and composed.text, lines, hits, recall(pair.laptop, branch, noted.id).observations

    before = shown()
    assert "remember this" in before[0] and "seen wrongly" not in before[0]
    assert any("remember this" in line for line in before[1]) and noted.id in before[2] and before[3]
    pair.sync()
    assert outbox(pair.laptop, branch) == [] and shown() == before

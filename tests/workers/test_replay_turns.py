"""Cutting a session into turns and deliveries, and a path at what stays: pure."""

from collections.abc import Sequence

import pytest
from builders import call, reply, result, say
from hypothesis import given
from hypothesis import strategies as st

from minutebook.pipeline.deliveries import HostCompaction
from minutebook.pipeline.sourcetext import entry_tokens
from minutebook.records import Placed, SourceEntry
from minutebook.workers.replay_turns import deliveries_of, kept_from, last_known, turns_of, without_compactions


def placed(entries: Sequence[SourceEntry]) -> list[Placed]:
    total, found = 0, []
    for position, entry in enumerate(entries):
        tokens = entry_tokens(entry)
        total += tokens
        found.append(Placed(position=position, tokens=tokens, total=total, entry=entry))
    return found


def tokens_of(count: int, id: str) -> SourceEntry:
    return reply("x" * (4 * count), id=id)


# -- turns ---------------------------------------------------------------------------------------------------------


def test_a_turn_begins_with_a_typed_prompt() -> None:
    events = [say("one", id="a"), reply("done", id="b"), say("two", id="c"), say("three", id="d")]
    turns = turns_of(events)
    assert [turn.number for turn in turns] == [1, 2, 3]
    assert [[event.id for event in turn.events] for turn in turns] == [["a", "b"], ["c"], ["d"]]


def test_what_stands_before_the_first_prompt_is_turn_0() -> None:
    compaction = HostCompaction(id="k")
    events = [reply("resumed", id="a"), compaction, say("go", id="b"), say("no", id="c", typed=False)]
    turns = turns_of(events)
    assert [(turn.number, len(turn.events)) for turn in turns] == [(0, 2), (1, 2)]


def test_nothing_gives_no_turn() -> None:
    assert turns_of([]) == []


def test_recorded_compactions_are_left_out_and_counted() -> None:
    kept, left_out = without_compactions([say("a"), HostCompaction(id="k"), say("b"), HostCompaction(id="l")])
    assert left_out == 2
    assert [type(event) for event in kept] == [SourceEntry, SourceEntry]


# -- deliveries ----------------------------------------------------------------------------------------------------


def test_a_short_turn_is_one_delivery() -> None:
    turn = [say("go"), tokens_of(50, "a"), tokens_of(49, "b")]
    assert deliveries_of(turn, 100) == [tuple(turn)]


def test_a_long_turn_is_cut_once_enough_is_there() -> None:
    turn = [tokens_of(60, "a"), tokens_of(40, "b"), tokens_of(1, "c"), tokens_of(99, "d"), tokens_of(5, "e")]
    assert [[event.id for event in piece] for piece in deliveries_of(turn, 100)] == [["a", "b"], ["c", "d"], ["e"]]


def test_no_cut_while_a_call_waits_for_its_result() -> None:
    first, second = call("Read", call_id="1", id="c1"), call("Read", call_id="2", id="c2")
    turn = [
        tokens_of(100, "a"),
        first,
        second,
        result("y" * 400, call_id="2", id="r2"),
        result("y" * 400, call_id="1", id="r1"),
        tokens_of(1, "e"),
    ]
    pieces = deliveries_of(turn, 10)
    assert [[event.id for event in piece] for piece in pieces] == [["a"], ["c1", "c2", "r2", "r1"], ["e"]]


def test_a_call_without_a_result_costs_a_cut_and_no_entry() -> None:
    turn = [call("Read", call_id="1", id="c1"), tokens_of(100, "a"), tokens_of(100, "b")]
    assert deliveries_of(turn, 10) == [tuple(turn)]


# -- what stays ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("keep", "first"), [(1, 3), (10, 3), (29, 2), (30, 1), (39, 1), (40, 0), (1_000, 0)])
def test_the_newest_entries_of_at_most_keep_tokens_stay(keep: int, first: int) -> None:
    entries = placed([tokens_of(10, "a"), tokens_of(15, "b"), tokens_of(5, "c"), tokens_of(10, "d")])
    assert kept_from(entries, keep) == first


def test_the_last_entry_stays_even_when_it_is_larger() -> None:
    entries = placed([tokens_of(10, "a"), tokens_of(500, "b")])
    assert kept_from(entries, 20) == 1


def test_a_result_that_stays_keeps_its_call_and_what_is_between() -> None:
    entries = placed(
        [
            say("go"),
            call("Read", call_id="1", id="c1"),
            call("Read", call_id="2", id="c2"),
            result("y" * 400, call_id="1", id="r1"),
            result("y" * 40, call_id="2", id="r2"),
            tokens_of(1, "end"),
        ]
    )
    assert kept_from(entries, 20) == 1, "r2 stays, so c2 does; r1 stands after c2, so c1 does"


def test_a_result_whose_call_is_not_there_is_cut_as_it_stands() -> None:
    entries = placed([say("go " * 40), result("y" * 40, call_id="lost", id="r"), tokens_of(1, "end")])
    assert kept_from(entries, 12) == 1


@st.composite
def paths(draw: st.DrawFn) -> list[SourceEntry]:
    """Calls and results in any order, some without the other."""
    kinds = draw(st.lists(st.tuples(st.sampled_from("scr"), st.integers(0, 4), st.integers(1, 30)), max_size=30))
    made: list[SourceEntry] = []
    for index, (kind, number, size) in enumerate(kinds):
        text, id_ = "z" * (4 * size), f"e{index}"
        if kind == "s":
            made.append(say(text, id=id_))
        elif kind == "c":
            made.append(call("Tool", text, call_id=f"k{number}-{index}", id=id_))
        else:
            calls = [part.call_id for entry in made for part in entry.parts if part.call_id]
            made.append(result(text, call_id=calls[number % len(calls)] if calls else "lost", id=id_))
    return made


@given(paths(), st.integers(1, 200))
def test_no_result_is_cut_from_its_call(entries: list[SourceEntry], keep: int) -> None:
    first = kept_from(placed(entries), keep)
    assert 0 <= first <= max(0, len(entries) - 1)
    cut = {part.call_id for entry in entries[:first] for part in entry.parts if part.kind == "tool_call"}
    assert not [entry.id for entry in entries[first:] if entry.role == "tool_result" and entry.call_id in cut]


@given(paths(), st.integers(1, 60))
def test_deliveries_lose_nothing_and_cut_no_exchange(entries: list[SourceEntry], limit: int) -> None:
    pieces = deliveries_of(entries, limit)
    assert [event for piece in pieces for event in piece] == entries
    answered = {entry.call_id for entry in entries if entry.role == "tool_result"}
    for piece in pieces:
        called = {part.call_id for event in piece for part in event.parts if part.kind == "tool_call"}
        results = {event.call_id for event in piece if event.role == "tool_result"}
        assert called & answered <= results


# -- where a replay goes on ------------------------------------------------------------------------------------------


def test_a_replay_goes_on_at_the_last_piece_of_which_anything_is_known() -> None:
    pieces = [
        [say("one", id="a"), reply("x", id="b")],
        [say("two", id="c"), reply("y", id="d")],
        [say("three", id="e")],
    ]
    there: set[str] = set()
    reached = []
    for id_ in "abcde":
        there.add(id_)
        reached.append(last_known(pieces, lambda entry: entry.id in there))
    assert reached == [0, 0, 1, 1, 2]
    assert last_known(pieces, lambda entry: False) == last_known([], lambda entry: True) == 0


def test_an_entry_that_a_host_writes_again_does_not_count_for_the_later_piece() -> None:
    first = say("one", id="a")
    assert last_known([[first], [say("two", id="b")], [first]], lambda entry: entry.id == "a") == 0

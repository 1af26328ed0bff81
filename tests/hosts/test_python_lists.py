"""What is new in a list, and where it can be cut."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from programs_lists import Program, calls_and_answers, programs

from minutebook.hosts.python_lists import New, cut_at, overlapping
from minutebook.hosts.python_lists import find_new as find
from minutebook.hosts.python_messages import read_messages


def find_new(known: list[str], given_: list[str], **more: Any) -> New:
    """Capital letters are typed."""
    return find(known, given_, [key.isupper() for key in given_], **more)


FEW = st.lists(st.sampled_from("abc"), max_size=12)


@given(known=FEW, given_=FEW)
def test_the_overlap_is_the_longest_there_is(known: list[str], given_: list[str]) -> None:
    fits = [n for n in range(min(len(known), len(given_)) + 1) if known[len(known) - n :] == given_[:n]]
    assert overlapping(known, given_) == max(fits)


@given(known=FEW, more=FEW)
def test_the_whole_list_again_has_only_its_end_new(known: list[str], more: list[str]) -> None:
    found = find_new(known, [*known, *more])
    assert found.after == len(known)
    assert [*known, *more][found.start :] == more


def keys(text: str) -> list[str]:
    return list(text)


def test_only_new_ones() -> None:
    assert find_new(keys("abc"), keys("de")) == New(0, 3)
    assert find_new([], keys("ab")) == New(0, 0)
    assert find_new(keys("abc"), []) == New(0, 3)


def test_the_same_prompt_again_is_a_new_one_when_the_answer_to_it_was_known() -> None:
    assert find_new(keys("gd"), keys("g")) == New(0, 2)
    assert find_new(keys("gdgd"), keys("ge")) == New(0, 4)


def test_a_list_that_was_cut_back_and_goes_on_otherwise_begins_a_branch() -> None:
    assert find_new(keys("abcdef"), keys("abcxy")) == New(3, 3)
    assert find_new(keys("abcdef"), keys("ax"), whole=True) == New(1, 1)
    assert find_new(keys("abcdef"), keys("ax")) == New(0, 6)
    assert find_new(keys("abcdefgh"), keys("efx"), windows=(4, 0)) == New(2, 6)


def test_a_list_that_was_only_cut_back_has_nothing_new() -> None:
    assert find_new(keys("abcdef"), keys("abc")) == New(3, 6)


def test_what_was_cleared_in_the_middle_is_no_new_one() -> None:
    assert find_new(keys("abcdef"), keys("abxdefg")) == New(6, 6)
    assert find_new(keys("abcdef"), keys("abxdef")) == New(6, 6)
    assert find_new(keys("0abcdefgh"), keys("abxdefg"), windows=(1, 0)) == New(7, 9)


def test_a_prompt_that_is_not_known_is_new_whatever_stands_behind_it() -> None:
    assert find_new(keys("abck"), keys("abNk")) == New(2, 2)
    assert find_new(keys("abcdefk"), keys("abxNk")) == New(2, 2)


def test_a_list_that_slid_and_was_cut_back_begins_a_branch() -> None:
    assert find_new(keys("abcdefgh"), keys("cdeX"), windows=(2, 0)) == New(3, 5)
    assert find_new(keys("abcdefghijkl"), keys("cdefghX")) == New(6, 8)
    assert find_new(keys("abcdefghijkl"), keys("cdX")) == New(0, 12)


def test_the_last_word_alone_is_no_proof() -> None:
    assert find_new(keys("abcdok"), keys("xyzk")) == New(0, 6)


@given(program=programs(), keep=st.integers(0, 400))
def test_a_cut_parts_no_call_from_its_result(program: Program, keep: int) -> None:
    cut = cut_at(read_messages(program.messages), keep)
    assert 0 <= cut < len(program.messages)
    calls, answers = calls_and_answers(program.messages[cut:])
    assert answers <= calls
    before: Any = program.messages[cut - 1] if cut else {}
    assert before.get("type") != "reasoning"


@given(program=programs())
def test_a_cut_keeps_as_much_as_it_may(program: Program) -> None:
    read = read_messages(program.messages)
    whole = sum(message.tokens for message in read)
    assert cut_at(read, whole) == 0
    kept = cut_at(read, 100)
    alone = [message.tokens for message in read[kept:]]
    assert kept == 0 or sum(alone) + read[kept - 1].tokens > 100 or read[kept - 1].leads


def test_an_empty_list() -> None:
    assert cut_at([], 10) == 0

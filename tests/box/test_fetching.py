"""Which sessions of the box's list are believed, and in what order branches come."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from doors import laptop_session, main_branch

from minutebook.box.fetching import check_listed, parents_first
from minutebook.box.wire import Listed, Me
from minutebook.errors import BoxFailed
from minutebook.pipeline.rows import Lengths
from minutebook.records import Branch

ME = Me("alice", ("*",))
LENGTHS = Lengths(0, "", 0, "", {})


def listed(host: str = "claude_code", owner: str = "alice") -> Listed:
    session = laptop_session(host=host)
    return Listed(session, (main_branch(session),), {session.key: LENGTHS}, owner)


@pytest.mark.parametrize("right", [listed(), listed("bob~claude_code", "bob")])
def test_a_session_that_is_what_it_says(right: Listed) -> None:
    check_listed(right, ME)


def with_project(found: Listed, project: str) -> Listed:
    branch = replace(found.branches[0], project=project)
    return replace(found, session=replace(found.session, project=project), branches=(branch,))


WRONG: dict[str, Callable[[], Listed]] = {
    "another's without its name": lambda: listed(owner="bob"),
    "one's own with a name": lambda: listed("alice~claude_code"),
    "a third one's": lambda: listed("bob~claude_code", "carol"),
    "a host that is not in the key": lambda: replace(listed(), session=replace(laptop_session(), host="bob~x")),
    "a folder of this machine": lambda: with_project(listed(), "/etc"),
    "a way out of a folder": lambda: with_project(listed(), "a/../../etc"),
    "a branch of another session": lambda: replace(listed(), branches=(main_branch(laptop_session("s2")),)),
    "a branch in a folder of this machine": lambda: replace(
        listed(), branches=(replace(main_branch(laptop_session()), project="/etc"),)
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_session_that_contradicts_itself_is_refused(name: str) -> None:
    with pytest.raises(BoxFailed, match="contradicts itself"):
        check_listed(WRONG[name](), ME)


def branch(key: str, parent: str = "") -> Branch:
    return Branch(key=key, host="pi", session="s", lineage="s", parent=parent)


def test_parents_come_first_whatever_the_list_says() -> None:
    given = (branch("c", "b"), branch("b", "a"), branch("x", "elsewhere"), branch("a"), branch("d", "a"))
    order = [each.key for each in parents_first(given)]
    assert sorted(order) == ["a", "b", "c", "d", "x"]
    for each in given:
        if each.parent in order:
            assert order.index(each.parent) < order.index(each.key)
    ring = (branch("a", "b"), branch("b", "a"))
    assert len(parents_first(ring)) == 2

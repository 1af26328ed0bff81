"""Paths through the ledger."""

import pytest
from builders import deliver, reply, say
from ledgers import turns

from minutebook.errors import NotFound
from minutebook.pipeline.branches import Path, find_branch, list_branches, load_branch
from minutebook.records import Branch
from minutebook.store.kernel import Store


@pytest.fixture
def grandchild(store: Store) -> Branch:
    """root e0-e5, child at 4: a0 a1 a2, grandchild at 6: b0 b1."""
    deliver(store, turns(6))
    deliver(store, [say("a0", id="a0", parent="e3"), reply("a1", id="a1", parent="a0"), say("a2", id="a2")])
    return deliver(store, [say("b0", id="b0", parent="a1"), reply("b1", id="b1", parent="b0")])


IDS = ["e0", "e1", "e2", "e3", "a0", "a1", "b0", "b1"]


@pytest.mark.parametrize("start", range(9))
@pytest.mark.parametrize("stop", [*range(9), None])
def test_a_span_of_the_path(store: Store, grandchild: Branch, start: int, stop: int | None) -> None:
    path = Path(store, grandchild)
    assert [placed.entry.id for placed in path.read(start, stop)] == IDS[start:stop]
    assert [placed.entry.id for placed in path.read(start, stop, limit=3)] == IDS[start:stop][:3]
    assert [placed.position for placed in path.walk(start, stop)] == list(range(8))[start:stop]


def test_totals_run_through_the_whole_path(store: Store, grandchild: Branch) -> None:
    path = Path(store, grandchild)
    total = 0
    for placed in path.walk():
        assert path.tokens_before(placed.position) == total
        total += placed.tokens
        assert placed.total == total
    assert path.tokens() == path.tokens_before(8) == path.tokens_before(99) == total
    assert path.length() == 8


def test_entries_are_found_on_the_path_only(store: Store, grandchild: Branch) -> None:
    found = Path(store, grandchild).find([*IDS, "e4", "e5", "a2", "nowhere"])
    assert {key: placed.position for key, placed in found.items()} == {key: at for at, key in enumerate(IDS)}


def test_each_position_has_an_owner(store: Store, grandchild: Branch) -> None:
    path = Path(store, grandchild)
    child = load_branch(store, grandchild.parent)
    assert [path.owner(at).key for at in (0, 3, 4, 5, 6, 7, 8)] == [
        child.parent,
        child.parent,
        child.key,
        child.key,
        *[grandchild.key] * 3,
    ]


def test_a_position_outside_holds_nothing(store: Store, grandchild: Branch) -> None:
    path = Path(store, grandchild)
    assert (path.at(8), path.read(9), path.tokens_before(0)) == (None, [], 0)
    assert path.at(7) is not None


def test_an_unknown_branch(store: Store) -> None:
    assert find_branch(store, "nobody") is None
    with pytest.raises(NotFound, match="om sessions"):
        load_branch(store, "nobody")


def test_branches_by_the_beginning_of_their_key(store: Store, grandchild: Branch) -> None:
    assert [each.key for each in list_branches(store, "neutral:s1@")] == ["neutral:s1@a0", "neutral:s1@b0"]
    assert list_branches(store, "pi:") == []

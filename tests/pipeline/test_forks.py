"""A fork freezes what it inherits, for good."""

from builders import concluded, deliver, memory_of, observed, remember, reply, say, sums
from ledgers import dump, take, turns

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import load_branch, memory_stream
from minutebook.pipeline.forks import fork_branch
from minutebook.pipeline.ledger import chain_of, read_memory, read_own
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import compaction_projection
from minutebook.pipeline.sessions import load_session
from minutebook.records import Branch
from minutebook.store.kernel import Store

ONE, TWO, THREE = observed("one"), observed("two"), observed("three")


def contents(store: Store, branch: Branch) -> list[str]:
    return [held.record.content for held in memory_of(store, branch).observations.values()]


def test_a_fork_inherits_what_lies_within_the_shared_prefix_003_157(store: Store) -> None:
    branch = deliver(store, turns(10))
    remember(store, branch, observations=[ONE], covers=4)
    remember(store, branch, observations=[TWO], covers=6)
    remember(store, branch, observations=[THREE], covers=7)
    fork = deliver(store, [say("back", id="x", parent="e5")])
    assert (fork.fork, fork.parent_memory) == (6, 3)
    assert contents(store, fork) == ["one", "two"]
    marks = store.tip(memory_stream(fork.key)).marks
    assert marks[ledger.OBSERVER] == 6
    assert sums(memory_of(store, fork)).items() <= marks.items()


def test_nothing_that_comes_later_crosses_on_either_side_003_156_003_157(store: Store) -> None:
    branch = deliver(store, turns(10))
    fork = deliver(store, [say("back", id="x", parent="e5")])
    remember(store, branch, observations=[ONE], covers=4)
    remember(store, fork, observations=[TWO], covers=4)
    assert contents(store, branch) == ["one"]
    assert contents(store, fork) == ["two"]


def test_siblings_do_not_see_each_other_003_156(store: Store) -> None:
    root = deliver(store, turns(6))
    first = deliver(store, [say("a", id="a", parent="e1"), reply("a2", id="a2", parent="a")])
    second = deliver(store, [say("b", id="b", parent="e1")])
    remember(store, first, observations=[ONE], covers=3)
    remember(store, second, observations=[TWO], covers=3)
    assert [contents(store, each) for each in (root, first, second)] == [[], ["one"], ["two"]]


def test_a_grandchild_inherits_through_its_parent(store: Store) -> None:
    """What the root recorded after the first fork stays out, even if it lies within the shared prefix of both."""
    root = deliver(store, turns(6))
    remember(store, root, observations=[ONE], covers=2)
    child = deliver(store, [say("a", id="a", parent="e3"), reply("b", id="b", parent="a"), say("c", id="c")])
    remember(store, root, observations=[observed("too late")], covers=2)
    remember(store, child, observations=[TWO], covers=6)
    remember(store, child, observations=[THREE], covers=7)
    grandchild = deliver(store, [say("d", id="d", parent="b")])
    assert (grandchild.parent, grandchild.fork) == (child.key, 6)
    assert contents(store, grandchild) == ["one", "two"]
    assert [each.key for each in chain_of(store, grandchild)] == [root.key, child.key, grandchild.key]
    further = deliver(store, [say("e", id="e", parent="e0")])
    assert contents(store, further) == []


def test_a_fork_at_0_inherits_nothing_that_covers_anything(store: Store) -> None:
    root = deliver(store, turns(4))
    remember(store, root, observations=[ONE], covers=1)
    fork = deliver(store, [say("from scratch", id="x", moved=True)])
    assert (fork.fork, contents(store, fork)) == (0, [])
    assert store.tip(memory_stream(fork.key)).marks[ledger.OBSERVER] == 0


def test_a_digest_past_the_fork_is_not_used_by_the_child_003_158(store: Store) -> None:
    root = deliver(store, turns(8))
    early, late = concluded("early", ONE), concluded("late", ONE)
    remember(store, root, observations=[ONE], reflections=[early], covers=4)
    remember(store, root, reflections=[late], digest=("both", late), covers=8)
    fork = deliver(store, [say("back", id="x", parent="e3")])
    shown = compaction_projection(page_of(memory_of(store, fork)), 5, pool_max_tokens=10**6, digest_tokens=4000)
    assert shown.digest is None
    assert [record.content for record in shown.reflection_records()] == ["early"]


def test_opening_it_again_returns_it_as_it_is(store: Store) -> None:
    root = deliver(store, turns(6))
    session = load_session(store, "neutral:s1")
    first = fork_branch(store, root, fork=4, key="neutral:s1@x", session=session)
    before = dump(store)
    remember(store, root, observations=[ONE], covers=2)
    assert fork_branch(store, root, fork=4, key="neutral:s1@x", session=session) == first
    assert dump(store)["branches"]["neutral:s1@x"] == before["branches"]["neutral:s1@x"]


def test_entries_that_come_late_for_the_parent_do_not_reach_the_child(store: Store) -> None:
    take(store, turns(6))
    take(store, [say("back", id="x", parent="e3")])
    take(store, [reply("late", id="l", parent="e5")])
    fork = load_branch(store, "neutral:s1@x")
    remember(store, load_branch(store, "neutral:s1"), observations=[ONE], covers=7)
    assert read_memory(store, fork) == []


def test_own_entries_are_read_from_an_index_on(store: Store) -> None:
    root = deliver(store, turns(6))
    for each in (ONE, TWO, THREE):
        remember(store, root, observations=[each], covers=4)
    assert [entry.index for entry in read_own(store, root, 2, start=1)] == [1]
    assert {entry.branch for entry in read_own(store, root)} == {root.key}

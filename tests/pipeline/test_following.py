"""Sessions that copy another one's beginning."""

from dataclasses import replace

from builders import concluded, entry, observed, remember, reply, say
from ledgers import dump, ids_of, take, turns

from minutebook.pipeline.branches import Path, list_branches, load_branch
from minutebook.pipeline.corrections import note
from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory
from minutebook.pipeline.intake import mark_ended, own_branch
from minutebook.pipeline.ledger import COMPACTED_AT, OBSERVER, read_memory
from minutebook.pipeline.sessions import load_session
from minutebook.records import DROPS, HOST_SUMMARY, MemoryEntry, Part, SourceEntry
from minutebook.store.kernel import Store

COPY = "neutral:copy"


def path_ids(store: Store, key: str) -> list[str]:
    return [placed.entry.id for placed in Path(store, load_branch(store, key)).walk()]


def numbers(first: int, stop: int) -> list[str]:
    return [f"e{at}" for at in range(first, stop)]


def test_a_copy_forks_where_it_parts(store: Store) -> None:
    take(store, turns(6))
    done = take(store, [*turns(6), say("other way", id="x", parent="e5"), reply("yes", id="y", parent="x")], "copy")
    assert (done.new, done.duplicates) == (2, 6)
    branch = load_branch(store, COPY)
    assert (branch.parent, branch.fork, branch.lineage, branch.session) == ("neutral:s1", 6, "neutral:s1", "copy")
    assert path_ids(store, COPY) == [*numbers(0, 6), "x", "y"]
    assert ids_of(store) == numbers(0, 6)


def summary(id_: str = "s") -> SourceEntry:
    text = Part(kind="text", text="the story so far")
    return replace(entry("custom", text, id=id_, custom_type=HOST_SUMMARY), time="2026-05-02T11:00:00Z")


def test_a_copy_of_a_compacted_session_begins_with_its_summary_and_shares_all_before(store: Store) -> None:
    """Claude Code copies the summary, then what was kept (which stood before it), then what came after."""
    first = take(store, [*turns(6), HostCompaction(id="c", after="e5"), summary(), *turns(2, 6)])
    remember(store, load_branch(store, first.session), observations=[observed("early")], covers=4)
    copied = [summary(), *turns(1, 5), *turns(2, 6)]
    for piece in (copied[:2], copied, [*copied, say("other way", id="x", parent="e7")]):
        take(store, piece, "copy")
    branch = load_branch(store, COPY)
    assert (branch.parent, branch.fork) == ("neutral:s1", 9)
    assert path_ids(store, COPY) == [*numbers(0, 6), "s", "e6", "e7", "x"]
    assert [each.covers for each in read_memory(store, branch)] == [4]
    assert store.tip(f"m:{COPY}").marks[COMPACTED_AT] == 6


def test_an_equal_summary_at_another_time_is_no_copy(store: Store) -> None:
    take(store, [*turns(6), summary()])
    take(store, [replace(summary(), time="2026-05-02T12:00:00Z"), say("x", id="x")], "copy")
    assert load_branch(store, COPY).parent == ""


def test_a_copy_in_pieces_and_twice_is_the_same(store: Store) -> None:
    take(store, turns(6))
    for piece in (turns(2), turns(2), turns(3, 1), turns(6), turns(1), [say("x", id="x", parent="e5")], turns(6)):
        take(store, piece, "copy")
    assert (load_branch(store, COPY).fork, ids_of(store, COPY)) == (6, ["x"])


def test_a_copy_that_never_parts_writes_nothing_and_can_be_read(store: Store) -> None:
    take(store, turns(6))
    before = dump(store)["branches"]
    take(store, turns(4), "copy")
    mark_ended(store, COPY)
    session = load_session(store, COPY)
    assert (session.branch, session.branches, session.follows) == ("neutral:s1", [], ["neutral:s1", 4])
    assert dump(store)["branches"] == before


def test_a_copy_that_needs_its_own_branch_gets_it_where_it_stands(store: Store) -> None:
    """What the first session did after that is not its past; the rest of the copy is its own."""
    take(store, turns(6))
    take(store, turns(4), "copy")
    assert own_branch(store, COPY).fork == 4
    assert own_branch(store, COPY) == load_branch(store, COPY)
    take(store, turns(8), "copy")
    assert ids_of(store, COPY) == numbers(4, 8)
    assert path_ids(store, COPY) == numbers(0, 8)


def test_what_both_sessions_have_after_the_fork_is_in_both(store: Store) -> None:
    """The copy leaves one entry out: what follows is its own, in this delivery and in later ones."""
    take(store, turns(8))
    take(store, [*turns(3), *turns(1, 4)], "copy")
    take(store, turns(3, 5), "copy")
    assert path_ids(store, COPY) == [*numbers(0, 3), *numbers(4, 8)]
    assert ids_of(store) == numbers(0, 8)


def test_a_rewritten_entry_parts_the_copy(store: Store) -> None:
    take(store, turns(4))
    take(store, [*turns(2), say("rewritten", id="e2", parent="e1"), reply("words of turn 3", id="e3")], "copy")
    assert (load_branch(store, COPY).fork, ids_of(store, COPY)) == (2, ["e2", "e3"])


def test_another_session_that_begins_with_the_same_id_is_no_copy(store: Store) -> None:
    """Programs number their entries, each session from 1 on; equal words without a time prove nothing, either."""
    take(store, [say("hello", id="1"), reply("a", id="2")])
    take(store, [say("good evening", id="1"), reply("b", id="2")], "s2")
    take(store, [say("hello", id="1", time="2027-01-01T00:00:00Z"), reply("c", id="2")], "s3")
    take(store, [say("hi", id="h", time=""), reply("d", id="2")], "s4")
    take(store, [say("hi", id="h", time=""), reply("e", id="2")], "s5")
    assert {branch.kind for branch in list_branches(store)} == {"main"}
    assert len(list_branches(store)) == 5


def test_a_sub_agent_s_file_follows_nothing(store: Store) -> None:
    take(store, turns(4))
    take(store, turns(2), agent="a1")
    assert ids_of(store, "neutral:s1/a1") == ["e0", "e1"]
    take(store, turns(2), "third")
    assert load_session(store, "neutral:third").follows == ["neutral:s1", 2]


def test_our_own_entries_are_in_no_copy(store: Store) -> None:
    """A note, and a version of an entry, stand in the ledger between what the host's file has."""
    take(store, turns(3))
    note(store, load_branch(store, "neutral:s1"), "mind this", timestamp="2026-05-02 10:30", time="T")
    take(store, [say("changed", id="e2"), *turns(2, 3)])
    take(store, [*turns(5), say("other way", id="x", parent="e4")], "copy")
    assert (load_branch(store, COPY).fork, ids_of(store, COPY)) == (7, ["x"])


def test_a_copy_of_a_copy_inherits_from_it(store: Store) -> None:
    take(store, turns(4))
    first = [*turns(4), say("x", id="x", parent="e3"), reply("y", id="y", parent="x")]
    take(store, first, "copy")
    take(store, [*first, say("z", id="z", parent="y")], "third")
    third = load_branch(store, "neutral:third")
    assert (third.parent, third.fork) == (COPY, 6)
    assert path_ids(store, "neutral:third") == [*numbers(0, 4), "x", "y", "z"]


def test_a_copy_of_a_session_that_forked_inside_itself(store: Store) -> None:
    whole = [*turns(4), say("back", id="b", parent="e1"), reply("c", id="c", parent="b")]
    take(store, whole)
    take(store, [*whole, say("z", id="z", parent="c")], "copy")
    branch = load_branch(store, COPY)
    assert (branch.parent, branch.fork) == ("neutral:s1@b", 4)
    assert path_ids(store, COPY) == ["e0", "e1", "b", "c", "z"]


def test_a_copy_that_goes_back_forks_there(store: Store) -> None:
    take(store, turns(6))
    take(store, [*turns(6), say("back", id="b", parent="e1")], "copy")
    assert path_ids(store, f"{COPY}@b") == ["e0", "e1", "b"]
    assert load_session(store, COPY).branch == f"{COPY}@b"


def test_the_copy_may_come_first(store: Store) -> None:
    take(store, [*turns(4), say("x", id="x", parent="e3")], "copy")
    take(store, turns(6))
    assert load_branch(store, "neutral:s1").parent == COPY
    assert path_ids(store, "neutral:s1") == numbers(0, 6)


def test_the_copy_inherits_memory_up_to_the_fork(store: Store) -> None:
    take(store, turns(4))
    parent = load_branch(store, "neutral:s1")
    early, late = observed("early"), observed("late")
    remember(store, parent, observations=[early], reflections=[concluded("so", early)], covers=3)
    take(store, turns(2, 4))
    remember(store, parent, observations=[late], covers=6)
    take(store, [*turns(4), say("x", id="x", parent="e3")], "copy")
    remember(store, parent, observations=[observed("after the fork")], covers=2, since=0)
    child = load_branch(store, COPY)
    said = [row["content"] for entry in read_memory(store, child) for row in entry.data.get("observations", [])]
    assert said == ["early"]


def test_a_compaction_in_the_copy_is_the_parent_s_and_a_new_one_its_own(store: Store) -> None:
    copied = HostCompaction(id="c1", first_kept="e2", after="e3")
    take(store, [*turns(4), copied])
    take(store, [*turns(4), copied], "copy")
    assert load_session(store, COPY).follows == ["neutral:s1", 4]
    take(store, [HostCompaction(id="c2", first_kept="e3", after="e3")], "copy")
    assert load_branch(store, COPY).fork == 4
    assert store.tip(f"m:{COPY}").marks["compacted_from"] == 3
    assert store.tip("m:neutral:s1").marks["compacted_from"] == 2
    assert load_session(store, "neutral:s1").compactions == ["c1"]


def test_memory_in_the_copy_is_the_parent_s_and_new_memory_its_own(store: Store) -> None:
    def drop(id_: str) -> ImportedMemory:
        entry = MemoryEntry(id=id_, kind=DROPS, covers=0, since=0, data={"observationIds": ["0123456789ab"]})
        return ImportedMemory(entry=entry, covers_id="e1", after="e3")

    take(store, [*turns(4), drop("m1")])
    take(store, [*turns(4), drop("m1")], "copy")
    assert load_session(store, COPY).follows == ["neutral:s1", 4]
    take(store, [drop("m2")], "copy")
    assert [entry.id for entry in read_memory(store, load_branch(store, COPY))] == ["m1", "m2"]
    assert [entry.id for entry in read_memory(store, load_branch(store, "neutral:s1"))] == ["m1"]


def test_a_fork_has_the_parent_s_coverage_as_far_as_both_go(store: Store) -> None:
    """Also where a run found nothing, which leaves no entry; and the last compaction that both share."""
    take(store, [*turns(4), HostCompaction(id="c", first_kept="e1", after="e3")])
    stream = "m:neutral:s1"
    store.append(stream, [], advance={OBSERVER: 3})
    take(store, [*turns(4), say("x", id="x", parent="e3")], "copy")
    marks = store.tip(f"m:{COPY}").marks
    assert (marks[OBSERVER], marks[COMPACTED_AT], marks["compacted_from"]) == (3, 4, 1)
    store.append(stream, [], advance={OBSERVER: 4})
    take(store, [replace(turns(1)[0], id="back", parent="e2")])
    assert store.tip("m:neutral:s1@back").marks[OBSERVER] == 0

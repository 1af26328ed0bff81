"""Where an entry goes: the spine, branches, versions, late and repeated deliveries."""

from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from builders import call, entry, reply, result, say
from ledgers import Breaking, Broken, Counting, dump, ids_of, take, turns, weights

from minutebook.errors import NotFound
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import list_branches, load_branch, source_stream
from minutebook.pipeline.corrections import note
from minutebook.pipeline.deliveries import Reading
from minutebook.pipeline.intake import WINDOW, accept_turns, mark_ended, own_branch, redactor_of
from minutebook.pipeline.sessions import load_session
from minutebook.records import HOST_SUMMARY, INJECTED, NOTE, Part, SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

SECRET = "ghp_" + "a8F2kQ9zLmX7bV4cN1dR6tY3wS5eH0jG2pUi"


def path_ids(store: Store, key: str) -> list[str]:
    return [placed.entry.id for placed in SourcePath(store, load_branch(store, key)).walk()]


def keys(store: Store) -> list[str]:
    return [branch.key for branch in list_branches(store)]


def test_a_file_without_a_head_delivers_nothing(store: Store) -> None:
    assert accept_turns(store, Reading(head=None)).session == ""
    assert keys(store) == []


def test_entries_stand_in_the_order_of_their_delivery(store: Store) -> None:
    done = take(store, [say("b", id="b"), reply("a", id="a", parent="z"), reply("c", id="c", parent="b")])
    assert (done.new, done.duplicates, done.branches) == (3, 0, ("neutral:s1",))
    assert ids_of(store) == ["b", "a", "c"]


def test_an_unknown_parent_continues_the_branch_on_which_it_arrived(store: Store) -> None:
    take(store, turns(4))
    take(store, [say("forked", id="f", parent="e1")])
    take(store, [say("lost", id="g", parent="never seen"), reply("x", id="h", parent="never seen")])
    assert path_ids(store, "neutral:s1@f") == ["e0", "e1", "f", "g", "h"]


def test_a_typed_prompt_whose_parent_is_not_the_tip_opens_a_branch(store: Store) -> None:
    take(store, [*turns(4), say("again", id="f", parent="e1"), reply("yes", id="g", parent="f")])
    branch = load_branch(store, "neutral:s1@f")
    assert (branch.parent, branch.fork, branch.kind, branch.lineage) == ("neutral:s1", 2, "fork", "neutral:s1")
    assert path_ids(store, branch.key) == ["e0", "e1", "f", "g"]
    assert branch.base_tokens == SourcePath(store, load_branch(store, "neutral:s1")).tokens_before(2)
    assert load_session(store, "neutral:s1").branch == branch.key


@pytest.mark.parametrize("late", ["assistant", "tool_result", "custom", "user"])
def test_an_untyped_entry_opens_no_branch_wherever_its_parent_stands(store: Store, late: str) -> None:
    take(store, [*turns(4), entry(late, Part(kind="text", text="x"), id="f", parent="e1")])
    assert ids_of(store) == ["e0", "e1", "e2", "e3", "f"]


def test_parallel_tool_results_open_no_branch(store: Store) -> None:
    """Two calls in one reply, their results in any order; the next prompt names either of them."""
    calls = [replace(call("Bash", call_id=c, id=c), parent=p) for c, p in (("c1", "p"), ("c2", "c1"))]
    results = [replace(result("ok", call_id=c, id=f"r{c}"), parent=c) for c in ("c2", "c1")]
    take(store, [say("go", id="p"), *calls, *results, say("on", id="q", parent="rc2")])
    take(store, [say("stop", id="r", parent="q"), reply("k", id="s", parent="r")])
    assert keys(store) == ["neutral:s1"]
    assert ids_of(store) == ["p", "c1", "c2", "rc2", "rc1", "q", "r", "s"]


def test_a_prompt_after_a_long_stretch_of_results_is_told_from_one_that_goes_back(store: Store) -> None:
    results = [result("ok", id=f"r{at}") for at in range(64)]
    take(store, [*turns(2), *results[:63], say("on", id="p", parent="e1")])
    assert keys(store) == ["neutral:s1"]
    take(store, [*turns(2), *results, say("on", id="p", parent="e1")], "s2", "other")
    assert keys(store)[-1] == "other:s2@p"


def test_what_we_added_ourselves_stands_in_no_prompt_s_way(store: Store) -> None:
    """A note and a rewritten answer come after the host's tip; the next prompt names the host's."""
    take(store, turns(2))
    note(store, load_branch(store, "neutral:s1"), "mind the gap", timestamp="2026-05-02 10:30", time="T")
    take(store, [reply("other words", id="e1", parent="e0"), say("on", id="e2", parent="e1")])
    assert keys(store) == ["neutral:s1"]
    assert len(ids_of(store)) == 5


def test_a_moved_entry_opens_a_branch_whatever_it_is(store: Store) -> None:
    take(store, [*turns(4), reply("x", id="f", parent="e1", moved=True)])
    assert path_ids(store, "neutral:s1@f") == ["e0", "e1", "f"]


def test_a_moved_entry_that_returns_to_a_tip_continues_there(store: Store) -> None:
    take(store, [*turns(4), say("x", id="f", parent="e1", moved=True), say("y", id="g", parent="e3", moved=True)])
    take(store, [reply("z", id="h")])
    assert path_ids(store, "neutral:s1") == ["e0", "e1", "e2", "e3", "g", "h"]
    assert load_session(store, "neutral:s1").branch == "neutral:s1"


def test_a_moved_entry_without_a_parent_forks_at_0(store: Store) -> None:
    take(store, [*turns(4), say("from scratch", id="f", moved=True), reply("ok", id="g", parent="f")])
    branch = load_branch(store, "neutral:s1@f")
    assert (branch.fork, branch.base_tokens, branch.parent) == (0, 0, "neutral:s1")
    assert path_ids(store, branch.key) == ["f", "g"]
    take(store, [say("once more", id="h", moved=True)])
    assert path_ids(store, "neutral:s1@h") == ["h"]


def test_forks_of_forks(store: Store) -> None:
    take(
        store, [*turns(4), say("1", id="f", parent="e1"), reply("2", id="g", parent="f"), say("3", id="h", parent="g")]
    )
    take(store, [say("again 2", id="i", parent="g")])
    take(store, [say("again 1", id="j", parent="e0")])
    assert path_ids(store, "neutral:s1@i") == ["e0", "e1", "f", "g", "i"]
    assert load_branch(store, "neutral:s1@i").parent == "neutral:s1@f"
    assert path_ids(store, "neutral:s1@j") == ["e0", "j"]
    assert load_branch(store, "neutral:s1@j").parent == "neutral:s1"
    assert {branch.lineage for branch in list_branches(store)} == {"neutral:s1"}


def test_a_late_entry_goes_to_the_older_branch_and_changes_no_course(store: Store) -> None:
    take(store, [*turns(4), say("again", id="f", parent="e1")])
    done = take(
        store, [result("late", id="l", parent="e3"), reply("on f", id="g"), reply("late 2", id="m", parent="l")]
    )
    assert path_ids(store, "neutral:s1") == ["e0", "e1", "e2", "e3", "l", "m"]
    assert path_ids(store, "neutral:s1@f") == ["e0", "e1", "f", "g"]
    assert load_session(store, "neutral:s1").branch == "neutral:s1@f"
    assert set(done.branches) == {"neutral:s1", "neutral:s1@f"}


def test_a_prompt_that_goes_back_on_an_older_branch_forks_there(store: Store) -> None:
    take(store, [*turns(4), say("again", id="f", parent="e1"), say("elsewhere", id="g", parent="e2")])
    assert path_ids(store, "neutral:s1@g") == ["e0", "e1", "e2", "g"]


def test_the_same_again_changes_nothing(store: Store) -> None:
    events = [*turns(6), say("again", id="f", parent="e1"), reply("other words", id="e3"), result("late", id="l")]
    first = take(store, events)
    before = dump(store)
    again = take(store, events)
    assert (first.new, first.duplicates, first.versions) == (9, 0, 1)
    assert (again.new, again.duplicates, again.versions, again.branches) == (0, 9, 0, ())
    assert dump(store) == before


def test_pieces_give_the_same_as_the_whole(store: Store) -> None:
    events = [*turns(5), say("again", id="f", parent="e1"), *turns(2, 5), say("deeper", id="g", parent="e3")]
    take(store, events)
    for at in range(len(events)):
        take(store, events[max(0, at - 2) : at + 1], "s1", "pieces")
    for key in ("s1", "s1@f", "s1@g"):
        assert ids_of(store, f"pieces:{key}") == ids_of(store, f"neutral:{key}") != []
    assert load_session(store, "pieces:s1").calibration == load_session(store, "neutral:s1").calibration
    assert len(keys(store)) == 6


def test_the_same_id_with_another_text_is_kept_as_a_version_and_counted(store: Store) -> None:
    take(store, turns(3))
    changed = [say("words of turn 0", id="e0"), reply("rewritten", id="e1"), say("rewritten", id="e2")]
    done = take(store, changed, replaced=True)
    assert (done.new, done.versions, done.duplicates) == (2, 2, 1)
    versions = [codec.source_entry(stored) for stored in store.read(source_stream("neutral:s1"), 3)]
    assert [(each.version_of, each.parts[0].text) for each in versions] == [("e1", "rewritten"), ("e2", "rewritten")]
    session = load_session(store, "neutral:s1")
    assert (session.versions, session.replaced, session.prompts) == (2, 1, 2)
    take(store, [*turns(3), *changed])
    assert load_session(store, "neutral:s1").versions == 2


def test_what_is_never_observed_weighs_nothing_003_048(store: Store) -> None:
    ours = [
        entry("custom", Part(kind="text", text="w" * 400), id=id_, custom_type=kind)
        for id_, kind in (("n", NOTE), ("i", INJECTED), ("s", HOST_SUMMARY), ("h", "hook"))
    ]
    take(store, ours)
    assert weights(store) == {"n": 0, "i": 0, "s": 0, "h": 100}


def test_secrets_are_gone_before_the_first_write(store: Store, tmp_path: Path) -> None:
    said = f"export GITHUB_TOKEN={SECRET}"
    take(store, [say(said, id="e0"), entry("assistant", Part(kind="tool_call", name="Bash", text=said), id="e1")])
    take(store, [say(f"{said} again", id="e0")])
    files = [file.read_bytes() for file in tmp_path.glob("store.db*")]
    assert len(files) >= 2
    assert not any(SECRET.encode() in raw for raw in files)
    (first, *_) = store.read(source_stream("neutral:s1"))
    kept = codec.source_entry(first)
    assert kept.text_sha256 == sha256(said.encode()).hexdigest()
    assert "[secret:" in kept.parts[0].text
    assert SECRET not in load_session(store, "neutral:s1").title


def test_the_redaction_key_is_made_once(store: Store) -> None:
    first = redactor_of(store).redact(f"token {SECRET}")
    assert first == redactor_of(store).redact(f"token {SECRET}") != f"token {SECRET}"


def test_texts_with_lone_surrogates_and_nul_are_kept(store: Store) -> None:
    text = "a\x00b\ud800c\u2028d"
    take(store, [say(text, id="e0")])
    assert codec.source_entry(store.read(source_stream("neutral:s1"))[0]).parts[0].text == text
    assert take(store, [say(text, id="e0")]).duplicates == 1


def test_a_sub_agent_has_its_own_branch_in_the_lineage_of_its_session(store: Store) -> None:
    take(store, turns(2))
    take(store, [say("task", id="e0"), reply("done", id="a1")], agent="a7")
    branch = load_branch(store, "neutral:s1/a7")
    assert (branch.kind, branch.lineage, branch.parent) == ("subagent", "neutral:s1", "")
    assert ids_of(store, branch.key) == ["e0", "a1"]
    assert ids_of(store) == ["e0", "e1"]


def test_a_session_that_is_over_and_grows_is_not_over_any_more(store: Store) -> None:
    take(store, turns(2))
    mark_ended(store, "neutral:s1")
    take(store, turns(2))
    assert load_session(store, "neutral:s1").ended
    take(store, turns(3))
    assert not load_session(store, "neutral:s1").ended
    take(store, turns(4), ended=True)
    assert load_session(store, "neutral:s1").ended


def test_the_end_of_a_session_marks_its_branches(store: Store) -> None:
    take(store, [*turns(4), say("again", id="f", parent="e1")])
    branches = ["neutral:s1", "neutral:s1@f"]
    for _ in range(2):  # the second time, it was over: whoever noted that may have died before it marked anything
        for taken in store.take_dirty(10):
            store.settle_dirty(taken)
        mark_ended(store, "neutral:s1")
        assert [taken.key for taken in store.take_dirty(10)] == branches
    mark_ended(store, "neutral:nobody")


def test_a_delivery_without_a_place_in_the_file_leaves_the_cursor(store: Store) -> None:
    take(store, turns(2), cursor={"offset": 9}, skipped={"header": 1})
    take(store, turns(3))
    take(store, turns(2), cursor={"offset": 9}, skipped={"header": 1})
    session = load_session(store, "neutral:s1")
    assert (session.cursor, session.skipped) == ({"offset": 9}, {"header": 1})


def test_a_version_is_counted_once_wherever_its_delivery_died(tmp_path: Path) -> None:
    late = result("late, for the branch that was left", id="l", parent="e3")
    rewritten = reply("rewritten", id="e3", parent="e2")
    events = [*turns(4), say("again", id="f", parent="e1"), late, rewritten]
    for at in range(40):
        store = SqliteStore(tmp_path / f"{at}.db")
        with suppress(Broken):
            take(Breaking(store, at, after=True), events)  # type: ignore[arg-type]
        take(store, events)
        assert load_session(store, "neutral:s1").versions == 1
        store.close()


def test_own_branch_of_an_unknown_session_is_an_error(store: Store) -> None:
    take(store, turns(2))
    assert own_branch(store, "neutral:s1").key == "neutral:s1"
    with pytest.raises(NotFound):
        own_branch(store, "neutral:s9")


def test_what_is_known_of_a_session_is_kept_with_its_entries(store: Store) -> None:
    take(store, [say("  first\nwords  " + "and more " * 20, id="e0", time="2026-05-02T10:30:00Z"), say("b", id="e1")])
    session = load_session(store, "neutral:s1")
    assert len(session.title) <= 80
    assert session.title.startswith("first words and more")
    assert session.title.endswith("…")
    assert (session.prompts, session.last_time, session.branches) == (2, "2026-05-02T10:30:00Z", ["neutral:s1"])


def test_a_session_written_by_another_meanwhile_is_taken_up_from_there(store: Store) -> None:
    """The other's write lands between our reading of the session and our append."""
    take(store, turns(2))

    class Interrupted(Counting):
        def __getattr__(self, name: str):  # type: ignore[no-untyped-def]
            if name == "append" and not self.calls["append"]:
                take(self.store, turns(4))
            return super().__getattr__(name)

    done = take(Interrupted(store), turns(6))
    assert (done.new, done.duplicates) == (2, 4)
    assert ids_of(store) == [f"e{at}" for at in range(6)]
    assert load_session(store, "neutral:s1").prompts == 3


def test_a_note_that_lands_meanwhile_moves_the_positions(store: Store) -> None:
    """It stands before what is being taken in; a fork of the same delivery counts it."""
    take(store, turns(2))

    class Noting(Counting):
        def __getattr__(self, name: str):  # type: ignore[no-untyped-def]
            if name == "append" and not self.calls["append"]:
                note(
                    self.store,
                    load_branch(self.store, "neutral:s1"),
                    "mind this",
                    timestamp="2026-05-02 10:30",
                    time="T",
                )
            return super().__getattr__(name)

    take(Noting(store), [*turns(4, 2), say("back", id="x", parent="e3")])
    branch = load_branch(store, "neutral:s1@x")
    assert branch.fork == 5
    assert [id_ for id_ in path_ids(store, branch.key) if not id_.startswith("note")] == ["e0", "e1", "e2", "e3", "x"]


def test_one_reading_of_5000_entries_costs_few_calls_each(store: Store) -> None:
    counting = Counting(store)
    take(counting, turns(5000))
    assert counting.calls.total() < 5000 / WINDOW * 12 + 40
    assert ids_of(store) == [f"e{at}" for at in range(5000)]


def test_one_entry_a_reading_costs_the_same_however_long_the_session(store: Store) -> None:
    take(store, turns(10))
    short = Counting(store)
    take(short, turns(1, 10))
    take(store, turns(2000, 11))
    long = Counting(store)
    take(long, turns(1, 2011))
    assert long.calls == short.calls
    assert long.calls.total() <= 20


def test_a_conversation_without_parents_is_one_branch(store: Store) -> None:
    entries = [SourceEntry(id=f"n{at}", role="user", typed=True, parts=()) for at in range(5)]
    take(store, entries)
    assert len(ids_of(store)) == 5

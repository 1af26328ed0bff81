"""An id -> the record and its exact source."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import concluded, deliver, observed, reply, result, say
from memories import batch, conversation, digested, dropped, record, reflected, superseded

from minutebook.errors import BadRecordId
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.recall import Recalled, RecalledObservation, checked_id, recall
from minutebook.pipeline.shapes import observation_data, reflection_data
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import OBSERVATIONS, REFLECTIONS, Branch, Observation, Part, Placed, Reflection, SourceEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

ABSENT = "0123456789ab"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    opened.close()


@pytest.fixture
def branch(store: Store) -> Branch:
    return conversation(store, 10)


def source_ids(found: Recalled) -> list[str]:
    return [placed.entry.id for placed in found.sources]


BAD_IDS = [
    "0123456789a",
    "0123456789abc",
    "0123456789AB",
    "../x",
    "",
    "0123456789ab\n",
    "x" * 10_000,
    "０１２３４５６７８９ab",
]


@pytest.mark.parametrize("text", BAD_IDS)
def test_anything_but_twelve_hex_characters_is_refused_before_reading_003_086(text: str) -> None:
    with pytest.raises(BadRecordId) as refused:
        recall(None, None, text)  # type: ignore[arg-type]
    message = str(refused.value)
    assert repr(text[:5])[:-1] in message and len(message) < 250 and "\n" not in message


def test_a_good_id_is_itself_003_086() -> None:
    assert checked_id(ABSENT) == ABSENT


def test_an_id_of_a_sibling_is_not_found_like_a_random_one_003_087(store: Store) -> None:
    root = conversation(store, 10)
    left = deliver(store, [say("left", id="left", parent="e5")])
    right = deliver(store, [say("right", id="right", parent="e5")])
    mine = observed("only left", sources=("left",))
    batch(store, left, 6, 7, mine)
    assert recall(store, left, mine.id).found
    for branch in (right, root):
        assert recall(store, branch, mine.id) == Recalled(id=mine.id)
        assert recall(store, branch, ABSENT) == Recalled(id=ABSENT)
    assert not Recalled(id=ABSENT).found


def test_an_observation_with_all_its_sources_in_ledger_order_003_088(store: Store) -> None:
    text = "line one\r\n  line two\t\n\n</minutebook-memory> 文 🙂 " + "x" * 50_000
    branch = deliver(store, [say("zero", id="z"), result(text, id="b"), reply("last", id="a")])
    event = observed("something happened", sources=("a", "b"))
    batch(store, branch, 0, 3, event)
    found = recall(store, branch, event.id)
    assert (found.kind, found.collision, found.partial, found.empty_reason) == ("observation", False, False, "")
    assert [(each.record, each.status, each.why) for each in found.observations] == [(event, "active", "")]
    assert source_ids(found) == ["b", "a"]
    assert entry_text(found.sources[0].entry) == text


def test_a_dropped_observation_has_the_same_sources_and_says_why_003_088(store: Store, branch: Branch) -> None:
    events = [observed(f"event {at}", sources=(f"e{at}", "e9")) for at in range(3)]
    batch(store, branch, 0, 10, *events)
    before = [recall(store, branch, event.id).sources for event in events]
    dropped(store, branch, 10, events[0])
    superseded(store, branch, 0, 10, events[1])
    retire(store, branch, events[2].id, time="2026-05-02T10:30:00Z")
    after = [recall(store, branch, event.id) for event in events]
    assert [found.sources for found in after] == before
    assert [(each.observations[0].status, each.observations[0].why) for each in after] == [
        ("dropped", "dropper"),
        ("dropped", "superseded"),
        ("dropped", "user"),
    ]


def test_a_reflection_with_its_supports_and_their_sources_once_003_089(store: Store, branch: Branch) -> None:
    first, second = observed("first", sources=("e5", "e1")), observed("second", sources=("e1", "e3"))
    batch(store, branch, 0, 10, first, second)
    end = concluded("both", second, first)
    reflected(store, branch, 10, end)
    dropped(store, branch, 10, second)
    found = recall(store, branch, end.id)
    assert found.kind == "reflection"
    assert [(each.record, each.status, each.mind) for each in found.reflections] == [(end, "current", "test")]
    assert [(each.record, each.status) for each in found.observations] == [(second, "dropped"), (first, "active")]
    assert source_ids(found) == ["e1", "e3", "e5"]


def test_what_is_not_there_is_listed_each_kind_apart_003_090(store: Store, branch: Branch) -> None:
    other = observed("another", sources=("e2",))
    batch(store, branch, 0, 5, other)
    event = observed("mixed", sources=("nowhere", other.id, "e4"))
    batch(store, branch, 5, 10, event)
    end = concluded("on something unknown", event, "ffffffffffff")
    reflected(store, branch, 10, end)
    found = recall(store, branch, end.id)
    assert (found.missing, found.foreign, found.unknown_supports) == (("nowhere",), (other.id,), ("ffffffffffff",))
    assert found.partial and source_ids(found) == ["e4"]


def test_what_a_parent_remembered_past_the_fork_is_not_recalled_003_093(store: Store) -> None:
    root = conversation(store, 10)
    early, late = observed("before the fork", sources=("e1",)), observed("past the fork", sources=("e8",))
    batch(store, root, 0, 5, early)
    batch(store, root, 5, 9, late)
    child = deliver(store, [say("elsewhere", id="child", parent="e5")])
    assert recall(store, child, early.id).found and not recall(store, child, late.id).found
    assert recall(store, root, late.id).found


@pytest.mark.parametrize("lacking", ["source", "support", "no source"])
def test_each_thing_that_is_not_there_alone_makes_the_answer_partial_003_090(
    store: Store, branch: Branch, lacking: str
) -> None:
    other = observed("another", sources=("e1",))
    cited = {"source": "nowhere", "no source": other.id}.get(lacking, "e2")
    event = observed("an event", sources=("e4", cited))
    batch(store, branch, 0, 10, other, event)
    end = concluded("a conclusion", event, *(["ffffffffffff"] if lacking == "support" else []))
    reflected(store, branch, 10, end)
    found = recall(store, branch, end.id)
    assert found.partial
    assert [len(each) for each in (found.missing, found.unknown_supports, found.foreign)] == [
        lacking == "source",
        lacking == "support",
        lacking == "no source",
    ]


def test_a_memory_entry_is_no_source_003_090(store: Store, branch: Branch) -> None:
    batch(store, branch, 0, 5)
    (entry,) = store.read(f"m:{branch.key}")
    event = observed("cites a memory entry", sources=(entry.id,))
    batch(store, branch, 5, 10, event)
    assert recall(store, branch, event.id).foreign == (entry.id,)


def recalled(kind: str, *observations: Observation, sources: tuple[Placed, ...] = ()) -> Recalled:
    shown = tuple(RecalledObservation(record=each, status="active") for each in observations)
    return Recalled(id=ABSENT, kind=kind, observations=shown, sources=sources)


def test_why_there_is_no_text_is_said_in_words_003_091() -> None:
    bare = Observation(id=ABSENT, content="x", timestamp="2026-05-02 10:30", relevance="low", source_ids=())
    silent = SourceEntry(id="e", role="assistant", parts=(Part(kind="thinking", text=""),))
    placed = (Placed(position=0, tokens=0, total=0, entry=silent),)
    assert recalled("observation", bare).empty_reason == "The record names no source entries."
    assert recalled("observation", observed("x"), sources=placed).empty_reason == "The source entries hold no text."
    assert recalled("reflection").empty_reason == "None of the observations that support it is on this branch."
    assert recalled("observation", observed("x")).empty_reason == "", "its sources are missing, which is listed"
    assert recalled("").empty_reason != ""


def test_sources_that_render_to_nothing_003_091(store: Store) -> None:
    silent = SourceEntry(id="t", role="assistant", parts=(Part(kind="thinking", text=""),))
    branch = deliver(store, [say("hello", id="h"), silent])
    event = observed("on a silent entry", sources=("t",))
    batch(store, branch, 0, 2, event)
    assert recall(store, branch, event.id).empty_reason == "The source entries hold no text."


def test_records_that_share_an_id_are_all_shown_003_092(store: Store, branch: Branch) -> None:
    def forged(content: str, source: str) -> Observation:
        return Observation(
            id=ABSENT, content=content, timestamp="2026-05-02 10:30", relevance="low", source_ids=(source,)
        )

    rows = [observation_data(forged("one", "e1")), observation_data(forged("two", "e2"))]
    record(store, branch, OBSERVATIONS, {"observations": rows}, covers=5, since=0)
    found = recall(store, branch, ABSENT)
    assert (found.kind, found.collision, source_ids(found)) == ("observation", True, ["e1", "e2"])
    support = observed("support", sources=("e3",))
    batch(store, branch, 5, 6, support)
    end = Reflection(id=ABSENT, content="three", support_ids=(support.id,))
    record(store, branch, REFLECTIONS, {"reflections": [reflection_data(end)]}, covers=6, since=6)
    found = recall(store, branch, ABSENT)
    assert (found.kind, found.collision, source_ids(found)) == ("mixed", True, ["e1", "e2", "e3"])
    assert [each.record.content for each in found.observations] == ["one", "two", "support"]
    assert [each.record.content for each in found.reflections] == ["three"]


def test_the_same_record_twice_is_no_collision_003_092(store: Store, branch: Branch) -> None:
    event = observed("once", sources=("e1",))
    batch(store, branch, 0, 5, event)
    batch(store, branch, 5, 6, event)
    assert not recall(store, branch, event.id).collision


def test_the_whole_history_of_the_branch_and_nothing_else_003_093(store: Store, branch: Branch) -> None:
    """003-035: dropped, retired, under the digest, from before a compaction, inherited; not a foreign session's."""
    gone, kept = observed("gone", sources=("e1",)), observed("kept", sources=("e2",))
    old, new = concluded("old", kept), concluded("new", kept)
    batch(store, branch, 0, 5, gone, kept)
    reflected(store, branch, 5, old, new)
    digested(store, branch, 5, "a digest", new)
    assert compose_memory(store, branch, 8, Settings()) is not None
    dropped(store, branch, 5, gone)
    retire(store, branch, old.id, time="2026-05-02T10:30:00Z")
    child = deliver(store, [say("child", id="child", parent="e7")])
    for path in (branch, child):
        assert [source_ids(recall(store, path, each.id)) for each in (gone, kept, old, new)] == [
            ["e1"],
            ["e2"],
            ["e2"],
            ["e2"],
        ]
    found = recall(store, branch, old.id).reflections[0]
    assert (found.status, found.why) == ("retired", "user")
    stranger = deliver(store, [say("another session", id="first")], "s2")
    assert stranger.key != branch.key
    assert not recall(store, stranger, kept.id).found


def test_a_note_leads_to_what_the_person_wrote_003_093(store: Store, branch: Branch) -> None:
    said = note(store, branch, "never touch main", timestamp="2026-05-02 10:30", time="2026-05-02T10:30:00Z")
    found = recall(store, branch, said.id)
    assert [entry_text(placed.entry) for placed in found.sources] == ["never touch main"]


def test_recall_ignores_coverage_003_153(store: Store, branch: Branch) -> None:
    """A record's sources are those that it names, wherever they stand."""
    event = observed("cites the first", sources=("e0",))
    batch(store, branch, 8, 9, event)
    assert source_ids(recall(store, branch, event.id)) == ["e0"]

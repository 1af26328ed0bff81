"""What the observer's desk accepts, and what a correction takes back."""

from typing import Any

import pytest
from builders import ScriptedMind, concluded, deliver, memory_of, observed, remember, say
from observing import chunk_of, desk_of, proposal, run

from minutebook.pipeline.outcomes import Committed, commit_outcome
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import project
from minutebook.records import DROPS, OBSERVATIONS, REFLECTIONS, RETIREMENTS
from minutebook.store.kernel import Store
from minutebook.workers.observer import think
from minutebook.workers.showing import UNREADABLE_TIME, is_minute

# -- the desk ------------------------------------------------------------------------------------------------------


def test_unknown_aliases_are_removed_and_ids_kept_once_in_ledger_order_003_013(store: Store) -> None:
    branch = deliver(store, [say(f"entry {n}", id=f"e{n}") for n in range(1, 10)])
    desk = desk_of(chunk_of(store, branch))
    given = ["s9", "s3", "s99", "s3", "[s1]", *(f"s{n}" for n in range(8, 1, -1))]
    receipt = desk.record([proposal(sources=given)])
    assert (receipt.recorded, receipt.refused, receipt.ignored) == (1, (), 1)
    assert [each.source_ids for each in desk.accepted.values()] == [tuple(f"e{n}" for n in range(1, 10))]


def test_a_proposal_without_a_known_source_is_refused_alone_003_013(store: Store) -> None:
    branch = deliver(store, [say("one")])
    receipt = desk_of(chunk_of(store, branch)).record([proposal("bad", sources=["s7"]), proposal("good")])
    assert (receipt.recorded, receipt.total) == (1, 1)
    (reason,) = receipt.refused
    assert reason.startswith("proposal 1: sources:") and "s7" in reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""),
        ("content", " \n "),
        ("content", 7),
        ("content", None),
        ("timestamp", "2026-5-02 10:30"),
        ("timestamp", "2026-05-02T10:30"),
        ("timestamp", "2026-05-02 10:30:00"),
        ("timestamp", "2026-05-02 10:30 "),
        ("timestamp", "2026-02-30 10:30"),
        ("timestamp", "2026-05-02 24:30"),
        ("timestamp", "٢٠٢٦-05-02 10:30"),
        ("timestamp", UNREADABLE_TIME),
        ("timestamp", None),
        ("relevance", "urgent"),
        ("relevance", "High"),
        ("relevance", ["high"]),
        ("relevance", None),
        ("sources", []),
        ("sources", "s1"),
        ("sources", None),
        ("sources", [1]),
    ],
)
def test_a_malformed_field_is_named_and_the_good_proposal_kept_003_014(store: Store, field: str, value: Any) -> None:
    branch = deliver(store, [say("one")])
    desk = desk_of(chunk_of(store, branch))
    receipt = desk.record([{**proposal("bad"), field: value}, proposal("good")])
    assert [each.content for each in desk.accepted.values()] == ["good"]
    (reason,) = receipt.refused
    assert reason.startswith(f"proposal 1: {field}:")


def test_a_proposal_that_is_no_object_is_refused_003_014(store: Store) -> None:
    branch = deliver(store, [say("one")])
    receipt = desk_of(chunk_of(store, branch)).record(["prose", proposal()])  # type: ignore[list-item]
    assert (receipt.recorded, len(receipt.refused)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("2026-05-02 10:30", True), ("2024-02-29 00:00", True), ("2025-02-29 00:00", False), ("2026-05-02 10:3", False)],
)
def test_is_minute_003_014(text: str, is_one: bool) -> None:
    assert is_minute(text) is is_one


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("one\rtwo\nthree\r\nfour", "one two three four"),
        ("  padded\n", "padded"),
        ("x" * 10_000, "x" * 10_000),
        ("x" * 10_001, "x" * 10_000 + " […1 characters cut]"),
        ("x" * 12_345, "x" * 10_000 + " […2,345 characters cut]"),
    ],
)
def test_content_is_one_line_of_bounded_length_003_015(store: Store, given: str, stored: str) -> None:
    branch = deliver(store, [say("one")])
    desk = desk_of(chunk_of(store, branch))
    desk.record([proposal(given)])
    assert [each.content for each in desk.accepted.values()] == [stored]


def test_the_same_proposal_twice_is_stored_once_003_016(store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")])
    desk = desk_of(chunk_of(store, branch))
    first = desk.record([proposal(), proposal(), proposal(timestamp="2026-05-02 10:31")])
    second = desk.record([proposal(), proposal("other"), proposal(relevance="?")])
    assert (first.recorded, first.duplicate, first.total) == (2, 1, 2)
    assert (second.recorded, second.duplicate, len(second.refused), second.total) == (1, 1, 1, 3)


def test_an_observation_of_the_ledger_is_a_duplicate_003_016(store: Store) -> None:
    """003-016: dropped or not; a run that only repeats what is known covers its span without a record."""
    branch = deliver(store, [say("one", id="e1")])
    known = observed("The user prefers tabs", "high")
    remember(store, branch, observations=[known], covers=0)
    remember(store, branch, dropped=[known], covers=0)
    mind = ScriptedMind([[proposal()]])
    commit_outcome(store, branch, think(chunk_of(store, branch), mind))
    assert (mind.receipts[0].recorded, mind.receipts[0].duplicate) == (0, 1)
    memory = memory_of(store, branch)
    assert (len(memory.observations), memory.observed) == (1, 1)


# -- corrections ---------------------------------------------------------------------------------------------------


def test_a_correction_takes_back_what_it_replaces_and_what_rests_on_it(store: Store) -> None:
    branch = deliver(store, [say("use port 8080", id="e0")])
    old, other = observed("Port is 8080", "critical"), observed("Language is Python")
    resting, standing = concluded("The service listens on 8080", old, other), concluded("Python it is", other)
    remember(store, branch, observations=[old, other], reflections=[resting, standing])
    deliver(store, [say("no, port 9090", id="e1")])
    done = run(store, branch, [proposal("Port is 9090", supersedes=[old.id, "ffffffffffff"])])
    assert isinstance(done, Committed)
    assert [(each.kind, each.since, each.covers) for each in done.entries] == [
        (OBSERVATIONS, 1, 2),
        (DROPS, 1, 2),
        (RETIREMENTS, 1, 2),
    ]
    assert [each.data.get("by") for each in done.entries] == [None, "superseded", "superseded"]
    memory = memory_of(store, branch)
    assert [held.record.content for held in memory.active()] == ["Language is Python", "Port is 9090"]
    assert [held.record for held in memory.current()] == [standing]
    at_once = project(page_of(memory), 2, reference=None, digest_tokens=100)
    assert old.id not in {record.id for record in at_once.observation_records()}


def test_unknown_superseded_ids_are_ignored_and_counted(store: Store) -> None:
    branch = deliver(store, [say("one")])
    desk = desk_of(chunk_of(store, branch))
    receipt = desk.record([proposal(supersedes=["ffffffffffff", "eeeeeeeeeeee"])])
    assert (receipt.recorded, receipt.ignored, receipt.refused) == (1, 2, ())
    assert not desk.superseded


def test_an_observation_of_the_same_run_can_be_superseded(store: Store) -> None:
    branch = deliver(store, [say("port 8080", id="e1"), say("no, 9090", id="e2")])
    desk = desk_of(chunk_of(store, branch))
    desk.record([proposal("Port is 8080")])
    (first,) = desk.accepted
    desk.record([proposal("Port is 9090", sources=["s2"], supersedes=[first])])
    assert list(desk.superseded) == [first]
    assert len(desk.accepted) == 2


def test_a_proposal_cannot_supersede_itself_nor_a_duplicate_anything(store: Store) -> None:
    branch = deliver(store, [say("one", id="e0")])
    old = observed("old")
    remember(store, branch, observations=[old])
    deliver(store, [say("two", id="e1")])
    desk = desk_of(chunk_of(store, branch))
    desk.record([proposal("new")])
    (new,) = desk.accepted
    assert desk.record([proposal("new", supersedes=[old.id, new])]).duplicate == 1
    assert not desk.superseded


def test_without_a_correction_only_observations_are_recorded(store: Store) -> None:
    branch = deliver(store, [say("one")])
    outcome = think(chunk_of(store, branch), ScriptedMind([[proposal()]]))
    assert [each.kind for each in outcome.entries] == [OBSERVATIONS]
    assert REFLECTIONS not in {each.kind for each in outcome.entries}

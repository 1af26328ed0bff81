"""Memory that a Pi session brings along, read from hand-written session files."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from builders import memory_of
from ledgers import Counting, dump

from minutebook.hosts.pi import reader
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import load_branch, memory_stream
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.folds import PRODUCER, read_proposal
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.ledger import chain_of, read_memory
from minutebook.pipeline.projection import visible_projection
from minutebook.pipeline.recall import recall
from minutebook.records import DIGEST, DROPS, FOLD, MEMORY_KINDS, OBSERVATIONS, REFLECTIONS, Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

KEY = "pi:p1"
SECRET = "ghp_" + "a8F2kQ9zLmX7bV4cN1dR6tY3wS5eH0jG2pUi"


class PiFile:
    """A Pi v3 session file that grows."""

    def __init__(self, path: Path, session: str = "p1") -> None:
        self.path = path
        self.last: str | None = None
        self.write({"type": "session", "version": 3, "id": session, "timestamp": "2026-05-02T10:00:00Z", "cwd": "/w"})

    def write(self, row: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def row(self, kind: str, id_: str, **fields: Any) -> None:
        row = {"type": kind, "id": id_, "parentId": self.last, "timestamp": "2026-05-02T10:30:00Z", **fields}
        self.write(row)
        self.last = id_

    def says(self, id_: str, role: str = "user", text: str = "") -> None:
        said = text or f"words of {id_}"
        self.row("message", id_, message={"role": role, "content": [{"type": "text", "text": said}]})

    def memory(self, id_: str, kind: str, covers: str, **data: Any) -> None:
        self.row("custom", id_, customType=kind, data={**data, "coversUpToId": covers})

    def compacts(self, id_: str, kept: str, details: dict[str, Any] | None = None) -> None:
        self.row("compaction", id_, summary="S", firstKeptEntryId=kept, tokensBefore=9, details=details or {})


def seen(id_: str, content: str = "", sources: tuple[str, ...] = ("a",), **fields: Any) -> dict[str, Any]:
    return {
        "id": id_ * 12,
        "content": content or f"seen {id_}",
        "timestamp": "2026-05-02 10:30",
        "relevance": "high",
        "sourceEntryIds": list(sources),
        "tokenCount": 3,
        **fields,
    }


def fact(id_: str, *supports: str) -> dict[str, Any]:
    return {
        "id": id_ * 12,
        "content": f"fact {id_}",
        "supportingObservationIds": [each * 12 for each in supports],
        "tokenCount": 3,
    }


def ingest(store: Store, file: PiFile) -> Branch:
    accept_turns(store, reader.read(file.path))
    return load_branch(store, KEY)


@pytest.fixture
def file(tmp_path: Path) -> PiFile:
    return PiFile(tmp_path / "p.jsonl")


def conversation(file: PiFile, *ids: str) -> None:
    for at, id_ in enumerate(ids):
        file.says(id_, "user" if at % 2 == 0 else "assistant")


def v3_session(file: PiFile) -> None:
    conversation(file, "a", "b", "c", "d")
    file.memory("m1", OBSERVATIONS, "b", observations=[seen("1"), seen("2", sources=("b",))])
    file.memory("m2", REFLECTIONS, "b", reflections=[fact("3", "1")])
    file.memory("m3", DROPS, "b", observationIds=["2" * 12])
    details = {"type": FOLD, "version": 1, "fullFold": True, "observations": [seen("1")], "reflections": [fact("3")]}
    file.compacts("k", "c", details)
    file.says("e")
    file.memory("m4", DIGEST, "d", content="all of it", coversThroughReflectionId="3" * 12, tokenCount=999)


def test_a_session_is_imported_with_its_memory_003_163(store: Store, file: PiFile) -> None:
    v3_session(file)
    branch = ingest(store, file)
    memory = memory_of(store, branch)
    assert list(memory.observations) == ["1" * 12, "2" * 12]
    assert list(memory.reflections) == ["3" * 12]
    assert list(memory.drops) == ["2" * 12]
    assert [held.record.id for held in memory.active()] == ["1" * 12]
    assert (memory.observed, memory.reflected, memory.malformed) == (2, 2, 0)
    assert [(digest.content, digest.tokens) for digest in memory.digests] == [("all of it", 3)]
    assert [entry.id for entry in read_memory(store, branch)][:3] == ["m1", "m2", "m3"]
    shown = visible_projection(
        read_memory(store, branch), [each.key for each in chain_of(store, branch)], digest_tokens=4000
    )
    assert [record.id for record in shown.observation_records()] == ["1" * 12]
    assert [placed.entry.id for placed in recall(store, branch, "2" * 12).sources] == ["b"]
    marks = store.tip(memory_stream(KEY)).marks
    assert (marks[ledger.COMPACTED_FROM], marks[ledger.COMPACTED_AT], marks[ledger.OBSERVER]) == (2, 4, 2)


def test_a_digest_and_records_inside_an_old_fold_are_accepted_003_163(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b", "c", "d")
    file.memory("m1", REFLECTIONS, "b", reflections=[fact("3", "1")])
    digest = {"content": "digested", "coversThroughReflectionId": "3" * 12, "tokenCount": 2}
    details = {
        "type": FOLD,
        "version": 1,
        "fullFold": False,
        "observations": [seen("1")],
        "reflections": [fact("4", "1")],
    }
    file.compacts("k", "c", {**details, "reflectionDigest": digest})
    memory = memory_of(store, ingest(store, file))
    assert memory.digests[0].imported
    assert set(memory.observations) | set(memory.reflections) == {"1" * 12, "3" * 12, "4" * 12}
    assert memory.folds[0].ids == {"1" * 12, "4" * 12}
    assert memory.folds[0].reference is None


def test_importing_again_and_grown_adds_only_what_is_new_003_164(store: Store, file: PiFile) -> None:
    v3_session(file)
    before = sha256(file.path.read_bytes()).hexdigest()
    ingest(store, file)
    first = dump(store)
    assert accept_turns(store, reader.read(file.path)).branches == ()
    assert dump(store) == first
    assert sha256(file.path.read_bytes()).hexdigest() == before
    file.says("f", "assistant")
    file.memory("m5", OBSERVATIONS, "f", observations=[seen("5", sources=("f",))])
    branch = ingest(store, file)
    grown = read_memory(store, branch)
    assert grown[:-1] == first["branches"][KEY]["memory"]
    assert (grown[-1].id, grown[-1].since, grown[-1].covers) == ("m5", 2, 6)


def test_pieces_give_the_same_as_the_whole(store: Store, file: PiFile, tmp_path: Path) -> None:
    v3_session(file)
    size, cursor = file.path.stat().st_size, None
    for at in range(1, 20):
        reading = reader.read(file.path, cursor, stop=size * at // 19)
        accept_turns(store, reading)
        cursor = reading.cursor
    pieces = dump(store)["branches"]
    whole = SqliteStore(tmp_path / "whole.db", create=True)
    ingest(whole, file)
    assert dump(whole)["branches"] == pieces
    whole.close()


@pytest.mark.parametrize(("marker", "covers"), [("b", 2), ("nowhere", 4), ("", 4), ("m0", 3), ("c", 3)], ids=str)
def test_what_a_marker_means_003_154(store: Store, file: PiFile, marker: str, covers: int) -> None:
    """A source; an unknown entry or none: the last source before; a memory entry: the last source before that one."""
    conversation(file, "a", "b", "c")
    file.memory("m0", DROPS, "a", observationIds=["9" * 12])
    file.says("d", "assistant")
    file.memory("m1", OBSERVATIONS, marker, observations=[seen("1")])
    (_, entry) = read_memory(store, ingest(store, file))
    assert (entry.id, entry.covers, entry.since) == ("m1", covers, 0)


def test_a_marker_that_names_memory_of_an_earlier_delivery_003_154(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b", "c")
    file.memory("m0", DROPS, "a", observationIds=["9" * 12])
    reading = reader.read(file.path)
    accept_turns(store, reading)
    file.says("d", "assistant")
    file.memory("m1", OBSERVATIONS, "m0", observations=[seen("1")])
    file.memory("m2", OBSERVATIONS, "m2", observations=[seen("2")])
    accept_turns(store, reader.read(file.path, reading.cursor))
    assert [entry.covers for entry in read_memory(store, load_branch(store, KEY))] == [1, 3, 4]


def test_a_coverage_never_goes_back_003_053(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b", "c", "d")
    file.memory("m1", OBSERVATIONS, "d", observations=[seen("1")])
    file.memory("m2", OBSERVATIONS, "b", observations=[seen("2")])
    branch = ingest(store, file)
    assert store.tip(memory_stream(KEY)).marks[ledger.OBSERVER] == memory_of(store, branch).observed == 4
    assert [entry.since for entry in read_memory(store, branch)] == [0, 2]


def test_v2_memory_is_ignored_003_162(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b")
    for at, kind in enumerate(("om.observation", "om.reflection", "observational-memory", "om.compaction")):
        file.row("custom", f"v{at}", customType=kind, data={"content": "old", "observations": [seen("1")]})
    file.compacts("k", "b", {"type": "om.compaction", "observations": [seen("1")]})
    branch = ingest(store, file)
    assert read_memory(store, branch) == []
    assert compose_memory(store, branch, 2, Settings()) is None
    assert store.tip(memory_stream(KEY)).marks[ledger.COMPACTED_FROM] == 1


def test_our_own_memory_and_folds_read_back_are_skipped_003_164(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b", "c", "d")
    file.memory("m1", OBSERVATIONS, "b", observations=[seen("1")])
    file.memory("m2", OBSERVATIONS, "b", observations=[seen("2")], producer=PRODUCER)
    branch = ingest(store, file)
    composed = compose_memory(store, branch, 2, Settings())
    assert composed is not None
    file.compacts("k", "c", {**composed.details, "observations": [seen("7")]})
    ingest(store, file)
    memory = memory_of(store, branch)
    assert list(memory.observations) == ["1" * 12]
    assert [(each.boundary, each.ids, each.branch) for each in memory.folds] == [(2, None, KEY)]


def test_a_fold_of_ours_that_was_not_the_one_composed_confirms_nothing_003_077(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b", "c", "d")
    file.memory("m1", OBSERVATIONS, "b", observations=[seen("1")])
    branch = ingest(store, file)
    composed = compose_memory(store, branch, 2, Settings())
    assert composed is not None
    file.compacts("k", "c", {**composed.details, "composition": "another"})
    ingest(store, file)
    proposal = read_proposal(store, branch)
    assert proposal is not None and proposal.open
    assert memory_of(store, branch).folds == []
    assert store.tip(memory_stream(KEY)).marks[ledger.COMPACTED_FROM] == 2


def test_malformed_memory_is_skipped_and_counted_003_155(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b")
    wrong = [seen("2", relevance="urgent"), seen("3", sourceEntryIds=[]), seen("4", tokenCount="3"), "text", None]
    file.memory("m1", OBSERVATIONS, "b", observations=[seen("1"), *wrong])
    file.memory("m2", REFLECTIONS, "b", reflections=[{**fact("5", "1"), "supportingObservationIds": []}])
    file.memory("m3", DROPS, "b", observationIds="all")
    file.memory("m4", DIGEST, "b", content=5)
    file.row("custom", "m5", customType=OBSERVATIONS, data=[1])
    memory = memory_of(store, ingest(store, file))
    assert list(memory.observations) == ["1" * 12]
    assert memory.malformed == 5 + 1 + 1 + 1


def test_an_imported_observation_with_line_breaks_is_kept_on_one_line_003_149(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b")
    file.memory("m1", OBSERVATIONS, "b", observations=[seen("1", "first\r\nsecond\nthird")])
    (held,) = memory_of(store, ingest(store, file)).observations.values()
    assert held.record.content == "first second third"


def test_secrets_in_foreign_memory_are_not_stored(store: Store, file: PiFile, tmp_path: Path) -> None:
    conversation(file, "a", "b")
    said = f"uses GITHUB_TOKEN={SECRET}"
    file.memory("m1", OBSERVATIONS, "b", observations=[seen("1", said)], extra={"deep": [said]})
    file.memory("m2", DIGEST, "b", content=said, coversThroughReflectionId="3" * 12, tokenCount=9)
    details = {"type": FOLD, "version": 1, "fullFold": False, "observations": [seen("2", said)], "reflections": []}
    file.compacts("k", "b", details)
    branch = ingest(store, file)
    assert len(memory_of(store, branch).observations) == 2
    assert not any(SECRET.encode() in each.read_bytes() for each in tmp_path.glob("store.db*"))


def test_memory_that_is_nested_too_deep_is_malformed_and_harms_nothing(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b")
    nested: Any = "x"
    for _ in range(800):
        nested = [nested]
    file.memory("m1", OBSERVATIONS, "b", observations=[seen("1")], extra=nested)
    file.memory("m2", OBSERVATIONS, "b", observations=[seen("2")])
    assert "2" * 12 in memory_of(store, ingest(store, file)).observations


def test_a_fork_inside_the_session_takes_memory_to_its_own_branch(store: Store, file: PiFile) -> None:
    conversation(file, "a", "b", "c", "d")
    file.memory("m1", OBSERVATIONS, "b", observations=[seen("1")])
    file.last = "b"
    file.says("f")
    file.memory("m2", OBSERVATIONS, "f", observations=[seen("2", sources=("f",))])
    ingest(store, file)
    fork = load_branch(store, f"{KEY}@f")
    assert [entry.id for entry in read_memory(store, fork)] == ["m1", "m2"]
    assert [entry.id for entry in read_memory(store, load_branch(store, KEY))] == ["m1"]


def test_every_kind_is_imported(store: Store, file: PiFile) -> None:
    conversation(file, "a")
    for at, kind in enumerate(MEMORY_KINDS):
        file.memory(f"m{at}", kind, "a")
    kinds = {entry.kind for entry in read_memory(store, ingest(store, file))}
    assert kinds == set(MEMORY_KINDS) - {FOLD}


def test_importing_reads_memory_once_however_long_the_file(store: Store, file: PiFile) -> None:
    for at in range(1200):
        file.says(f"e{at}", "user" if at % 2 == 0 else "assistant")
        if at % 3 == 0:
            file.memory(f"m{at}", OBSERVATIONS, f"e{at}", observations=[seen("1", id=f"{at:012x}")])
        if at % 100 == 99:
            file.compacts(f"k{at}", f"e{at - 5}")
    counting = Counting(store)
    accept_turns(counting, reader.read(file.path))
    assert store.tip(memory_stream(KEY)).length == 400
    assert counting.calls["read"] <= 4
    assert counting.calls.total() < 200

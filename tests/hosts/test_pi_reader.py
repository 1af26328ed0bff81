"""Pi's session files: real ones against an independent count, and each kind of entry on its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from minutebook.hosts.detecting import detect
from minutebook.hosts.pi import reader
from minutebook.hosts.reading import HostCompaction, ImportedMemory, Reading
from minutebook.records import INJECTED, OBSERVATIONS, SourceEntry

FILES = [
    "pi-01-v3-tiny",
    "pi-02-v3-small",
    "pi-03-v3-tool-errors",
    "pi-04-v1-large",
    "pi-05-v3-session-info-redacted-at-source",
]
HEADER = {"type": "session", "version": 3, "id": "S", "timestamp": "2026-01-01T10:00:00.000Z", "cwd": "/w"}


def sources(reading: Reading) -> list[SourceEntry]:
    return [event for event in reading.events if isinstance(event, SourceEntry)]


def entry(kind: str, own: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": own, "parentId": parent, "timestamp": "2026-01-01T10:00:00.000Z", **fields}


def message(own: str, parent: str | None, role: str = "user", content: Any = "hi", **fields: Any) -> dict[str, Any]:
    return entry("message", own, parent, message={"role": role, "content": content, **fields})


@pytest.fixture
def read(read_rows):
    return lambda *rows: read_rows(reader, [HEADER, *rows])


@pytest.mark.parametrize("name", FILES)
def test_real_file(sessions_dir: Path, name: str):
    path = sessions_dir / f"{name}.jsonl"
    assert detect(path) == ("pi", reader)
    reading = reader.read(path)
    entries, data = sources(reading), path.read_bytes()
    rows = [json.loads(line) for line in data.decode("utf-8").splitlines()]
    messages = [row["message"] for row in rows if row["type"] == "message"]
    assert [e.typed for e in entries] == [m["role"] == "user" for m in messages]
    assert [e.is_error for e in entries] == [m.get("isError", False) for m in messages]
    assert (reading.unknown, reading.broken) == ({}, [])
    assert not any(e.moved for e in entries)
    assert len({e.id for e in entries}) == len(entries)
    for e, expected in zip(entries, messages, strict=True):
        assert e.raw is not None
        assert json.loads(data[e.raw.offset : e.raw.offset + e.raw.length])["message"] == expected


def test_real_failed_replies_report_no_usable_tokens_003_055(sessions_dir: Path):
    entries = sources(reader.read(sessions_dir / "pi-04-v1-large.jsonl"))
    reported = [e.usage for e in entries if e.usage]
    assert {usage.context_tokens is None for usage in reported} == {True, False}


@pytest.mark.parametrize(("ended", "tokens"), [("stop", 10), ("toolUse", 10), ("error", None), ("aborted", None)])
def test_failed_and_aborted_replies_report_no_usable_tokens_003_055(read, ended: str, tokens: int | None):
    said = {"role": "assistant", "content": "hi", "stopReason": ended, "model": "m", "usage": {"totalTokens": 10}}
    (reply,) = sources(read(entry("message", "a1", None, message=said)))
    assert reply.usage is not None and reply.usage.context_tokens == tokens


def test_chain_of_metadata_leads_to_the_nearest_source(read):
    reading = read(
        entry("model_change", "m1", None),
        message("u1", "m1"),
        entry("label", "l1", "u1"),
        entry("custom", "c1", "l1", customType="other", data={}),
        message("u2", "c1"),
    )
    assert [(e.parent, e.moved) for e in sources(reading)] == [(None, False), ("u1", False)]
    assert reading.skipped == {"session": 1, "model_change": 1, "label": 1, "custom": 1}


def test_leaf_move_is_marked(read):
    reading = read(
        message("u1", None),
        message("a1", "u1", "assistant", []),
        message("u2", "a1"),
        message("u3", "a1"),
        entry("label", "l1", "u2"),
        message("u4", "l1"),
        message("r2", None),
    )
    moved = [(e.id, e.parent, e.moved) for e in sources(reading)]
    assert moved[3:] == [("u3", "a1", True), ("u4", "u2", True), ("r2", None, True)]
    assert not any(is_moved for _, _, is_moved in moved[:3])


def test_kinds_of_content(read):
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "thinking", "thinking": "secret", "redacted": True},
        {"type": "text", "text": "yes"},
        {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}},
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "novelty"},
    ]
    (found,) = sources(read(message("a", None, "assistant", content)))
    assert [(p.kind, p.text) for p in found.parts] == [
        ("thinking", "hm"),
        ("text", "yes"),
        ("tool_call", '{"path":"a"}'),
        ("image", "[image image/png, 3 bytes]"),
        ("other", "[novelty]"),
    ]


def test_custom_messages_are_sources_and_ours_are_marked(read):
    reading = read(
        entry("custom_message", "c1", None, customType="note", content="text", display=False),
        entry("custom_message", "c2", "c1", customType="note", content=[{"type": "text", "text": "<minutebook>x"}]),
        entry("branch_summary", "b", "c2", summary="They tried X.", fromId="z"),
        message("h", "b", "hookMessage", "old", customType="v2"),
    )
    assert [(e.role, e.custom_type) for e in sources(reading)] == [
        ("custom", "note"),
        ("custom", INJECTED),
        ("branch_summary", ""),
        ("custom", "v2"),
    ]


def test_shell_commands_of_a_person(read):
    bash = {"command": "ls", "output": "a\n", "exitCode": 2, "cancelled": False}
    reading = read(
        message("b1", None, "bashExecution", None, **bash),
        message("b2", "b1", "bashExecution", None, **bash, excludeFromContext=True),
    )
    (found,) = sources(reading)
    assert (found.role, found.custom_type, found.is_error, found.typed) == ("custom", "bash_execution", True, False)
    assert found.parts[0].text == "$ ls\na\n\n(exit code 2)"


def test_system_messages_are_skipped(read):
    reading = read(message("s", None, "system", ""), message("u", "s"))
    assert [(e.id, e.parent) for e in sources(reading)] == [("u", None)]


def test_compaction_names_the_first_kept_source_and_carries_a_fold(read):
    fold = {"type": "om.folded", "version": 1, "observations": [], "reflections": []}
    reading = read(
        message("u1", None),
        entry("label", "l1", "u1"),
        message("u2", "l1"),
        entry("compaction", "k1", "u2", firstKeptEntryId="l1", summary="x", details=fold),
        entry("compaction", "k2", "k1", firstKeptEntryId="u2", summary="x", details={"readFiles": []}),
        message("u3", "k2"),
    )
    one, two = [event for event in reading.events if isinstance(event, HostCompaction)]
    assert (one.id, one.first_kept, one.after, one.fold) == ("k1", "u2", "u2", fold)
    assert (two.first_kept, two.fold) == ("u2", {})
    assert sources(reading)[-1].parent == "u2"


def test_memory_entries_are_imported_with_their_ids(read):
    data = {"observations": [{"id": "0123456789ab", "content": "x"}], "coversUpToId": "u1"}
    reading = read(
        message("u1", None), entry("custom", "m", "u1", customType=OBSERVATIONS, data=data), message("u2", "m")
    )
    (memory,) = [event for event in reading.events if isinstance(event, ImportedMemory)]
    assert (memory.entry.id, memory.entry.kind, memory.covers_id, memory.after) == ("m", OBSERVATIONS, "u1", "u1")
    assert memory.entry.data == data
    assert (sources(reading)[-1].parent, sources(reading)[-1].moved) == ("u1", False)


def test_older_and_unknown_memory_is_counted_and_ignored_003_162(read):
    reading = read(
        message("u1", None),
        entry("custom", "v2", "u1", customType="om.observation", data={"content": "x"}),
        entry("custom", "bad", "v2", customType=OBSERVATIONS, data=[1]),
        entry("compaction", "k", "bad", firstKeptEntryId="u1", summary="s", details={"type": "observational-memory"}),
    )
    assert [type(event).__name__ for event in reading.events] == ["SourceEntry", "HostCompaction"]
    assert reading.unknown == {"custom/om.observation": 1, f"custom/{OBSERVATIONS}": 1}
    assert isinstance(reading.events[1], HostCompaction) and reading.events[1].fold == {}


OLD_HEADER = {key: value for key, value in HEADER.items() if key != "version"} | {"provider": "p", "modelId": "m"}


def old(kind: str, **fields: Any) -> dict[str, Any]:
    """An entry of version 1: in a plain list, without ids."""
    return {"type": kind, "timestamp": "2026-01-01T10:00:00.000Z", **fields}


def said(text: str, role: str = "user") -> dict[str, Any]:
    return old("message", message={"role": role, "content": [{"type": "text", "text": text}]})


@pytest.mark.parametrize(
    ("place", "kept"),
    [(1, "one"), (2, "two"), (3, "two"), (4, "three"), (0, ""), (5, "four"), (99, ""), (-1, ""), (True, ""), ("2", "")],
)
def test_compaction_of_version_1_names_its_first_kept_entry_by_place(read_rows, place: Any, kept: str):
    """What stands there may be no source: then it is the next one. The header (0) is no entry of the session."""
    reading = read_rows(
        reader,
        [
            OLD_HEADER,
            said("one"),
            old("thinking_level_change", thinkingLevel="off"),
            said("two", "assistant"),
            said("three"),
            old("compaction", summary="s", firstKeptEntryIndex=place, tokensBefore=9),
            said("four"),
        ],
    )
    by_id = {entry.id: entry.parts[0].text for entry in sources(reading)}
    (compaction,) = [event for event in reading.events if isinstance(event, HostCompaction)]
    assert by_id.get(compaction.first_kept, "") == kept
    assert by_id[compaction.after] == "three"


def test_version_2_differs_in_the_name_of_a_role_only(read_rows):
    hook = message("h", "u", "hookMessage", "x", customType="todo")
    reading = read_rows(reader, [{**HEADER, "version": 2}, message("u", None), hook])
    assert [(e.id, e.role, e.custom_type) for e in sources(reading)] == [("u", "user", ""), ("h", "custom", "todo")]
    assert reading.head is not None and reading.head.host_version == "v2"


def test_head_names_the_parent_session(read):
    head = read().head
    assert head is not None
    assert (head.session, head.project, head.host_version, head.started) == ("S", "/w", "v3", HEADER["timestamp"])

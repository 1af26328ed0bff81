"""Claude Code's files: real ones against an independent count, and each kind of row on its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from minutebook.hosts.claude_code import reader
from minutebook.hosts.detecting import detect
from minutebook.hosts.reading import HostCompaction, Reading
from minutebook.records import HOST_SUMMARY, INJECTED, SourceEntry

FILES = [
    "cc-01-summaries-2.0.76",
    "cc-02-many-summaries",
    "cc-03-growing",
    "cc-04-micro-and-compaction",
    "cc-05-parent",
    "cc-05-sidechain-agent",
    "cc-06-chinese-2.1.145",
    "cc-07-two-records-one-line",
]

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def sources(reading: Reading) -> list[SourceEntry]:
    return [event for event in reading.events if isinstance(event, SourceEntry)]


def compactions(reading: Reading) -> list[HostCompaction]:
    return [event for event in reading.events if isinstance(event, HostCompaction)]


LATER = {"timestamp": "2026-01-01T10:00:01.000Z"}


def row(uuid: str, kind: str = "user", parent: str | None = None, **fields: Any) -> dict[str, Any]:
    base = {"parentUuid": parent, "uuid": uuid, "type": kind, "sessionId": "S", "cwd": "/w", "version": "2.1.0"}
    return {**base, "timestamp": "2026-01-01T10:00:00.000Z", **fields}


def said(uuid: str, content: Any, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return row(uuid, parent=parent, message={"role": "user", "content": content}, **fields)


def replied(uuid: str, *blocks: Any, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
    }
    message = {"role": "assistant", "id": "msg_1", "model": "m", "content": list(blocks), "usage": usage}
    return row(uuid, "assistant", parent, message=message, **fields)


@pytest.fixture
def read(read_rows):
    return lambda *rows: read_rows(reader, list(rows))


def typed_prompts(path: Path) -> list[str]:
    """An independent count: user rows with text that no program wrote."""
    decoder, prompts = json.JSONDecoder(), []
    for line in path.read_text(encoding="utf-8").split("\n"):
        at = 0
        while at < len(line.rstrip()):
            value, at = decoder.raw_decode(line, at)
            if value["type"] != "user" or value["isSidechain"] or value.get("isCompactSummary") or value.get("isMeta"):
                continue
            content = value["message"]["content"]
            texts = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]
            if texts and not texts[0].startswith(("[Request interrupted", "<command", "<local")):
                prompts.append("\n".join(texts))
    return prompts


@pytest.mark.parametrize("name", FILES)
def test_real_file(sessions_dir: Path, name: str):
    path = sessions_dir / f"{name}.jsonl"
    assert detect(path) == ("claude_code", reader)
    reading = reader.read(path)
    entries = sources(reading)
    typed = ["\n".join(part.text for part in entry.parts) for entry in entries if entry.typed]
    assert typed == typed_prompts(path)
    assert reading.unknown == {} and reading.broken == []
    texts = {(entry.id, entry.parts) for entry in entries}  # one real row is there twice, word for word
    assert len({entry.id for entry in entries}) == len(texts)
    data = path.read_bytes()
    for entry in entries:
        assert entry.raw is not None
        record = json.loads(data[entry.raw.offset : entry.raw.offset + entry.raw.length])
        assert record["uuid"] == entry.id.partition("#")[0]


def test_sub_agent_file_is_known_by_its_head(sessions_dir: Path):
    head = reader.read(sessions_dir / "cc-05-sidechain-agent.jsonl").head
    parent = reader.read(sessions_dir / "cc-05-parent.jsonl").head
    assert head is not None and parent is not None
    assert (head.agent, parent.agent) == ("a8713ee1a31d055b5", "")


def test_real_compaction_goes_on_at_the_last_source(sessions_dir: Path):
    reading = reader.read(sessions_dir / "cc-04-micro-and-compaction.jsonl")
    (compaction,) = compactions(reading)
    at = reading.events.index(compaction)
    before, summary, after = reading.events[at - 1], reading.events[at + 1], reading.events[at + 2]
    assert isinstance(before, SourceEntry) and isinstance(summary, SourceEntry) and isinstance(after, SourceEntry)
    assert (compaction.after, summary.parent, after.parent) == (before.id, before.id, summary.id)
    assert [e for e in sources(reading) if e.custom_type == HOST_SUMMARY] == [summary]
    assert summary.parts[0].text.startswith("This session is being continued")


def test_tool_results_of_one_record_get_numbered_ids(read):
    call = [{"type": "tool_use", "id": f"c{n}", "name": f"T{n}", "input": {"n": n}} for n in (1, 2)]
    results = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "x", "is_error": n == 2} for n in (1, 2)]
    reading = read(replied("a", *call), said("u", results, "a"), said("v", "next", "u"))
    a, first, second, prompt = sources(reading)
    assert [(e.id, e.parent, e.tool_name, e.call_id, e.is_error) for e in (first, second)] == [
        ("u", "a", "T1", "c1", False),
        ("u#1", "u", "T2", "c2", True),
    ]
    assert first.raw == second.raw
    assert prompt.parent == "u#1"
    assert [(p.kind, p.name, p.text) for p in a.parts] == [
        ("tool_call", "T1", '{"n":1}'),
        ("tool_call", "T2", '{"n":2}'),
    ]


@pytest.mark.parametrize(
    ("content", "fields", "role", "custom", "typed"),
    [
        ("hello", {}, "user", "", True),
        (
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}],
            {},
            "user",
            "",
            True,
        ),
        ("<system-reminder>x</system-reminder>", {}, "custom", "system_reminder", False),
        ("<system-reminder><minutebook>x</minutebook></system-reminder>", {}, "custom", INJECTED, False),
        ("do it <system-reminder>x</system-reminder>", {}, "user", "", True),
        ("<command-name>/foo</command-name><command-args>bar</command-args>", {}, "custom", "local_command", False),
        ("<local-command-stdout>ok</local-command-stdout>", {}, "custom", "local_command", False),
        ("<task-notification>done</task-notification>", {}, "custom", "task_notification", False),
        ("[Request interrupted by user]", {}, "user", "", False),
        ([{"type": "text", "text": "[Request interrupted by user for tool use]"}], {}, "user", "", False),
        ("hello", {"isMeta": True}, "custom", "meta", False),
        ("hello", {"origin": {"kind": "task-notification"}}, "user", "", False),
        (None, {}, "user", "", False),
        (7, {}, "user", "", False),
    ],
)
def test_what_a_person_typed(read, content, fields, role, custom, typed):
    (entry,) = sources(read(said("u", content, **fields)))
    assert (entry.role, entry.custom_type, entry.typed) == (role, custom, typed)


def test_reply_usage_is_on_every_row_but_not_on_synthetic_ones(read):
    reading = read(
        replied("a", {"type": "thinking", "thinking": "hm"}),
        replied("b", {"type": "text", "text": "yes"}, parent="a"),
        replied("c", {"type": "text", "text": "API Error"}, parent="b", isApiErrorMessage=True),
        replied("d", {"type": "redacted_thinking", "data": "x"}, parent="c"),
    )
    a, b, c, d = sources(reading)
    assert a.usage == b.usage and a.usage is not None
    assert (a.usage.reply_id, a.usage.context_tokens) == ("msg_1", 20)
    assert c.usage is None and (d.usage, d.parts) == (None, ())


def test_parent_that_is_metadata_is_mapped_to_its_nearest_source(read):
    reading = read(
        said("u", "hi"),
        row("p", "progress", "u", data={"message": {"content": "secret words of a sub-agent"}}),
        row("s", "system", "p", subtype="turn_duration"),
        said("v", "next", "s"),
        said("w", "lost", "never-seen"),
    )
    assert [entry.parent for entry in sources(reading)] == [None, "u", "never-seen"]
    assert reading.skipped == {"progress": 1, "system/turn_duration": 1}


def test_sidechain_rows_in_a_main_file_are_skipped(read):
    reading = read(said("u", "hi"), said("x", "task", isSidechain=True), replied("y", isSidechain=True))
    assert [entry.id for entry in sources(reading)] == ["u"]
    assert reading.skipped == {"sidechain": 2}


def test_boundary_names_the_first_kept_source(read):
    metadata = {"preservedSegment": {"headUuid": "h"}, "preservedMessages": {"uuids": ["h", "v"]}}
    reading = read(
        said("u", "hi"),
        row("h", "attachment", "u", attachment={"type": "skill_listing"}),
        said("v", "kept", "h"),
        row("b", "system", None, subtype="compact_boundary", compactMetadata=metadata, logicalParentUuid="v"),
        said("s", "This session is being continued", "b", isCompactSummary=True),
        said("w", "on", "s", **LATER),
    )
    (compaction,) = compactions(reading)
    assert (compaction.id, compaction.first_kept, compaction.after) == ("b", "v", "v")
    assert [(entry.id, entry.parent) for entry in sources(reading)] == [("u", None), ("v", "u"), ("s", "v"), ("w", "s")]
    summary = sources(reading)[2]
    assert (summary.role, summary.custom_type, summary.typed) == ("custom", HOST_SUMMARY, False)


def test_summary_without_a_boundary_is_a_compaction_too(read):
    reading = read(said("u", "hi"), said("s", "This session is being continued", "u", isCompactSummary=True))
    assert [c.id for c in compactions(reading)] == ["s"]
    assert [entry.custom_type for entry in sources(reading)] == ["", HOST_SUMMARY]


def test_what_a_plugin_keeps_at_a_compaction_comes_again_and_is_no_source(read):
    """Where om-compact answers it, Claude Code writes the kept rows once more, with new ids and their old times."""
    times = {at: f"2026-01-01T10:00:0{at}.000Z" for at in range(6)}
    call, result = {"type": "tool_use", "id": "c1", "name": "T", "input": {}}, {"tool_use_id": "c1", "content": "x"}
    kept = [
        ("u", lambda id_, parent: said(id_, "do it", parent, timestamp=times[1])),
        ("a", lambda id_, parent: replied(id_, call, parent=parent, timestamp=times[2])),
        ("r", lambda id_, parent: said(id_, [{"type": "tool_result", **result}], parent, timestamp=times[3])),
    ]
    parents = [None, "u", "a"]
    note = "<minutebook-note>\nkept\n</minutebook-note>"
    reading = read(
        *(make(id_, parent) for (id_, make), parent in zip(kept, parents, strict=True)),
        row("b", "system", None, subtype="compact_boundary", timestamp=times[4]),
        said("n", note, "b", timestamp=times[4], rowSource="hook"),
        *(make(f"{id_}2", "n") for id_, make in kept),
        said("v", "do it", "r2", timestamp=times[5]),
    )
    assert [(e.id, e.parent, e.custom_type) for e in sources(reading)] == [
        ("u", None, ""),
        ("a", "u", ""),
        ("r", "a", ""),
        ("n", "r", HOST_SUMMARY),
        ("v", "n", ""),
    ]
    assert reading.skipped == {"kept_again": 3}


def test_what_was_said_is_not_in_what_the_next_read_is_told(read):
    """That is stored, also of rows that are private, paused or ignored."""
    at = {"timestamp": "2026-01-01T10:00:01.000Z"}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "hunter2"}
    call = {"type": "tool_use", "id": "c1", "name": "T", "input": {"key": "hunter2"}}
    reading = read(
        said("u", "<private>hunter2</private>", **at),
        said("l", [{"type": "text", "text": "hunter2"}], "u", **at),
        replied("a", {"type": "text", "text": "hunter2"}, call, parent="l", **at),
        said("r", [result], "a", **at),
    )
    assert len(sources(reading)) == 4 and "hunter2" not in json.dumps(reading.cursor)


def test_rows_without_a_time_are_never_taken_for_kept_ones(read):
    boundary = row("b", "system", None, subtype="compact_boundary", timestamp=None)
    reading = read(said("u", "hi", timestamp=None), boundary, said("v", "on", "b", timestamp=None))
    assert [entry.id for entry in sources(reading)] == ["u", "v"]


def test_late_summary_is_not_taken_for_an_older_boundarys(read):
    boundary = row("b", "system", None, subtype="compact_boundary")
    summary = said("s", "Summary", "v", isCompactSummary=True)
    reading = read(said("u", "hi"), boundary, said("v", "on", "b", **LATER), summary)
    assert [c.id for c in compactions(reading)] == ["b", "s"]


def test_what_only_the_transcript_shows_is_no_source(read):
    reading = read(said("u", "hi"), said("x", "shown to the person", "u", isVisibleInTranscriptOnly=True))
    assert [entry.id for entry in sources(reading)] == ["u"]
    assert reading.skipped == {"transcript_only": 1}


@pytest.mark.parametrize(
    ("attachment", "extra", "expected"),
    [
        ({"type": "queued_command", "prompt": "also this"}, {}, ("user", "", True)),
        (
            {"type": "queued_command", "prompt": "<task-notification>x", "commandMode": "task-notification"},
            {},
            ("custom", "task_notification", False),
        ),
        ({"type": "hook_additional_context", "content": ["remember"]}, {}, ("custom", "hook", False)),
        ({"type": "hook_success", "content": "hi", "hookEvent": "SessionStart"}, {}, ("custom", "hook", False)),
        ({"type": "hook_success", "content": "hi", "hookEvent": "Stop"}, {}, None),
        ({"type": "hook_success", "content": "", "hookEvent": "SessionStart"}, {}, None),
        ({"type": "hook_success", "content": "hi"}, {"rendered": [{"content": "hi"}]}, ("custom", "hook", False)),
        ({"type": "hook_success", "content": "hi", "hookEvent": "SessionStart"}, {"rendered": []}, None),
        ({"type": "hook_additional_context", "content": ["<minutebook>m"]}, {}, ("custom", INJECTED, False)),
        ({"type": "skill_listing", "content": "- x"}, {}, None),
        (["not an object"], {}, None),
    ],
)
def test_attachments(read, attachment, extra, expected):
    reading = read(row("a", "attachment", attachment=attachment, **extra))
    assert [(e.role, e.custom_type, e.typed) for e in sources(reading)] == ([expected] if expected else [])
    assert sum(reading.skipped.values()) == (0 if expected else 1)


def test_unknown_rows_are_counted_by_kind(read):
    reading = read(
        said("u", "hi"), row("n", "novelty", "u"), row("s", "system", "n", subtype="odd"), said("v", "x", "s")
    )
    assert reading.unknown == {"novelty": 1, "system/odd": 1}
    assert sources(reading)[-1].parent == "u"


def test_file_named_by_a_session_id_is_that_session(tmp_path: Path):
    name = "11111111-2222-3333-4444-555555555555"
    path = tmp_path / f"{name}.jsonl"
    path.write_text(json.dumps(said("u", "hi")) + "\n")
    head = reader.read(path).head
    assert head is not None and (head.session, head.forked_from) == (name, "S")

"""Codex's rollouts: real ones against an independent count, and each kind of row on its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from minutebook.hosts.codex import reader
from minutebook.hosts.detecting import detect
from minutebook.hosts.reading import HostCompaction, Reading
from minutebook.records import HOST_SUMMARY, INJECTED, SourceEntry

FILES = {"codex-01-small-0.104": 2, "codex-02-subagent-0.145": 0, "codex-03-compacted-0.146": 2}


def sources(reading: Reading) -> list[SourceEntry]:
    return [event for event in reading.events if isinstance(event, SourceEntry)]


def row(kind: str, payload: Any, time: str = "2026-01-01T10:00:00.000Z") -> dict[str, Any]:
    return {"timestamp": time, "type": kind, "payload": payload}


def item(kind: str, time: str = "2026-01-01T10:00:00.000Z", **fields: Any) -> dict[str, Any]:
    return row("response_item", {"type": kind, **fields}, time)


def message(role: str, *texts: str, **fields: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts], **fields)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return row("event_msg", {"type": kind, **fields})


def counted(total: int, last: int) -> dict[str, Any]:
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": {"total_tokens": last}}
    return event("token_count", info=info)


META = row("session_meta", {"id": "T", "cwd": "/w", "cli_version": "0.146.0", "source": "cli"})


@pytest.fixture
def read(read_rows):
    return lambda *rows: read_rows(reader, list(rows))


def said(entry: SourceEntry) -> str:
    return "\n".join(part.text for part in entry.parts)


@pytest.mark.parametrize(("name", "prompts"), FILES.items())
def test_real_file(sessions_dir: Path, name: str, prompts: int):
    path = sessions_dir / f"{name}.jsonl"
    assert detect(path) == ("codex", reader)
    reading = reader.read(path)
    entries = sources(reading)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    typed = [each["payload"]["message"] for each in rows if each["payload"].get("type") == "user_message"]
    assert [said(entry) for entry in entries if entry.typed] == typed and len(typed) == prompts
    assert (reading.unknown, reading.broken) == ({}, [])
    calls = [each for each in rows if str(each["payload"].get("type")).endswith("_call")]
    assert sum(part.kind == "tool_call" for entry in entries for part in entry.parts) == len(calls)
    assert len({entry.id for entry in entries}) == len(entries)
    data = path.read_bytes()
    for entry in entries:
        assert entry.raw is not None
        record = json.loads(data[entry.raw.offset : entry.raw.offset + entry.raw.length])
        assert record in rows and record["timestamp"] == entry.time
        assert all(part.text in strings_in(record) for part in entry.parts if part.kind in ("text", "thinking"))


def strings_in(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for each in inner for text in strings_in(each)}


def test_real_failed_calls_are_errors(sessions_dir: Path):
    entries = sources(reader.read(sessions_dir / "codex-03-compacted-0.146.jsonl"))
    failed = [entry for entry in entries if entry.is_error]
    assert len(failed) == 4
    assert all(said(entry).startswith("Script failed") for entry in failed)


def test_real_sub_agent_belongs_to_its_parents_session(sessions_dir: Path):
    head = reader.read(sessions_dir / "codex-02-subagent-0.145.jsonl").head
    assert head is not None
    assert (head.session, head.agent, head.zone) == (
        "019fa69f-45a4-7ca3-affe-20a30cae73b4",
        "019fa69f-e01c-7d32-9511-d6496fc7a8bb",
        "US/Central",
    )


def test_real_compaction_brings_no_new_sources(sessions_dir: Path):
    reading = reader.read(sessions_dir / "codex-03-compacted-0.146.jsonl")
    (compaction,) = [found for found in reading.events if isinstance(found, HostCompaction)]
    at = reading.events.index(compaction)
    before = reading.events[at - 1]
    assert isinstance(before, SourceEntry) and compaction.after == before.id
    assert before.role == "tool_result"


def test_each_text_is_told_once(read):
    reading = read(
        META,
        message("user", "do it"),
        event("user_message", message="do it"),
        event("agent_reasoning", text="**Looking**"),
        item("reasoning", summary=[{"type": "summary_text", "text": "**Looking**"}], encrypted_content="x"),
        event("agent_message", message="Done."),
        message("assistant", "Done."),
        item("reasoning", summary=[{"type": "summary_text", "text": "**Looking**"}]),
        event("agent_reasoning", text="**Looking**"),
    )
    assert [(e.role, said(e), e.typed) for e in sources(reading)] == [
        ("user", "do it", True),
        ("assistant", "**Looking**", False),
        ("assistant", "Done.", False),
        ("assistant", "**Looking**", False),
    ]
    assert [part.kind for part in sources(reading)[1].parts] == ["thinking"]


def test_prompt_that_only_an_event_tells_is_not_lost(read):
    reading = read(META, event("user_message", message="only here"), message("user", "and here"))
    assert [(said(e), e.typed) for e in sources(reading)] == [("only here", True), ("and here", True)]
    twice = read(META, event("user_message", message="first"), message("user", "first"))
    assert [said(e) for e in sources(twice)] == ["first"]


def test_same_prompt_twice_is_two_entries(read):
    rows = [message("user", "go on"), event("user_message", message="go on")]
    assert [said(e) for e in sources(read(META, *rows, *rows))] == ["go on", "go on"]


@pytest.mark.parametrize(
    ("made", "custom"),
    [
        (message("user", "<environment_context>\n<cwd>/w</cwd>"), "environment_context"),
        (message("user", "# AGENTS.md instructions for /w"), "instructions"),
        (message("user", "<user_instructions>x"), "instructions"),
        (message("user", "<turn_aborted>x"), "turn_aborted"),
        (message("developer", "<permissions instructions>x"), "instructions"),
        (message("developer", "anything"), "developer"),
        (message("developer", "<minutebook>memory</minutebook>"), INJECTED),
        (
            message(
                "developer",
                "memory",
                internal_chat_message_metadata_passthrough={"content_item_kinds": ["hooks.additional_context"]},
            ),
            "hook",
        ),
        (
            message(
                "user",
                "x",
                internal_chat_message_metadata_passthrough={"content_item_kinds": ["agents_md.instructions"]},
            ),
            "instructions",
        ),
    ],
)
def test_the_programs_own_messages_are_custom(read, made, custom):
    (entry,) = sources(read(META, made))
    assert (entry.role, entry.custom_type, entry.typed) == ("custom", custom, False)


@pytest.mark.parametrize("text", ["<div> is broken", "what does <minutebook> mean?", "see # AGENTS.md"])
def test_prompts_that_look_like_markup_stay_typed(read, text):
    (entry,) = sources(read(META, message("user", text)))
    assert (entry.role, entry.typed) == ("user", True)


def test_stated_kind_of_text_wins_over_its_opening(read):
    kinds = {"content_item_kinds": ["user.text"]}
    text = "<environment_context> is in my log, why?"
    (entry,) = sources(read(META, message("user", text, internal_chat_message_metadata_passthrough=kinds)))
    assert (entry.role, entry.typed) == ("user", True)


def test_repeated_instructions_are_skipped(read):
    reading = read(META, *[message("developer", "rules")] * 3)
    assert len(sources(reading)) == 1
    assert reading.skipped["repeated instructions"] == 2


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ('{"output":"x","metadata":{"exit_code":1}}', True),
        ('{"output":"Exit code: 1","metadata":{"exit_code":0}}', False),
        ("Exit code: 1\nWall time: 1 seconds\nOutput:\nx", True),
        ("Chunk ID: 1\nProcess exited with code 2\nOutput:\n", True),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nExit code: 1", False),
        ([{"type": "input_text", "text": "Script failed\nWall time 0.0 seconds\nOutput:\n"}], True),
        ([{"type": "input_text", "text": "Script completed\nOutput:\n"}], False),
        ({"content": "x", "success": False}, True),
        ({"content": "x", "success": True}, False),
        ("plain", False),
        (None, False),
        ("", False),
    ],
)
def test_failing_calls(read, output, failed):
    call = item("function_call", name="exec", namespace="mcp__x", arguments='{ "a": 1 }', call_id="c")
    one, two = sources(read(META, call, item("function_call_output", call_id="c", output=output)))
    assert (one.parts[0].name, one.parts[0].text, one.parts[0].call_id) == ("mcp__x.exec", '{"a":1}', "c")
    assert (two.role, two.tool_name, two.call_id, two.is_error) == ("tool_result", "mcp__x.exec", "c", failed)


def test_every_kind_of_call(read):
    reading = read(
        META,
        item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="a"),
        item("local_shell_call", action={"type": "exec", "command": ["ls"]}, call_id="b"),
        item("web_search_call", id="ws", action={"type": "search", "query": "q"}),
    )
    assert [(p.name, p.text) for e in sources(reading) for p in e.parts] == [
        ("apply_patch", "*** Begin"),
        ("local_shell", '{"type":"exec","command":["ls"]}'),
        ("web_search", '{"type":"search","query":"q"}'),
    ]


def test_usage_waits_for_the_next_assistant_entry(read):
    reading = read(
        META,
        row("turn_context", {"model": "m", "timezone": "Europe/Zurich"}),
        message("assistant", "one"),
        counted(1_000, 600),
        counted(1_000, 600),
        message("user", "go on"),
        message("assistant", "two"),
        message("assistant", "three"),
        counted(1_000, 600),
        counted(1_900, 900),
        row("compacted", {"message": "", "replacement_history": [{"type": "message"}]}),
        counted(1_900, 900),
        message("assistant", "four"),
    )
    usages = [(said(e), e.usage and e.usage.context_tokens) for e in sources(reading)]
    assert usages == [("one", None), ("go on", None), ("two", 600), ("three", None), ("four", None)]
    assert reading.head is not None and reading.head.zone == "Europe/Zurich"


def test_usage_record_is_preferred_to_the_count(read):
    record = row("token_usage_record", {"response_id": "r1", "usage": {"total_tokens": 700}})
    reading = read(META, message("assistant", "one"), record, counted(1_000, 600), message("assistant", "two"))
    usage = sources(reading)[1].usage
    assert usage is not None and (usage.reply_id, usage.context_tokens) == ("r1", 700)


def test_derived_ids_do_not_depend_on_the_place_in_the_file(read):
    rows = [message("user", "a"), message("assistant", "b"), message("assistant", "b")]
    ids = [entry.id for entry in sources(read(META, *rows))]
    moved = [entry.id for entry in sources(read(META, row("turn_context", {"model": "longer"}), *rows))]
    assert ids == moved
    assert ids[2] == f"{ids[1]}#1"


def test_summary_of_a_compaction_is_no_source(read):
    summary = "Another language model started to solve this problem and produced a summary"
    reading = read(
        META, message("user", summary), {**message("assistant", "x"), "metadata": {"compaction_output": True}}
    )
    assert (sources(reading), reading.skipped["compact_summary"]) == ([], 2)


def test_unknown_rows_are_counted_by_kind(read):
    reading = read(META, row("novelty", {}), event("odd"), item("new_thing"), {"type": "response_item", "payload": []})
    assert reading.unknown == {"novelty": 1, "event_msg/odd": 1, "response_item/new_thing": 1, "response_item/": 1}


def test_forked_session_names_its_origin(read):
    head = read(row("session_meta", {"id": "T", "forked_from_id": "P"})).head
    assert head is not None and (head.session, head.forked_from) == ("T", "P")


def test_the_hosts_summary_is_kept_behind_its_compaction(read):
    told = {**message("assistant", "short"), "metadata": {"compaction_output": True}}
    done = row(
        "compacted", {"message": "Another language model … short", "replacement_history": []}, "2026-01-01T11:00Z"
    )
    reading = read(META, message("user", "a"), told, done, message("developer", "<minutebook>x</minutebook>"))
    prompt, compaction, summary, block = reading.events
    assert isinstance(compaction, HostCompaction) and compaction.after == prompt.id
    assert (summary.role, summary.custom_type, said(summary)) == (
        "custom",
        HOST_SUMMARY,
        "Another language model … short",
    )
    assert block.custom_type == INJECTED


def turn(number: int) -> list[dict[str, Any]]:
    return [message("user", f"ask {number}", id=f"u{number}"), message("assistant", f"say {number}", id=f"a{number}")]


def test_what_follows_undone_turns_follows_the_entry_before_them(read):
    undone = event("thread_rolled_back", num_turns=2)
    reading = read(
        META, *turn(1), *turn(2), *turn(3), undone, *turn(4), event("thread_rolled_back", num_turns=1), *turn(5)
    )
    followed = {e.id: (e.parent, e.moved) for e in sources(reading) if e.parent}
    assert followed == {"u4": ("a1", True), "u5": ("a1", True)}


@pytest.mark.parametrize("turns", [0, -1, 3, "2", None])
def test_undoing_what_was_never_read_moves_nothing(read, turns):
    reading = read(META, *turn(1), *turn(2), event("thread_rolled_back", num_turns=turns), *turn(3))
    assert not [e for e in sources(reading) if e.moved]

"""The neutral JSONL of docs/formats.md."""

import pytest

from minutebook.hosts import neutral
from minutebook.hosts.reading import HostCompaction, Reading
from minutebook.records import SourceEntry


@pytest.fixture
def read(read_rows):
    return lambda *rows: read_rows(neutral, list(rows), "chat-7.jsonl")


def sources(reading: Reading) -> list[SourceEntry]:
    return [event for event in reading.events if isinstance(event, SourceEntry)]


def test_header_names_the_session_and_its_zone(read):
    head = read(
        {"type": "minutebook.session", "version": 1, "session": "S", "project": "/w", "zone": "Asia/Tokyo"},
        {"role": "user", "text": "hi"},
    ).head
    assert head is not None and (head.session, head.project, head.zone) == ("S", "/w", "Asia/Tokyo")


def test_without_a_header_the_file_names_the_session(read):
    head = read({"role": "user", "text": "hi"}).head
    assert head is not None and head.session == "chat-7"


def test_every_field(read):
    call = {"kind": "tool_call", "name": "ls", "call_id": "c", "arguments": {"a": 1}}
    reading = read(
        {"id": "1", "role": "user", "time": "2026-01-01T10:00:00+02:00", "text": "hi"},
        {
            "id": "2",
            "parent": "1",
            "role": "assistant",
            "text": "so",
            "parts": [call],
            "usage": {"model": "m", "input": 1, "output": 2, "cache_read": 3, "cache_write": 4},
        },
        {"id": "3", "parent": "2", "role": "tool", "call_id": "c", "text": "x", "is_error": True},
        {"id": "4", "role": "user", "text": "from a program", "typed": False},
        {"id": "5", "role": "custom", "custom_type": "note", "text": "n"},
        {"id": "6", "parent": "1", "role": "user", "text": "again", "moved": True},
    )
    one, two, three, four, five, six = sources(reading)
    assert (one.time, one.typed) == ("2026-01-01T08:00:00.000Z", True)
    assert [(p.kind, p.name, p.text) for p in two.parts] == [("text", "", "so"), ("tool_call", "ls", '{"a":1}')]
    assert two.usage is not None
    assert (two.usage.reply_id, two.usage.model, two.usage.context_tokens) == ("2", "m", 10)
    assert (three.role, three.tool_name, three.call_id, three.is_error) == ("tool_result", "ls", "c", True)
    assert (four.typed, five.custom_type, six.moved) == (False, "note", True)


def test_compaction_and_end(read):
    reading = read({"id": "1", "role": "user", "text": "a"}, {"type": "minutebook.compaction", "first_kept": "1"})
    compaction = reading.events[1]
    assert isinstance(compaction, HostCompaction) and (compaction.first_kept, compaction.after) == ("1", "1")
    assert not reading.ended
    assert read({"role": "user", "text": "a"}, {"type": "minutebook.end"}).ended


def test_what_is_not_of_the_format_is_counted(read):
    reading = read({"role": "user", "text": "a"}, {"role": "robot", "text": "b"}, {"text": "c"}, {"type": "x"})
    assert reading.unknown == {"role robot": 1, "role missing": 1, "x": 1}
    newer = read({"type": "minutebook.session", "version": 2, "session": "S"})
    assert newer.unknown == {"minutebook.session of another version": 1}


def test_entries_without_ids_get_stable_ones(read):
    rows = [{"role": "user", "text": "a"}, {"role": "user", "text": "a"}]
    first, second = sources(read(*rows))
    assert (len(first.id), second.id) == (12, f"{first.id}#1")
    assert [e.id for e in sources(read({"role": "assistant", "text": "z"}, *rows))][1:] == [first.id, second.id]

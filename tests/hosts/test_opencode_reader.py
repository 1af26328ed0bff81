"""OpenCode's exports: real ones against their own JSON, each kind of part on its own, growth and damage."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exports import assistant, compaction, document, text, tool, user, write

from minutebook.errors import BadTranscript
from minutebook.hosts import documents
from minutebook.hosts.detecting import detect
from minutebook.hosts.opencode import reader
from minutebook.hosts.reading import HostCompaction, Reading
from minutebook.records import INJECTED, SourceEntry

FILES = ["opencode-01-tiny-1.2.5", "opencode-02-small-1.2.5"]
Read = Callable[..., Reading]


def sources(reading: Reading) -> list[SourceEntry]:
    return [event for event in reading.events if isinstance(event, SourceEntry)]


def texts(entry: SourceEntry) -> list[tuple[str, str]]:
    return [(part.kind, part.text) for part in entry.parts]


def in_pieces(path: Path, stops: list[int]) -> Reading:
    total, cursor = Reading(head=None), None
    for stop in [*stops, None]:
        piece = reader.read(path, cursor, stop=stop)
        assert not piece.replaced
        total.head, total.cursor = piece.head, piece.cursor
        total.events += piece.events
        total.broken = list(dict.fromkeys([*total.broken, *piece.broken]))
        for counts, more in ((total.unknown, piece.unknown), (total.skipped, piece.skipped)):
            for kind, count in more.items():
                counts[kind] = counts.get(kind, 0) + count
        cursor = json.loads(json.dumps(piece.cursor))
    return total


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write messages as an export and read it, at once, message by message, and written on one line."""

    def read(*messages: dict[str, Any], **info: Any) -> Reading:
        path = write(tmp_path / "session.json", document(*messages, **info))
        whole = reader.read(path)
        starts = [event.raw.offset for event in sources(whole) if event.raw]
        assert in_pieces(path, starts) == whole
        compact = reader.read(write(tmp_path / "compact.json", document(*messages, **info), indent=None))
        assert [(e.id, e.parts, e.parent) for e in sources(compact)] == [
            (e.id, e.parts, e.parent) for e in sources(whole)
        ]
        return whole

    return read


@pytest.mark.parametrize("name", FILES)
def test_real_file(sessions_dir: Path, name: str):
    path = sessions_dir / f"{name}.json"
    assert detect(path) == ("opencode", reader)
    reading, raw = reader.read(path), path.read_bytes()
    messages = json.loads(raw)["messages"]
    entries = sources(reading)
    assert (reading.unknown, reading.broken, reading.cursor["offset"]) == ({}, [], len(raw))
    assert [e.id for e in entries if e.typed] == [m["info"]["id"] for m in messages if m["info"]["role"] == "user"]
    results = [p for m in messages for p in m["parts"] if p["type"] == "tool"]
    answered = [(e.tool_name, e.parts[0].text) for e in entries if e.role == "tool_result"]
    assert answered == [(p["tool"], p["state"]["output"]) for p in results]
    for entry in entries:
        assert entry.raw is not None
        record = json.loads(raw[entry.raw.offset : entry.raw.offset + entry.raw.length])
        assert record in messages
        assert entry.id.partition("#")[0] in (record["info"]["id"], *(part["id"] for part in record["parts"]))
    assert [e.parent for e in entries] == [None, *(e.id for e in entries[:-1])]


@pytest.mark.parametrize("name", FILES)
def test_real_file_in_pieces(sessions_dir: Path, name: str):
    path = sessions_dir / f"{name}.json"
    whole, size, chosen = reader.read(path), path.stat().st_size, random.Random(name)
    for count in (1, 3, 12):
        assert in_pieces(path, sorted(chosen.randint(0, size) for _ in range(count))) == whole


def test_tools_reasoning_and_usage_of_a_reply(read: Read):
    reply = assistant(
        "m2",
        {"type": "step-start", "id": "s1"},
        {"type": "reasoning", "text": "hm", "id": "r1"},
        {"type": "reasoning", "text": "", "id": "r2", "metadata": {"encrypted": "x"}},
        tool("read", "words", "p1"),
        tool("bash", "exit 1", "p2", status="error"),
        tool("task", "", "p3", status="running"),
        {"type": "step-finish", "reason": "tool-calls", "id": "f1"},
        {"type": "patch", "hash": "x", "files": ["a"], "id": "p"},
        {"type": "novelty", "id": "n"},
    )
    reading = read(user("m1"), reply, user("m3"))
    _, said, one, two, _ = sources(reading)
    assert [kind for kind, _ in texts(said)] == ["thinking", "tool_call", "tool_call", "tool_call"]
    assert said.usage is not None and (said.usage.context_tokens, said.usage.model) == (100, "gpt")
    assert (one.id, one.role, one.tool_name, one.is_error, texts(one)) == (
        "p1",
        "tool_result",
        "read",
        False,
        [("text", "words")],
    )
    assert (two.call_id, two.is_error, texts(two)) == ("call_p2", True, [("text", "exit 1")])
    assert (reading.skipped, reading.unknown) == ({"part/patch": 1}, {"part/novelty": 1})


def test_several_steps_in_one_message_are_several_replies(read: Read):
    """Older versions wrote a whole turn into one message."""
    start, other = {"type": "step-start", "id": "s1"}, {"type": "step-start", "id": "s2"}
    end = {"type": "step-finish", "tokens": {"input": 7, "output": 1, "cache": {"read": 2, "write": 0}}}
    reading = read(user("m1"), assistant("m2", start, text("first"), tool("ls", "a", "p1"), end, other, text("then")))
    assert [(e.id, e.role) for e in sources(reading)[1:]] == [
        ("m2", "assistant"),
        ("p1", "tool_result"),
        ("s2", "assistant"),
    ]
    assert [e.usage.context_tokens for e in sources(reading) if e.usage] == [10, 100]


def test_failed_replies_say_so_and_report_no_usable_tokens_003_055(read: Read):
    error = {"name": "MessageAbortedError", "data": {"message": "The operation was aborted."}}
    (_, failed) = sources(read(user("m1"), assistant("m2", text("half"), error=error, completed=None)))
    assert failed.is_error and failed.usage is not None and failed.usage.context_tokens is None
    assert texts(failed) == [("text", "half"), ("other", "[MessageAbortedError: The operation was aborted.]")]


def test_what_the_program_adds_to_a_prompt_is_not_typed(read: Read):
    added = text("<content>1: x</content>", synthetic=True)
    attached = {"type": "file", "mime": "text/plain", "filename": "a.ts", "url": "file:///a.ts"}
    image = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
    reading = read(
        user("m1", text("look"), attached, image, added, text("not sent", ignored=True)),
        user("m2", text("Continue if you have next steps", synthetic=True)),
        user("m3", text("<minutebook>x</minutebook>", synthetic=True)),
        user("m4", {"type": "subtask", "agent": "explore", "prompt": "find it", "description": "d"}),
    )
    assert [(e.id, e.role, e.custom_type, e.typed) for e in sources(reading)] == [
        ("m1", "user", "", True),
        ("m1#1", "custom", "synthetic", False),
        ("m2", "custom", "synthetic", False),
        ("m3", "custom", INJECTED, False),
        ("m4", "custom", "subtask", False),
    ]
    assert texts(sources(reading)[0]) == [
        ("text", "look"),
        ("other", "[file a.ts]"),
        ("image", "[image image/png, 3 bytes]"),
    ]
    assert reading.skipped == {"part/text/ignored": 1}


@pytest.mark.parametrize(
    ("tail", "kept"), [("", ""), ("m2", "m2"), ("c0", "m4")], ids=["none", "a source", "no source"]
)
def test_compaction_names_the_first_kept_source(read: Read, tail: str, kept: str):
    before = [user("m1"), assistant("m2"), *compaction("c0"), user("m4")]
    reading = read(*before, *compaction("c5", tail=tail), user("m6"))
    first, second = [event for event in reading.events if isinstance(event, HostCompaction)]
    assert (first.id, first.first_kept, first.after) == ("c0_summary", "", "m2")
    assert (second.id, second.first_kept, second.after) == ("c5_summary", kept, "m4")
    assert [e.id for e in sources(reading)] == ["m1", "m2", "m4", "m6"]
    assert reading.skipped == {"compaction": 2, "compact_summary": 2}


def test_failed_summary_is_no_compaction(read: Read):
    asked, summary = compaction("c")
    reading = read(user("m1"), asked, {**summary, "info": {**summary["info"], "error": {"name": "APIError"}}})
    assert [type(event) for event in reading.events] == [SourceEntry]


def test_unfinished_last_reply_waits_and_an_older_one_does_not(read: Read):
    running = assistant("m2", text("so far"), completed=None)
    reading = read(user("m1"), running)
    assert [e.id for e in sources(reading)] == ["m1"]
    assert reading.skipped == {"unfinished message": 1}
    assert [e.id for e in sources(read(user("m1"), running, user("m3")))] == ["m1", "m2", "m3"]


def test_sub_agents_session_belongs_to_its_parents(read: Read):
    reading = read(user("m1"), own="ses_child", parentID="ses_parent")
    assert reading.head is not None
    assert (reading.head.session, reading.head.agent, reading.head.project) == ("ses_parent", "ses_child", "/srv/app")
    assert not any(e.typed for e in sources(reading))


def test_entries_without_ids_get_derived_ones(read: Read):
    bare = {"info": {"role": "user"}, "parts": [{"type": "text", "text": "again"}]}
    entries = sources(read(bare, bare))
    assert len({e.id for e in entries}) == 2 and all(e.id for e in entries)


def test_longer_export_is_read_from_the_start(tmp_path: Path):
    path = write(tmp_path / "s.json", document(user("m1"), assistant("m2", completed=None)))
    cursor = json.loads(json.dumps(reader.read(path).cursor))
    unchanged = reader.read(path, cursor)
    assert (unchanged.events, unchanged.replaced, unchanged.skipped) == ([], False, {})
    write(path, document(user("m1"), assistant("m2"), user("m3")))
    longer = reader.read(path, cursor)
    assert longer.replaced and [e.id for e in sources(longer)] == ["m1", "m2", "m3"]


def test_cut_export_says_what_to_do_and_gives_nothing(tmp_path: Path):
    path = write(tmp_path / "s.json", document(user("m1"), assistant("m2")))
    data = path.read_bytes()
    for at in range(data.index(b'"messages"') + len('"messages": ['), len(data) - len("}\n")):
        path.write_bytes(data[:at])
        assert detect(path)[0] == "opencode"
        with pytest.raises(
            BadTranscript, match=r"s\.json: the export is cut off; nothing .* opencode export ses_one >"
        ):
            reader.read(path)


@pytest.mark.parametrize(
    ("cut", "put"),
    [
        (b'"m2"', b'"m2'),
        (b'm2"', b"m2"),
        (b'"id": "m2"', b'"id": "m2\n"'),
        (b"]\n}", b"}\n}"),
        (b"}\n", b'}\n{"info": {}}'),
    ],
)
def test_export_that_is_no_whole_document_says_where(tmp_path: Path, cut: bytes, put: bytes):
    path = write(tmp_path / "s.json", document(user("m1"), assistant("m2", text("x"))))
    head, _, tail = path.read_bytes().rpartition(cut)
    path.write_bytes(head + put + tail)
    with pytest.raises(BadTranscript, match="Write it again"):
        reader.read(path)


def test_broken_message_is_counted_and_the_others_are_read(tmp_path: Path):
    path = write(tmp_path / "s.json", document(user("m1"), user("m2"), user("m3")))
    path.write_bytes(path.read_bytes().replace(b'"role": "user",\n        "time"', b'"role": user,\n        "time"', 1))
    reading = reader.read(path)
    assert [e.id for e in sources(reading)] == ["m2", "m3"]
    assert reading.broken == [path.read_bytes().split(b"\n").index(b"    {") + 1]


@pytest.mark.parametrize("prefix", [b"\xef\xbb\xbf", b"\n\n \0"], ids=["BOM", "filler"])
@pytest.mark.parametrize("ending", [b"\r\n", b"\n"])
def test_bom_filler_and_crlf(tmp_path: Path, prefix: bytes, ending: bytes):
    path = write(tmp_path / "s.json", document(user("m1"), assistant("m2")))
    path.write_bytes(prefix + path.read_bytes().replace(b"\n", ending) + b"\0\0")
    assert detect(path)[0] == "opencode"
    assert [e.id for e in sources(reader.read(path))] == ["m1", "m2"]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
def test_pieces_of_any_size_read_from_disk_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int):
    words = '\\" } ] [ { \\\\ , : 文字 🙂'
    path = write(tmp_path / "s.json", document(user("m1", text(words)), assistant("m2"), user("m3"), title=words))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    whole = reader.read(path)
    monkeypatch.setattr(documents, "_CHUNK_BYTES", chunk)
    assert reader.read(path) == whole and len(sources(whole)) == 3
    for cut in range(0, path.stat().st_size, 5):
        assert in_pieces(path, [cut]) == whole


@pytest.mark.parametrize(
    "between", [b",,", b", junk,", b", null, ", b" ", b", 1 : 2 ,", b', {"role": user},', b", [1], "], ids=repr
)
def test_what_is_no_message_is_counted_and_the_next_ones_are_read(tmp_path: Path, between: bytes):
    first, second = (json.dumps(user(own)).encode() for own in ("m1", "m2"))
    path = tmp_path / "s.json"
    path.write_bytes(b'{"info": {"id": "s"},\n"messages":\n[' + first + b"\n" + between + b"\n" + second + b"]}")
    whole = reader.read(path)
    assert [e.id for e in sources(whole)] == ["m1", "m2"] and whole.broken
    for cut in range(path.stat().st_size):
        assert in_pieces(path, [cut]) == whole


def test_quotes_that_are_missing_do_not_swallow_the_messages_between(tmp_path: Path):
    path = write(tmp_path / "s.json", document(user("m1"), user("m2"), user("m3")))
    path.write_bytes(path.read_bytes().replace(b'"m1"', b'"m1').replace(b'"m3"', b'm3"'))
    with pytest.raises(BadTranscript, match=r"no whole JSON document from byte [\d,]+ on"):
        reader.read(path)

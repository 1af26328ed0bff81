"""Whose file is it, and what is said when it is nobody's."""

import json
import os
from pathlib import Path

import pytest

from minutebook.errors import BadTranscript
from minutebook.hosts.detecting import READERS, detect


@pytest.mark.parametrize(
    ("rows", "host"),
    [
        ([{"type": "summary", "summary": "x", "leafUuid": "y"}], "claude_code"),
        ([{"type": "permission-mode", "permissionMode": "x", "sessionId": "s"}], "claude_code"),
        ([{"type": "user", "uuid": "u", "sessionId": "s", "message": {}}], "claude_code"),
        ([{"type": "session_meta", "payload": {"id": "x"}}], "codex"),
        ([{"type": "event_msg", "payload": {"type": "x"}}], "codex"),
        ([{"type": "session", "id": "x", "cwd": "/w"}], "pi"),
        ([{"type": "message", "id": "x", "parentId": None, "message": {}}], "pi"),
        ([{"type": "minutebook.session", "version": 1}], "neutral"),
        ([{"role": "user", "text": "hi"}], "neutral"),
        ([{"role": "tool", "parts": []}], "neutral"),
    ],
)
def test_first_rows_tell_the_host(tmp_path: Path, rows: list, host: str):
    path = tmp_path / "s.jsonl"
    path.write_text("garbage\n" + "".join(json.dumps(row) + "\n" for row in rows))
    assert detect(path) == (host, READERS[host])


@pytest.mark.parametrize(
    "content", [b"hello\n", b"[1,2]\n", b'{"a":1}\n', b"\x89PNG\r\n\0\0", b"\n\n", b'{"messages":[{"role":"user"}]}']
)
def test_unknown_format_names_the_file_and_the_known_ones(tmp_path: Path, content: bytes):
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadTranscript) as caught:
        detect(path)
    assert str(path) in str(caught.value)
    assert all(host in str(caught.value) for host in READERS)


@pytest.mark.parametrize("value", [None, 1, [], {}, [{"a": 1}]], ids=repr)
@pytest.mark.parametrize("key", ["type", "role", "payload", "sessionId", "id", "parentId", "cwd"])
def test_a_row_with_values_of_any_type_does_not_stop_the_detection(tmp_path: Path, key: str, value: object):
    every_key = {"type": "x", "role": "x", "payload": {}, "sessionId": "s", "id": "i", "parentId": "p", "text": "t"}
    path = tmp_path / "s.jsonl"
    rows = [{**every_key, key: value}, {"role": "user", "text": "hi"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert detect(path)[0] == "neutral"


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path):
    """A pipe has no end to wait for and cannot be read twice."""
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(BadTranscript, match="is no regular file"):
        detect(pipe)


def test_missing_empty_and_directory(tmp_path: Path):
    with pytest.raises(BadTranscript, match=r"absent\.jsonl: there is no such file"):
        detect(tmp_path / "absent.jsonl")
    with pytest.raises(BadTranscript, match="is a directory"):
        detect(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(BadTranscript, match="is empty"):
        detect(tmp_path / "empty.jsonl")
    with pytest.raises(BadTranscript, match="cannot be read"):
        detect(Path("bad\0name"))


def test_exports_are_told_by_their_beginning(tmp_path: Path, sessions_dir: Path):
    real = sessions_dir / "opencode-01-tiny-1.2.5.json"
    assert detect(real) == ("opencode", READERS["opencode"])
    cut = tmp_path / "cut.json"
    cut.write_bytes(real.read_bytes()[:2_000])
    assert detect(cut)[0] == "opencode"


@pytest.mark.parametrize(
    "content",
    [
        '{"info": {"id": "s"}, "messages": {}}',
        '{"info": {}, "messages": []}',
        '{"info": {"id": "s"}}',
        '{"info": {"id": "s"}, "messages"',
        '{"messages": [], "info": 1}',
        '[{"info": {"id": "s"}, "messages": []}]',
    ],
)
def test_other_documents_are_no_exports(tmp_path: Path, content: str):
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(BadTranscript, match="no known session format"):
        detect(path)

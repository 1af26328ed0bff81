"""Transcripts that others' tools stumbled over, one by one, through the command line as a person calls it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from commands import data_of, run
from test_fuzzed_transcripts import GOOD, texts_in
from transcripts import CLAUDE, CODEX, NEUTRAL, OPENCODE, PI_V1, PI_V3, SAMPLES, Sample, encoded

from minutebook.hosts.detecting import READERS
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.sessions import SESSIONS, list_sessions
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import SourceEntry
from minutebook.store.opening import open_store

every_host = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, two levels down, so that `../` in an id would be seen."""
    folder = tmp_path / "home" / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MINUTEBOOK_STORE", str(tmp_path / "store" / "s.sqlite"))
    monkeypatch.setenv("MINUTEBOOK_PASSIVE", "true")
    return folder


def files_under(folder: Path) -> set[str]:
    found = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    return {name for name in found if not name.startswith("store")}


def ingested(place: Path, sample: Sample, *lines: bytes, code: int = 0) -> list[str]:
    """Take these lines in between good prompts, and look at what there is with every command; the texts stored."""
    good = [encoded(sample.prompt(number, text)) for number, text in enumerate(GOOD)]
    head = [encoded(row) for row in sample.head]
    path = place / f"s{sample.suffix}"
    path.write_bytes(sample.file([*head, good[0], *lines, *good[1:]]))
    before = files_under(place.parent.parent)
    run("ingest", str(path), code=code)
    for command in (["sessions"], ["status"], ["view"], ["jobs"], ["search", "good prompt"]):
        result = run(*command)
        assert result.exit_code in (0, 2), result.output
    assert files_under(place.parent.parent) == before
    store = open_store(os.environ["MINUTEBOOK_STORE"], create=True)
    try:
        return texts_in(store)
    finally:
        store.close()


LINES = {
    "nested 100,000 deep": b"[" * 100_000 + b"]" * 100_000,
    "objects nested 100,000 deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "an integer of 5,000 digits": b'{"type": "user", "time": ' + b"9" * 5_000 + b"}",
    "NaN and Infinity": b'{"type": "user", "time": NaN, "timestamp": Infinity, "id": -Infinity}',
    "only a number": b"1",
    "NUL bytes": b"\0" * 5_000,
    "no UTF-8": b'{"type": "\xff\xfe", "text": "\xc3\x28"}',
    "a record in UTF-16": '{"type": "user"}'.encode("utf-16"),
    "a key twice": b'{"type": "user", "type": 7, "id": "a", "id": []}',
    "lone surrogates in keys": b'{"\\ud800": "\\udfff", "type": "\\ud800"}',
}


@every_host
@pytest.mark.parametrize("line", LINES.values(), ids=list(LINES))
def test_line_that_is_no_record_of_the_host(place: Path, sample: Sample, line: bytes) -> None:
    if sample is OPENCODE and line in (LINES["NUL bytes"], LINES["a record in UTF-16"]):
        line = b"{}"  # a message cannot be that and leave the document whole
    texts = ingested(place, sample, line)
    assert [text for text in GOOD if text not in texts] == []


@every_host
def test_half_a_record_between_whole_ones(place: Path, sample: Sample) -> None:
    """In an export no half record can be told from the rest: it is refused, with what to do."""
    half = encoded(sample.rows[1])[:60]
    if sample is OPENCODE:
        assert ingested(place, sample, half, code=2) == []
    else:
        assert [text for text in GOOD if text not in ingested(place, sample, half)] == []


@every_host
def test_a_hundred_thousand_lines_of_junk(place: Path, sample: Sample) -> None:
    junk = [b"x", b"{}", b"[1]", b"null", b'{"type":3}', b'""', b"{", b"", b"\r", b"7"]
    if sample is OPENCODE:
        junk = [line for line in junk if line not in (b"{", b"", b"\r")]
    texts = ingested(place, sample, *(junk * (100_000 // len(junk))))
    assert [text for text in GOOD if text not in texts] == []


@pytest.mark.parametrize("sample", [NEUTRAL, CLAUDE, CODEX, OPENCODE], ids=lambda sample: sample.name)
@pytest.mark.parametrize(
    "own", ["../../escaped", "/tmp/escaped", "..", "a\0b", "x" * 100_000, "\ud800", "a\nb", "@", "/"]
)
def test_ids_are_never_paths(place: Path, sample: Sample, own: str) -> None:
    """Of a session, of an entry, of its parent and of a call."""
    head = [_with_ids(row, own) for row in sample.head]
    rows = [encoded(_with_ids(row, own)) for row in sample.rows]
    texts = ingested(place, Sample(sample.name, sample.host, head, (), sample.prompt, sample.suffix), *rows)
    assert [text for text in GOOD if text not in texts] == []


ENDS_OF_IDS = ("id", "session", "parent")


def _with_ids(value: Any, own: str) -> Any:
    """The record with every id in it replaced."""
    if isinstance(value, list):
        return [_with_ids(inner, own) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        key: own
        if key.lower().endswith(("id", "session", "parent")) and isinstance(inner, str)
        else _with_ids(inner, own)
        for key, inner in value.items()
    }


@every_host
@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
def test_absurd_times_are_replayed(place: Path, sample: Sample, zone: str) -> None:
    """The first and the last minute of the calendar, in a zone where they are outside of it; and no times at all."""
    times = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", 10**20, -(10**20), "x", None, {}, 0, "2026-13-45T99:99Z"]
    rows = []
    for number, time in enumerate(times):
        row = json.loads(encoded(sample.prompt(100 + number, f"We decided to use store {number}. " * 40)))
        rows.append(encoded(_with_times(row, time)))
    path = place / f"s{sample.suffix}"
    path.write_bytes(sample.file([*(encoded(row) for row in sample.head), *rows]))
    options = ["--step", "--scale", "0.02", "--json", "--set", f"zone={zone}", "--set", "passive=false"]
    (replayed,) = data_of(run("replay", *options, str(path), code=0))["files"]
    assert replayed["prompts"] >= len(times)
    assert replayed["status"]["observations"]["recorded"] > 0


def _with_times(value: Any, time: Any) -> Any:
    if not isinstance(value, dict):
        return value
    times = ("timestamp", "created")
    found = {key: time if key in times else _with_times(inner, time) for key, inner in value.items()}
    return found | ({"time": time} if "role" in value and "text" in value else {})


@pytest.mark.parametrize("sample", [CLAUDE, PI_V1, NEUTRAL], ids=lambda sample: sample.name)
def test_lines_twice_and_records_side_by_side(place: Path, sample: Sample) -> None:
    """The same line again is the same entry where the host gives ids; two records on one line are two."""
    path = place / "s.jsonl"
    rows = [encoded(row) for row in [*sample.head, *sample.rows]]
    path.write_bytes(sample.file(rows))
    once = _texts(sample, path)
    path.write_bytes(b"".join(rows))
    assert _texts(sample, path) == once
    path.write_bytes(sample.file([row + b"\n" + row for row in rows]))
    assert len(_texts(sample, path)) == 2 * len(once)


def _texts(sample: Sample, path: Path) -> list[str]:
    events = READERS[sample.host].read(path).events
    return [entry_text(event) for event in events if isinstance(event, SourceEntry)]


@pytest.mark.parametrize("sample", [CLAUDE, CODEX, PI_V3, NEUTRAL, OPENCODE], ids=lambda sample: sample.name)
def test_what_a_session_remembers_stays_small(place: Path, sample: Sample) -> None:
    """Hundreds of ids of 5,000 characters, and of kinds of rows that nobody knows."""
    rows = []
    for number in range(300):
        unknown = {"type": f"kind {number} " * 20, "info": {"role": f"role {number}"}}
        rows += [
            encoded(_with_ids(sample.rows[number % len(sample.rows)], f"{number:>05}" * 1_000)),
            encoded({**sample.rows[-1], **unknown}),
        ]
    path = place / f"s{sample.suffix}"
    path.write_bytes(sample.file([*(encoded(row) for row in sample.head), *rows]))
    run("ingest", str(path), code=0)
    store = open_store(os.environ["MINUTEBOOK_STORE"], create=True)
    try:
        (document,) = store.documents(SESSIONS)
        assert len(document.body) < 200_000
    finally:
        store.close()
    assert "other kinds" in run("status", "--json").stdout


def test_many_roots_do_not_hang_on_one_another(place: Path) -> None:
    """Every prompt without a parent opens a branch: each beside the others, or the next one is ever dearer."""
    path = place / "s.jsonl"
    rows = [encoded(PI_V3.prompt(number, f"root {number}")) for number in range(300)]
    path.write_bytes(PI_V3.file([*(encoded(row) for row in PI_V3.head), *rows]))
    run("ingest", str(path), code=0)
    store = open_store(os.environ["MINUTEBOOK_STORE"], create=True)
    try:
        branches = [load_branch(store, key) for key in list_sessions(store)[0].branches]
    finally:
        store.close()
    assert len(branches) == 300
    assert {branch.parent for branch in branches[1:]} == {branches[0].key}

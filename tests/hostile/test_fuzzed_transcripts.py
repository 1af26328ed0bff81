"""Records broken at any place, through the whole of intake: nothing foreign is raised, good records stay, nothing
is written beside the store."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from breaking import broken_line, broken_row
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transcripts import SAMPLES, Sample, encoded

from minutebook.errors import BadTranscript
from minutebook.hosts.delivering import readings
from minutebook.hosts.detecting import READERS, detect
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import find_branch
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.sessions import list_sessions
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import SourceEntry
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

EXAMPLES = int(os.environ.get("MINUTEBOOK_FUZZ_EXAMPLES", "25"))
"""Files for each reader; a longer run is a matter of this number."""
GOOD = ["the first good prompt", "the second good prompt", "the third good prompt"]


@contextmanager
def folder_with_a_store() -> Iterator[tuple[Path, Store]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "store").mkdir()
        with closing(SqliteStore(folder / "store" / "s.sqlite", busy_seconds=5, create=True)) as store:
            yield folder, store


def taken_in(store: Store, path: Path, host: str) -> int:
    """Ingest it as the command does, with whatever the store says of it; how many entries were new."""
    known = next((session for session in list_sessions(store) if session.path == str(path)), None)
    new = 0
    for reading in readings(READERS[host], path, known.cursor if known else None, lambda *_: None):
        assert reading.cursor == json.loads(json.dumps(reading.cursor))
        new += accept_turns(store, reading, path=str(path)).new
    return new


def texts_in(store: Store) -> list[str]:
    """The text of every entry that the store holds."""
    keys = dict.fromkeys(key for session in list_sessions(store) for key in session.branches)
    branches = [branch for key in keys if (branch := find_branch(store, key))]
    entries = (placed.entry for branch in branches for placed in SourcePath(store, branch).walk())
    return [entry_text(entry) for entry in entries]


def is_said_to_be_broken(store: Store) -> bool:
    """In a document two strings that lack a quote may enclose what stands between them."""
    return any(session.broken_count for session in list_sessions(store))


@st.composite
def broken_file(draw: st.DrawFn, sample: Sample) -> bytes:
    """Good prompts with broken records between them; perhaps a broken head, other line ends, a byte order mark."""
    lines = [encoded(draw(st.just(row) | broken_row([row]))) for row in sample.head]
    for number, text in enumerate(GOOD):
        lines += draw(st.lists(broken_line(sample), max_size=3))
        lines.append(encoded(sample.prompt(number, text)))
    data = sample.file(lines)
    if draw(st.booleans()):
        data = b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")
    return data


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_broken_records_do_no_harm(sample: Sample, data: st.DataObject) -> None:
    check(sample, data.draw(broken_file(sample)))


def check(sample: Sample, content: bytes) -> None:
    with folder_with_a_store() as (folder, store):
        path = folder / f"session{sample.suffix}"
        path.write_bytes(content)
        try:
            assert detect(path)[0] == sample.host
            taken_in(store, path, sample.host)
        except BadTranscript:  # a document that is not whole, or a file whose head alone says what it is
            assert sample.name in ("opencode", "pi v1")
            assert texts_in(store) == []
            return
        texts = texts_in(store)
        lost = [text for text in GOOD if text not in texts]
        assert not lost or (sample.suffix == ".json" and is_said_to_be_broken(store))
        assert taken_in(store, path, sample.host) == 0
        path.write_bytes(b" " + content)
        assert taken_in(store, path, sample.host) == 0, "read again from its start, nothing is new"
        assert sorted(file.name for file in folder.iterdir()) == [path.name, "store"]
        assert {file.name.partition("-")[0] for file in (folder / "store").iterdir()} == {"s.sqlite"}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_samples_are_what_their_hosts_write(sample: Sample) -> None:
    """The samples reach the code that they are to break: nothing in them is unknown, every kind of event comes."""
    with folder_with_a_store() as (folder, _):
        path = folder / f"session{sample.suffix}"
        path.write_bytes(sample.file([encoded(row) for row in [*sample.head, *sample.rows]]))
        reading = READERS[sample.host].read(path)
        assert (reading.unknown, reading.broken) == ({}, [])
        roles = {event.role for event in reading.events if isinstance(event, SourceEntry)}
        assert {"user", "assistant", "tool_result"} <= roles
        assert any(not isinstance(event, SourceEntry) for event in reading.events)

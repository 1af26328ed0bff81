"""The main job on every real session file: nothing typed is lost, and every record leads back to its raw line."""

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path as File
from typing import Any

import pytest
from click.testing import CliRunner
from prompts import rows_of, typed_prompts

from minutebook.cli.root import om
from minutebook.hosts.detecting import detect
from minutebook.pipeline.branches import Path, load_branch
from minutebook.pipeline.folding import fold
from minutebook.pipeline.intake import redactor_of
from minutebook.pipeline.ledger import read_memory
from minutebook.pipeline.recall import Recalled, recall
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import Branch, RawPointer, SourceEntry
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

ROOT = File(__file__).resolve().parents[2]
FOLDER = File(os.environ.get("MINUTEBOOK_SESSIONS", ROOT.parent / "shared" / "sessions"))
FILES = sorted(path for host in ("cc", "codex", "pi", "opencode") for path in FOLDER.glob(f"{host}-*.json*"))
FILES = [path for path in FILES if not path.name.endswith(".cuts.json")]
IDS_TRIED = 10


@dataclass(frozen=True)
class Replayed:
    """A session after `om replay --scale 0.1 --step --json` on a store of its own."""

    path: File
    store: Store
    branch: Branch
    data: dict[str, Any]
    read: dict[str, SourceEntry]

    def entries(self) -> list[SourceEntry]:
        return [placed.entry for placed in Path(self.store, self.branch).walk()]


@pytest.fixture(scope="module", params=FILES or [None], ids=lambda path: path.name if path else "no files")
def replayed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replayed]:
    if request.param is None:
        pytest.skip("no folder of real session files: set MINUTEBOOK_SESSIONS")
    path: File = request.param
    before = sha256(path.read_bytes()).hexdigest()
    url = str(tmp_path_factory.mktemp("replayed") / "store.sqlite")
    arguments = ["replay", "--scale", "0.1", "--step", "--json", "--store", url, str(path)]
    result = CliRunner().invoke(om, arguments, prog_name="om")
    assert result.exit_code == 0, result.output
    assert sha256(path.read_bytes()).hexdigest() == before
    (data,) = json.loads(result.stdout)["files"]
    store = open_store(url, create=False)
    events = detect(path)[1].read(path).events
    read = {event.id: event for event in events if isinstance(event, SourceEntry)}
    assert len(data["branches"]) == 1, "none of these files has a fork"
    yield Replayed(path, store, load_branch(store, data["branches"][0]), data, read)
    store.close()


def test_every_typed_prompt_is_in_the_ledger(replayed: Replayed) -> None:
    redact = redactor_of(replayed.store).redact
    wanted = [redact(text).strip() for text in typed_prompts(replayed.path)]
    there = [prompt_of(entry) for entry in replayed.entries() if entry.typed]
    assert there == wanted
    assert replayed.data["prompts"] == len(wanted)


def prompt_of(entry: SourceEntry) -> str:
    return "\n".join(part.text for part in entry.parts if part.kind == "text").strip()


def test_every_entry_of_the_reader_is_there_in_order(replayed: Replayed) -> None:
    """A row that came twice with another text is there in both versions."""
    first = [entry.id for entry in replayed.entries() if not entry.version_of]
    assert first == list(replayed.read)


def test_records_lead_to_the_readers_text_and_the_raw_line(replayed: Replayed) -> None:
    chosen = some_ids(replayed)
    for record_id in chosen:
        recalled = recall(replayed.store, replayed.branch, record_id)
        assert recalled.found and recalled.sources and not recalled.partial
        check_sources(replayed, recalled)
    has_records = replayed.data["status"]["observations"]["recorded"] > 0
    assert bool(chosen) == has_records


def some_ids(replayed: Replayed) -> list[str]:
    """Up to ten observations and reflections, the same ones every time."""
    memory = fold(read_memory(replayed.store, replayed.branch))
    known = [*memory.observations, *memory.reflections]
    return random.Random(replayed.path.name).sample(known, min(IDS_TRIED, len(known)))


def check_sources(replayed: Replayed, recalled: Recalled) -> None:
    redact = redactor_of(replayed.store).redact_entry
    for placed in recalled.sources:
        kept, original = placed.entry, replayed.read[placed.entry.version_of or placed.entry.id]
        raw = entry_text(original)
        assert entry_text(kept) == entry_text(redact(original))
        assert kept.text_sha256 == sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()
        assert kept.raw is not None
        assert raw_row(kept.raw) in list(rows_of(replayed.path))
        assert raw in texts_read_from(replayed, kept.raw)


def raw_row(pointer: RawPointer) -> Any:
    """What stands at exactly these bytes."""
    with File(pointer.path).open("rb") as file:
        file.seek(pointer.offset)
        return json.loads(file.read(pointer.length))


def texts_read_from(replayed: Replayed, pointer: RawPointer) -> list[str]:
    """The entries that the reader alone makes of the raw record and what stands before it, at that record."""
    reading = detect(replayed.path)[1].read(replayed.path, stop=pointer.offset + pointer.length)
    at = [event for event in reading.events if isinstance(event, SourceEntry) and event.raw == pointer]
    return [entry_text(entry) for entry in at]


def test_memory_is_made_and_stays_within_its_budget(replayed: Replayed) -> None:
    assert [role for role, row in replayed.data["work"].items() if row["failed"]] == []
    assert replayed.data["status"]["gaps"] == []
    if replayed.data["status"]["observations"]["active"]:  # the reflector waits for a first one
        assert replayed.data["status"]["due"] == {}
    for compaction in replayed.data["compactions"]:
        assert compaction["memory_tokens"] <= 3_200
        assert compaction["after_tokens"] < compaction["before_tokens"]

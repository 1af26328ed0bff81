"""A version 1 file before and after Pi itself has rewritten it: the same session, read twice."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import programs
import pytest

from minutebook.hosts.pi import reader
from minutebook.hosts.reading import HostCompaction, Reading
from minutebook.pipeline.intake import accept_turns
from minutebook.records import SourceEntry
from minutebook.store.sqlite import SqliteStore

PI, NODE = programs.pi_if_there()
OPENING = "const { SessionManager } = await import(process.argv[1]); SessionManager.open(process.argv[2]);"

Rewrite = Callable[[Path], None]


def old(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": "2025-12-01T10:00:00.000Z", **fields}


def said(role: str, text: str, **fields: Any) -> dict[str, Any]:
    return old("message", message={"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1, **fields})


def version_1() -> list[dict[str, Any]]:
    header = old("session", id="S", cwd="/w", provider="p", modelId="m", thinkingLevel="off")
    turns = [
        entry
        for turn in range(6)
        for entry in (
            said("user", f"ask {turn}"),
            old("thinking_level_change", thinkingLevel="low"),
            said("assistant", f"done {turn}"),
        )
    ]
    at = len(turns) + 1
    return [
        header,
        *turns,
        old("compaction", summary="so far", firstKeptEntryIndex=at - 3, tokensBefore=9),
        said("user", "ask 0"),
        said("hookMessage", "from a hook", customType="todo", display=True),
        old("compaction", summary="and further", firstKeptEntryIndex=at - 2, tokensBefore=9),
        said("user", "the end"),
    ]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def by_hand(path: Path) -> None:
    """What Pi does: ids in a chain, the place of the first kept entry becomes its id, hookMessage becomes custom."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for number, row in enumerate(rows[1:], 1):
        row |= {"id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number > 1 else None}
        if "firstKeptEntryIndex" in row:
            row["firstKeptEntryId"] = f"{row.pop('firstKeptEntryIndex'):08x}"
        if row.get("message", {}).get("role") == "hookMessage":
            row["message"]["role"] = "custom"
    written(path, [rows[0] | {"version": 3}, *rows[1:]])


def by_pi(path: Path) -> None:
    module = Path(PI).resolve().parents[1] / "core" / "session-manager.js"
    command = [NODE, "--input-type=module", "-e", OPENING, str(module), str(path)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(path.parent), "PI_OFFLINE": "1"}
    subprocess.run(command, check=True, env=environment, timeout=60)


needs_pi = pytest.mark.skipif(not (PI and NODE), reason="no Pi: `make test-hosts` installs it")
both_ways = pytest.mark.parametrize("rewrite", [by_hand, pytest.param(by_pi, marks=needs_pi)])


def told(reading: Reading) -> list[Any]:
    """What was read, without ids and places in the file: entries as they are, compactions by the texts they name."""
    texts = {
        event.id: event.parts[0].text for event in reading.events if isinstance(event, SourceEntry) and event.parts
    }
    return [
        (texts.get(event.first_kept), texts.get(event.after), event.time)
        if isinstance(event, HostCompaction)
        else replace(event, id="", parent=None, raw=None, usage=event.usage and replace(event.usage, reply_id=""))
        for event in reading.events
    ]


@both_ways
def test_rewritten_file_tells_the_same(tmp_path: Path, rewrite: Rewrite):
    path = written(tmp_path / "s.jsonl", version_1())
    before = reader.read(path)
    rewrite(path)
    after = reader.read(path)
    assert json.loads(path.read_text().splitlines()[0])["version"] == 3
    assert told(after) == told(before)
    assert [kept for kept, *_ in (one for one in told(before) if isinstance(one, tuple))] == ["ask 5", "done 5"]
    assert not any(event.moved for event in after.events if isinstance(event, SourceEntry))


@both_ways
def test_rewritten_file_brings_nothing_twice(tmp_path: Path, rewrite: Rewrite):
    path = written(tmp_path / "s.jsonl", version_1())
    store = SqliteStore(tmp_path / "store.sqlite", busy_seconds=5, create=True)
    before = reader.read(path)
    first = accept_turns(store, before, path=str(path))
    rewrite(path)
    with path.open("a") as file:
        parent = json.loads(path.read_text().splitlines()[-1])["id"]
        file.write(json.dumps({**said("user", "and on"), "id": "ffff0001", "parentId": parent}) + "\n")
    after = reader.read(path, json.loads(json.dumps(before.cursor)))
    second = accept_turns(store, after, path=str(path))
    store.close()
    assert after.replaced
    assert (first.new, second.new, second.duplicates, second.versions) == (15, 1, 15, 0)
    assert first.branches == second.branches
    assert len(reader.read(path, json.loads(json.dumps(after.cursor))).events) == 0


@both_ways
def test_real_file_rewritten(sessions_dir: Path, tmp_path: Path, rewrite: Rewrite):
    path = tmp_path / "s.jsonl"
    path.write_bytes((sessions_dir / "pi-04-v1-large.jsonl").read_bytes())
    before = reader.read(path)
    rewrite(path)
    assert told(reader.read(path)) == told(before)
    again = reader.read(path, before.cursor)
    assert [event.id for event in again.events] == [event.id for event in before.events]

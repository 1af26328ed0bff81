"""Any reader, cut anywhere: the same events as at once; another file under the same name is noticed."""

import json
import random
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.errors import BadTranscript
from minutebook.hosts import neutral
from minutebook.hosts.claude_code import reader as claude_code
from minutebook.hosts.codex import reader as codex
from minutebook.hosts.detecting import detect
from minutebook.hosts.pi import reader as pi
from minutebook.hosts.reading import Reading

SAMPLES = [
    "cc-02-many-summaries",
    "cc-03-growing",
    "cc-04-micro-and-compaction",
    "cc-07-two-records-one-line",
    "codex-01-small-0.104",
    "codex-02-subagent-0.145",
    "codex-03-compacted-0.146",
    "pi-01-v3-tiny",
    "pi-03-v3-tool-errors",
    "pi-04-v1-large",
]


def cursor_of(reading: Reading) -> dict[str, Any]:
    return json.loads(json.dumps(reading.cursor))


def read_in_pieces(reader: ModuleType, path: Path, cuts: list[int]) -> Reading:
    """One reading that holds what all of them gave."""
    total = Reading(head=None)
    cursor = None
    for stop in [*cuts, None]:
        piece = reader.read(path, cursor, stop=stop)
        assert not piece.replaced
        total.head, total.cursor = piece.head, piece.cursor
        total.events += piece.events
        total.broken += piece.broken
        total.ended = total.ended or piece.ended
        for counts, more in ((total.unknown, piece.unknown), (total.skipped, piece.skipped)):
            for kind, count in more.items():
                counts[kind] = counts.get(kind, 0) + count
        cursor = cursor_of(piece)
    return total


@pytest.mark.parametrize("name", SAMPLES)
def test_real_files_read_in_pieces(sessions_dir: Path, name: str):
    path = sessions_dir / f"{name}.jsonl"
    _, reader = detect(path)
    whole, size = reader.read(path), path.stat().st_size
    chosen = random.Random(name)
    line_ends = [at for at, byte in enumerate(path.read_bytes()) if byte == 0x0A]
    for count in (1, 3, 12):
        near_ends = [chosen.choice(line_ends) + chosen.randint(-2, 2) for _ in range(count)]
        cuts = sorted([chosen.randint(0, size) for _ in range(count)] + near_ends)
        assert read_in_pieces(reader, path, cuts) == whole


def test_growing_file_read_at_its_real_saves(sessions_dir: Path, tmp_path: Path):
    data = (sessions_dir / "cc-03-growing.jsonl").read_bytes()
    saves = json.loads((sessions_dir / "cc-03-growing.cuts.json").read_text())["checkpoints"]
    path = tmp_path / "growing.jsonl"
    events: list[Any] = []
    cursor = None
    for save in saves:
        path.write_bytes(data[: save["bytes"]])
        reading = claude_code.read(path, cursor)
        assert not reading.replaced and len(reading.events) > 0
        assert reading.cursor["offset"] == save["bytes"]
        events += reading.events
        cursor = cursor_of(reading)
    assert events == claude_code.read(path).events


def words(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


IDS = st.sampled_from(["a", "b", "c", "d", "e"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | IDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
BLOCK = st.fixed_dictionaries(
    {},
    optional={
        "type": words("text thinking redacted_thinking image tool_use tool_result toolCall input_text odd") | ANYTHING,
        "text": st.sampled_from(["hi", "<command-name>/x", "<environment_context>", "<minutebook>"]) | ANYTHING,
        "thinking": ANYTHING,
        "source": ANYTHING,
        "image_url": ANYTHING,
        "id": IDS | ANYTHING,
        "tool_use_id": IDS | ANYTHING,
        "name": ANYTHING,
        "input": ANYTHING,
        "arguments": ANYTHING,
        "content": ANYTHING,
        "kind": st.sampled_from(["text", "tool_call", "image"]) | ANYTHING,
    },
)
CONTENT = st.text(max_size=8) | st.lists(BLOCK | ANYTHING, max_size=4) | ANYTHING
ROLE = words("user assistant toolResult bashExecution system developer tool custom") | ANYTHING
INNER = st.fixed_dictionaries(
    {},
    optional={
        "type": words(
            "message reasoning function_call function_call_output custom_tool_call_output agent_reasoning "
            "user_message token_count queued_command hook_success"
        )
        | ANYTHING,
        "role": ROLE,
        "content": CONTENT,
        "usage": st.dictionaries(st.sampled_from(["input", "output", "totalTokens", "total_tokens"]), ANYTHING)
        | ANYTHING,
        "text": st.sampled_from(["a thought", "another"]) | ANYTHING,
        "message": st.sampled_from(["do it", "again"]) | ANYTHING,
        "summary": st.lists(BLOCK, max_size=2) | ANYTHING,
        "prompt": CONTENT,
        "output": CONTENT,
        "call_id": IDS | ANYTHING,
        "info": st.dictionaries(st.sampled_from(["total_token_usage", "last_token_usage"]), ANYTHING) | ANYTHING,
        "source": ANYTHING,
        "id": IDS | ANYTHING,
        "hookEvent": st.just("SessionStart"),
        "exitCode": ANYTHING,
        "metadata": ANYTHING,
        "internal_chat_message_metadata_passthrough": ANYTHING,
    },
)
ROW = st.fixed_dictionaries(
    {},
    optional={
        "type": words(
            "user assistant system attachment progress summary message custom custom_message compaction session label "
            "branch_summary response_item event_msg session_meta turn_context compacted world_state token_usage_record "
            "minutebook.session minutebook.compaction minutebook.end"
        )
        | ANYTHING,
        "subtype": st.sampled_from(["compact_boundary", "turn_duration"]) | ANYTHING,
        "uuid": IDS | ANYTHING,
        "id": IDS | ANYTHING,
        "parentUuid": IDS | ANYTHING,
        "parentId": IDS | ANYTHING,
        "parent": IDS | ANYTHING,
        "sessionId": st.just("S") | ANYTHING,
        "timestamp": st.just("2026-01-01T00:00:00Z") | ANYTHING,
        "time": ANYTHING,
        "message": INNER | ANYTHING,
        "payload": INNER | ANYTHING,
        "attachment": INNER | ANYTHING,
        "rendered": ANYTHING,
        "isSidechain": st.booleans() | ANYTHING,
        "isMeta": st.booleans() | ANYTHING,
        "isCompactSummary": st.booleans(),
        "agentId": IDS | ANYTHING,
        "origin": ANYTHING,
        "compactMetadata": st.dictionaries(st.sampled_from(["preservedSegment", "preservedMessages"]), ANYTHING),
        "customType": st.sampled_from(["om.observations.recorded", "om.folded", "om.odd", "x"]) | ANYTHING,
        "data": ANYTHING,
        "details": ANYTHING,
        "firstKeptEntryId": IDS | ANYTHING,
        "role": ROLE,
        "text": ANYTHING,
        "parts": CONTENT,
        "usage": ANYTHING,
        "version": ANYTHING,
    },
)
LINE = st.lists(ROW.map(json.dumps) | ANYTHING.map(json.dumps) | st.text(max_size=6), max_size=2).map("".join)


@pytest.mark.parametrize("reader", [claude_code, codex, pi, neutral], ids=lambda reader: reader.HOST)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_nothing_in_a_file_raises_and_pieces_make_the_whole(reader: ModuleType, data: st.DataObject):
    lines = data.draw(st.lists(LINE, max_size=8))
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content) + 3), max_size=5)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.jsonl"
        path.write_bytes(content)
        whole = reader.read(path)
        assert read_in_pieces(reader, path, cuts) == whole


def write(path: Path, *texts: str) -> None:
    path.write_text("".join(json.dumps({"role": "user", "text": text}) + "\n" for text in texts))


def texts(reading: Reading) -> list[str]:
    return [part.text for event in reading.events for part in event.parts]


@pytest.mark.parametrize(
    "after",
    [
        ("one",),
        ("uno", "two", "three"),
        ("one", "dos", "three", "four"),
        (),
    ],
    ids=["shorter", "other start", "other end", "emptied"],
)
def test_replaced_file_is_read_from_the_start(tmp_path: Path, after: tuple[str, ...]):
    path = tmp_path / "s.jsonl"
    write(path, "one", "two", "six")
    cursor = cursor_of(neutral.read(path))
    write(path, *after)
    reading = neutral.read(path, cursor)
    assert reading.replaced and texts(reading) == list(after)


def test_grown_and_unchanged_files_are_not_replaced(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    write(path, "one")
    cursor = cursor_of(neutral.read(path))
    assert (neutral.read(path, cursor).replaced, neutral.read(path, cursor).events) == (False, [])
    write(path, "one", "two")
    reading = neutral.read(path, cursor)
    assert (reading.replaced, texts(reading)) == (False, ["two"])


@pytest.mark.parametrize(
    "change", [{"version": 0}, {"host": "pi"}, {"offset": "x"}, {"memory": None}, {"head": {"x": 1}}]
)
def test_cursor_that_cannot_be_used_starts_again(tmp_path: Path, change: dict[str, Any]):
    path = tmp_path / "s.jsonl"
    write(path, "one")
    reading = neutral.read(path, {**neutral.read(path).cursor, **change})
    assert reading.replaced and texts(reading) == ["one"]


def test_cursor_stays_small_however_long_the_session(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    rows = []
    for n in range(2_000):
        rows.append({"type": "message", "timestamp": "t", "message": {"role": "user", "content": f"hello {n}"}})
        rows.append({"type": "label", "id": f"label-{n}", "parentId": f"m{n}"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(json.dumps(pi.read(path).cursor)) < 64_000


def test_file_that_cannot_be_opened_is_a_bad_transcript(tmp_path: Path):
    with pytest.raises(BadTranscript, match="no such file"):
        neutral.read(tmp_path / "absent.jsonl")
    with pytest.raises(BadTranscript, match="directory"):
        neutral.read(tmp_path)

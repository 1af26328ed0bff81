"""What is sent at once: bounded in number and size, in order, and never stuck on one entry."""

import json

import pytest
from builders import entry, say
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.box.chunks import ENTRIES_MAX, READ_AT_ONCE, SMALLEST_MAX_BYTES, chunks, sendable_row, stepwise
from minutebook.pipeline.rows import source_of_row, source_row
from minutebook.records import Part, SourceEntry
from minutebook.store import codec

LIMIT = 50_000


def row_of(text: str, position: int = 0) -> dict[str, object]:
    return source_row("b", position, say(text, id=f"e{position}"))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60_000), max_size=20))
def test_chunks_hold_everything_in_order_within_the_limit(sizes: list[int]) -> None:
    rows = [row_of("x" * size, at) for at, size in enumerate(sizes)]
    found = list(chunks(iter(rows), LIMIT))
    assert [row for chunk in found for row in chunk] == rows
    for chunk in found:
        assert len(chunk) == 1 or sum(len(codec.to_json(row)) for row in chunk) <= LIMIT


def test_a_chunk_holds_so_many_entries() -> None:
    found = list(chunks((row_of("x", at) for at in range(1_100)), 10_000_000))
    assert [len(chunk) for chunk in found] == [ENTRIES_MAX, ENTRIES_MAX, 100]
    assert list(chunks([], LIMIT)) == []


def test_a_stream_is_read_a_few_entries_at_a_time() -> None:
    asked = []

    def read(start: int, stop: int) -> list[int]:
        asked.append(stop - start)
        return list(range(start, min(stop, 70)))

    assert list(stepwise(read, 10, 70)) == list(range(10, 70))
    assert max(asked) == READ_AT_ONCE
    assert list(stepwise(read, 60, 100)) == list(range(60, 70))


def test_what_fits_is_sent_as_it_is() -> None:
    whole = say("x" * 10_000, id="e1")
    assert sendable_row("b", 3, whole, LIMIT) == (source_row("b", 3, whole), False)


LARGE = {
    "text": [Part(kind="text", text="x" * 1_000_000)],
    "escapes": [Part(kind="text", text="\0" * 100_000)],
    "other letters": [Part(kind="text", text="я" * 100_000)],
    "surrogates": [Part(kind="text", text="\ud800" * 100_000)],
    "several parts": [Part(kind="text", text="x" * 60_000), Part(kind="tool_call", text="{}" * 60_000, name="Bash")],
    "very many parts": [Part(kind="text", text="x")] * 50_000,
    "many ids": [Part(kind="tool_call", text="{}", name="n" * 50, call_id="c" * 50)] * 2_000,
}


@pytest.mark.parametrize("limit", [SMALLEST_MAX_BYTES, LIMIT])
@pytest.mark.parametrize("name", LARGE)
def test_what_is_too_large_goes_as_marked_heads_and_tails(name: str, limit: int) -> None:
    large: SourceEntry = entry("tool_result", *LARGE[name], id="e1", text_sha256="a" * 64)
    row, shortened = sendable_row("b", 0, large, limit)
    sent = codec.to_json(row)
    assert shortened and len(sent) <= limit
    back = source_of_row(json.loads(sent))
    assert (back.id, back.text_sha256) == ("e1", "a" * 64)
    assert any("characters…]" in part.text for part in back.parts)

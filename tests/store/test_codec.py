"""Records <-> JSON text."""

import json

import pytest

from minutebook.errors import StoreCorrupt, StoreTooNew
from minutebook.records import Branch, Part, RawPointer, SourceEntry, Usage
from minutebook.store import codec
from minutebook.store.kernel import Item, Stored


def stored(item: Item) -> Stored:
    return Stored(0, item.id, item.kind, item.weight, item.weight, item.body)


FULL = SourceEntry(
    id="e1",
    parent="e0",
    role="tool_result",
    time="2026-05-02T10:30:00Z",
    parts=(
        Part(kind="text", text="ü\u2028\x00\ud800"),
        Part(kind="tool_call", text="{}", name="Bash", call_id="c"),
        Part(kind="image", text="10×10"),
        Part(kind="thinking"),
        Part(kind="text", call_id="c"),
    ),
    tool_name="Bash",
    custom_type="hook",
    call_id="c1",
    is_error=True,
    typed=True,
    moved=True,
    usage=Usage(reply_id="r", model="m", context_tokens=None),
    raw=RawPointer(path="/f", offset=3, length=9),
    text_sha256="ab",
    version_of="e9",
)


@pytest.mark.parametrize("entry", [FULL, SourceEntry(id="e", role="user")])
def test_a_source_entry_comes_back_as_it_was(entry: SourceEntry) -> None:
    item = codec.source_item(entry, 7)
    assert item.weight == 7
    assert codec.source_entry(stored(item)) == entry


def test_a_source_entry_of_version_1_is_read() -> None:
    """Its texts stood inside the JSON."""
    body = '{"p":"e0","parts":[["text","a\\nb"],["tool_call","{}","Bash","c"],["thinking",""]],"role":"user","v":1}'
    parts = (
        Part(kind="text", text="a\nb"),
        Part(kind="tool_call", text="{}", name="Bash", call_id="c"),
        Part(kind="thinking"),
    )
    read = codec.source_entry(Stored(0, "e1", "source", 1, 1, body))
    assert read == SourceEntry(id="e1", parent="e0", role="user", parts=parts)


def test_a_source_entry_whose_texts_are_cut_is_corrupt() -> None:
    whole = codec.source_item(FULL, 7)
    with pytest.raises(StoreCorrupt, match="text"):
        codec.source_entry(Stored(0, "e1", "source", 7, 7, whole.body[:-1]))


def test_a_branch_comes_back_as_it_was() -> None:
    branch = Branch(key="k", host="h", session="s", lineage="l", parent="p", fork=3, parent_memory=2, base_tokens=9)
    assert codec.branch_of(codec.branch_json(branch)) == branch


def test_fields_of_a_later_minor_version_are_ignored() -> None:
    body = json.loads(codec.branch_json(Branch(key="k", host="h", session="s", lineage="l")))
    assert codec.branch_of(json.dumps({**body, "colour": "red"})).key == "k"


@pytest.mark.parametrize("body", ["", "{", "[]", "5", '{"v":"two"}'])
def test_what_is_no_record_is_corrupt(body: str) -> None:
    with pytest.raises(StoreCorrupt):
        codec.from_json(body)


def test_a_record_that_lacks_a_field_is_corrupt() -> None:
    bare = Stored(0, "e", "source", 0, 0, '{"v":1}')
    with pytest.raises(StoreCorrupt, match="role"):
        codec.source_entry(bare)
    with pytest.raises(StoreCorrupt, match="covers"):
        codec.memory_entry("b", bare)
    with pytest.raises(StoreCorrupt):
        codec.branch_of('{"v":1,"key":"k"}')


def test_a_record_of_a_newer_version_says_so() -> None:
    with pytest.raises(StoreTooNew, match="upgrade"):
        codec.from_json('{"v":2}')
    with pytest.raises(StoreTooNew, match="upgrade"):
        codec.source_entry(Stored(0, "e", "source", 0, 0, '{"v":3}'))


def test_equal_values_are_equal_bytes() -> None:
    assert codec.to_json({"b": 1, "a": "é"}) == codec.to_json({"a": "é", "b": 1}) == '{"a":"\\u00e9","b":1}'

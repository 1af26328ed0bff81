"""Words that are for certain not those that came in, and none that may be."""

from dataclasses import replace

import pytest
from builders import call, say
from hypothesis import given
from hypothesis import strategies as st

from minutebook.pipeline.excerpts import head_and_tail
from minutebook.pipeline.hashed import is_other_text
from minutebook.pipeline.placing import with_hash
from minutebook.records import Part, SourceEntry
from minutebook.redaction import Redactor
from minutebook.store import codec
from minutebook.store.kernel import Stored

REDACTOR = Redactor(b"k" * 32)
SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fH3jK5"


def taken(entry: SourceEntry) -> SourceEntry:
    """As intake stores it, read back."""
    hashed = with_hash(entry)
    assert isinstance(hashed, SourceEntry)
    item = codec.source_item(REDACTOR.redact_entry(hashed), 1)
    return codec.source_entry(Stored(0, item.id, item.kind, item.weight, 1, item.body))


def changed(entry: SourceEntry, text: str) -> SourceEntry:
    return replace(entry, parts=(Part(kind="text", text=text), *entry.parts[1:]))


def test_changed_words_are_told() -> None:
    entry = taken(say("the port is 8443", id="e1"))
    assert not is_other_text(entry)
    assert is_other_text(changed(entry, "the port is 9443"))
    assert is_other_text(replace(entry, parts=()))
    assert not is_other_text(replace(changed(entry, "x"), text_sha256="")), "nothing to compare with"


@pytest.mark.parametrize(
    "text",
    [
        f"use {SECRET} there",
        "a <private>my own</private> b",
        "<private>all",
        "a <private b='<private>c</private>'>d</private> e",
        "",
        "a\ud83d b",
        "a \U0001f600 b",
    ],
)
def test_what_intake_itself_changes_is_no_fault(text: str) -> None:
    assert not is_other_text(taken(say(text, id="e1")))


def test_a_shortened_entry_is_no_fault() -> None:
    entry = taken(say("word " * 400, id="e1"))
    assert not is_other_text(changed(entry, head_and_tail(entry.parts[0].text, 200)))


@given(st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from("\ud83d\ude00\x00"), max_size=40), max_size=4))
def test_whatever_came_in_is_not_taken_for_damaged(texts: list[str]) -> None:
    parts = tuple(Part(kind="text", text=text) for text in texts)
    assert not is_other_text(taken(replace(call("run", "c1", id="e1"), parts=parts)))

"""<private>…</private>: what stands between leaves the text."""

import pytest
from builders import call, entry, say
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.private_spans import PRIVATE_PLACEHOLDER as GONE
from minutebook.private_spans import entry_without_private, without_private
from minutebook.records import Part
from minutebook.redaction import Redactor


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>x</private> b", f"a {GONE} b"),
        ("a <PRIVATE>x</Private> b", f"a {GONE} b"),
        ('a <private reason="mine">x</private > b', f"a {GONE} b"),
        ("a <private>x", f"a {GONE}"),
        ("a <private>x <private>y</private> z</private> b", f"a {GONE} b"),
        ("a <private>x <private>y</private> z", f"a {GONE}"),
        ("<private>x</private><private>y</private>", GONE + GONE),
        ("a </private> b <private></private>c", f"a </private> b {GONE}c"),
        (r'{"text":"\u003cprivate\u003ex<\/private> b"}', f'{{"text":"{GONE} b"}}'),
        ("private <privateer>x</privateer> <priv> b", "private <privateer>x</privateer> <priv> b"),
    ],
)
def test_spans(text: str, left: str) -> None:
    assert without_private(text) == left
    assert Redactor(b"k").redact(text) == left


TAGS = st.sampled_from(["<private>", "</private>", "<PRIVATE a=b>", "</Private>"])
WORDS = st.sampled_from(["open", "\n", "<", ">", "é", "<div>", "\\u003c", "private"])


@settings(max_examples=60, deadline=None)
@given(st.lists(TAGS | WORDS | st.just("SECRET"), max_size=20))
def test_nothing_between_the_tags_is_left_and_all_else_is(pieces: list[str]) -> None:
    depth, open_secrets = 0, 0
    for piece in pieces:
        if piece.lower().startswith("<private"):
            depth += 1
        elif piece.lower().startswith("</private"):
            depth = max(0, depth - 1)
        open_secrets += piece == "SECRET" and depth == 0
    left = without_private("".join(pieces))
    assert left.count("SECRET") == open_secrets
    assert without_private(left) == left


def test_a_span_that_is_open_at_the_end_of_a_part_goes_on_in_the_next() -> None:
    said = entry("user", Part(kind="text", text="a <private>x"), Part(kind="image", text="y"), Part(kind="text", text="z</private> b"))  # fmt: skip # noqa: E501
    assert [part.text for part in entry_without_private(said).parts] == [f"a {GONE}", GONE, f"{GONE} b"]


def test_an_entry_without_spans_is_the_same_object() -> None:
    said = say("plain private words, a < b")
    assert entry_without_private(said) is said


def test_arguments_of_a_call() -> None:
    said = call("Write", '{"path":"a","content":"<private>x</private>y"}')
    assert entry_without_private(said).parts[0].text == f'{{"path":"a","content":"{GONE}y"}}'

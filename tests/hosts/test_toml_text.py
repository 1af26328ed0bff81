"""Tables put into a TOML text and taken out again."""

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.hosts import toml_text
from minutebook.hosts.toml_text import NotEditable

NAMES = st.text(alphabet='ab-_ ."\\é#[]', min_size=1, max_size=6)
STRINGS = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.dictionaries(
    NAMES, STRINGS | st.booleans() | st.integers(-9, 9) | st.lists(STRINGS, max_size=3), min_size=1, max_size=4
)
PIECES = st.sampled_from(
    [
        "# a comment\n",
        "\n",
        '[mcp_servers.other]\ncommand = "x" # why\n',
        "[features]\nplugins = false\n",
        '[[hooks.Stop]]\nmatcher = "[mcp_servers.om]"\n',
        'text = """\n[mcp_servers.om]\nnot = "a table"\n"""\n',
        '[projects."/a b"]\ntrust_level = "trusted"',
    ]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Some of the pieces, each once, those without a header first."""
    pieces = draw(st.lists(PIECES, unique=True, max_size=7))
    pieces.sort(key=lambda piece: piece.lstrip().startswith("["))
    return "".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces).removesuffix(
        draw(st.sampled_from(["", "\n"]))
    )


@settings(max_examples=60, deadline=None)
@given(texts(), VALUES, NAMES)
def test_a_table_is_there_and_then_the_text_is_as_it_was(text: str, values: dict[str, Any], name: str) -> None:
    for path in (("mcp_servers", "om"), ("hooks", "state", name)):
        if "[[hooks" in text and path[0] == "hooks":
            continue
        there = toml_text.add_table(text, path, values)
        assert toml_text.value_at(tomllib.loads(there), path) == values
        assert there.startswith(text)
        try:
            gone = toml_text.remove_table(there, path)
        except NotEditable:
            assert '"""' in text  # a table's header inside a string of several lines: nobody's text is touched
        else:
            assert gone.removesuffix("\n") == text.removesuffix("\n")


def test_what_others_wrote_behind_and_inside_stays() -> None:
    text = toml_text.add_table('model = "x"\n', ("mcp_servers", "om"), {"command": "/x/om"})
    text += '\n[mcp_servers.om.env]\nA = "b"\n\n# theirs\n[mcp_servers.other]\ncommand = "y"\n'
    assert toml_text.remove_table(text, ("mcp_servers", "om")) == (
        'model = "x"\n\n# theirs\n[mcp_servers.other]\ncommand = "y"\n'
    )


@pytest.mark.parametrize(
    "text",
    ['mcp_servers = { a = { command = "b" } }\n', "mcp_servers = 1\n", '[mcp_servers]\nom = { command = "b" }\n'],
)
def test_what_cannot_be_written_as_a_table_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        toml_text.add_table(text, ("mcp_servers", "om"), {"command": "/x/om"})


def test_an_inline_table_is_not_torn_out() -> None:
    with pytest.raises(NotEditable, match=r"\[mcp_servers.om\]"):
        toml_text.remove_table('[mcp_servers]\nom = { command = "b" }\n', ("mcp_servers", "om"))


def test_a_fault_is_said_with_its_line() -> None:
    with pytest.raises(NotEditable) as caught:
        toml_text.loaded('a = 1\nb = "x\n')
    assert caught.value.line == 2

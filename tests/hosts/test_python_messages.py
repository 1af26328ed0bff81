"""Messages of every library, as what the ledger keeps of them."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from minutebook.errors import BadInput
from minutebook.hosts.python_messages import read_messages
from minutebook.pipeline.quoting import CLOSING, OPENING

MEMORY = f"{OPENING}\nof the past\n{CLOSING}"
PNG = "data:image/png;base64,aGVsbG8="


def pieces(*messages: Any) -> list[tuple[Any, ...]]:
    """Role, and kind, name, call id and text of each part."""
    return [
        (said.role, *((part.kind, part.name, part.call_id, part.text) for part in said.parts))
        for message in read_messages(messages)
        for said in message.said
    ]


TEXT = ("text", "", "", "hello")
UNKNOWN = ("other", "", "", "[unknown content]")
"""So that a ledger tells of what was said, and could not be read."""


@pytest.mark.parametrize(
    ("message", "read"),
    [
        ({"role": "user", "content": "hello"}, [("user", TEXT)]),
        ({"role": "user", "content": [{"type": "text", "text": "hello"}]}, [("user", TEXT)]),
        ({"role": "user", "content": [{"type": "input_text", "text": "hello"}]}, [("user", TEXT)]),
        ({"type": "message", "role": "user", "content": "hello"}, [("user", TEXT)]),
        ({"role": "user", "content": ["hello"]}, [("user", TEXT)]),
        ({"role": "user", "content": None}, []),
        ({"role": "user", "content": 5}, [("user", UNKNOWN)]),
        ({"role": "user", "content": {"a": 1}}, [("user", UNKNOWN)]),
        ({"role": "user", "content": [5, {"text": "hello"}]}, [("user", UNKNOWN, TEXT)]),
        ({"role": "user", "content": [{"type": "text", "text": ["hello"]}]}, [("user", UNKNOWN)]),
        ({"role": "user", "content": [{"type": "text", "text": None}, None]}, []),
        ({"role": "user", "content": ""}, []),
        ({"role": "system", "content": "hello"}, []),
        ({"role": "developer", "content": "hello"}, []),
        ({"role": "critic", "content": "hello"}, [("custom", TEXT)]),
        ({"role": "assistant", "content": "hello", "refusal": None}, [("assistant", TEXT)]),
        ({"role": "assistant", "content": None, "refusal": "hello"}, [("assistant", TEXT)]),
        (
            {"role": "assistant", "content": "hello", "reasoning_content": "why"},
            [("assistant", ("thinking", "", "", "why"), TEXT)],
        ),
        (
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "why"}, {"type": "redacted_thinking"}]},
            [("assistant", ("thinking", "", "", "why"))],
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{ "a": 1 }'}}]},
            [("assistant", ("tool_call", "f", "c", '{"a":1}'))],
        ),
        (
            {"role": "assistant", "function_call": {"name": "f", "arguments": "no json"}},
            [("assistant", ("tool_call", "f", "", "no json"))],
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
            [("assistant", ("tool_call", "f", "c", '{"a":1}'))],
        ),
        ({"role": "tool", "tool_call_id": "c", "content": "hello"}, [("tool_result", TEXT)]),
        ({"role": "tool", "tool_call_id": "c", "content": ""}, [("tool_result", ("other", "", "", "[no output]"))]),
        ({"role": "function", "name": "f", "content": "hello"}, [("tool_result", TEXT)]),
        ({"type": "function_call_output", "call_id": "c", "output": "hello"}, [("tool_result", TEXT)]),
        (
            {"type": "function_call", "call_id": "c", "id": "i", "name": "f", "arguments": "{}"},
            [("assistant", ("tool_call", "f", "c", "{}"))],
        ),
        ({"type": "reasoning", "summary": [{"text": "why"}]}, [("assistant", ("thinking", "", "", "why"))]),
        ({"type": "mystery"}, [("custom", ("other", "", "", "[mystery]"))]),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG}}]},
            [("user", ("image", "", "", "[image image/png, 5 bytes]"))],
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": PNG}]},
            [("user", ("image", "", "", "[image image/png, 5 bytes]"))],
        ),
        (
            {
                "role": "user",
                "content": [{"type": "image", "source": {"media_type": "image/png", "data": "aGVsbG8="}}],
            },
            [("user", ("image", "", "", "[image image/png, 5 bytes]"))],
        ),
        (
            {"role": "user", "content": [{"type": "document", "source": {}}]},
            [("user", ("other", "", "", "[document]"))],
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": "hello"},
                    {"type": "tool_result", "tool_use_id": "d", "content": []},
                    {"type": "text", "text": "hello"},
                ],
            },
            [("tool_result", TEXT), ("tool_result", ("other", "", "", "[no output]")), ("user", TEXT)],
        ),
        ({"role": "user", "content": MEMORY}, []),
        ({"role": "user", "content": f"{MEMORY}\n\nhello"}, [("user", TEXT)]),
        (
            {"role": "user", "content": [{"type": "text", "text": MEMORY}, {"type": "text", "text": "hello"}]},
            [("user", TEXT)],
        ),
        ({"role": "tool", "tool_call_id": "c", "content": MEMORY}, [("tool_result", ("text", "", "", MEMORY))]),
    ],
)
def test_messages_of_every_library(message: Any, read: list[Any]) -> None:
    assert pieces(message) == read


class Block(BaseModel):
    type: str = "text"
    text: str = "hello"


class OfALibrary(BaseModel):
    role: str = "assistant"
    content: list[Block] = [Block()]


def test_objects_of_a_library_also_inside_of_dicts() -> None:
    assert pieces(OfALibrary(), {"role": "assistant", "content": [Block()]}) == [("assistant", TEXT)] * 2


def test_a_result_has_the_name_of_its_tool_and_says_that_it_failed() -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "Bash", "input": {}}]}
    result = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}],
    }
    (_, read) = read_messages([call, result])
    assert (read.said[0].tool_name, read.said[0].is_error, read.answers) == ("Bash", True, {"c"})
    (read,) = read_messages([result], {"c": "Read"})
    assert read.said[0].tool_name == "Read"


@pytest.mark.parametrize(
    "messages", ["hello", {"role": "user"}, 7, None, [7], [None], ["x"], [{}], [SimpleNamespace()]]
)
def test_what_is_no_message_is_refused_in_one_line(messages: Any) -> None:
    with pytest.raises(BadInput, match=r"message(s|\ 0): "):
        read_messages(messages)


FIELDS = [
    "role",
    "content",
    "type",
    "text",
    "tool_calls",
    "function",
    "arguments",
    "id",
    "source",
    "image_url",
    "output",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    max_leaves=12,
)


@given(fields=st.dictionaries(st.sampled_from(FIELDS), JSON), role=st.sampled_from(["user", "assistant", "tool", "x"]))
def test_a_message_of_any_content_is_read(fields: dict[str, Any], role: str) -> None:
    (read,) = read_messages([{**fields, "role": role}])
    assert all(said.parts and said.key for said in read.said) and read.tokens >= 0


def test_what_is_nested_without_end_ends() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    assert pieces({"role": "user", "content": deep}) == [("user", UNKNOWN)]

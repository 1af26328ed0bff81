"""Changes of a JSON text: what is meant changes, the rest stays as it is written."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.hosts import json_text
from minutebook.hosts.json_text import NotEditable

KEYS = st.text(alphabet='ab"\\é{}[],: \n', max_size=4)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
LAYOUTS = st.sampled_from(
    [
        {"indent": 2},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
        {"indent": 2, "ensure_ascii": False},
    ]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """An object in some layout, with some line ends."""
    text = json.dumps(draw(OBJECTS), **draw(LAYOUTS))
    return (text + draw(st.sampled_from(["", "\n", "\n\n"]))).replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def put_into(data: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    return {**data, path[0]: put_into(data.get(path[0], {}), path[1:], value)}


@settings(max_examples=60, deadline=None)
@given(texts(), VALUES)
def test_what_is_put_in_and_taken_out_again_leaves_the_text_as_it_was(text: str, value: Any) -> None:
    there = json_text.put(text, ["ours", "deeper"], value)
    assert json.loads(there) == {**json.loads(text), "ours": {"deeper": value}}
    gone = json_text.remove(there, ["ours"])
    assert json.loads(gone) == json.loads(text)
    if json.loads(text):
        assert gone == text


@settings(max_examples=60, deadline=None)
@given(texts(), st.data())
def test_a_value_that_is_there_is_replaced_in_its_place(text: str, data: st.DataObject) -> None:
    before = json.loads(text)
    if before:
        key = data.draw(st.sampled_from(sorted(before)))
        value = data.draw(VALUES)
        after = json.loads(json_text.put(text, [key], value))
        assert after == {**before, key: value} and list(after) == list(before)


@settings(max_examples=60, deadline=None)
@given(texts(), st.data())
def test_each_member_can_be_removed(text: str, data: st.DataObject) -> None:
    before = json.loads(text)
    if before:
        key = data.draw(st.sampled_from(sorted(before)))
        after = json.loads(json_text.remove(text, [key]))
        assert list(after.items()) == [(k, v) for k, v in before.items() if k != key]


@settings(max_examples=60, deadline=None)
@given(texts(), st.lists(VALUES, min_size=1, max_size=3), st.integers(0, 2), LAYOUTS)
def test_items_of_a_list(text: str, items: list[Any], at: int, layout: dict[str, Any]) -> None:
    for item in items:
        text = json_text.append(text, ["ours"], item)
    assert json.loads(text)["ours"][-len(items) :] == items
    at %= len(items)
    start = len(json.loads(text)["ours"]) - len(items)
    gone = json.loads(json_text.remove(text, ["ours", start + at]))["ours"]
    assert gone[start:] == items[:at] + items[at + 1 :]


def test_it_looks_like_what_stands_around_it() -> None:
    text = '{\n    "model": "opus",\n    "hooks": {\n        "Stop": [{"hooks": []}]\n    }\n}'
    there = json_text.put(json_text.append(text, ["hooks", "Stop"], {"a": 1}), ["hooks", "End"], [1])
    assert there == (
        '{\n    "model": "opus",\n    "hooks": {\n        "Stop": [{"hooks": []}, {"a": 1}],\n'
        '        "End": [\n            1\n        ]\n    }\n}'
    )


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{\n  "a": 1,\n}', 3, "no valid JSON"),
        ("[]", 1, "no JSON object"),
        ('{"a": 1,\n "b": 2,\n "a": 3}', 3, "twice"),
        ('{"a": 1} // mine', 1, "no valid JSON"),
        ("[" * 100_000, 1, "no valid JSON"),
    ],
)
def test_what_cannot_be_edited_is_said_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(NotEditable, match=said) as caught:
        json_text.loaded(text)
    assert caught.value.line == line

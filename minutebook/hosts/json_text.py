"""Changes of a JSON text that leave the rest of it as it is written: order, indentation, line ends. Pure.

Strict JSON, as hosts read it. A path is keys of objects and places in lists, from the root, which is an object.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C scanner of strings
from typing import Any

Key = str | int
Path = Sequence[Key]
_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_FIRST_INDENT = re.compile(r"\{[ \t]*\r?\n([ \t]+)\"")
EMPTY = "{}\n"


class NotEditable(ValueError):
    """The text is no JSON object, or says a key twice. line: where, from 1."""

    def __init__(self, said: str, line: int) -> None:
        super().__init__(said)
        self.line = line


@dataclass(frozen=True, slots=True)
class Child:
    """A member of an object or an item of a list: begin is where its key begins, start where its value does."""

    key: Key
    begin: int
    start: int
    end: int


def loaded(text: str) -> dict[str, Any]:
    """The value; raises NotEditable."""
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise NotEditable(f"no valid JSON: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise NotEditable("no valid JSON: nested too deep", 1) from error
    except _Twice as error:
        line = text.count("\n", 0, max(0, text.rfind(json.dumps(str(error)), 0))) + 1
        raise NotEditable(f"the key {str(error)!r} is there twice in one object", line) from error
    if not isinstance(value, dict):
        raise NotEditable("no JSON object", 1)
    return value


class _Twice(Exception):
    """A key that is there twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for key in keys if keys.count(key) > 1))
    return found


def put(text: str, path: Path, value: Any) -> str:
    """The value at a path of keys, in place of what is there, or at the end of an object; objects are made."""
    for depth in range(len(path)):
        found = find(text, path[: depth + 1])
        if found is None:
            for key in reversed(path[depth + 1 :]):
                value = {key: value}
            return _added(text, path[:depth], value, path[depth])
    found = find(text, path)
    assert found is not None
    return text[: found.start] + _written(value, text, _indent_at(text, found.begin)) + text[found.end :]


def append(text: str, path: Path, item: Any) -> str:
    """One more item at the end of the list at the path, which is made."""
    return _added(text, path, item, None) if find(text, path) else put(text, path, [item])


def remove(text: str, path: Path) -> str:
    """Without what is at the path."""
    start = _start(text, path[:-1])
    children = list(_children(text, start))
    at = next(index for index, child in enumerate(children) if child.key == path[-1])
    child = children[at]
    if len(children) == 1:
        return text[: start + 1] + text[_after_blank(text, child.end) :]
    if at + 1 < len(children):
        return text[: child.begin] + text[children[at + 1].begin :]
    return text[: children[at - 1].end] + text[child.end :]


def find(text: str, path: Path) -> Child | None:
    """Where a path is; the root for an empty one."""
    child: Child | None = Child("", 0, _after_blank(text, 0), len(text.rstrip()))
    for key in path:
        if child is None or text[child.start] not in "{[":
            return None
        child = next((each for each in _children(text, child.start) if each.key == key), None)
    return child


def _start(text: str, path: Path) -> int:
    found = find(text, path)
    assert found is not None
    return found.start


def _children(text: str, start: int) -> Iterator[Child]:
    keyed = text[start] == "{"
    at = _after_blank(text, start + 1)
    index = 0
    while text[at] not in "]}":
        begin, key = at, index if not keyed else ""
        if keyed:
            key, at = scanstring(text, at + 1)
            at = _after_blank(text, _after_blank(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield Child(key, begin, at, end)
        index += 1
        at = _after_blank(text, end)
        at = _after_blank(text, at + 1) if text[at] == "," else at


def _added(text: str, path: Path, value: Any, key: Key | None) -> str:
    """One more child at the end of the object or list at the path."""
    start = _start(text, path)
    children = list(_children(text, start))
    named = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if children:
        between = text[start + 1 : children[0].begin]
        if "\n" in between:
            indent = between.rpartition("\n")[2]
            glue = f",{_newline(text)}{indent}"
            return _spliced(text, children[-1].end, glue + named + _written(value, text, indent))
        return _spliced(text, children[-1].end, f", {named}{json.dumps(value, ensure_ascii=False)}")
    end = _after_blank(text, start + 1)
    if "\n" not in text.strip() and text.strip() != "{}":
        return text[: start + 1] + named + json.dumps(value, ensure_ascii=False) + text[end:]
    outer = _indent_at(text, start)
    inner = outer + _unit(text)
    line = _newline(text)
    return f"{text[: start + 1]}{line}{inner}{named}{_written(value, text, inner)}{line}{outer}{text[end:]}"


def _spliced(text: str, at: int, more: str) -> str:
    return text[:at] + more + text[at:]


def _written(value: Any, text: str, indent: str) -> str:
    if "\n" not in text.strip() and text.strip() != "{}":
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _indent_at(text: str, at: int) -> str:
    """The indentation of the line in which this place is."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = _FIRST_INDENT.search(text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()

"""Tables put into a TOML text and taken out again; comments, order and everything else stay as written. Pure."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

Path = Sequence[str]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[")
_LINE = re.compile(r"at line (\d+)")


class NotEditable(ValueError):
    """The text is no TOML, or cannot be changed without touching what is not ours. line: where, from 1."""

    def __init__(self, said: str, line: int = 1) -> None:
        super().__init__(said)
        self.line = line


def loaded(text: str) -> dict[str, Any]:
    """The value; raises NotEditable."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = _LINE.search(str(error))
        raise NotEditable(f"no valid TOML: {error}", int(where[1]) if where else text.count("\n") + 1) from error
    except RecursionError as error:
        raise NotEditable("no valid TOML: nested too deep") from error


def value_at(data: Any, path: Path) -> Any:
    """What is at a path, None for nothing."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def add_table(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """The table at the end of the text; NotEditable where a table above it is written in a way that forbids that."""
    line = "\r\n" if "\r\n" in text else "\n"
    end = "" if not text else line if text.endswith("\n") else line * 2
    added = text + end + line.join([header(path), *(f"{_key(k)} = {_value(v)}" for k, v in values.items()), ""])
    return _checked(added, _with(loaded(text), path, values), path)


def remove_table(text: str, path: Path) -> str:
    """Without the table and those below it; NotEditable where it is not written as a table of its own."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    at = 0
    while at < len(lines):
        if not _is_header_of(lines[at], path):
            kept.append(lines[at])
            at += 1
            continue
        at = _end_of_table(lines, at)
        if kept and not kept[-1].strip() and (len(kept) < 2 or kept[-2].endswith("\n")):
            kept.pop()  # the empty line that came with it
    return _checked("".join(kept), _without(loaded(text), path), path)


def header(path: Path) -> str:
    """[a.b."c d"]"""
    return f"[{'.'.join(map(_key, path))}]"


def _checked(text: str, expected: dict[str, Any], path: Path) -> str:
    try:
        found = loaded(text)
    except NotEditable:
        found = {}
    if _tidy(found) != _tidy(expected):
        said = f"{header(path)} cannot be written or removed as a table of its own: write what is above it as tables"
        raise NotEditable(said)
    return text


def _tidy(data: Any) -> Any:
    """Without empty tables: whether an empty one is there says nothing."""
    if not isinstance(data, dict):
        return data
    tidied = {key: _tidy(value) for key, value in data.items()}
    return {key: value for key, value in tidied.items() if value != {}}


def _end_of_table(lines: Sequence[str], at: int) -> int:
    """The line after its last key: what stands before the next header belongs to that one."""
    end = at + 1
    while end < len(lines) and not _HEADER.match(lines[end]):
        end += 1
    while end > at + 1 and end < len(lines) and (not lines[end - 1].strip() or lines[end - 1].lstrip()[0] == "#"):
        end -= 1
    return end


def _is_header_of(line: str, path: Path) -> bool:
    if not _HEADER.match(line):
        return False
    try:
        data: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return False
    return isinstance(value_at(data, path), dict)


def _with(data: dict[str, Any], path: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    if not path:
        return {**data, **values}
    inner = data.get(path[0], {})
    if not isinstance(inner, dict):
        raise NotEditable(f"{path[0]} is no table")
    return {**data, path[0]: _with(inner, path[1:], values)}


def _without(data: dict[str, Any], path: Path) -> dict[str, Any]:
    inner = data.get(path[0])
    if len(path) == 1 or not isinstance(inner, dict):
        return {key: value for key, value in data.items() if key != path[0] or len(path) > 1}
    return {**data, path[0]: _without(inner, path[1:])}


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(k)} = {_value(v)}' for k, v in value.items())} }}" if value else "{}"
    return repr(value)

"""Our parts in a host's JSON file: put in, found, and taken out. Pure; the rest of the text stays as it is."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from minutebook.hosts import json_text
from minutebook.hosts.edits import HOOK_MARK, JsonItems, JsonValue
from minutebook.hosts.json_text import NotEditable

JsonEdit = JsonItems | JsonValue
Keys = tuple[str, ...]
Place = tuple[str | int, ...]


def added(text: str, edits: Sequence[JsonEdit]) -> str:
    """The text with them; NotEditable where something else stands in the way. What came out is compared."""
    for edit in edits:
        data = json_text.loaded(text)
        _check_way(data, edit)
        expected = _with(data, edit.path, edit)
        if isinstance(edit, JsonItems):
            for item in edit.items:
                text = json_text.append(text, edit.path, item)
        elif value_at(data, edit.path) is None:
            text = json_text.put(text, edit.path, edit.value)
        if json_text.loaded(text) != expected:
            raise NotEditable(f"{'.'.join(edit.path)} cannot be put there without touching what is not ours", 1)
    return text


def _with(data: dict[str, Any], path: Keys, edit: JsonEdit) -> dict[str, Any]:
    key, *rest = path
    if rest:
        return {**data, key: _with(data.get(key, {}), tuple(rest), edit)}
    if isinstance(edit, JsonItems):
        return {**data, key: [*data.get(key, []), *edit.items]}
    return data if data.get(key) is not None else {**data, key: edit.value}


def made_by(text: str, edits: Sequence[JsonEdit]) -> list[Keys]:
    """What has to be made for them: objects, lists and shared values that are not there."""
    data = json_text.loaded(text)
    paths: dict[Keys, None] = {}
    for edit in edits:
        whole = isinstance(edit, JsonItems) or edit.shared
        for length in range(1, len(edit.path) + whole):
            if not _is_there(data, edit.path[:length]):
                paths[edit.path[:length]] = None
    return list(paths)


def stripped(text: str, edits: Sequence[JsonEdit], made: Sequence[Keys] | None, noted: Container[Keys]) -> str:
    """The text without our parts. made: paths that were made for them, which go when empty; None: not known, any may.

    noted: paths at which a value is ours whatever it is; elsewhere it is where it looks like ours.
    """
    emptied: set[Keys] = set()
    for edit in edits:
        before = text
        if isinstance(edit, JsonItems):
            text = _without_items(text, edit)
        elif _is_our_value(json_text.loaded(text), edit, made, noted):
            text = json_text.remove(text, edit.path)
        if text != before:
            emptied.update(_ways(json_text.loaded(before), edit))
    return _without_empty(text, emptied if made is None else made)


def ours_in(text: str, edits: Sequence[JsonEdit]) -> dict[Keys, Any]:
    """What of ours is there, by the path of its list or its value: to be compared with what should be."""
    data = json_text.loaded(text)
    found: dict[Keys, Any] = {}
    for edit in edits:
        if isinstance(edit, JsonItems):
            for path in _lists(data, edit):
                items = value_at(data, path)
                whole = [item for item in items if is_ours(item, edit.mark)]
                parts = [place for place in _our_places(items, edit.mark) if len(place) > 1]
                if whole or parts:
                    found[path] = [*whole, *parts]
        elif not edit.shared and (value := value_at(data, edit.path)) is not None:
            found[edit.path] = value
    return found


def wanted_by(edits: Sequence[JsonEdit]) -> dict[Keys, Any]:
    """The same of what should be."""
    wanted: dict[Keys, Any] = {}
    for edit in edits:
        if isinstance(edit, JsonItems):
            wanted[edit.path] = [*wanted.get(edit.path, []), *edit.items]
        elif not edit.shared:
            wanted[edit.path] = edit.value
    return wanted


def is_ours(item: Any, mark: str) -> bool:
    """Whether an item of a list is ours as a whole: itself, or all that the lists in it hold."""
    if isinstance(item, str):
        return _names(item, mark)
    if not isinstance(item, dict):
        return False
    if any(_names(value, mark) for value in item.values() if isinstance(value, str)):
        return True
    inner = [each for value in item.values() if isinstance(value, list) for each in value if isinstance(each, dict)]
    return bool(inner) and all(is_ours(each, mark) for each in inner)


def _names(text: str, mark: str) -> bool:
    """Whether the mark is in it as a whole word, so that a longer name is not taken for ours."""
    return mark in text and re.search(rf"(?<![\w-]){re.escape(mark)}(?![\w-])", text) is not None


def looks_ours(value: Any) -> bool:
    """Whether a value under our name is one of ours: some string in it names our programs."""
    if isinstance(value, str):
        return (
            HOOK_MARK in value or "minutebook" in value.lower() or value.replace("\\", "/").rpartition("/")[2] == "om"
        )
    if isinstance(value, dict):
        return any(looks_ours(each) for each in value.values())
    return isinstance(value, list) and any(looks_ours(each) for each in value)


def value_at(data: Any, path: Iterable[str]) -> Any:
    """What is at a path of keys, None for nothing."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _is_there(data: Any, path: Keys) -> bool:
    inner = value_at(data, path[:-1])
    return isinstance(inner, dict) and path[-1] in inner


def _check_way(data: dict[str, Any], edit: JsonEdit) -> None:
    for length in range(1, len(edit.path)):
        if _is_there(data, edit.path[:length]) and not isinstance(value_at(data, edit.path[:length]), dict):
            raise NotEditable(f"{'.'.join(edit.path[:length])} is no object", 1)
    if not _is_there(data, edit.path):
        return
    if isinstance(edit, JsonItems) and not isinstance(value_at(data, edit.path), list):
        raise NotEditable(f"{'.'.join(edit.path)} is no list", 1)
    if isinstance(edit, JsonValue) and not edit.shared and value_at(data, edit.path) != edit.value:
        raise NotEditable(f"{'.'.join(edit.path)} is there and is not Minutebook's: give it another name", 1)


def _is_our_value(data: dict[str, Any], edit: JsonValue, made: Sequence[Keys] | None, noted: Container[Keys]) -> bool:
    if not _is_there(data, edit.path):
        return False
    value = value_at(data, edit.path)
    if edit.shared:
        return made is not None and edit.path in made and value == edit.value
    return edit.path in noted or value == edit.value or looks_ours(value)


def _without_items(text: str, edit: JsonItems) -> str:
    data = json_text.loaded(text)
    for path in _lists(data, edit):
        places = list(_our_places(value_at(data, path), edit.mark))
        for place in reversed(places):
            text = json_text.remove(text, (*path, *place))
    return text


def _lists(data: dict[str, Any], edit: JsonItems) -> list[Keys]:
    """The list of the edit; of hooks those of all events: one at which another version of ours had a hook, too."""
    above = value_at(data, edit.path[:-1])
    if edit.mark != HOOK_MARK or len(edit.path) == 1 or not isinstance(above, dict):
        return [edit.path] if isinstance(value_at(data, edit.path), list) else []
    return [(*edit.path[:-1], key) for key, value in above.items() if isinstance(value, list)]


def _our_places(items: list[Any], mark: str) -> Iterator[Place]:
    for index, item in enumerate(items):
        if is_ours(item, mark):
            yield (index,)
        elif isinstance(item, dict):
            for key, value in item.items():
                if isinstance(value, list):
                    yield from ((index, key, *place) for place in _our_places(value, mark))


def _ways(data: dict[str, Any], edit: JsonEdit) -> Iterator[Keys]:
    """Objects and lists that may be empty without our part."""
    ends = [edit.path[:-1]]
    if isinstance(edit, JsonItems):
        ends = [path for path in _lists(data, edit) if any(_our_places(value_at(data, path), edit.mark))]
    for end in ends:
        yield from (end[:length] for length in range(1, len(end) + 1))


def _without_empty(text: str, paths: Iterable[Keys]) -> str:
    for path in sorted(paths, key=len, reverse=True):
        data = json_text.loaded(text)
        if _is_there(data, path) and value_at(data, path) in ({}, []):
            text = json_text.remove(text, path)
    return text

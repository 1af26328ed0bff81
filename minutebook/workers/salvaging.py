"""JSON as models write it: read where it is whole and unambiguous, refused with a reason where it is not. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any

FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*\n(.*?)^[ \t]*(?:```|~~~)", re.DOTALL | re.MULTILINE)
_DECODER = json.JSONDecoder(strict=False)
_SURROGATE = re.compile("[\ud800-\udfff\0]")
SHOWN_CHARACTERS = 60


class NotJson(Exception):
    """Why a text cannot be read as one JSON value; the message is for the model that wrote it."""


def read_json(text: str) -> Any:
    """The one JSON value of a text: the text itself, the one code fence, or the one object in prose.

    A broken object is not repaired, and nothing inside it is taken for the whole. NUL and lone surrogates become
    question marks. Raises NotJson.
    """
    bare = text.strip()
    if not bare:
        raise NotJson("it is empty")
    try:
        return _clean(_DECODER.decode(bare))
    except (ValueError, RecursionError) as error:
        return _salvaged(bare, error)


def _salvaged(text: str, whole: Exception) -> Any:
    fenced = [block for block in FENCE.findall(text) if "{" in block or "[" in block]
    if len(fenced) == 1:
        text = fenced[0].strip()
    found = list(_objects(text, whole))
    full = [value for value in found if value != {}] or found[:1]
    if not full:
        raise NotJson(f"there is no JSON object in it ({_reason(whole)})")
    if len(full) > 1:
        raise NotJson(f"there are {len(full)} JSON objects in it; send one")
    try:
        return _clean(full[0])
    except RecursionError as error:
        raise NotJson(_reason(error)) from whole


def _objects(text: str, whole: Exception) -> Iterator[Any]:
    """The outermost objects, from the first brace on; an unreadable one ends the search with NotJson."""
    start = _opening(text, 0)
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            raise NotJson(_reason(error)) from whole
        yield value
        start = _opening(text, end)


def _opening(text: str, after: int) -> int:
    """Where the next object begins: a brace, with the bracket of the list that holds it."""
    brace = text.find("{", after)
    before = text[after:brace].rstrip() if brace >= 0 else ""
    return after + len(before) - 1 if before.endswith("[") else brace


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        near = error.doc[max(0, error.pos - SHOWN_CHARACTERS // 2) : error.pos + SHOWN_CHARACTERS // 2]
        return f"{error.msg} at character {error.pos}, near {near!r}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number in it is too long"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("?", value)
    if isinstance(value, dict):
        return {_clean(key): _clean(each) for key, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, list) else value

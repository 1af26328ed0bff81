"""JSON by the scanner that the interpreter has in C: `import json` costs a hook as much as the interpreter's start."""

from _json import encode_basestring_ascii, make_scanner, scanstring


class _Scanning:
    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = str


scan_once = make_scanner(_Scanning)  # type: ignore[arg-type]  # it wants what has these attributes
"""(text, index) → the value that begins there, and the index after it."""


_FAULTS = (StopIteration, ValueError, IndexError, SystemError, RecursionError, MemoryError)
"""SystemError: the scanner knows its own error from the module json, and has none to raise where that is not loaded."""


def parse(text: str) -> object:
    """A JSON value; None where it is none."""
    try:
        return scan_once(text, after_space(text, 0))[0]
    except _FAULTS:
        return None


def walk(text: str) -> tuple[dict[str, object], bool]:
    """The top-level keys of a JSON object, and whether it was whole. What stands before a fault is found anyway."""
    found: dict[str, object] = {}
    try:
        at = after_space(text, 0)
        if text[at] != "{":
            return found, False
        at = after_space(text, at + 1)
        while text[at] == '"':
            key, at = scanstring(text, at + 1, False)
            at = after_space(text, at)
            if text[at] != ":":
                return found, False
            value, at = scan_once(text, after_space(text, at + 1))
            at = after_space(text, at)
            if text[at] in ",}":  # else a number may go on behind a cut
                found[key] = value
            if text[at] != ",":
                break
            at = after_space(text, at + 1)
        return found, text[at] == "}"
    except _FAULTS:
        return found, False


def after_space(text: str, at: int) -> int:
    """The index of the first character from there on that is no white space."""
    while text[at : at + 1] in (" ", "\n", "\r", "\t", "\ufeff"):
        at += 1
    return at


def to_json(value: object) -> str:
    """Strings, finite numbers, booleans, None, lists and dicts of them as JSON, ASCII only."""
    if isinstance(value, str):
        return str(encode_basestring_ascii(value))
    if isinstance(value, dict):
        return "{" + ",".join(f"{to_json(str(key))}:{to_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(to_json, value)) + "]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return repr(value)

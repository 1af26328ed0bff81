"""Globs of what is kept out, and whether a tool call's arguments, or lines of its result, name what they match. Pure.

A glob that begins with / or ~ is of the whole path, another one of its end: `.env`, `secrets/*.pem`, `~/clients`. * and
? stay inside a name, ** crosses folders. What matches a folder matches all that is in it. Upper and lower case are the
same. When in doubt, it matches.
"""

import json
import posixpath
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_PATH_MAX_CHARACTERS = 4096
_BETWEEN = re.compile(r"[\s\"'`=;|&<>(){}\[\],:@]+")
_QUOTED = re.compile(r"\"([^\"\n]{1,4096})\"|'([^'\n]{1,4096})'")
_DEEPEST = 50
_FLAGS = re.IGNORECASE | re.DOTALL


@dataclass(frozen=True, slots=True)
class Globs:
    """Compiled; false without any."""

    pattern: re.Pattern[str] | None = None
    home: str = ""

    @staticmethod
    def of(globs: Sequence[str], *, home: str) -> "Globs":
        """home: what ~ stands for."""
        return _compiled(tuple(globs), home)

    def __bool__(self) -> bool:
        return self.pattern is not None

    def match(self, path: str) -> bool:
        """Whether this path, or a folder above it, is kept out."""
        return self.pattern is not None and self.pattern.match(path) is not None


NO_GLOBS = Globs()


@lru_cache(maxsize=64)
def _compiled(globs: tuple[str, ...], home: str) -> Globs:
    if not globs:
        return Globs(home=home)
    return Globs(re.compile("|".join(_checked(glob.strip(), home) for glob in globs), _FLAGS), home)


def _checked(glob: str, home: str) -> str:
    """Its pattern; of one with a set that makes no sense, such as [z-a], a pattern of just these characters."""
    pattern = _regex(glob, home)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern, _FLAGS)
    except (re.error, FutureWarning):
        return _regex(glob, home, literally=True)
    return pattern


def _regex(glob: str, home: str, *, literally: bool = False) -> str:
    if glob == "~" or glob.startswith("~/"):
        glob = home.rstrip("/") + glob[1:]
    body = glob.removesuffix("/**").rstrip("/").removeprefix("./")
    if body.startswith("**/") and not body.startswith("**//"):
        body = body[3:]  # as it is without; twice anywhere takes the square of the time
    anywhere = "" if body.startswith("/") else "(?:.*/)?"
    return f"{anywhere}{re.escape(body) if literally else ''.join(_pieces(body))}(?:/.*)?\\Z"


def _pieces(glob: str) -> Iterator[str]:
    for piece in re.findall(r"\*\*/|\*+|\?|\[!?\]?[^\]/]*\]|[^*?\[]+|\[", glob):
        if piece == "**/":
            yield "(?:.*/)?"
        elif piece.startswith("*"):
            yield ".*" if len(piece) > 1 else "[^/]*"
        elif piece == "?":
            yield "[^/]"
        elif piece.startswith("[") and len(piece) > 2:
            inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[").replace("&&", "&\\&")
            yield f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
        else:
            yield re.escape(piece)


def names_ignored(arguments: str, globs: Globs, folder: str) -> bool:
    """Whether a call's arguments (JSON text, else any text) name such a path. folder: relative ones begin there."""
    if not globs:
        return False
    return any(globs.match(path) for path in _paths(_strings(arguments), globs.home, folder))


def _strings(arguments: str) -> Iterator[str]:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return iter((arguments,))
    return _strings_in(value, _DEEPEST)


def _strings_in(value: Any, levels: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif levels and isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings_in(inner, levels - 1)
    elif levels and isinstance(value, list):
        for inner in value:
            yield from _strings_in(inner, levels - 1)
    elif isinstance(value, (dict, list)):
        yield json.dumps(value)


def _paths(strings: Iterable[str], home: str, folder: str) -> Iterator[str]:
    seen: set[str] = set()
    for string in strings:
        for word in _words(string):
            if word and len(word) <= _PATH_MAX_CHARACTERS and word not in seen:
                seen.add(word)
                yield _absolute(word, home, folder)


def _words(string: str) -> Iterator[str]:
    yield string.strip()
    yield from _BETWEEN.split(string)
    if "\\ " in string:
        yield from (word.replace("\0", " ") for word in _BETWEEN.split(string.replace("\\ ", "\0")))
    for double, single in _QUOTED.findall(string):
        yield double or single


def _absolute(word: str, home: str, folder: str) -> str:
    for sign in ("~/", "$HOME/", "file://"):
        if word.startswith(sign):
            word = f"{home.rstrip('/')}/{word[len(sign) :]}" if sign != "file://" else word[len(sign) :]
    if not word.startswith("/") and folder:
        word = f"{folder.rstrip('/')}/{word}"
    return posixpath.normpath(word) if "." in word or "//" in word or word.endswith("/") else word


LINE_PLACEHOLDER = "[left out: of an ignored path]"
_FOUND = re.compile(r"([^\s:][^:\n]{0,4096}?)(?::|-[0-9]{1,9}-)")
"""A line of a search over files: its path, then a colon, or a line number between dashes."""
_DIFF = re.compile(r"diff --git a/(.{1,4096}) b/(.{1,4096})")


def without_ignored_lines(text: str, globs: Globs, folder: str) -> str:
    """What a search or a diff over many files says, without the lines of ignored ones."""
    if not globs or (":" not in text and "-" not in text):
        return text
    kept, hidden = [], False
    for line in text.split("\n"):
        if diff := _DIFF.match(line):
            hidden = any(globs.match(_absolute(path.rstrip("\r"), globs.home, folder)) for path in diff.groups())
            kept.append(LINE_PLACEHOLDER if hidden else line)
        elif not hidden:
            found = _FOUND.match(line)
            ours = found is not None and globs.match(_absolute(found[1], globs.home, folder))
            kept.append(LINE_PLACEHOLDER if ours else line)
    return "\n".join(kept)

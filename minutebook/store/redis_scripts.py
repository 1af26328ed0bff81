"""The scripts that the Redis server runs (lua/*.lua): each is one step that nobody else comes between."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "lua"
_USES = re.compile(r"^-- uses: (.*)$", re.MULTILINE)
_FLAGS = re.compile(r"^-- flags: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script, and the name under which the server keeps it."""

    source: str
    sha: str
    writes: bool


@cache
def script(name: str, flagged: bool) -> Script:
    """The script of lua/NAME.lua with the parts that its line "uses" names before it.

    flagged: with the line by which Redis 7 knows what a script may do: read where nothing may be written, or free
    memory where none is left. A script is then refused as a whole, before its first write.
    """
    text = _text(name)
    used: Sequence[str] = _words(_USES, text)
    flags = _words(_FLAGS, text) if used else ["no-writes"]
    head = f"#!lua{' flags=' if flags else ''}{','.join(flags)}\n" if flagged else ""
    source = head + "\n".join([*map(_text, used), text])
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest(), bool(used))


def _text(name: str) -> str:
    return (FOLDER / f"{name}.lua").read_text(encoding="utf-8")


def _words(pattern: re.Pattern[str], text: str) -> list[str]:
    found = pattern.search(text)
    return found[1].split() if found else []

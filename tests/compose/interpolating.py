"""`$VAR`, `${VAR}`, `${VAR:-default}`, `${VAR:?what is missing}` and the like, as compose replaces them. Pure."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from compose.broken import Broken

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_START = re.compile(rf"\$(?:(?P<dollar>\$)|(?P<plain>{_NAME})|\{{(?P<braced>{_NAME})(?P<how>:?[-?+])?|(?P<odd>))")


def interpolate(value: Any, env: Mapping[str, str], where: str = "") -> Any:
    """The same tree with variables replaced in every text, keys aside; Broken names the place."""
    if isinstance(value, dict):
        return {key: interpolate(each, env, f"{where}.{key}".lstrip(".")) for key, each in value.items()}
    if isinstance(value, list):
        return [interpolate(each, env, f"{where}[{number}]") for number, each in enumerate(value)]
    return replaced(value, env, where) if isinstance(value, str) else value


def replaced(text: str, env: Mapping[str, str], where: str) -> str:
    """One text. A variable that is not set and has no default is an error here; compose only warns."""
    done, at = "", 0
    while found := _START.search(text, at):
        done += text[at : found.start()]
        at = found.end()
        if found["odd"] is not None:
            raise Broken(f"{where}: a $ that begins no variable; write $$ for the sign itself")
        if found["dollar"]:
            done += "$"
        elif found["plain"]:
            done += _set(found["plain"], env, where)
        else:
            word, at = _to_the_brace(text, at, where)
            if word and not found["how"]:
                raise Broken(f"{where}: {text[found.start() : at]} is no way to write a variable")
            done += _braced(found["braced"], found["how"] or "", word, env, where)
    return done + text[at:]


def _set(name: str, env: Mapping[str, str], where: str) -> str:
    if name not in env:
        raise Broken(f"{where}: the variable {name} is not set, and has no default")
    return env[name]


def _braced(name: str, how: str, word: str, env: Mapping[str, str], where: str) -> str:
    there = bool(env.get(name)) if how.startswith(":") else name in env
    inner: Callable[[], str] = lambda: replaced(word, env, where)  # noqa: E731
    match how[-1:]:
        case "-":
            return env[name] if there else inner()
        case "+":
            return inner() if there else ""
        case "?" if not there:
            raise Broken(f"{where}: required variable {name} is missing a value: {inner()}")
    return _set(name, env, where)


def _to_the_brace(text: str, at: int, where: str) -> tuple[str, int]:
    """What stands before the brace that closes, and the place behind it."""
    depth, start = 1, at
    while at < len(text):
        depth += text.startswith("${", at) - (text[at] == "}")
        at += 1
        if not depth:
            return text[start : at - 1], at
    raise Broken(f"{where}: a ${{ that is not closed")


def read_env(path: Path) -> dict[str, str]:
    """The variables of an .env file; comments and empty lines aside."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not re.fullmatch(_NAME, name.strip()):
            raise Broken(f"{path.name}, line {number}: write NAME=value")
        found[name.strip()] = value.strip().strip("\"'")
    return found

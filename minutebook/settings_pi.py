"""Pi's own settings files: the section `observational-memory` counts for its sessions, just above our file (003-124).

They are plain JSON, as Pi itself reads them: no comments, a byte order mark allowed. What else is in them is Pi's.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from minutebook.errors import BadSetting
from minutebook.places import read_settings_file

SECTION = "observational-memory"
FOLDER_VARIABLE = "PI_CODING_AGENT_DIR"
PASSIVE_VARIABLE = "PI_OBSERVATIONAL_MEMORY_PASSIVE"
PROJECT_FILE = Path(".pi", "settings.json")


class Section(NamedTuple):
    """What a file says to us. lines: key → its line, from 1; `model.id` below a table."""

    file: Path
    values: Mapping[str, Any]
    lines: Mapping[str, int]


def global_pi_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Where Pi keeps the settings of this user."""
    home = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111
    named = environ.get(FOLDER_VARIABLE, "")
    folder = f"{home}{named[1:]}" if named == "~" or named.startswith("~/") else named or f"{home}/.pi/agent"
    return Path(folder, "settings.json")


def project_pi_file(project: Path) -> Path:
    """Where Pi looks for the settings of a project."""
    return project / PROJECT_FILE


def read_section(path: Path) -> Section | None:
    """Our section of a file, None where there is none; raises BadSetting naming file and line."""
    content = read_settings_file(path)
    if content is None or SECTION.encode() not in content:
        return None
    text = _decoded(path, content)
    values = _parsed(path, text)
    if values is None:
        return None
    if not isinstance(values, dict):
        raise BadSetting(f"{path}, line {_line_of(text, text.find(SECTION))}: {SECTION} is no table of settings")
    return Section(path, values, _lines(text, values))


def section_digest(project: Path) -> str | None:
    """What trust in a project's section is tied to: its meaning, as Pi writes the rest of the file by itself.

    None without a section; raises BadSetting.
    """
    section = read_section(project_pi_file(project))
    if section is None:
        return None
    import json
    from hashlib import sha256

    return sha256(json.dumps(section.values, sort_keys=True).encode()).hexdigest()


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BadSetting(f"{path}, line {line}: not UTF-8 text") from error


def _parsed(path: Path, text: str) -> Any:
    import json

    try:
        whole = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise BadSetting(f"{path}, line {error.lineno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise BadSetting(f"{path}: not JSON that Pi can read: {error}") from error
    return whole.get(SECTION) if isinstance(whole, dict) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _lines(text: str, values: Mapping[str, Any]) -> dict[str, int]:
    """Where each key stands after the section's name, as far as looking at the text can tell."""
    start, found = text.find(f'"{SECTION}"'), {}
    for key, value in values.items():
        at = _find(text, key, start)
        found[key] = _line_of(text, at)
        for inner in value if isinstance(value, dict) else ():
            found[f"{key}.{inner}"] = _line_of(text, _find(text, inner, at))
    return found


def _find(text: str, key: str, start: int) -> int:
    import json
    import re

    match = re.compile(rf"{re.escape(json.dumps(key, ensure_ascii=False))}\s*:").search(text, max(start, 0))
    return match.start() if match else -1


def _line_of(text: str, at: int) -> int:
    """0 where it was not found: written with escapes, most likely."""
    return text.count("\n", 0, at) + 1 if at >= 0 else 0

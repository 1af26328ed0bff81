"""The settings in force: defaults < global file < project file < environment < flags, key by key.

Every wrong value is reported, one line each, with key, value, where it stands and what is allowed.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from minutebook.errors import BadSetting
from minutebook.places import data_dir, global_settings_file, project_settings_file, read_settings_file
from minutebook.records import Branch
from minutebook.settings import BY_NAME, EXTRACTIVE, SETTINGS, ModelChoice, Refused, Setting, Settings
from minutebook.settings_rules import are_harmless_globs
from minutebook.trust import is_trusted

Level = Literal["default", "global", "project", "environment", "flags"]

OWN_VARIABLES: Mapping[str, str] = {
    "MINUTEBOOK_HOME": "one folder for everything, data and settings",
    "MINUTEBOOK_CONFIG": "the folder of the global settings file",
    "MINUTEBOOK_STORE": "the store, a path or a URL",
    "MINUTEBOOK_BOX_TOKEN": "the token for the box",
    "MINUTEBOOK_REDIS_PASSWORD": "the password of a Redis store whose URL has none",
    "MINUTEBOOK_OFF": "1: the hooks of agents do nothing",
    "MINUTEBOOK_DEBUG": "1: an unexpected error of `om` shows its traceback",
    "MINUTEBOOK_SESSIONS": "a folder of real session files, for tests",
    "MINUTEBOOK_HOSTS": "1: tests with the real programs are run, too",
}
"""Variables that are no settings."""

WITHOUT_A_SWITCH = {"redaction": "secrets are always replaced before anything is stored; this cannot be switched off"}


class Origin(NamedTuple):
    """Where a value came from. file and line: of a file's value. line 0: the file does not tell."""

    level: Level
    file: Path | None = None
    line: int = 0
    variable: str = ""

    def __str__(self) -> str:
        if self.file:
            return f"{self.file}, line {self.line}" if self.line else str(self.file)
        return {"environment": self.variable, "flags": "command line"}.get(self.level, "default")


class HeldBack(NamedTuple):
    """A value of a project's file that does not count until `om trust`."""

    name: str
    value: Any
    origin: Origin

    def __str__(self) -> str:
        return f"{self.name} = {shown(self.value)} ({self.origin}) does not count: run `om trust` in the project"


class Resolved(NamedTuple):
    """The settings in force, where each value came from, what was held back, and warnings for a person."""

    settings: Settings
    origins: Mapping[str, Origin]
    held_back: tuple[HeldBack, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def names_extractive(self) -> bool:
        """The extractive mind was asked for, and is not just what is left without a model."""
        return self.settings.model is None and self.origins["model"].level != "default"


class _Reading:
    """What is gathered on the way up the levels."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins = {setting.name: Origin("default") for setting in SETTINGS}
        self.held_back: list[HeldBack] = []
        self.errors: list[str] = []
        self.warnings: list[str] = []

    def take(
        self, name: str, value: object, origin: Origin, lines: Mapping[str, int] | None = None, key: str = ""
    ) -> Any:
        """The checked value; None with an error noted where it is not allowed.

        lines: of the file it stands in. key: what the file calls the setting.
        """
        key = key or name
        try:
            return BY_NAME[name].rule.check(value)
        except Refused as refused:
            if refused.key and isinstance(value, Mapping):
                key, value = f"{key}.{refused.key}", value[refused.key]
                origin = origin._replace(line=(lines or {}).get(key, origin.line))
            self.errors.append(f"{origin}: {key} = {shown(value)} is not allowed; use {refused}")
            return None

    def take_text(self, name: str, text: str, origin: Origin) -> Any:
        """The same for the text of a variable or a flag; blanks around it are ignored."""
        try:
            return self.take(name, BY_NAME[name].rule.parse(text.strip()), origin)
        except Refused as refused:
            self.errors.append(f"{origin}: {name} = {shown(text)} is not allowed; use {refused}")
            return None

    def put(self, name: str, value: Any, origin: Origin) -> None:
        """Over what a lower level said; None was refused, and no setting can be set to it."""
        if value is not None:
            self.values[name] = value
            self.origins[name] = origin

    def put_from_file(self, name: str, checked: Any, origin: Origin, *, trusted: bool) -> None:
        """Over what a lower level said, beside it where it only restricts, or held back until `om trust`."""
        if checked is None or trusted or _counts_without_trust(self, BY_NAME[name], checked):
            self.put(name, checked, origin)
        elif BY_NAME[name].project == "add" and are_harmless_globs(checked):
            below = self.values.get(name, ())
            added = tuple(each for each in checked if each not in below)
            self.put(name, (*below, *added) if added else None, origin)
        else:
            self.held_back.append(HeldBack(name, checked, origin))


class PiFiles(NamedTuple):
    """Pi's settings files, for its sessions: each counts just above our own of its level (003-124)."""

    global_file: Path
    project_file: Path | None = None
    trusted: bool = False


def load(
    project: Path | None,
    flags: Mapping[str, object],
    environ: Mapping[str, str] = os.environ,
    *,
    pi: bool = False,
) -> Resolved:
    """The settings for a project's folder (None: outside of one), read once; raises BadSetting.

    pi: for a session of Pi, whose own settings files count too.
    """
    return resolve(
        global_file=global_settings_file(environ),
        project_file=project_settings_file(project) if project else None,
        environment=environ,
        flags=flags,
        trusted=project is not None and is_trusted(project, data_dir(environ)),
        pi=_pi_files(project, environ) if pi else None,
    )


def is_of_pi_here(branch: Branch) -> bool:
    """Whether a branch is of a Pi session of this machine: those of other machines have the name of their project."""
    return branch.host == "pi" and Path(branch.project).is_absolute()


def session_may_think(role: str, settings: Settings) -> bool:
    """Whether a role in an open session of Pi thinks with that session's own model (003-127)."""
    return (
        settings.session_model_allowed
        and settings.model_of(role) is None
        and getattr(settings, f"{role}_model", None) != EXTRACTIVE
    )


def _pi_files(project: Path | None, environ: Mapping[str, str]) -> PiFiles:
    from minutebook.settings_pi import global_pi_file, project_pi_file
    from minutebook.trust import is_section_trusted

    if project is None:
        return PiFiles(global_pi_file(environ))
    return PiFiles(
        global_pi_file(environ), project_pi_file(project), trusted=is_section_trusted(project, data_dir(environ))
    )


def resolve(
    *,
    global_file: Path | None,
    project_file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    trusted: bool,
    pi: PiFiles | None = None,
) -> Resolved:
    """Merge the levels; a file that is missing sets nothing, and a flag that is None is not given.

    Raises BadSetting, one line for each thing that is wrong.
    """
    reading = _Reading()
    _read_file(reading, global_file, "global", trusted=True)
    if pi:
        _read_pi_section(reading, pi.global_file, "global", trusted=True)
    _read_file(reading, project_file, "project", trusted=trusted)
    if pi:
        _read_pi_section(reading, pi.project_file, "project", trusted=pi.trusted)
        _read_pi_variable(reading, environment)
    _read_environment(reading, environment)
    _read_flags(reading, flags)
    _check_target(reading)
    if reading.errors:
        raise BadSetting("\n".join(reading.errors))
    if reading.values.get("model") == EXTRACTIVE:  # asked for: no session's own model thinks instead
        reading.values |= {"model": None, "session_model_allowed": False}
    return Resolved(Settings(**reading.values), reading.origins, tuple(reading.held_back), tuple(reading.warnings))


def _read_file(reading: _Reading, path: Path | None, level: Level, *, trusted: bool) -> None:
    try:
        text = _text(path) if path else None
        table = _parsed(path, text) if path and text else {}
    except BadSetting as error:
        reading.errors.append(str(error))
        return
    lines = key_lines(text or "")
    for name, value in table.items():
        origin = Origin(level, path, lines.get(name, 0))
        if name not in BY_NAME:
            reading.errors.append(f"{origin}: {_unknown(name, BY_NAME)}")
            continue
        reading.put_from_file(name, reading.take(name, value, origin, lines), origin, trusted=trusted)


def _read_pi_section(reading: _Reading, path: Path | None, level: Level, *, trusted: bool) -> None:
    """Known keys count; others are warnings, because the file is not ours (003-122)."""
    from minutebook.settings_legacy import PI_KEYS, legacy_warning
    from minutebook.settings_pi import read_section

    try:
        section = read_section(path) if path else None
    except BadSetting as error:
        reading.errors.append(str(error))
        return
    for key, value in section.values.items() if section else ():
        origin = Origin(level, path, section.lines.get(key, 0) if section else 0)
        if key not in PI_KEYS:
            reading.warnings.append(f"{origin}: {legacy_warning(key)}")
            continue
        name = PI_KEYS[key]
        checked = reading.take(name, value, origin, section.lines if section else None, key)
        reading.put_from_file(name, checked, origin, trusted=trusted)


def _read_pi_variable(reading: _Reading, environment: Mapping[str, str]) -> None:
    from minutebook.settings_pi import PASSIVE_VARIABLE

    if PASSIVE_VARIABLE in environment:
        origin = Origin("environment", variable=PASSIVE_VARIABLE)
        reading.put("passive", reading.take_text("passive", environment[PASSIVE_VARIABLE], origin), origin)


def _counts_without_trust(reading: _Reading, setting: Setting, value: Any) -> bool:
    below = reading.values.get(setting.name, setting.default)
    return setting.project == "free" or (setting.project == "lower" and value <= below)


def _read_environment(reading: _Reading, environment: Mapping[str, str]) -> None:
    by_variable = {setting.variable: setting.name for setting in SETTINGS}
    for variable in sorted(environment):
        if not variable.startswith("MINUTEBOOK_") or variable in OWN_VARIABLES:
            continue
        if variable not in by_variable:
            reading.errors.append(f"environment: {_unknown(variable, by_variable)}")
            continue
        name, origin = by_variable[variable], Origin("environment", variable=variable)
        reading.put(name, reading.take_text(name, environment[variable], origin), origin)


def _read_flags(reading: _Reading, flags: Mapping[str, object]) -> None:
    """A flag's value is typed, or the text that a person wrote."""
    origin = Origin("flags")
    for name, value in flags.items():
        if name not in BY_NAME:
            reading.errors.append(f"{origin}: {_unknown(name, BY_NAME)}")
        elif isinstance(value, str):
            reading.put(name, reading.take_text(name, value, origin), origin)
        elif value is not None:
            reading.put(name, reading.take(name, value, origin), origin)


def _check_target(reading: _Reading) -> None:
    """003-114: a set target stands below the merged maximum; unset, it is derived by Settings."""
    names = ("observations_pool_target_tokens", "observations_pool_max_tokens")
    target, largest = (reading.values.get(name, BY_NAME[name].default) for name in names)
    if target is not None and target >= largest:
        where = [
            f"{name} = {value} ({reading.origins[name]})" for name, value in zip(names, (target, largest), strict=True)
        ]
        reading.errors.append(f"{where[0]} must be below {where[1]}")


def _text(path: Path) -> str | None:
    content = read_settings_file(path)
    try:
        return None if content is None else content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BadSetting(f"{path}, line {line}: not UTF-8 text") from error


def _parsed(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line = found[1] if found else text.count("\n") + 1
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise BadSetting(f"{path}, line {line}: not TOML: {reason}") from error
    except RecursionError as error:
        raise BadSetting(f"{path}: nested too deep for a settings file") from error


_WORD = r"""("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_HEADER = rf"\s*\[{{1,2}}\s*{_WORD}[^\[]*\]{{1,2}}\s*(?:#.*)?$"
_ASSIGNED = rf"\s*{_WORD}\s*(?:\.\s*{_WORD}\s*)?[.=]"
# Not compiled here: a hook without settings files never needs them.


def key_lines(text: str) -> dict[str, int]:
    """The line, from 1, on which each top-level key or table of a TOML text first stands, and `table.key` below it."""
    found: dict[str, int] = {}
    table: list[str] = []
    for number, line in _lines_outside_of_long_strings(text):
        path = []
        if header := re.match(_HEADER, line):
            path = table = [header[1].strip("\"'")]
        elif assigned := re.match(_ASSIGNED, line):
            path = [*table, *(word.strip("\"'") for word in assigned.groups() if word)]
        for depth in range(len(path)):
            found.setdefault(".".join(path[: depth + 1]), number)
    return found


def _lines_outside_of_long_strings(text: str) -> Iterator[tuple[int, str]]:
    inside = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not inside:
            yield number, line
        if not inside and line.lstrip().startswith("#"):
            continue
        for quotes in re.findall(r"\"{3}|'{3}", line):
            inside = "" if inside == quotes else inside or quotes


def _unknown(name: str, known: Mapping[str, object]) -> str:
    if name in WITHOUT_A_SWITCH:
        return f"{name}: {WITHOUT_A_SWITCH[name]}"
    from difflib import get_close_matches

    snake = name if name.isupper() else re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    nearest = get_close_matches(snake, known, n=1, cutoff=0.0)[0]
    return f"unknown setting {shown(name)}; the nearest is {nearest}"


def shown(value: object) -> str:
    """A value in one line as a settings file would write it, cut after 80 characters."""
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, (str, ModelChoice)):
        import json

        text = json.dumps(str(value), ensure_ascii=False)
    elif isinstance(value, tuple):
        text = f"[{', '.join(shown(each) for each in value)}]"
    else:
        text = "null" if value is None else str(value) if isinstance(value, (int, float)) else repr(value)
    text = text if len(text) <= 80 else text[:79] + "…"
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)

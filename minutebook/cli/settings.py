"""`om settings` and `om trust`."""

from pathlib import Path
from typing import Any

import click

from minutebook.cli.options import JSON, placed
from minutebook.cli.place import Place
from minutebook.cli.showing import console, harmless, remark, write, write_json
from minutebook.settings import SETTINGS, ModelChoice, Setting
from minutebook.settings_loading import Origin, Resolved, shown
from minutebook.trust import trust as trust_project
from minutebook.trust import untrust

VALUE_WIDTH = 40


@click.command(short_help="every setting, its value and where it came from")
@placed(choosing=False)
@click.option("--pi", is_flag=True, help="As sessions of Pi have them: with our section of its settings files.")
@JSON
def settings(place: Place, pi: bool, as_json: bool) -> None:
    """Every setting, its value and where it came from; and what a project's file may not set before `om trust`.

    \b
    om settings
    om settings --project ~/shop --json
    om settings --pi
    """
    resolved = place.resolved_for_pi if pi else place.resolved
    if as_json:
        write_json(as_data(resolved))
        return
    _show(resolved)
    for held in resolved.held_back:
        remark(f"om: {held}")
    for warning in resolved.warnings:
        remark(f"om: {warning}")


def _show(resolved: Resolved) -> None:
    from rich.text import Text

    rows = [(setting, value_text(resolved, setting)) for setting in SETTINGS]
    name_width = max(len(setting.name) for setting, _ in rows)
    value_width = min(VALUE_WIDTH, max(len(value) for _, value in rows))
    out = console()
    for setting, value in rows:
        changed = resolved.origins[setting.name].level != "default"
        line = Text(f"{setting.name:<{name_width}}  ", style="cyan")
        line.append(f"{harmless(value):<{value_width}}", style="bold" if changed else "default")
        line.append(f"  {harmless(origin_text(resolved, setting))}", style="default" if changed else "dim")
        out.print(line, soft_wrap=True)


def value_text(resolved: Resolved, setting: Setting) -> str:
    """The value as a file would write it."""
    value = getattr(resolved.settings, setting.name)
    if value is not None:
        return shown(value)
    return '"extractive"' if setting.name == "model" and resolved.names_extractive else "unset"


def origin_text(resolved: Resolved, setting: Setting) -> str:
    """Where the value came from; for one that is not set, what happens instead."""
    origin = resolved.origins[setting.name]
    unset = setting.unset if origin.level == "default" else ""
    return f"{origin}: {unset}" if unset else str(origin)


def as_data(resolved: Resolved) -> dict[str, Any]:
    """For programs."""
    return {
        "settings": [
            {
                "name": setting.name,
                "value": plain(getattr(resolved.settings, setting.name)),
                "default": plain(setting.default),
                "origin": origin_data(resolved.origins[setting.name]),
                "sentence": setting.sentence,
            }
            for setting in SETTINGS
        ],
        "held_back": [
            {"name": held.name, "value": plain(held.value), "origin": origin_data(held.origin)}
            for held in resolved.held_back
        ],
        "warnings": list(resolved.warnings),
    }


def plain(value: Any) -> Any:
    """A value as JSON has it; a model as one text."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, ModelChoice) else value


def origin_data(origin: Origin) -> dict[str, Any]:
    """Level, and file with line or variable."""
    file = str(origin.file) if origin.file else ""
    return {"level": origin.level, "file": file, "line": origin.line, "variable": origin.variable}


@click.command(short_help="let a project's file decide where text goes")
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
@click.option("--revoke", is_flag=True, help="Take the trust back.")
def trust(folder: Path | None, revoke: bool) -> None:
    """Let the settings file of a project, as it is now, set models and everything else. A changed file is not trusted.

    \b
    om trust
    om trust ~/shop --revoke
    """
    project = (folder or Path.cwd()).absolute()
    if revoke:
        write(harmless(f"{project}: {'not trusted any more' if untrust(project) else 'was not trusted'}"))
        return
    trust_project(project)
    write(harmless(f"{project}: its settings file is trusted as it is now"))

"""What `om install` says: which files, what next, what is missing."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from minutebook.cli.showing import counted, remark, write
from minutebook.errors import MinutebookError
from minutebook.hosts.edits import Edit, JsonItems, JsonValue, OwnFile, Target, TomlTable
from minutebook.hosts.installing import Done
from minutebook.hosts.installing_plan import Planned
from minutebook.hosts.installing_targets import TITLES
from minutebook.redaction import Redactor

PROGRAMS: Mapping[str, str] = {"claude-code": "claude", "codex": "codex", "pi": "pi"}
PLACES = ("MINUTEBOOK_HOME", "MINUTEBOOK_STORE")


def show_installed(done: Done, target: Target) -> None:
    """One line for each file."""
    assert done.record is not None
    notes = done.record.files
    edits = {plan.file: notes[plan.file].edits if plan.file in notes else () for plan in done.plans}
    where = f"for {target.project}" if target.project else "for every project of yours"
    if done.changed or not done.plans:
        write(f"Minutebook is in {TITLES[target.host]}, {where}.")
    else:
        write(f"Minutebook was in {TITLES[target.host]} already, {where}; nothing was changed.")
    for folder, plans in _grouped(done.plans, edits).items():
        what = said_of([edit for plan in plans for edit in edits[plan.file]])
        mark = "+" if any(plan.changes for plan in plans) else "="
        write(f"  {mark} {short(folder)}: {what or 'what an older version had put there is out'}")


def show_uninstalled(done: Done, target: Target) -> None:
    """One line for each file that was changed, and what stays."""
    if not done.plans or not (done.changed or any(plan.left for plan in done.plans)):
        remark(f"Minutebook was not in {TITLES[target.host]}.")
        return
    write(f"Minutebook is out of {TITLES[target.host]}.")
    removed: dict[str, list[str]] = {}
    for plan in done.changed:
        if plan.after is None:
            removed.setdefault(f"{Path(plan.file).parent}/", []).append(plan.file)
        else:
            write(f"  - {short(plan.file)}: {'as before' if plan.exact else 'ours is out, the rest is as it is'}")
    for folder, files in removed.items():
        alone = len(files) == 1
        write(f"  - {short(files[0] if alone else folder)}: {'' if alone else f'{len(files)} files '}removed")
    for plan in done.plans:
        if plan.left:
            write(f"  ! {short(plan.file)}: left, as it was changed since; it is yours to remove")
    remark("What was recorded stays; `om purge` removes it.")


def said_of(edits: Sequence[Edit]) -> str:
    """What was put into one file, or one folder, in a few words."""
    hooks = len({edit.path for edit in edits if isinstance(edit, JsonItems) and edit.path[0] == "hooks"})
    lists = {".".join(edit.path): None for edit in edits if isinstance(edit, JsonItems) and edit.path[0] != "hooks"}
    trusted = sum(isinstance(edit, TomlTable) and edit.path[0] == "hooks" for edit in edits)
    files = sum(isinstance(edit, OwnFile) for edit in edits)
    values = [edit for edit in edits if isinstance(edit, (JsonValue, TomlTable)) and edit.path[0] != "hooks"]
    servers = [edit for edit in values if edit.path[0] in ("mcpServers", "mcp_servers", "projects")]
    said = [
        f"hooks at {counted(hooks, 'event')}" if hooks else "",
        f"MCP server {servers[0].path[-1]}" if servers else "",
        f"trust of {counted(trusted, 'hook')}" if trusted else "",
        counted(files, "file") if files > 1 else "of ours" if files else "",
        *lists,
        *(".".join(edit.path) for edit in values if edit not in servers),
    ]
    return ", ".join(filter(None, said))


def what_is_missing(host: str, project: Path) -> list[str]:
    """What would be better with it, and what has to be so for the agent too."""
    found = []
    if "/archive-v" in sys.executable:
        found.append("This is a temporary om of uvx: `uv tool install minutebook`, and then `om install` again.")
    if which(PROGRAMS[host]) is None:
        found.append(f"{PROGRAMS[host]} is not on PATH here; the files are ready for it.")
    for name in PLACES:
        if os.environ.get(name):
            found.append(f"{name} is set here: {TITLES[host]} has to be started with the same.")
    if host != "pi" and find_spec("mcp") is None:
        found.append("Recall as a tool of the agent needs an extra: pip install 'minutebook[mcp]'")
    return [*found, *_mind(host, project)]


def _mind(host: str, project: Path) -> list[str]:
    from minutebook.cli.check import ROLES
    from minutebook.settings_loading import load

    try:
        settings = load(project, {}).settings
        named = any(settings.chain_of(role) for role in ROLES)
    except MinutebookError as error:
        return [f"The settings cannot be used: {str(error).splitlines()[0]}"]
    if named:
        return []
    if host == "pi" and settings.session_model_allowed:
        return ['No model is named: workers think with the session\'s own model; model = "extractive" asks none.']
    return ["No model is named: the extractive mind records, which quotes and asks nobody. `om models` says more."]


def diff_of(plan: Planned) -> str:
    """What a file's change would be, without secrets that stand beside it."""
    before, after = (
        (content or b"").decode(errors="replace").splitlines(keepends=True) for content in (plan.before, plan.after)
    )
    names = ("/dev/null" if plan.before is None else plan.file, "/dev/null" if plan.after is None else plan.file)
    lines = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in
             unified_diff(before, after, *names, n=2)]  # fmt: skip
    return Redactor(b"om install --dry-run").redact("".join(lines))


def as_data(done: Done, notes: Sequence[str]) -> dict[str, Any]:
    """The same for programs."""
    files = [{"file": plan.file, "changed": plan.changes, "left": plan.left} for plan in done.plans]
    return {"files": files, "notes": list(notes)}


def joined(first: Done, second: Done) -> Done:
    """Two runs as one: a file was changed if either changed it."""
    before = {plan.file: plan.before for plan in first.plans}
    plans = [replace(plan, before=before.get(plan.file, plan.before)) for plan in second.plans]
    return replace(second, plans=tuple(plans))


def short(path: str) -> str:
    """With ~ for the home folder."""
    home = os.path.expanduser("~")  # noqa: PTH111
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def _grouped(plans: Sequence[Planned], edits: Mapping[str, Sequence[Edit]]) -> dict[str, list[Planned]]:
    """Files of ours by their folder; the others alone."""
    found: dict[str, list[Planned]] = {}
    for plan in plans:
        own = bool(edits[plan.file]) and all(isinstance(edit, OwnFile) for edit in edits[plan.file])
        found.setdefault(f"{Path(plan.file).parent}/" if own else plan.file, []).append(plan)
    alone = [name for name, plans in found.items() if name.endswith("/") and len(plans) == 1]
    return {found[name][0].file if name in alone else name: plans for name, plans in found.items()}

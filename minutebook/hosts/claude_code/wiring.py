"""What has to be in Claude Code's files, as plain data; `wiring(target)` is what an installer asks for.

For a whole user: hooks and a permission for our tools in settings.json, the MCP server in .claude.json, three command
files. For one project: the same in its .claude/settings.local.json, which nobody else is given, and the server under
the project in .claude.json. As a plugin: two programs of Claude Code's own, and a file that says where om is.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from minutebook.hosts.claude_code.hooks import PARTS
from minutebook.hosts.edits import Edit, JsonItems, JsonValue, OwnFile, Program, Target, Wiring, guarded

MARKETPLACE, PLUGIN, SERVER = "minutebook", "om", "om"
COMPACT_PLUGIN = "om-compact"
RINGING = ("UserPromptSubmit", "PostToolBatch", "Stop", "StopFailure", "SubagentStop", "PreCompact", "PostCompact")
EVENTS = ("SessionStart", *RINGING, "SessionEnd")
HOOK_SECONDS = 5
"""A hook of ours leaves within one second. Stated: at SessionEnd Claude Code gives 1.5 seconds where nothing is."""
RETURNING = "resume|fork|compact"
"""The starts at which memory may have to go into the context."""
PERMISSION = f"mcp__{SERVER}"
PLUGIN_PERMISSION = f"mcp__plugin_{PLUGIN}_{SERVER}"
PROGRAMS_FILE = "om-programs"
"""In Claude Code's folder: the folder of om and om-hook, for the plugin's script."""
RUN = 'sh "${CLAUDE_PLUGIN_ROOT}/run.sh"'
NEXT_SESSION = "Sessions of Claude Code that are open already go on without it: start claude anew."
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "status": ("How the memory of this session stands", "", "memory_status tool and show its answer"),
    "view": (
        "The memory that the last compaction put back, or all of it",
        "[full]",
        "memory_view tool (full: $ARGUMENTS) and show its answer",
    ),
    "recall": ("One record with its exact source", "ID [PAGE]", "recall tool with $ARGUMENTS and show its answer"),
}
"""Command → what it does, its arguments, and what a model is asked for where our prompt hook did not answer it."""

Group = dict[str, Any]


def wiring(target: Target) -> Wiring:
    """Everything of a whole user, of one project, or of the plugin."""
    if target.plugin:
        return Wiring(edits=_plugin_edits(target), programs=plugin_programs(target), notes=(NEXT_SESSION,))
    folder = target.project / ".claude" if target.project else target.folder
    settings = folder / ("settings.local.json" if target.project else "settings.json")
    edits: list[Edit] = [
        JsonItems(file=settings, path=("hooks", event), items=tuple(groups))
        for event, groups in hook_groups(partial(guarded, target.om_hook)).items()
    ]
    edits.append(JsonItems(file=settings, path=("permissions", "allow"), items=(PERMISSION,), mark=PERMISSION))
    scope = ("projects", str(target.project)) if target.project else ()
    edits.append(JsonValue(file=target.state_file, path=(*scope, "mcpServers", SERVER), value=mcp_server(target.om)))
    edits += [
        OwnFile(file=folder / "commands" / PLUGIN / f"{name}.md", content=command_file(name).encode())
        for name in COMMANDS
    ]
    return Wiring(edits=tuple(edits), notes=(NEXT_SESSION,))


def hook_groups(run: Callable[..., str]) -> dict[str, list[Group]]:
    """Event → our matcher groups. run: the arguments of om-hook → a command line for a shell."""
    groups: dict[str, list[Group]] = {event: [{"hooks": [_hook(run, event)]}] for event in EVENTS}
    parts = [_hook(run, "SessionStart", part) for part in range(2, PARTS + 1)]
    groups["SessionStart"].append({"matcher": RETURNING, "hooks": parts})
    return groups


def _hook(run: Callable[..., str], event: str, part: int = 1) -> Group:
    words = ("claude-code", event, *(("--part", str(part)) if part > 1 else ()))
    return {"type": "command", "command": run(*words), "timeout": HOOK_SECONDS}


def mcp_server(om: str, *before: str) -> dict[str, Any]:
    """Our MCP server. Without alwaysLoad its tools would be names only, which the model has to look up first."""
    arguments = [*before, "mcp", "--host", "claude_code"]
    return {"type": "stdio", "command": om, "args": arguments, "alwaysLoad": True}


def command_file(name: str) -> str:
    """A slash command. Its text is only sent to the model where our prompt hook did not answer."""
    about, arguments, asked = COMMANDS[name]
    hint = f'argument-hint: "{arguments}"\n' if arguments else ""
    return f"---\ndescription: {about}\n{hint}---\nCall Minutebook's {asked} as it is, without comment.\n"


# -- the plugin ----------------------------------------------------------------------------------------------------


def _plugin_edits(target: Target) -> tuple[Edit, ...]:
    settings = target.folder / "settings.json"
    noted = OwnFile(file=target.folder / PROGRAMS_FILE, content=f"{target.om_hook.rpartition('/')[0]}\n".encode())
    allowed = JsonItems(
        file=settings, path=("permissions", "allow"), items=(PLUGIN_PERMISSION,), mark=PLUGIN_PERMISSION
    )
    return noted, allowed


def plugin_programs(target: Target) -> tuple[Program, ...]:
    """What puts the plugin in, and takes it out again."""
    scope = ("--scope", "local") if target.project else ()
    of_market, named = ("claude", "plugin", "marketplace"), f"{PLUGIN}@{MARKETPLACE}"
    return (
        Program(argv=(*of_market, "add", str(target.package / "plugin")), undo=(*of_market, "remove", MARKETPLACE)),
        Program(
            argv=("claude", "plugin", "install", named, *scope), undo=("claude", "plugin", "uninstall", named, *scope)
        ),
    )


def shipped() -> Mapping[str, str]:
    """File → text of the parts of plugins/om that are Claude Code's own, as they lie in the package."""
    hooks = hook_groups(lambda *words: f"{RUN} om-hook {' '.join(words)} 2>/dev/null || true")
    server = mcp_server("sh", "${CLAUDE_PLUGIN_ROOT}/run.sh", "om")
    return {
        "hooks/hooks.json": _pretty({"description": "Memory across compaction", "hooks": hooks}),
        ".mcp.json": _pretty({"mcpServers": {SERVER: server}}),
        **{f"commands/{name}.md": command_file(name) for name in COMMANDS},
    }


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"

"""What has to be in Codex's files, as plain data; `wiring(target)` is what an installer asks for.

- hooks.json in Codex's folder, or in a project's .codex: our groups, last in each event's list. Codex refuses a whole
  file with a key or an event that it does not know, so only what 0.171 knows is there.
- config.toml beside it: the table [mcp_servers.om].
- Trust. Codex silently skips a hook that nobody has trusted. `app_server.listed_hooks(codex, cwd, environ)` asks the
  program which hooks it sees, with their hashes; `ours(listed)` picks ours, `untrusted(listed)` those of ours that
  would not run, and `trust_tables(listed)` are the tables [hooks.state."KEY"] of the person's own config.toml that
  trust them (a project cannot trust itself). `wiring(target).afterwards()` does that once the files are written; who
  has not agreed to it reads TRUST_BY_HAND. A key holds the hook's place in its list: whoever removes a hook that
  stands before ours has to trust ours again.

Only `afterwards` runs or reads anything.
"""

import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from minutebook.errors import HostFailed
from minutebook.hosts.codex.app_server import ListedHook, listed_hooks
from minutebook.hosts.edits import Edit, JsonItems, OwnFile, Program, Target, TomlTable, Wiring, guarded

MARKETPLACE, PLUGIN, SERVER = "minutebook", "om", "om"
TURNS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop")
EVENTS = (*TURNS, "PreCompact", "PostCompact", "SessionEnd")
ANSWERING = ("SessionStart", "UserPromptSubmit", "PostToolUse")
"""Events at which a hook may put text into the context."""
HOOK_SECONDS = 5
"""A hook of ours leaves within one second; this is when Codex would end it."""
LEAVING_SECONDS = 3
"""Codex gives a hook at the end of a session no more, and warns of who asks for it."""
CONTEXT_TOKENS = 200_000
"""additionalContextLimit: of what is longer (2,500 tokens by default) Codex cuts the middle out. A composition is whole
or it is nothing, and has its own limit: compaction_max_tokens."""
PASSED_ON = (
    "MINUTEBOOK_HOME",
    "MINUTEBOOK_STORE",
    "MINUTEBOOK_CONFIG",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "CODEX_HOME",
)
"""Codex clears the environment of an MCP server but for these."""
PROGRAMS_FILE = "om-programs"
"""In Codex's folder: the folder of om and om-hook, for the plugin's script."""
RUN = 'sh "${CLAUDE_PLUGIN_ROOT}/run.sh"'
TRUST_BY_HAND = (
    "Codex runs a hook only once you have trusted it: start codex, which says that hooks need review, or type /hooks."
)
UNSEEN = (
    "It reads none where `hooks` of [features] is false in its config.toml, and those of a project once you have told"
    " it to trust that folder: start codex there."
)
NEXT_SESSION = "Sessions of Codex that are open already go on without it: start codex anew."

Tables = dict[tuple[str, ...], dict[str, Any]]


def wiring(target: Target) -> Wiring:
    """Everything of a whole user, of one project, or of the plugin."""
    folder = target.project / ".codex" if target.project else target.folder
    notes = (NEXT_SESSION,)
    trusting = partial(trust_edits, target)
    if target.plugin:
        noted = OwnFile(file=target.folder / PROGRAMS_FILE, content=f"{target.om_hook.rpartition('/')[0]}\n".encode())
        programs = plugin_programs(target.package / "plugin")
        return Wiring(edits=(noted,), programs=programs, notes=notes, afterwards=trusting)
    hooks = [
        JsonItems(file=folder / "hooks.json", path=("hooks", event), items=(group,))
        for event, group in hook_groups(partial(guarded, target.om_hook)).items()
    ]
    server = TomlTable(file=folder / "config.toml", path=("mcp_servers", SERVER), values=mcp_server(target.om))
    return Wiring(edits=(*hooks, server), notes=notes, afterwards=trusting)


def hook_groups(run: Callable[..., str]) -> dict[str, dict[str, Any]]:
    """Event → our matcher group. run: the arguments of om-hook → a command line for a shell."""
    return {event: {"hooks": [_hook(run, event)]} for event in EVENTS}


def _hook(run: Callable[..., str], event: str) -> dict[str, Any]:
    hook: dict[str, Any] = {
        "type": "command",
        "command": run("codex", event),
        "timeout": LEAVING_SECONDS if event == "SessionEnd" else HOOK_SECONDS,
    }
    return hook | ({"additionalContextLimit": CONTEXT_TOKENS} if event in ANSWERING else {})


def mcp_server(om: str, *before: str) -> dict[str, Any]:
    """Our table [mcp_servers.om]. Its tools only read, so nobody has to approve each call."""
    return {
        "command": om,
        "args": [*before, "mcp", "--host", "codex"],
        "env_vars": list(PASSED_ON),
        "default_tools_approval_mode": "approve",
    }


def plugin_programs(marketplace: Path) -> tuple[Program, ...]:
    """What puts the plugin of that marketplace folder in, and takes it out again."""
    of_market, of_plugin = ("codex", "plugin", "marketplace"), ("codex", "plugin")
    return (
        Program(argv=(*of_market, "add", str(marketplace)), undo=(*of_market, "remove", MARKETPLACE)),
        Program(
            argv=(*of_plugin, "add", f"{PLUGIN}@{MARKETPLACE}"), undo=(*of_plugin, "remove", f"{PLUGIN}@{MARKETPLACE}")
        ),
    )


# -- trust ---------------------------------------------------------------------------------------------------------


def trust_edits(target: Target) -> Sequence[Edit]:
    """The tables that trust our hooks as they are now, asked of the program. Raises HostFailed where that cannot be."""
    program = shutil.which("codex")
    if program is None:
        raise HostFailed(f"there is no codex on PATH, so its hooks are not trusted yet. {TRUST_BY_HAND}")
    environ = {**os.environ, "CODEX_HOME": str(target.folder)}
    listed, complaints = listed_hooks(program, str(target.project or target.home), environ)
    wanted = [hook for hook in ours(listed) if _is_of(target, hook)]
    if not wanted:
        raise HostFailed(f"codex does not see Minutebook's hooks. {' '.join(complaints) or UNSEEN}")
    config = target.folder / "config.toml"
    return [TomlTable(file=config, path=path, values=values) for path, values in trust_tables(wanted).items()]


def _is_of(target: Target, hook: ListedHook) -> bool:
    """In a project Codex lists the whole user's hooks, too: those are another install's, and stay trusted after it."""
    if target.project is None:
        return True
    return Path(hook.source).resolve().is_relative_to((target.project / ".codex").resolve())


def ours(listed: Iterable[ListedHook]) -> list[ListedHook]:
    """The hooks that are ours, by whatever way they were installed."""
    return [hook for hook in listed if is_our_command(hook.command)]


def untrusted(listed: Iterable[ListedHook]) -> list[ListedHook]:
    """Ours that Codex would not run."""
    return [hook for hook in ours(listed) if not hook.runs]


def is_our_command(command: str) -> bool:
    """Whether a hook's command line runs `<some folder>/om-hook codex`, by the plugin's script or not."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if words[:1] == ["sh"] and words[1:] and words[1].endswith("/run.sh"):
        del words[:2]
    return len(words) > 1 and words[0].rpartition("/")[2] == "om-hook" and words[1] == "codex"


def trust_tables(listed: Iterable[ListedHook]) -> Tables:
    """Path → values of the tables that trust ours as they are now: one that is edited afterwards is not trusted."""
    return {("hooks", "state", hook.key): _trusted(hook.hash) for hook in ours(listed)}


def _trusted(listed_hash: str) -> dict[str, Any]:
    """A plugin's hook is listed with two hashes: its own, and that of all that the plugin holds."""
    own, _, content = listed_hash.partition("/")
    return {"trusted_hash": own} | ({"trusted_content_hash": content} if content else {})


def shipped() -> Mapping[str, str]:
    """File → text of the plugin's parts that are Codex's own, as they lie in the package."""
    groups = hook_groups(lambda *words: f"{RUN} om-hook {' '.join(words)} 2>/dev/null || true")
    server = {**mcp_server("sh", "./run.sh", "om"), "cwd": "."}  # in its arguments Codex puts no variable in
    return {
        "hooks/codex.json": _pretty({"hooks": {event: [group] for event, group in groups.items()}}),
        "codex-mcp.json": _pretty({"mcpServers": {SERVER: server}}),
    }


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"

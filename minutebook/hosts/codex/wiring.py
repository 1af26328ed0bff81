"""What has to be in Codex's files, as plain data; nothing here reads, writes or runs anything.

For an installer:

- `hooks_json(om_hook)`: our part of `<CODEX_HOME>/hooks.json` (or `<project>/.codex/hooks.json`). Codex refuses a
  whole file with a key or an event that it does not know, so only what 0.171 knows is here. Our groups go last in each
  event's list; `is_ours(group)` finds them again. A hook's trust hangs on its place in the list: whoever removes a
  group before ours has to trust ours again (`om install codex` once more).
- `mcp_server(om)`: our table `[mcp_servers.om]` of `<CODEX_HOME>/config.toml`.
- `toml_tables({"mcp_servers.om": mcp_server(om)})`: such tables as text, to be appended to a config.toml.
- trust: Codex silently skips hooks that nobody trusted. `codex.app_server.listed_hooks(codex, cwd, environ)` asks the
  program which hooks it sees; `ours(listed)` picks ours, `untrusted(listed)` those that would not run, and
  `trust_tables(listed)` are the tables `[hooks.state."KEY"]` that trust them, for `toml_tables`. The order is: write
  hooks.json, ask, write the tables, ask again. A person who has not agreed to that gets `TRUST_BY_HAND` to read.
"""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MCP_SERVER = "om"
HOOK_SECONDS = 5
"""A hook of ours leaves within one second; this is when Codex would end it."""
CONTEXT_TOKENS = 200_000
"""additionalContextLimit: Codex cuts the middle out of what is longer, 2,500 tokens by default. A composition is whole
or it is nothing, and its own limit is compaction_max_tokens."""
ANSWERING = ("SessionStart", "UserPromptSubmit", "PostToolUse")
"""Events at which a hook may put text into the context."""
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "PostCompact", "Stop", "SessionEnd")
PASSED_ON = ("MINUTEBOOK_HOME", "MINUTEBOOK_STORE", "MINUTEBOOK_CONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
"""Codex clears the environment of an MCP server but for these."""
TRUST_BY_HAND = (
    "Codex runs a hook only after you have trusted it: start `codex`, type /hooks, look at Minutebook's hooks and "
    "trust them, or let `om install codex` do it."
)

Group = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHook:
    """A hook as Codex's app-server lists it. trust: trusted, untrusted, modified or managed; plugin: its id or ""."""

    key: str
    event: str
    command: str
    hash: str
    trust: str
    enabled: bool = True
    source: str = ""
    plugin: str = ""

    @property
    def runs(self) -> bool:
        """Whether Codex runs it without a flag that skips the review."""
        return self.enabled and self.trust in ("trusted", "managed")


def hooks_json(om_hook: str) -> dict[str, dict[str, list[Group]]]:
    """Our part of a hooks.json; om_hook: absolute path of the program (or a command's name in a plugin)."""
    return {"hooks": {event: [_group(om_hook, event)] for event in EVENTS}}


def _group(om_hook: str, event: str) -> Group:
    hook: dict[str, Any] = {"type": "command", "command": f"{shlex.quote(om_hook)} codex {event}"}
    hook["timeout"] = 3 if event == "SessionEnd" else HOOK_SECONDS  # Codex clamps that one, with a warning
    if event in ANSWERING:
        hook["additionalContextLimit"] = CONTEXT_TOKENS
    return {"hooks": [hook]}


def is_ours(group: object) -> bool:
    """Whether a matcher group of a hooks.json is one that hooks_json made, wherever om-hook stood then."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and bool(hooks) and all(_is_our_hook(hook) for hook in hooks)


def _is_our_hook(hook: object) -> bool:
    return isinstance(hook, dict) and is_our_command(hook.get("command"))


def is_our_command(command: object) -> bool:
    """Whether a hook's command line is `<some folder>/om-hook codex EVENT`."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    program = words[0].replace("\\", "/").rsplit("/", 1)[-1] if words else ""
    return program in ("om-hook", "om-hook.exe") and words[1:2] == ["codex"]


def mcp_server(om: str) -> dict[str, Any]:
    """Our table [mcp_servers.om]; om: absolute path of the program. Its tools only read, so they ask no approval."""
    return {
        "command": om,
        "args": ["mcp", "--host", "codex"],
        "env_vars": list(PASSED_ON),
        "default_tools_approval_mode": "approve",
    }


def ours(listed: Iterable[ListedHook]) -> list[ListedHook]:
    """The hooks that are ours, by whatever way they were installed."""
    return [hook for hook in listed if is_our_command(hook.command)]


def untrusted(listed: Iterable[ListedHook]) -> list[ListedHook]:
    """Ours that Codex would not run."""
    return [hook for hook in ours(listed) if not hook.runs]


def trust_tables(listed: Iterable[ListedHook]) -> dict[str, dict[str, Any]]:
    """Tables of config.toml that trust each of ours as it is now: one that is edited afterwards is not trusted."""
    return {f"hooks.state.{json.dumps(hook.key)}": _trusted(hook.hash) for hook in ours(listed)}


def _trusted(listed_hash: str) -> dict[str, Any]:
    """A plugin's hook is listed with two hashes: its own, and that of all that the plugin holds."""
    own, _, content = listed_hash.partition("/")
    return {"trusted_hash": own} | ({"trusted_content_hash": content} if content else {})


def toml_tables(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables of strings and of lists of strings as TOML text; a table's name is its key as it has to be written."""
    return "\n".join(_toml_table(name, values) for name, values in tables.items())


def _toml_table(name: str, values: Mapping[str, Any]) -> str:
    return "".join(
        [f"[{name}]\n", *(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())]
    )

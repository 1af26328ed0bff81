"""`codex exec` as a model: what it is started with, and what its lines of JSON say."""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from minutebook.settings import ModelChoice
from minutebook.workers.exchange import Request
from minutebook.workers.models_process import Finished
from minutebook.workers.models_said import Said, count, failure_of, objects, silent, text_of

EFFORT = {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "xhigh"}
FEATURES = (
    *("hooks", "codex_hooks", "plugins", "apps", "memories", "multi_agent", "goals", "daemon_auto_start"),
    *("shell_tool", "unified_exec", "shell_snapshot", "view_image", "image_generation", "sleep_tool", "tool_suggest"),
    *("browser_use", "computer_use", "in_app_browser", "skill_search", "unbounded_connection_retries"),
)
"""What is switched off. A version that does not know one says so in a line and goes on."""
CONFIGURED = {
    "project_doc_max_bytes": "0",
    "web_search": '"disabled"',
    "notify": "[]",
    "skills.include_instructions": "false",
    "include_permissions_instructions": "false",
    "include_apps_instructions": "false",
    "include_environment_context": "false",
    "check_for_update_on_startup": "false",
    "history.persistence": '"none"',
}
CONFIG_MAX_BYTES = 1_000_000


def arguments(choice: ModelChoice, folder: Path) -> Sequence[str]:
    """After the program's name: nothing kept, nothing written, no tools that run, no servers, and our words alone."""
    named, effort = choice.id.partition("/")[2], EFFORT.get(choice.thinking)
    configured = {
        **CONFIGURED,
        **{f"features.{name}": "false" for name in FEATURES},
        "mcp_servers": _switched_off(servers(config_file(os.environ))),
        "model_instructions_file": json.dumps(str(folder / "system.md")),
        **({"model_reasoning_effort": json.dumps(effort)} if effort else {}),
    }
    return [
        *("exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--sandbox", "read-only"),
        *(part for key, value in configured.items() for part in ("--config", f"{key}={value}")),
        *(("--model", named) if named else ()),
        "-",
    ]


def config_file(environ: Mapping[str, str]) -> Path:
    """Codex's own settings."""
    return Path(environ.get("CODEX_HOME") or Path(environ.get("HOME", "~")).expanduser() / ".codex") / "config.toml"


def servers(config: Path) -> Sequence[str]:
    """The names of the MCP servers that a configuration starts: each has to be switched off by its name."""
    try:
        with config.open("rb") as file:
            table = tomllib.loads(file.read(CONFIG_MAX_BYTES).decode("utf-8-sig"))
    except (OSError, ValueError):  # Codex itself says what is wrong with it
        return ()
    named = table.get("mcp_servers", {})
    return tuple(named) if isinstance(named, dict) else ()


def _switched_off(names: Sequence[str]) -> str:
    """A table over the one of the configuration. Its keys are quoted here, which they cannot be in a dotted name."""
    return "{" + ", ".join(f"{json.dumps(name)} = {{ enabled = false }}" for name in names) + "}"


def environ(request: Request, output_tokens: int) -> Mapping[str, str]:
    """Nothing is added: what it needs is in its arguments. An output limit is none of them."""
    return {}


def said(done: Finished) -> Said:
    """The last message of the agent, and the usage as reported; a cost is not. Raises HostFailed."""
    events = [*objects(done.output)]
    usage = next((each.get("usage") for each in reversed(events) if each.get("type") == "turn.completed"), None)
    texts = [*_messages(events)]
    if usage is None or not texts:
        raise failure_of(error) if (error := _error(events)) else silent(done, "codex")
    return Said(
        text=texts[-1],
        input_tokens=count(usage, "input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        cached_tokens=count(usage, "cached_input_tokens"),
    )


def _messages(events: Sequence[Mapping[str, object]]) -> Iterator[str]:
    for event in events:
        item = event.get("item")
        if event.get("type") == "item.completed" and isinstance(item, dict) and item.get("type") == "agent_message":
            yield text_of(item.get("text"))


def _error(events: Sequence[Mapping[str, object]]) -> str:
    for event in reversed(events):
        inner = event.get("error")
        if event.get("type") == "turn.failed" and isinstance(inner, dict):
            return text_of(inner.get("message"))
        if event.get("type") == "error":
            return text_of(event.get("message"))
    return ""

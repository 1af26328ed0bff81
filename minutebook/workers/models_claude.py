"""Claude Code's print mode as a model: what it is started with, and what its one JSON object says."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from minutebook.settings import ModelChoice
from minutebook.workers.exchange import Request
from minutebook.workers.models_process import Finished
from minutebook.workers.models_said import Said, count, failure_of, objects, silent, text_of

EFFORT = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}
SETTINGS_MAX_BYTES = 1_000_000


def arguments(choice: ModelChoice, folder: Path) -> Sequence[str]:
    """After the program's name: no tools, hooks, commands, servers, session or permission, and our words alone."""
    named, effort = choice.id.partition("/")[2], EFFORT.get(choice.thinking)
    return [
        *("--print", "--output-format", "json", "--no-session-persistence", "--disable-slash-commands"),
        *("--settings", json.dumps(_settings(settings_file(os.environ))), "--setting-sources", "user"),
        *("--strict-mcp-config", "--mcp-config", '{"mcpServers":{}}', "--tools", "", "--permission-mode", "dontAsk"),
        *("--system-prompt-file", str(folder / "system.md")),
        *(("--model", named) if named else ()),
        *(("--effort", effort) if effort else ()),
    ]


def settings_file(environ: Mapping[str, str]) -> Path:
    """The person's own settings, which are read because a login may stand in them."""
    folder = environ.get("CLAUDE_CONFIG_DIR") or Path(environ.get("HOME", "~")).expanduser() / ".claude"
    return Path(folder) / "settings.json"


def _settings(own: Path) -> dict[str, object]:
    """What is laid over them: no hooks, and each plugin switched off by its name."""
    try:
        with own.open("rb") as file:
            enabled = json.loads(file.read(SETTINGS_MAX_BYTES))["enabledPlugins"]
    except (OSError, ValueError, KeyError, TypeError):
        enabled = {}
    names = enabled if isinstance(enabled, dict) else {}
    return {"disableAllHooks": True, "enabledPlugins": dict.fromkeys(names, False)}


def environ(request: Request, output_tokens: int) -> Mapping[str, str]:
    """What is added to its environment: no memory files, and no tries of its own, which are counted here."""
    off = ("DISABLE_CLAUDE_MDS", "DISABLE_AUTO_MEMORY", "DISABLE_ATTACHMENTS", "DISABLE_BACKGROUND_TASKS")
    return {
        **{f"CLAUDE_CODE_{name}": "1" for name in (*off, "SKIP_PROMPT_HISTORY", "DISABLE_NONESSENTIAL_TRAFFIC")},
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(output_tokens),
        **({"MAX_THINKING_TOKENS": "0"} if request.choice.thinking == "off" else {}),
    }


def said(done: Finished) -> Said:
    """The answer, its usage and cost as reported. Raises HostFailed."""
    result = next((each for each in reversed([*objects(done.output)]) if each.get("type") == "result"), None)
    if result is None:
        raise silent(done, "claude")
    text, usage, cost = text_of(result.get("result")), result.get("usage"), result.get("total_cost_usd")
    answer = Said(
        text=text,
        finish_reason=_finish_reason(text_of(result.get("stop_reason")), text, failed=bool(result.get("is_error"))),
        input_tokens=sum(count(usage, f"{name}input_tokens") for name in ("", "cache_creation_", "cache_read_")),
        output_tokens=count(usage, "output_tokens"),
        cached_tokens=count(usage, "cache_read_input_tokens"),
        cost_usd=float(cost) if isinstance(cost, (int, float)) else None,
    )
    if result.get("is_error") and answer.finish_reason == "stop":
        status = result.get("api_error_status")
        raise failure_of(text or _errors(result), status if isinstance(status, int) else None)
    return answer


def _errors(result: Mapping[str, object]) -> str:
    listed = result.get("errors")
    words = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    return "; ".join(words) or f"it ended with {result.get('subtype')!r}"


def _finish_reason(stopped: str, text: str, *, failed: bool) -> str:
    if stopped == "refusal":
        return "content_filter"
    cut = failed and re.search(r"exceeded the \d+ output token maximum", text)
    return "length" if stopped == "max_tokens" or cut else "stop"

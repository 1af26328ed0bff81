"""/om:status, /om:view [full], /om:recall ID [PAGE], typed in Claude Code.

Each is a command file, so that Claude Code offers it; but the prompt hook answers it first and holds it back: no model
is asked, and nothing of it is in the context. Where hooks are off, the file's own text asks the model to use the tool.
"""

import json
from collections.abc import Callable

from minutebook.errors import MinutebookError
from minutebook.hosts.answering import Payload, opened, standing
from minutebook.hosts.pi import telling
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store

PREFIX = "/om:"


def told(payload: Payload, store_path: str) -> str:
    """What the hook prints for a prompt that is a command of ours; "" for any other."""
    name, *words = str(payload.get("prompt")).split() or [""]
    tell = _TOLD.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    return held_back(_answered(tell, words, payload, store_path)) if tell else ""


def _answered(tell: "Tell", words: list[str], payload: Payload, store_path: str) -> str:
    """What the person reads; what is wrong is said in the same place."""
    try:
        with opened(store_path) as store:
            found = standing(store, "claude_code", payload)
            return tell(store, found.branch, found.settings, words) if found else telling.NOTHING_YET
    except MinutebookError as error:
        return str(error)


def held_back(text: str) -> str:
    """Such that the prompt is not sent, and the person reads this in its place."""
    shown = {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True}
    return json.dumps({"decision": "block", "reason": text, "hookSpecificOutput": shown})


def _status(store: Store, branch: Branch, settings: Settings, words: list[str]) -> str:
    return telling.status(store, branch, settings, words, None)


def _recall(store: Store, branch: Branch, settings: Settings, words: list[str]) -> str:
    return telling.command_recall(store, branch, words)


Tell = Callable[[Store, Branch, Settings, list[str]], str]
_TOLD: dict[str, Tell] = {"status": _status, "view": telling.view, "recall": _recall}

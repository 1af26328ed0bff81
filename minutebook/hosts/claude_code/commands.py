"""/om:status, /om:view [full], /om:recall ID [PAGE], typed in Claude Code.

Each is a command file, so that Claude Code offers it; but the prompt hook answers it first and holds it back. Where
hooks are off, the file's own text asks the model to use the tool.
"""

import json

from minutebook.hosts import commands
from minutebook.hosts.answering import Payload


def told(payload: Payload, store_path: str) -> str:
    """What the hook prints for a prompt that is a command of ours; "" for any other."""
    text = commands.told("claude_code", payload, store_path)
    return held_back(text) if text else ""


def held_back(text: str) -> str:
    """Such that the prompt is not sent, and the person reads this in its place."""
    shown = {"hookEventName": "UserPromptSubmit", "suppressOriginalPrompt": True}
    return json.dumps({"decision": "block", "reason": text, "hookSpecificOutput": shown})

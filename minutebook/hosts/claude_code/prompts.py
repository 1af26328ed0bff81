"""Who wrote a user row of Claude Code: a person, or the program in a user's name. Pure."""

import re
from typing import Any

from minutebook.hosts.fields import object_of
from minutebook.records import INJECTED

LOCAL_COMMAND = "local_command"
OWN_BLOCK = "<minutebook"
OWN_NOTE = "<minutebook-note>"

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_INTERRUPTED = "[Request interrupted by user"
_WRITTEN_BY_THE_PROGRAM = (
    ("<command-name>", LOCAL_COMMAND),
    ("<command-message>", LOCAL_COMMAND),
    ("<command-args>", LOCAL_COMMAND),
    ("<local-command-", LOCAL_COMMAND),
    ("<bash-input>", LOCAL_COMMAND),
    ("<bash-stdout>", LOCAL_COMMAND),
    ("<bash-stderr>", LOCAL_COMMAND),
    ("<task-notification>", "task_notification"),
    ("<user-prompt-submit-hook>", "hook"),
)


def custom_type_of(text: str) -> str:
    """What the program put in a user's name; "" for a person's words and interrupt markers."""
    if "<" not in text:
        return ""
    said = _REMINDER.sub("", text).strip()
    if not said and text.strip():
        return INJECTED if OWN_BLOCK in text else "system_reminder"
    return next((custom for prefix, custom in _WRITTEN_BY_THE_PROGRAM if said.startswith(prefix)), "")


def is_own_note(data: dict[str, Any]) -> bool:
    """Whether a user row is what our plugin put in a summary's place."""
    if data.get("rowSource") != "hook":
        return False
    content = object_of(data.get("message")).get("content")
    return isinstance(content, str) and content.startswith(OWN_NOTE)


def is_interruption(text: str) -> bool:
    """Whether it is the note that a person stopped the agent."""
    return text.strip().startswith(_INTERRUPTED)

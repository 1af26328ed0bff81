"""What Codex's answering hooks print.

At a compaction Codex asks in this order: PreCompact (nothing that it prints is used), the model's summary, PostCompact,
SessionStart(compact), whose text is the last thing of a program's in the next request. After a compaction by hand that
one comes with the next turn, perhaps much later. So the memory is composed before, and handed over until it is asked
for: one hook prints it whole, as additionalContextLimit lets it (hook.py does it, and loads nothing more). Should that
hook come to nothing, on a machine that is too busy for a second, the memory is still owed, and the next hook that can
print gives it back.

A slash command of ours cannot be added to Codex, and its interface refuses /om:status before a hook sees it; om:status
without the slash is a prompt. (Where no interface looks first, as with `codex exec`, the slash does no harm.)
"""

import json

from minutebook.hosts import bell
from minutebook.hosts.answering import (
    Payload,
    compose_now,
    confirm_if_recorded,
    lost_memory,
    memory_again,
    opened,
    standing,
)
from minutebook.hosts.hook import injected

HOST = "codex"


def answer(event: str, payload: Payload, store_path: str) -> str:
    """The text that the hook of this event prints; "" for nothing."""
    if event == "PreCompact":
        _before_compaction(payload, store_path)
        return ""
    if event == "SessionStart":
        compacted = payload.get("source") == "compact"
        return _after_compaction(payload, store_path) if compacted else _back(payload, store_path)
    from minutebook.hosts.commands import told

    if said := told(HOST, payload, store_path, slash=""):
        return held_back(said)
    return _late(event, payload, store_path)


def held_back(text: str) -> str:
    """Such that the prompt is not sent, and the person reads this in its place."""
    return json.dumps({"decision": "block", "reason": text})


def _late(event: str, payload: Payload, store_path: str) -> str:
    """What SessionStart did not come to print, where nothing was handed over that could be."""
    session = str(payload.get("session_id"))
    text = _again(payload, store_path) if bell.owes_memory(store_path, HOST, session) else ""
    return injected(event, text)


def _before_compaction(payload: Payload, store_path: str) -> None:
    """Composes the memory and leaves it for SessionStart, unless more of the session is still to be read."""
    session = str(payload.get("session_id"))
    bell.remove_handover(store_path, HOST, session)
    bell.settle(store_path, HOST, session)
    with opened(store_path) as store:
        found = standing(store, HOST, payload)
        composition = compose_now(store, found.branch, found.settings) if found else None
    if found and found.whole and composition:
        bell.write_handover(store_path, HOST, session, [composition.text])


def _after_compaction(payload: Payload, store_path: str) -> str:
    """Composed now, where nothing was handed over."""
    with opened(store_path) as store:
        found = standing(store, HOST, payload)
        composition = compose_now(store, found.branch, found.settings) if found else None
        if found and composition:
            confirm_if_recorded(store, found.branch)
    return composition.text if composition else ""


def _back(payload: Payload, store_path: str) -> str:
    """A session that is resumed or forked: its context holds the memory, unless a compaction went by without us.

    One that is resumed and compacted by hand before its first turn asks twice in that turn: as resumed, then as
    compacted. The second time nothing is left to say.
    """
    session = str(payload.get("session_id"))
    bell.remove_handover(store_path, HOST, session)  # of a compaction that this makes good, or that never ended
    text = _again(payload, store_path)
    if text:
        bell.write_handover(store_path, HOST, session, [])
    return text


def _again(payload: Payload, store_path: str) -> str:
    """The memory of before the last compaction, where the context does not hold it; "" where it does."""
    with opened(store_path) as store:
        found = standing(store, HOST, payload)
        lost = found is not None and lost_memory(store, found.branch)
        composition = memory_again(store, found.branch, found.settings) if found and lost else None
    return composition.text if composition else ""

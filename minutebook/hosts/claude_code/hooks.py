"""What Claude Code's answering hooks print.

At a compaction Claude Code asks in this order: PreCompact (what it prints goes to the summarizer), the model's summary,
SessionStart(compact) (what it prints stands in the context behind the summary), PostCompact. One hook may print 10,000
characters, so PARTS hooks print the parts of one composition; this is the first of them, and hands the others over.
Where something else answered the compaction there was no PreCompact, and the memory is composed here.
"""

from collections.abc import Callable
from dataclasses import replace

from minutebook.hosts import bell
from minutebook.hosts.answering import (
    Payload,
    Standing,
    compose_now,
    confirm_if_recorded,
    lost_memory,
    memory_again,
    opened,
    standing,
)
from minutebook.hosts.hook import injected
from minutebook.pipeline.compaction import Composition
from minutebook.pipeline.wording import counted
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store

HOST = "claude_code"
PARTS = 14
"""So many hooks print a memory: 14 × 9,900 characters hold 32,000 tokens."""
MOST_TOKENS = 32_000
INSTRUCTIONS = """\
Minutebook puts its own record of this session behind your summary: {reflections} and {observations}, each with an id \
that leads to its exact source. What was decided, found out and finished earlier comes back that way. Make sure that \
the summary has what only the latest turns know:
- the user's latest request word for word, and the instructions that still hold;
- what is in progress, what is half done, and the next step;
- open errors with their exact messages; files, commands and values in use.
Do not copy blocks that are marked as minutebook."""

Compose = Callable[[Store, Branch, Settings], Composition | None]


def answer(event: str, payload: Payload, store_path: str) -> str:
    """The text that the hook of this event prints; "" for nothing."""
    if event == "PreCompact":
        return _before_compaction(payload, store_path)
    if event == "SessionStart":
        return (
            _after_compaction(payload, store_path) if payload.get("source") == "compact" else _back(payload, store_path)
        )
    from minutebook.hosts.claude_code.commands import told

    said = told(payload, store_path) if event == "UserPromptSubmit" else ""
    return said or _late(event, payload, store_path)


def _before_compaction(payload: Payload, store_path: str) -> str:
    """Composes the memory and leaves it for SessionStart; prints what the summary must keep."""
    session = str(payload.get("session_id"))
    bell.remove_handover(store_path, HOST, session)
    with opened(store_path) as store:
        found = standing(store, HOST, payload)
        composition = within_parts(store, found, compose_now) if found else None
    if found is None or composition is None:
        return ""
    if found.whole:  # else the memory is composed once more, when the worker has read more of it
        bell.write_handover(store_path, HOST, session, composition.parts())
    return instructions(composition)


def _after_compaction(payload: Payload, store_path: str) -> str:
    session = str(payload.get("session_id"))
    parts = bell.read_handover(store_path, HOST, session)
    if parts is None:
        with opened(store_path) as store:
            found = standing(store, HOST, payload)
            composition = within_parts(store, found, compose_now) if found else None
            if found and composition:
                confirm_if_recorded(store, found.branch)
        parts = _handed_over(composition, session, store_path)
    return parts[0] if parts else ""


def _back(payload: Payload, store_path: str) -> str:
    """A session that is resumed or forked: its context holds the memory, unless a compaction went by without us."""
    with opened(store_path) as store:
        found = standing(store, HOST, payload)
        lost = found is not None and lost_memory(store, found.branch)
        composition = within_parts(store, found, memory_again) if found and lost else None
    parts = _handed_over(composition, str(payload.get("session_id")), store_path)
    return parts[0] if parts else ""


def _late(event: str, payload: Payload, store_path: str) -> str:
    """What SessionStart did not come to print, because the machine was too busy: as much of it as one hook may."""
    session = str(payload.get("session_id"))
    if not bell.owes_memory(store_path, HOST, session):
        return ""
    with opened(store_path) as store:
        found = standing(store, HOST, payload)
        lost = found is not None and lost_memory(store, found.branch)
        composition = within_parts(store, found, memory_again, parts=1) if found and lost else None
    return injected(event, composition.text) if composition else ""


def _handed_over(composition: Composition | None, session: str, store_path: str) -> list[str]:
    parts = composition.parts() if composition else []
    bell.write_handover(store_path, HOST, session, parts)
    return parts


def within_parts(store: Store, found: Standing, compose: Compose, *, parts: int = PARTS) -> Composition | None:
    """A composition that the hooks can print whole: lines are not cut in two, so a part may be far from full."""
    tokens = min(found.settings.compaction_max_tokens, MOST_TOKENS)
    while True:
        composition = compose(store, found.branch, replace(found.settings, compaction_max_tokens=tokens))
        if composition is None or len(composition.parts()) <= parts:
            return composition
        tokens = tokens * parts // (len(composition.parts()) + 1)


def instructions(composition: Composition) -> str:
    """What the summarizer is told."""
    return INSTRUCTIONS.format(
        reflections=counted(composition.reflections, "reflection"),
        observations=counted(composition.observations, "observation"),
    )

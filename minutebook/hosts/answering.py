"""What the hooks that answer with memory share: the session's branch as it is now, its memory, and whether it is lost.

Nothing here waits: the store is asked for a fifth of a second, the transcript is read for so long as a hook may take,
and what is not done then is done by the next hook, or by the worker.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path as FilePath

from minutebook.errors import BadTranscript, CompactionOpen, NotFound
from minutebook.hosts.delivering import deliver
from minutebook.hosts.fields import iso_time
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, memory_stream
from minutebook.pipeline.compaction import Composition, compose_memory, look_at_memory
from minutebook.pipeline.folds import abandon_fold, confirm_fold
from minutebook.pipeline.intake import own_branch
from minutebook.pipeline.sessions import find_session
from minutebook.records import INJECTED, Branch
from minutebook.settings import Settings
from minutebook.settings_loading import load
from minutebook.store.kernel import Store
from minutebook.store.opening import HOOK_BUSY_SECONDS, open_store
from minutebook.zones import machine_zone

DELIVERY_SECONDS = 0.3
"""No step of reading a transcript begins later than so long after the first."""
HOOKS = {"claude_code": "minutebook.hosts.claude_code.hooks", "codex": "minutebook.hosts.codex.hooks"}

Payload = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a session stands. whole: its transcript was read to the end."""

    branch: Branch
    settings: Settings
    whole: bool


def answer(host: str, event: str, payload: Payload, store_path: str) -> str:
    """The text that the hook of this event prints; "" for nothing. Whatever it raises is for the hook's log."""
    text: str = import_module(HOOKS[host]).answer(event, payload, store_path)
    return text


@contextmanager
def opened(store_path: str) -> Iterator[Store]:
    """The store, with a hook's patience."""
    store = open_store(store_path, busy_seconds=HOOK_BUSY_SECONDS)
    try:
        yield store
    finally:
        store.close()


def settings_for(payload: Payload, project: str = "") -> Settings:
    """The settings of the session's project, by default of the folder it is in. BadSetting."""
    folder = project or str(payload.get("cwd") or "")
    return load(FilePath(folder) if FilePath(folder).is_absolute() else None, {}).settings


def standing(store: Store, host: str, payload: Payload) -> Standing | None:
    """The session after its transcript was taken in, as far as there was time; None of one that nothing is known of."""
    key = f"{host}:{payload.get('session_id')}"
    session = find_session(store, key)
    settings = settings_for(payload, session.project if session else "")
    whole = False
    with suppress(BadTranscript):  # there is none yet
        path = FilePath(str(payload.get("transcript_path")))
        zone = settings.zone or machine_zone()
        whole = deliver(store, host, path, zone=zone, seconds=DELIVERY_SECONDS, key=key, ignore=settings.ignore).whole
    try:
        return Standing(own_branch(store, key), settings, whole)
    except NotFound:
        return None


def branch_now(store: Store, host: str, payload: Payload) -> Branch | None:
    """The branch of where the session stands."""
    found = standing(store, host, payload)
    return found.branch if found else None


def compose_now(store: Store, branch: Branch, settings: Settings) -> Composition | None:
    """The memory at the tip, for a compaction that happens now, in place of one that never came to its end."""
    boundary = Path(store, branch).length()
    try:
        return compose_memory(store, branch, boundary, settings)
    except CompactionOpen:
        abandon_fold(store, branch)
        return compose_memory(store, branch, boundary, settings)


def confirm_if_recorded(store: Store, branch: Branch) -> None:
    """Confirm what was composed just now, where the host's record of the compaction was read before that.

    It was if nothing but what programs say stands after it. Else it is still to come, and confirms by itself.
    """
    at = compacted_at(store, branch)
    if at and all(placed.entry.role == "custom" for placed in Path(store, branch).walk(at)):
        confirm_fold(store, branch, time=iso_time(store.now()))


def memory_again(store: Store, branch: Branch, settings: Settings) -> Composition | None:
    """The memory of before the last compaction, as it is known now. Nothing is proposed: nothing is compacted."""
    at = compacted_at(store, branch)
    return look_at_memory(store, branch, at, settings) if at else None


def lost_memory(store: Store, branch: Branch) -> bool:
    """Whether the session was compacted, and no block of ours went into its context since."""
    at = compacted_at(store, branch)
    return bool(at) and not any(placed.entry.custom_type == INJECTED for placed in Path(store, branch).walk(at))


def compacted_at(store: Store, branch: Branch) -> int:
    """How many entries the path had when its host last compacted; 0 for never."""
    return store.tip(memory_stream(branch.key)).marks.get(ledger.COMPACTED_AT, 0)

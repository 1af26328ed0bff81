"""What `om purge` and `om retention` are about to remove, how it is shown, and what is done beside the store."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from minutebook.cli.place import Place
from minutebook.cli.sessions import short_keys
from minutebook.cli.showing import counted, harmless, minute, one_line, write
from minutebook.debuglog import DebugLog, file_name
from minutebook.errors import StoreError
from minutebook.hosts.slots import forget
from minutebook.pipeline import ledger
from minutebook.pipeline.boxkeys import owner_of
from minutebook.pipeline.branches import find_branch, memory_stream
from minutebook.pipeline.erasing import Erasure, families_of
from minutebook.pipeline.exporting import list_exports
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.status import read_status
from minutebook.places import data_dir
from minutebook.store.kernel import Store
from minutebook.workers.choosing import ProjectSettings
from minutebook.workers.queues import QUEUE_SUFFIX

SHOWN = 20
DAY_SECONDS = 86_400
QUEUE_FILES = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """sessions: those that go, the latest first. logs: debug logs of this machine. boxed: how many a box has, too.

    exports: files that were written and hold some of it.
    """

    erasure: Erasure
    sessions: Sequence[Session]
    tokens: Sequence[str] = ()
    logs: Sequence[Path] = ()
    exports: Sequence[str] = ()
    boxed: int = 0
    box_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aged:
    """keys: of sessions that are old enough. kept: reason → families that are, and stay."""

    days: int
    keys: Sequence[str] = ()
    kept: Mapping[str, int] = field(default_factory=dict)


def plan_of(place: Place, erasure: Erasure, tokens: Sequence[str]) -> Plan:
    """Everything that a person should know before it is done."""
    going = set(erasure.sessions)
    sessions = [session for session in place.sessions if session.key in going]
    return Plan(
        erasure=erasure,
        sessions=sessions,
        tokens=tokens,
        logs=_logs(sessions),
        exports=[f"{each.path} of {each.time[:10]}" for each in list_exports(place.store) if going & {*each.sessions}],
        boxed=sum(_is_boxed(place.store, session) for session in sessions),
        box_url=place.settings.box_url or "",
    )


def _logs(sessions: Iterable[Session]) -> list[Path]:
    named = dict.fromkeys(data_dir() / file_name(session.session) for session in sessions)
    return [file for path in named for file in (path, path.with_name(path.name + ".1")) if file.is_file()]


def _is_boxed(store: Store, session: Session) -> bool:
    marks = (store.tip(memory_stream(key)).marks.get(ledger.BOX, 0) for key in session.branches)
    return any(mark == ledger.BOXED for mark in marks)


# -- by age --------------------------------------------------------------------------------------------------------


def aged_families(place: Place, days: int) -> Aged:
    """Families whose last entry is older, but those on which something is still to be done."""
    sessions = {session.key: session for session in place.sessions}
    latest = place.store.now() - days * DAY_SECONDS
    settings_for = ProjectSettings(place.flags)
    keys: list[str] = []
    kept: dict[str, int] = {}
    for family in families_of(place.store):
        members = [sessions[key] for key in family if key in sessions]
        if not members or max(_last_entry(each, place.store.now()) for each in members) > latest:
            continue
        reason = next(filter(None, (_why_kept(place.store, each, settings_for) for each in members)), "")
        if reason:
            kept[reason] = kept.get(reason, 0) + 1
        else:
            keys += family
    return Aged(days=days, keys=keys, kept=kept)


def _last_entry(session: Session, now: float) -> float:
    """When something last came in: by the store's clock, or by the host's where that is later and not in the future."""
    with suppress(ValueError, OverflowError, OSError):
        said = datetime.fromisoformat(session.last_time).timestamp()
        return max(session.touched, said) if said <= now else session.touched
    return session.touched


def _why_kept(store: Store, session: Session, settings_for: Callable[..., Any]) -> str:
    """Due, at work or open; "" when nothing holds it."""
    for key in session.branches:
        branch = find_branch(store, key)
        if branch is None:
            continue
        status = read_status(store, branch, settings_for(branch))
        if status.running or status.pending:
            return "at work"
        if status.open_compaction is not None:
            return "with an open compaction"
        if status.due:
            return "with work due"
    return ""


# -- beside the store ----------------------------------------------------------------------------------------------


def done_with(place: Place, plan: Plan) -> str:
    """Remove debug logs, what waits for hooks and workers, and have the store forget; a sentence about what is left."""
    log = DebugLog(True, data_dir())
    for session in plan.sessions:
        log.forget(session.session, session.branches)
    if place.store_file is not None:
        for session in plan.sessions:
            if not session.agent:
                forget(str(place.store_file.absolute()), session.host, session.session)
        queue = place.store_file.with_name(place.store_file.name + QUEUE_SUFFIX)
        for suffix in QUEUE_FILES:  # jobs are hints there, named by their branches; a running worker makes it anew
            queue.with_name(queue.name + suffix).unlink(missing_ok=True)
    return scrubbed(place.store)


def scrubbed(store: Store) -> str:
    """Have the store's files written anew; raises StoreError where what was removed is still in them."""
    scrub: Callable[[], bool] | None = getattr(store, "scrub", None)
    try:
        if scrub is not None and scrub():
            return "The store's files were written anew."
        said = "somebody reads them just now"
    except StoreError as error:
        said = str(error)
    raise StoreError(
        f"removed from the store, but free pages of its files still hold it: {said}; later: om purge --scrub"
    )


# -- shown ---------------------------------------------------------------------------------------------------------


def as_data(plan: Plan, *, removed: bool, aged: Aged | None = None) -> dict[str, Any]:
    """For programs."""
    families = plan.erasure.families
    found = {
        "removed": removed,
        "sessions": [session.key for session in plan.sessions],
        "branches": list(plan.erasure.branches),
        "sources": sum(family.sources for family in families),
        "memory": sum(family.memory for family in families),
        "documents": sum(len(family.documents) for family in families),
        "copies": list(plan.erasure.copies),
        "tokens": list(plan.tokens),
        "debug_logs": [str(path) for path in plan.logs],
        "exports": list(plan.exports),
        "on_box": plan.boxed,
    }
    return {**found, "days": aged.days, "kept": dict(aged.kept)} if aged else found


def show_plan(plan: Plan, *, removed: bool) -> None:
    """For people."""
    write("Removed:" if removed else "Would remove:")
    keys = short_keys(plan.sessions)
    for session in plan.sessions[:SHOWN]:
        write(_line(session, keys[session.key]))
    if len(plan.sessions) > SHOWN:
        write(f"  and {counted(len(plan.sessions) - SHOWN, 'more session')}")
    write(f"  {_sums(plan)}")
    for path in plan.logs:
        write(harmless(f"  debug log {path}"))
    still = [*(f"export {path}" for path in plan.exports), *_elsewhere(plan), "backups that were made before"]
    write(f"Not touched, and {'still holding' if removed else 'would still hold'} it:")
    for what in still:
        write(harmless(f"  {what}"))


def _line(session: Session, key: str) -> str:
    when = minute(session.last_time, session.zone)
    return f"  {one_line(key)}  {when}  {one_line(session.title)}".rstrip()


def _sums(plan: Plan) -> str:
    families = plan.erasure.families
    said = [
        counted(len(plan.sessions), "session"),
        counted(len(plan.erasure.branches), "branch", "branches"),
        counted(sum(family.sources for family in families), "source entry", "source entries"),
        counted(sum(family.memory for family in families), "memory entry", "memory entries"),
        counted(sum(len(family.documents) for family in families), "document"),
        *([counted(len(plan.tokens), "token")] if plan.tokens else []),
    ]
    return ", ".join(said)


def _elsewhere(plan: Plan) -> list[str]:
    """Other stores that have it."""
    found = []
    if plan.boxed:
        where = f"the box {plan.box_url}" if plan.box_url else "a box"
        found.append(f"{where}, which has {plan.boxed:,} of these sessions: om purge there, too")
    owners = sorted({owner for session in plan.sessions if (owner := owner_of(session.key))})
    if owners:
        found.append(f"the machines of {', '.join(owners)}, and of others who had it brought there")
    return found

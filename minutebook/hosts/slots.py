"""What workers have to say to the person in a session, once each: put in place here, taken by the session's next hook.

What was said is kept beside the store and not in it: it belongs to this machine, and losing it repeats a sentence.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from minutebook.hosts.barejson import parse, to_json
from minutebook.hosts.beside import handover_path, read_beside, safe_name, slot_path, write_beside
from minutebook.hosts.slotfile import add

IDS_MOST = 50
KEPT_SECONDS = 30 * 86_400.0
"""A session that nobody opens any more takes nothing: what waits for it is removed then."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A configured model that cannot be asked. since, at: its first and its last failure, in store seconds."""

    model: str
    since: float
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """What one session was told. first: when it was first looked at, in store seconds. ids: of what was told.

    observed: the coverage that was seen last. due_at: how many prompts it had when the observer became due, or -1.
    """

    first: float
    ids: tuple[str, ...] = ()
    observed: int = 0
    due_at: int = -1


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence for the person, with an id by which it is told once."""

    id: str
    text: str


def what_to_tell(
    told: Told,
    *,
    prompts: int,
    observed: int,
    due: bool,
    why: str,
    outages: Sequence[Outage],
    after_turns: int,
) -> tuple[Told, list[Notice]]:
    """What is new for this session, and what it was told then. Pure.

    prompts: typed in it so far. observed: how far it is observed. due: whether more of it should be. why: "" where
    nobody knows. Of outages those count that lasted while the session was there.
    """
    waits = due and told.due_at >= 0 and told.observed == observed
    due_at = told.due_at if waits else prompts if due else -1
    found = [
        Notice(f"model {outage.model} {outage.since:.0f}", outage.text) for outage in outages if outage.at >= told.first
    ]
    if due and prompts - due_at >= after_turns:
        found.append(Notice(f"unrecorded {observed}", _unrecorded(prompts - due_at, why)))
    new = [notice for notice in found if notice.id not in told.ids]
    ids = (*told.ids, *(notice.id for notice in new))[-IDS_MOST:]
    return replace(told, ids=ids, observed=observed, due_at=due_at), new


def _unrecorded(turns: int, why: str) -> str:
    because = f" ({why.rstrip(' .')})" if why else ""
    return (
        f"nothing was recorded of the last {turns} turns, though it was due{because}. Nothing is lost; "
        "`om doctor` says what to do."
    )


def put_in_slot(store_path: str, host: str, session: str, notices: Iterable[Notice], *, kind: str = "notice") -> None:
    """For the session's next hook; the oldest first. kind: notice or steer. Raises OSError."""
    for notice in notices:
        text = f"Minutebook: {notice.text}" if kind == "notice" else notice.text
        add(slot_path(store_path, host, session), {"kind": kind, "id": notice.id, "text": text})


def read_told(store_path: str, host: str, session: str) -> Told | None:
    """What a session was told; None of one that was never looked at."""
    data = parse(read_beside(_told_path(store_path, host, session)) or "")
    first, ids = (data.get("first"), data.get("ids")) if isinstance(data, dict) else (None, None)
    if not isinstance(data, dict) or not isinstance(first, (int, float)):
        return None
    numbers = [value if isinstance(value := data.get(name), int) else -1 for name in ("observed", "due_at")]
    return Told(
        float(first),
        tuple(each for each in ids if isinstance(each, str)) if isinstance(ids, list) else (),
        *numbers,
    )


def write_told(store_path: str, host: str, session: str, told: Told) -> None:
    """Keep it. Raises OSError."""
    fields: dict[str, object] = {
        "first": told.first,
        "ids": list(told.ids),
        "observed": told.observed,
        "due_at": told.due_at,
    }
    write_beside(_told_path(store_path, host, session), to_json(fields))


def _told_path(store_path: str, host: str, session: str) -> str:
    path = Path(slot_path(store_path, host, session))
    return os.fspath(path.with_name(f".told.{path.name}"))


def remove_old(store_path: str, *, now: float | None = None) -> None:
    """What sessions left behind that have not moved for a month."""
    before = (time.time() if now is None else now) - KEPT_SECONDS
    for path in _left_by_sessions(store_path):
        with suppress(OSError):
            if path.stat().st_mtime < before:
                path.unlink()


def forget(store_path: str, host: str, session: str) -> None:
    """What waits for one session, its memory among it, and what its hooks left."""
    name = safe_name(host, session)
    for path in _left_by_sessions(store_path):
        if f"{path.name.removeprefix('.told.')}.".startswith(f"{name}."):
            with suppress(OSError):
                path.unlink()


def _left_by_sessions(store_path: str) -> Iterator[Path]:
    """The files beside the store that are named by their sessions, but for bells."""
    for one_of_them in (slot_path(store_path, "x", "x"), handover_path(store_path, "x", "x")):
        with suppress(OSError):
            yield from Path(one_of_them).parent.iterdir()

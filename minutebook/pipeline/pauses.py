"""When nothing is recorded: pauses of everything, of a project's folder, or of a session. Kept for ever, as intake of a
transcript that is read later must know them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from minutebook.store import codec
from minutebook.store.kernel import Put, Store

PAUSES = "pauses"
Scope = Literal["all", "project", "session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """scope: what is paused. name: the project's folder (absolute) or the session's key, "" for all.

    since, until: ISO UTC; until is "" while it lasts.
    """

    scope: Scope
    name: str = ""
    since: str
    until: str = ""

    @property
    def key(self) -> str:
        """Of its document."""
        return f"{self.since}|{self.scope}|{self.name}"

    def concerns(self, session: str, folders: Iterable[str]) -> bool:
        """Whether it is about that session, whose project is in those folders; sub-agents go with their session."""
        if self.scope == "session":
            return session == self.name or session.startswith(f"{self.name}/")
        return self.scope == "all" or any(is_within(folder, self.name) for folder in folders)


def is_within(folder: str, parent: str) -> bool:
    """Whether a folder is that one or below it. Pure, of absolute paths."""
    return folder == parent or folder.startswith(f"{parent.rstrip('/')}/")


def covers(pauses: Sequence[Pause], time: str) -> bool:
    """Whether one of them held at that time (ISO). A time that cannot be read is one of which nobody knows: now."""
    at = _seconds(time)
    if at is None:
        return any(not pause.until for pause in pauses)
    whole = "." not in time  # what happened within that second may have been later
    return any(_begin(pause, whole) <= at < (_seconds(pause.until) or math.inf) for pause in pauses)


def _begin(pause: Pause, whole: bool) -> float:
    begin = _seconds(pause.since) or 0.0
    return math.floor(begin) if whole else begin


def _seconds(time: str) -> float | None:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def list_pauses(store: Store) -> list[Pause]:
    """All there ever were, in order."""
    found = (_pause(codec.from_json(document.body)) for document in store.documents(PAUSES))
    return sorted((pause for pause in found if pause is not None), key=lambda pause: pause.key)


def open_pauses(store: Store) -> list[Pause]:
    """Those that last."""
    return [pause for pause in list_pauses(store) if not pause.until]


def begin_pause(store: Store, pause: Pause) -> bool:
    """Note a pause; False where the same lasts already."""
    if any((each.scope, each.name) == (pause.scope, pause.name) for each in open_pauses(store)):
        return False
    _save(store, pause)
    return True


def end_pauses(store: Store, pauses: Iterable[Pause], until: str) -> None:
    """Note that they are over."""
    for pause in pauses:
        _save(store, replace(pause, until=max(until, pause.since)))


def _save(store: Store, pause: Pause) -> None:
    body = {"scope": pause.scope, "name": pause.name, "since": pause.since, "until": pause.until}
    store.put(Put(PAUSES, pause.key, codec.to_json({"v": codec.VERSION, **body})))


def _pause(data: dict[str, Any]) -> Pause | None:
    scope: Any = data.get("scope")
    if scope not in get_args(Scope):
        return None
    return Pause(scope=scope, name=str(data["name"]), since=str(data["since"]), until=str(data.get("until", "")))

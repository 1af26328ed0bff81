"""Tombstones: sessions that were removed on purpose, so that a late delivery does not bring them back unasked.

One document for each, in the collection PURGED. Its key is a hash: the store does not even keep the removed session's
name. It says when and why, and, while an erasure is under way, what is to be removed together.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from minutebook.pipeline.notices import tell
from minutebook.pipeline.sessions import SESSIONS
from minutebook.store import codec
from minutebook.store.kernel import Put, Store

PURGED = "purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """time: ISO 8601, UTC. reason: "purge" or "retention".

    rest: of an erasure that has not ended yet: the keys of its "sessions" and "branches".
    """

    time: str
    reason: str
    rest: Mapping[str, Sequence[str]] = field(default_factory=dict)


class SessionPurged(Exception):
    """What is delivered belongs to a session that was removed on purpose. args: its tombstone."""


def tombstone_key(session_key: str) -> str:
    """The key of a session's tombstone."""
    return sha256(session_key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_purged(store: Store, session_key: str, agent: str = "") -> Tombstone | None:
    """The tombstone of a session, or for a sub-agent of the one that started it; None when it may be taken in.

    session_key: as in sessions.session_key. agent: the sub-agent's id that ends it, if it is one's.
    """
    main = session_key.removesuffix(f"/{agent}") if agent else session_key
    found = store.get_among(PURGED, {tombstone_key(session_key), tombstone_key(main)})
    return next((_tombstone(document.body) for document in found.values()), None)


def check_not_purged(store: Store, session_key: str, agent: str = "") -> None:
    """Raise SessionPurged for a session that must not be taken in; a person is told of it, once for each erasure."""
    stone = is_purged(store, session_key, agent)
    if stone is not None:
        again = f"`om purge --forget-tombstone {session_key}` allows it again"
        text = f"{session_key} was removed on {stone.time[:10]} and is not taken in; {again}"
        tell(store, f"purged {tombstone_key(session_key)} {stone.time}", text, about=session_key)
        raise SessionPurged(stone)


def tombstone(session_key: str, *, time: str, reason: str, rest: Mapping[str, Sequence[str]] | None = None) -> Put:
    """A session's tombstone, to be written; as in Tombstone, without rest the erasure has ended."""
    body = {"v": codec.VERSION, "time": time, "reason": reason, "rest": dict(rest or {})}
    return Put(PURGED, tombstone_key(session_key), codec.to_json(body))


def unfinished(store: Store) -> list[Tombstone]:
    """Tombstones of erasures that were begun and have not ended."""
    return [stone for document in store.documents(PURGED) if (stone := _tombstone(document.body)).rest]


def forget_tombstone(store: Store, session_key: str) -> bool:
    """Allow a purged session again; False when it has no tombstone."""
    return store.delete(PURGED, tombstone_key(session_key))


def living(store: Store) -> set[str]:
    """Keys of the tombstones that the sessions of this store would have."""
    return {tombstone_key(document.key) for document in store.documents(SESSIONS)}


def keep_tombstone(store: Store, key: str, body: Mapping[str, object], alive: Collection[str]) -> None:
    """Take over a tombstone of another store, but what was under way there, and not of a session that lives here.

    alive: of `living`.
    """
    if key not in alive:
        said = {name: str(body.get(name, "")) for name in ("time", "reason")}
        store.put(Put(PURGED, key, codec.to_json({"v": codec.VERSION, **said, "rest": {}}), if_version=0))


def _tombstone(body: str) -> Tombstone:
    values = codec.from_json(body)
    return Tombstone(
        time=str(values.get("time", "")), reason=str(values.get("reason", "")), rest=values.get("rest") or {}
    )

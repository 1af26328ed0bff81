"""What the tests of the ledger share: a ledger as plain values to compare, and stores that count or break."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from builders import reply, say

from minutebook.pipeline.branches import list_branches, memory_stream, source_stream
from minutebook.pipeline.deliveries import Reading, SessionHead
from minutebook.pipeline.intake import Accepted, accept_turns
from minutebook.pipeline.ledger import read_own
from minutebook.pipeline.outbox import outbox
from minutebook.pipeline.sessions import list_sessions
from minutebook.records import SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Store

VOLATILE = ("touched", "version")
CALLS = ("append", "read", "find", "find_among", "tip", "total_before", "get", "get_among", "put", "delete")
CALLS += ("documents", "mark_dirty", "now", "erase")


def turns(count: int, first: int = 0) -> list[SourceEntry]:
    """A conversation of prompts and answers e0, e1 …, each the child of the one before."""
    made = []
    for at in range(first, first + count):
        entry = say if at % 2 == 0 else reply
        made.append(entry(f"words of turn {at}", id=f"e{at}", parent=f"e{at - 1}" if at else None))
    return made


def take(
    store: Store, events: Iterable[Any], session: str = "s1", host: str = "neutral", *, agent: str = "", **more: Any
) -> Accepted:
    """Deliver events of a session."""
    head = SessionHead(host=host, session=session, agent=agent)
    return accept_turns(store, Reading(head=head, events=list(events), **more))


def ids_of(store: Store, branch: str = "neutral:s1") -> list[str]:
    """Ids in a branch's own stream of sources, in order."""
    return [stored.id for stored in store.read(source_stream(branch))]


def dump(store: Store) -> dict[str, Any]:
    """Everything that the ledger says, without times of the clock and document versions."""
    return {
        "branches": {branch.key: _branch(store, branch.key) for branch in list_branches(store)},
        "sessions": {session.key: _session(session) for session in list_sessions(store)},
    }


def _branch(store: Store, key: str) -> dict[str, Any]:
    (branch,) = [each for each in list_branches(store, key) if each.key == key]
    return {
        "branch": branch,
        "sources": [
            (stored.id, stored.weight, codec.source_entry(stored)) for stored in store.read(source_stream(key))
        ],
        "memory": read_own(store, branch),
        "marks": dict(store.tip(memory_stream(key)).marks),
        "waiting": outbox(store, branch),
    }


def _session(session: Any) -> dict[str, Any]:
    return {name: getattr(session, name) for name in session.__slots__ if name not in VOLATILE}


class Counting:
    """A store that counts its calls by name."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name not in CALLS:
            return found

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            return found(*args, **kwargs)

        return counted


class Broken(Exception):
    """The process died here."""


class Breaking:
    """A store that dies at its n-th call (0 first): before the call is done, or just after it."""

    def __init__(self, store: Store, at: int, *, after: bool) -> None:
        self.store = store
        self.left = at
        self.after = after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if name not in CALLS:
            return found

        def broken(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left < 0 and not self.after:
                raise Broken
            done = found(*args, **kwargs)
            if self.left < 0:
                raise Broken
            return done

        return broken


def weights(store: Store, branch: str = "neutral:s1") -> Mapping[str, int]:
    """Id → weight."""
    return {stored.id: stored.weight for stored in store.read(source_stream(branch))}

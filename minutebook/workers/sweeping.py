"""Which of the workers of a store on a server sweeps: each look at all branches costs every one of them the same."""

from collections.abc import Callable

from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store

SWEEPS, LAST = "sweeps", "last"
LONG = 1.5
"""Another one's sweep counts for so many times the pause between two: longer than that, and it may have died."""


class Sweeps:
    """When one process has to sweep. owner: its name."""

    def __init__(self, store: Store, owner: str, every_seconds: float) -> None:
        self._store = store
        self._owner = owner
        self._every_seconds = every_seconds
        self._writes: Callable[[], int] | None = getattr(store, "writes", None)
        self._seen: int | None = None
        self._first = True

    def due(self, seen: int | None) -> bool:
        """Whether something may have been missed since the last time that this was asked; then sweep.

        seen: the store's change counter. Where it counts less than all that is written, the store has a second one.
        """
        written = seen if self._writes is None else self._writes()
        if written is not None and written == self._seen:
            return False
        first, self._first = self._first, False
        turn = self._writes is None or self._takes_turn() or first
        self._seen = seen if self._writes is None else self._writes()  # its own note is no news
        return turn

    def _takes_turn(self) -> bool:
        """Whether no other worker has swept of late; from here on this one has."""
        now = self._store.now()
        last = self._store.get(SWEEPS, LAST)
        if last is not None:
            told = codec.from_json(last.body)
            if told.get("owner") != self._owner and 0 <= now - told.get("at", 0) < LONG * self._every_seconds:
                return False
        body = codec.to_json({"at": now, "owner": self._owner})
        done = self._store.put(Put(SWEEPS, LAST, body, if_version=last.version if last else 0))
        return not isinstance(done, Stale)

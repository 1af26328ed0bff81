"""Which of this store's sessions a pass looks at: all of them now and then, else those that may have something new."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from minutebook.errors import NotFound
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.outbox import OUTBOX, read_outbox
from minutebook.pipeline.readings import session_key_of
from minutebook.pipeline.sessions import SESSIONS, list_sessions
from minutebook.store.kernel import Store

WHOLE_SECONDS = 600.0
"""All sessions are looked at so often: the box may have been set back, or have thought about an old one again."""
ASK_SECONDS = 60.0
"""Why memory is not being made on the box is asked at most so often for one session."""
WARM_SECONDS = 1_800.0
"""A session in which something moved is asked about for so long: the box's workers may be at it."""


@dataclass(slots=True)
class Watch:
    """What this process knows of the sessions. It may forget all of it: then it looks at everything once more.

    stuck: session → why it could not be brought in step; it is tried again when it changes, and with all the others.
    kept: session → why it stays here, likewise. waiting: session → why its memory is not being made on the box. whole:
    whether all were due the last time.
    """

    store: Store
    stuck: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    whole: bool = False
    _versions: dict[str, int] = field(default_factory=dict)
    _done: dict[str, int] = field(default_factory=dict)
    _moved: dict[str, float] = field(default_factory=dict)
    _asked: dict[str, float] = field(default_factory=dict)
    _seen: int = -1
    _nothing_waits: int = -1
    _whole_at: float = 0.0

    def due(self, now: float | None = None) -> list[str]:
        """Keys of the sessions to look at, the one touched last first. now: monotonic seconds."""
        now = time.monotonic() if now is None else now
        self.whole = now >= self._whole_at
        if self.whole:
            self._whole_at = now + WHOLE_SECONDS
        self._look()
        waiting = set(self._waiting()) - self.stuck.keys()
        return [key for key in self._versions if self.whole or key in waiting or self._may_have_news(key, now)]

    def version_in_step(self, key: str) -> int | None:
        """The version at which the session was brought in step last, None when it never was."""
        return None if key in self.stuck or key in self.kept else self._done.get(key)

    def in_step(self, key: str, version: int, *, warm: bool) -> None:
        """The session was brought in step as it stood at that version. warm: something moved, here or there."""
        self._settled(key, version)
        if warm:
            self._moved[key] = time.monotonic()

    def failed(self, key: str, version: int, why: str) -> None:
        """It could not be, and trying the same again at once would not help."""
        self._settled(key, version)
        self.stuck[key] = why

    def keep(self, key: str, version: int, why: str) -> None:
        """It is not to be."""
        self._settled(key, version)
        self.kept[key] = why

    def may_ask(self, key: str) -> bool:
        """Whether it is time to ask about the session again."""
        now = time.monotonic()
        if now - self._asked.get(key, float("-inf")) < ASK_SECONDS:
            return False
        self._asked[key] = now
        return True

    def waits(self, key: str, why: str) -> None:
        """Its memory is not being made on the box, for that reason; "" when it is."""
        self.waiting.pop(key, None)
        if why:
            self.waiting[key] = why

    def _settled(self, key: str, version: int) -> None:
        self._done[key] = version
        for known in (self.stuck, self.kept):
            known.pop(key, None)
        self._moved.pop(key, None)

    def _may_have_news(self, key: str, now: float) -> bool:
        moved = self._moved.get(key)
        return self._done.get(key) != self._versions[key] or (moved is not None and now - moved < WARM_SECONDS)

    def _look(self) -> None:
        changes = self.store.changes(SESSIONS)
        if changes != self._seen:
            self._seen = changes
            self._versions = {session.key: session.version for session in list_sessions(self.store)}
            self.stuck = {key: why for key, why in self.stuck.items() if key in self._versions}
            self.kept = {key: why for key, why in self.kept.items() if key in self._versions}

    def _waiting(self) -> Iterator[str]:
        """Sessions with something in an outbox. Where none had anything, only a change of them can be news."""
        changes = self.store.changes(OUTBOX)
        if changes == self._nothing_waits:
            return
        found = False
        for document in self.store.documents(OUTBOX):
            with suppress(NotFound):
                if read_outbox(self.store, document.key).entries:
                    found = True
                    yield session_key_of(load_branch(self.store, document.key))
        if not found:
            self._nothing_waits = changes

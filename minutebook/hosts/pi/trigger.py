"""When Pi is asked to compact: two looks, one request at a time. Pure; Pi's extension only does what it is told.

The first look comes when Pi has settled, after retries, its own compaction and queued messages (003-060). The second
one comes when the handler of that event has returned (003-061). Neither waits for a worker (003-064).
"""

from dataclasses import dataclass, field

from minutebook.pipeline.clocks import Reading
from minutebook.pipeline.wording import tokens

CANCELLED = "Compaction cancelled"
"""What Pi says of a compaction that an extension or a person stopped."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What a person is told. level: info, warning or error."""

    level: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the extension does now: look again, ask for a compaction, or nothing."""

    look_again: bool = False
    compact: bool = False
    notices: tuple[Notice, ...] = field(default=())


@dataclass(slots=True)
class Trigger:
    """asked_at: monotonic seconds when one was asked for that has not ended. refused: we cancelled it ourselves."""

    asked_at: float | None = None
    refused: bool = False

    def first_look(self, due: bool, reading: Reading, now: float, deadline_seconds: float) -> Answer:
        """Pi has settled; due: whether the threshold is reached (003-063 counts, too)."""
        if not due or self._is_running(now, deadline_seconds):
            return Answer()
        reached = f"{tokens(reading.tokens)} tokens of context reached the threshold of {reading.threshold:,}"
        return Answer(look_again=True, notices=(Notice("info", f"Minutebook: {reached}; compacting"),))

    def second_look(self, due: bool, now: float, deadline_seconds: float, *, busy: bool) -> Answer:
        """The handler has returned. busy: the agent works again, or messages wait."""
        if self._is_running(now, deadline_seconds):
            return Answer()
        if busy:
            return Answer(notices=(DEFERRED,))
        if not due:
            return Answer(notices=(SKIPPED,))
        self.asked_at, self.refused = now, False
        return Answer(compact=True)

    def ended(self, how: str, cause: str = "") -> tuple[Notice, ...]:
        """The compaction that was asked for is over. how: complete, failed, or busy (it was not even asked for)."""
        was_refused, self.asked_at, self.refused = self.refused, None, False
        if how == "complete":
            return (Notice("info", "Minutebook: compaction complete"),)
        if how == "busy":
            return (DEFERRED,)
        if was_refused and cause == CANCELLED:
            return ()  # told already when it was refused (003-079)
        return (Notice("warning", f"Minutebook: the compaction failed: {cause or 'Pi did not say why'}"),)

    def _is_running(self, now: float, deadline_seconds: float) -> bool:
        return self.asked_at is not None and now - self.asked_at < deadline_seconds


DEFERRED = Notice("info", "Minutebook: compaction deferred, the agent is busy again; the next pause decides anew")
SKIPPED = Notice("info", "Minutebook: compaction skipped, it has been done meanwhile")

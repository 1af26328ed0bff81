"""What one pass between this machine and the box did."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

HEALED = "the box had lost memory and recorded another; it has both now, and so has this machine"

LEFT = "ended before it was done; the next pass does the rest. So far:"


@dataclass(slots=True, kw_only=True)
class Report:
    """Counts of entries, and session keys with the reason why they stay here or what failed.

    retaken: sessions of which the box had another memory.
    offered: memory of this machine's own (notes, confirmed folds) that the box put into its order. waiting: why memory
    that is due is not being made on the box. failure: why the pass ended before its end, "" when it did not.
    left: whether it did because somebody wanted to leave.
    """

    sources_sent: int = 0
    memory_sent: int = 0
    offered: int = 0
    sources_received: int = 0
    memory_received: int = 0
    sent: set[str] = field(default_factory=set)
    received: set[str] = field(default_factory=set)
    retaken: set[str] = field(default_factory=set)
    kept: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    failure: str = ""
    left: bool = False

    @property
    def moved(self) -> bool:
        """Whether anything went or came."""
        return bool(self.sent or self.received or self.retaken)

    @property
    def ok(self) -> bool:
        """Whether nothing failed; what stays here because somebody decided so is no failure."""
        return not self.failure and not self.failed and not self.left

    def remarks(self) -> Mapping[str, int]:
        """What else a person should know → of how many sessions."""
        kept = [f"kept here: {why}" for why in self.kept.values()]
        waiting = [f"memory is due on the box and not being made: {why}" for why in self.waiting.values()]
        return Counter([*kept, *waiting, *("failed: `om sync --once` says why" for _ in self.failed)])

    def lines(self) -> Iterator[str]:
        """The report for people."""
        if self.left:
            yield LEFT
        if self.failure:
            yield self.failure
        yield f"sent      {_of(self.sources_sent, self.memory_sent + self.offered, len(self.sent))}"
        yield f"received  {_of(self.sources_received, self.memory_received, len(self.received))}"
        if self.retaken:
            yield f"healed    {_counted(len(self.retaken), 'session')}: {HEALED}"
        for reason, count in sorted(Counter(self.kept.values()).items()):
            yield f"kept here {_counted(count, 'session')}: {reason}"
        for reason, count in sorted(Counter(self.waiting.values()).items()):
            yield f"waiting   {_counted(count, 'session')}: memory is due on the box and not being made: {reason}"
        for session, why in sorted(self.failed.items()):
            yield f"failed    {session}: {why}"


def _of(sources: int, memory: int, sessions: int) -> str:
    if not sessions:
        return "nothing new"
    entries = [_counted(sources, "source entry", "source entries"), _counted(memory, "memory entry", "memory entries")]
    return f"{' and '.join(entries)} of {_counted(sessions, 'session')}"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"

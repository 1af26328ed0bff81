"""What the memory entries of all roles have in common: their span, their mind, their producer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minutebook.pipeline.folds import PRODUCER
from minutebook.pipeline.outcomes import Entry, memory_entry
from minutebook.records import MemoryEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The span of one outcome. covers_id: host id of the last entry covered. time: ISO UTC. mind: "" for no mind."""

    since: int
    covers: int
    covers_id: str
    time: str
    mind: str = ""

    def entry(self, kind: str, data: Mapping[str, Any]) -> MemoryEntry:
        """A memory entry of this span that says who made it."""
        signed = {**data, "coversUpToId": self.covers_id, "producer": PRODUCER}
        if self.mind:
            signed["mind"] = self.mind
        return memory_entry(
            Entry(
                kind=kind,
                covers=self.covers,
                since=self.since,
                covers_id=self.covers_id,
                time=self.time,
                data=signed,
            )
        )

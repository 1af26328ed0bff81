"""A proposed observation before it is selected."""

import re
from dataclasses import dataclass, field

from minutebook.records import Relevance, observation_id
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import Proposal, Shown

LINE_OVERHEAD_TOKENS = 12
"""Id, time and relevance of a rendered line."""

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


@dataclass(slots=True, kw_only=True)
class Draft:
    """content, relevance and sources (in ledger order) of one proposal; order: place among all of the batch.

    replaces: ids of observations that it supersedes.
    """

    content: str
    relevance: Relevance
    sources: tuple[Shown, ...]
    order: tuple[int, int]
    replaces: list[str] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Estimated tokens of the rendered line."""
        return estimate_tokens(self.content) + LINE_OVERHEAD_TOKENS

    def time(self, now: str) -> str:
        """The time of the last source, or now where the host gave none."""
        stated = self.sources[-1].time
        return stated if _TIME.fullmatch(stated) else now

    def id(self, now: str) -> str:
        """The id that the desk will give."""
        return observation_id(self.content, self.time(now), tuple(one.placed.entry.id for one in self.sources))

    def proposal(self, now: str) -> Proposal:
        """The shape that the observer's desk takes."""
        shape = {
            "content": self.content,
            "timestamp": self.time(now),
            "relevance": self.relevance,
            "sources": [one.alias for one in self.sources],
        }
        return {**shape, "supersedes": list(self.replaces)} if self.replaces else shape


def in_ledger_order(*sources: Shown | None) -> tuple[Shown, ...]:
    """The given sources without gaps and doubles, oldest first."""
    unique = {one.placed.position: one for one in sources if one is not None}
    return tuple(unique[position] for position in sorted(unique))

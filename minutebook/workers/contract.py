"""What a role shows a mind, and what it takes back.

A mind reads a batch and hands proposals to the role's desk; the desk checks each one and answers with a receipt.
Returning from the call is the mind's own end of the run; any other end raises SpanFailed or ProviderFailed and
commits nothing. A mind never touches the store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from minutebook.pipeline.questions import Candidate
from minutebook.records import Observation, Placed, Reflection, Tier

Proposal = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A source entry as the mind sees it. text: entry_text, or a marked head-and-tail excerpt of it.

    time: YYYY-MM-DD HH:MM in the session's zone, question marks where the host gave none.
    """

    alias: str
    placed: Placed
    time: str
    text: str
    excerpted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveBatch:
    """sources: oldest first, whole. observations, reflections: a bounded share of active memory, oldest first.

    now: local YYYY-MM-DD HH:MM, the fallback time. zone: IANA name.
    """

    sources: tuple[Shown, ...]
    observations: tuple[Observation, ...]
    reflections: tuple[Reflection, ...]
    left_out: int
    now: str
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """An active observation with its coverage tier."""

    observation: Observation
    tier: Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectBatch:
    """All current reflections and active observations, oldest first. left_out: how many did not fit."""

    reflections: tuple[Reflection, ...]
    observations: tuple[Weighed, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestBatch:
    """What to fold into one replacement text of at most budget_tokens. previous: "" on a rebuild."""

    previous: str
    reflections: tuple[Reflection, ...]
    budget_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DropBatch:
    """The active pool over its target; max_drops is an upper bound that need not be reached.

    left_out: how many reflections and observations did not fit.
    """

    reflections: tuple[Reflection, ...]
    observations: tuple[Weighed, ...]
    pool_tokens: int
    target_tokens: int
    max_drops: int
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBatch:
    """records: in the order of the search that found them. limit: how many to rank at most.

    seconds: how long its asker waits for the ranking.
    """

    question: str
    records: tuple[Candidate, ...]
    limit: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The desk's answer to one recording call. refused: a sentence per refused proposal that names the wrong field.

    total: recorded in the whole run. ignored: unknown ids that were left out of proposals, or made up one.
    """

    recorded: int
    duplicate: int
    refused: tuple[str, ...]
    total: int
    ignored: int = 0


class Desk(Protocol):
    """Where a mind hands in proposals during one run."""

    def record(self, proposals: Sequence[Proposal]) -> Receipt:
        """Check and keep proposals.

        observer: {content, timestamp "YYYY-MM-DD HH:MM", relevance, sources: [alias], supersedes?: [observation id]}
        reflector: {content, supports: [observation id], supersedes?: [reflection id]}
        digester: {content}    dropper: {id, reason?}    judge: {id}, the best first
        """

    def nothing(self) -> None:
        """The explicit end: nothing to record, no safe drops, or nothing that helps."""


class Mind(Protocol):
    """What thinks for the roles."""

    @property
    def name(self) -> str:
        """Stored with every record: which mind made it."""

    def observe(self, batch: ObserveBatch, desk: Desk) -> None:
        """Propose observations of the sources."""

    def reflect(self, batch: ReflectBatch, desk: Desk) -> None:
        """Propose reflections on the observations."""

    def digest(self, batch: DigestBatch, desk: Desk) -> None:
        """Propose one replacement text."""

    def drop(self, batch: DropBatch, desk: Desk) -> None:
        """Propose observations to retire."""

    def judge(self, batch: JudgeBatch, desk: Desk) -> None:
        """Rank the records that help with a question."""

"""The extractive mind: every role without a model."""

from minutebook.workers.contract import Desk, DigestBatch, DropBatch, JudgeBatch, ObserveBatch, ReflectBatch
from minutebook.workers.extractive.digesting import digest
from minutebook.workers.extractive.dropping import drop
from minutebook.workers.extractive.judging import judge
from minutebook.workers.extractive.observing import observe
from minutebook.workers.extractive.reflecting import reflect


class ExtractiveMind:
    """Thinks by written rules: deterministic, offline, and every line quoted or assembled from its sources."""

    @property
    def name(self) -> str:
        """Stored with every record."""
        return "extractive"

    def observe(self, batch: ObserveBatch, desk: Desk) -> None:
        """Propose observations of the sources."""
        observe(batch, desk)

    def reflect(self, batch: ReflectBatch, desk: Desk) -> None:
        """Propose reflections on the observations."""
        reflect(batch, desk)

    def digest(self, batch: DigestBatch, desk: Desk) -> None:
        """Propose one replacement text."""
        digest(batch, desk)

    def drop(self, batch: DropBatch, desk: Desk) -> None:
        """Propose observations to retire."""
        drop(batch, desk)

    def judge(self, batch: JudgeBatch, desk: Desk) -> None:
        """Rank the records that help with a question."""
        judge(batch, desk)

"""What the runner and the four roles agree on. A role module has two functions: prepare and think."""

from dataclasses import dataclass
from typing import Protocol

from minutebook.pipeline.outcomes import Outcome
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers.contract import Mind


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a role may read for one run.

    now: ISO UTC. max_entries: at most so many source entries (after a span failed), None for no such limit.
    window: context window of the model that will think, None when unknown.
    """

    store: Store
    branch: Branch
    settings: Settings
    now: str
    max_entries: int | None = None
    window: int | None = None


class Prepared(Protocol):
    """A batch that is ready for a mind. start, entries: the span of sources in it (entries 0 for other roles)."""

    @property
    def start(self) -> int:
        """Position of the first source entry."""

    @property
    def entries(self) -> int:
        """How many source entries the span has."""


class Role(Protocol):
    """A role module, as the runner uses it."""

    def prepare(self, context: Context) -> Prepared | Outcome | None:
        """Read what is due: a batch; an Outcome that needs no mind; None when there is nothing to do."""

    def think(self, prepared: Prepared, mind: Mind) -> Outcome:
        """Show the batch to the mind and turn its accepted proposals into an outcome.

        Raises SpanFailed when the mind ended without an accepted proposal and without saying "nothing",
        and passes on what the mind raises.
        """

"""From dirty branches to jobs on the board. What is due is derived from the ledger each time; nothing is kept here."""

import logging
from collections.abc import Callable, Iterable
from itertools import chain

from minutebook.errors import MinutebookError, StoreBusy, StoreFull, StoreReadOnly, StoreUnreachable
from minutebook.pipeline import questions, workbook
from minutebook.pipeline.branches import find_branch, list_branches
from minutebook.pipeline.clocks import BranchState, due_roles, observe_reading
from minutebook.pipeline.readings import read_state
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Store

DIRTY_LIMIT = 200
WHOLE_STORE = (StoreBusy, StoreFull, StoreReadOnly, StoreUnreachable)
"""Errors that are no branch's own: the pass ends, and is done again."""
logger = logging.getLogger(__name__)


class Dispatcher:
    """Puts due work on the board, for all roles: who serves them is another matter.

    unreadable: branches of which it could not be told what is due when they were last looked at.
    """

    def __init__(self, store: Store, settings_for: Callable[[Branch], Settings]) -> None:
        self._store = store
        self._settings_for = settings_for
        self._flush_at: dict[str, float] = {}
        self.unreadable: set[str] = set()

    def take_dirty(self) -> bool:
        """Queue what is due on the dirty branches; True when there may be more of them."""
        taken = self._store.take_dirty(DIRTY_LIMIT)
        if not taken:
            return False
        # Read before anything is queued: a job that begins after this sees what made its branch dirty.
        running = {state.job for state in self._store.jobs(state="running")}
        due = {dirty: self._due_jobs(dirty.key) for dirty in taken}
        # A branch stays dirty while work that is due there is running: it may have begun before the branch moved.
        done = [dirty for dirty, jobs in due.items() if running.isdisjoint(jobs)]
        cleared = self._store.settle_dirty(*done, jobs=[*chain.from_iterable(due.values())])
        return len(taken) == DIRTY_LIMIT and cleared > 0

    def take_idle(self) -> None:
        """Queue what is due because a session went quiet."""
        now = self._store.now()
        for key in [key for key, at in self._flush_at.items() if at <= now]:
            del self._flush_at[key]
            self._queue(self._due_jobs(key))

    def sweep(self) -> None:
        """Queue what is due on any branch, whatever the board says."""
        for branch in list_branches(self._store):
            self._queue(self._due_jobs(branch.key, branch))
        self._queue(question.job for question in questions.open_questions(self._store))

    def forget_questions(self) -> None:
        """Remove questions for which nobody waits any more."""
        questions.forget_expired(self._store)

    def next_flush_at(self) -> float | None:
        """When the next session counts as idle, in the store's seconds."""
        return min(list(self._flush_at.values()), default=None)

    def _queue(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            self._store.queue(job)

    def _due_jobs(self, key: str, branch: Branch | None = None) -> list[Job]:
        """What is due on a branch; nothing where that cannot be told, which is noted."""
        try:
            branch = branch or find_branch(self._store, key)
            jobs = [] if branch is None else self._jobs_of(branch)
            self.unreadable.discard(key)
            return jobs
        except WHOLE_STORE:
            raise
        except Exception as error:
            self.unreadable.add(key)
            self._note(key, error)
            return []

    def _jobs_of(self, branch: Branch) -> list[Job]:
        settings = self._settings_for(branch)
        state = read_state(self._store, branch)
        due = due_roles(state, settings)
        self._note_flush(branch.key, state, settings, "observer" in due)
        return [Job(role, branch.lineage, branch.key) for role in due]

    def _note_flush(self, key: str, state: BranchState, settings: Settings, due: bool) -> None:
        """Look again when the session counts as idle, if that would make the observer due."""
        left = settings.flush_idle_seconds - state.idle_seconds
        if due or settings.passive or left <= 0 or observe_reading(state, settings).tokens < settings.flush_min_tokens:
            self._flush_at.pop(key, None)
        else:
            self._flush_at[key] = self._store.now() + left

    def _note(self, key: str, error: Exception) -> None:
        """One branch that cannot be read must not hold up the others."""
        said = str(error) if isinstance(error, MinutebookError) else f"{type(error).__name__}: {error}"
        logger.warning("%s: nothing is done on this branch: %s", key, said)
        kind = "settings" if isinstance(error, MinutebookError) else "bug"
        workbook.note_error(self._store, Job("observer", "", key), error, kind)

"""Tells the sessions that move what keeps their memory from being made: a model that cannot be asked, work not done.

Looked at when hooks rang and when a notice was written; without a session that moved lately, nothing is read.
"""

import logging
import time
from collections.abc import Callable, Iterator

from minutebook.errors import BadSetting
from minutebook.hosts import slots
from minutebook.hosts.bells import Bells
from minutebook.hosts.slots import Notice, Outage
from minutebook.pipeline.branches import find_branch
from minutebook.pipeline.clocks import observe_reading
from minutebook.pipeline.notices import NOTICES
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.sessions import find_session
from minutebook.pipeline.status import role_errors
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers import models_cooldowns
from minutebook.workers.models_cooldowns import GROWING

ROLES = ("observer", "reflector", "digester", "dropper")
ACTIVE_SECONDS = 600.0
"""A session that did not move for so long is told when it moves again."""
TELLS_FAILURES = frozenset({"pi"})
"""Hosts whose open sessions are told each failure as it happens."""
logger = logging.getLogger(__name__)


class SessionNotices:
    """Takes the bells in, then tells. Called like Bells, and answers what they answer."""

    def __init__(
        self,
        store_path: str,
        bells: Bells,
        settings_for: Callable[[Branch], Settings],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store_path = store_path
        self._bells = bells
        self._settings_for = settings_for
        self._clock = clock
        self._moved_at: dict[str, float] = {}
        self._notices = -1

    def __call__(self, store: Store) -> float | None:
        """One turn of the bells, and what is to be told by now."""
        again = self._bells(store)
        self._tell(store)
        return again

    def give_back(self) -> None:
        """The bells in hand, for whoever works on the store next."""
        self._bells.give_back()

    def _tell(self, store: Store) -> None:
        now, moved = self._clock(), self._bells.take_moved()
        if moved and not self._moved_at:
            slots.remove_old(self._store_path)
        self._moved_at |= dict.fromkeys(moved, now)
        self._moved_at = {key: at for key, at in self._moved_at.items() if now - at < ACTIVE_SECONDS}
        if not self._moved_at:
            return
        before, self._notices = self._notices, store.tip(NOTICES).length
        for key in self._moved_at if self._notices != before else moved:
            try:
                notify_session(store, self._store_path, key, self._settings_for)
            except (BadSetting, OSError) as error:
                logger.warning("%s is not told what it should know: %s", key, error)


def notify_session(store: Store, store_path: str, key: str, settings_for: Callable[[Branch], Settings]) -> list[Notice]:
    """Put what is new for a session into its slot; what that was. Raises BadSetting, OSError, StoreError."""
    session = find_session(store, key)
    branch = find_branch(store, session.branch) if session and session.branch and not session.agent else None
    if session is None or branch is None:
        return []
    settings = settings_for(branch)
    state = read_state(store, branch, session=session)
    told = slots.read_told(store_path, session.host, session.session)
    after, notices = slots.what_to_tell(
        told or slots.Told(store.now()),
        prompts=session.prompts,
        observed=state.observed,
        due=observe_reading(state, settings).reached and not (settings.passive or state.elsewhere),
        why=_why(store, branch),
        outages=() if session.host in TELLS_FAILURES else [*outages(store, settings)],
        after_turns=settings.notice_after_turns,
    )
    if after != told:
        slots.write_told(store_path, session.host, session.session, after)  # first: rather never told than twice
    slots.put_in_slot(store_path, session.host, session.session, notices)
    return notices


def _why(store: Store, branch: Branch) -> str:
    errors = [each.error for each in role_errors(store, branch) if each.role == "observer"]
    return errors[0].splitlines()[0] if errors else ""


def outages(store: Store, settings: Settings) -> Iterator[Outage]:
    """The configured models that failed last time in a way that waiting does not mend, each once."""
    chains = (choice for role in ROLES for choice in settings.chain_of(role))
    for choice in {(each.provider, each.id): each for each in chains}.values():
        failed = models_cooldowns.read(store, choice)
        if failed is not None and failed.kind in GROWING and failed.text:
            yield Outage(failed.model, failed.since, failed.at, failed.text)

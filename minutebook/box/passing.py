"""One pass: which sessions go to the box and which come, one by one, so that none holds up the others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from minutebook.box.client import Leaving
from minutebook.box.fetching import Fetching
from minutebook.box.stepping import Steps, has_parted
from minutebook.box.watching import WARM_SECONDS, Watch
from minutebook.box.wire import Listed, Me
from minutebook.errors import (
    BadInput,
    BoxDiverged,
    BoxFailed,
    BoxRefused,
    BoxUnreachable,
    NotFound,
    StoreBusy,
    StoreCorrupt,
)
from minutebook.pipeline.boxing import Lengths, owner_of, part_from_box
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.clocks import observe_reading
from minutebook.pipeline.ledger import chain_of
from minutebook.pipeline.readings import read_state, session_of
from minutebook.pipeline.sessions import Session, find_session
from minutebook.projects import project_name
from minutebook.records import Branch
from minutebook.settings import Settings

KEYS_AT_ONCE = 500
KEY_MAX_CHARACTERS = 1_000
FAILURES_MAX = 3
"""So many sessions in a row that the box answers with a fault of its own, and the pass is over."""
HEALED_MAX = 3
"""So often in one pass: a box may lose something while it is healed."""
TOLD_SECONDS = 7 * 86_400.0
"""Of a session that was touched since, the box is told once how it stands, even when it has all its entries."""
PARTED = "parted from the box: goes on on this machine alone"
REMOVED = "it was removed on the box"


class Kept(Exception):
    """A session that stays on this machine because somebody decided so. args: why."""


class Parted(Kept):
    """It goes on here alone, as one of its branches, or what that forked from, does."""


@dataclass(slots=True)
class Pass:
    """there: what the box has of branches, as it last said. done: branches that are in step."""

    settings: Settings
    watch: Watch
    steps: Steps
    me: Me
    there: dict[str, Lengths | None] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    failures: int = 0

    # -- this machine's sessions -------------------------------------------------------------------------------

    def send(self, keys: Sequence[str]) -> None:
        """Bring these sessions of this store in step with the box; of others' sessions only what is new there."""
        found = [find_session(self.steps.store, key) for key in keys]
        wanted = []
        for session in found:
            if session is not None and session.branches:
                with self._one(session.key, session.version):
                    check_sendable(session, self.settings, self.me)
                    wanted.append(session)
        self._ask_lengths([key for session in wanted for key in session.branches])
        for session in wanted:
            with self._one(session.key, session.version):
                (self._follow if owner_of(session.key) else self._session)(session)

    def _follow(self, session: Session) -> None:
        """Another user's session."""
        for key in session.branches:
            if there := self.there.get(key):
                self.steps.bring_copy(session, load_branch(self.steps.store, key), there)
        self._in_step(session)

    def _session(self, session: Session) -> None:
        try:
            for key in session.branches:
                self._chain(load_branch(self.steps.store, key))
        except Parted as parted:  # a branch that stayed the box's would be thought about nowhere
            for key in session.branches:
                part_from_box(self.steps.store, load_branch(self.steps.store, key), str(parted))
            raise
        if session.key not in self.steps.report.sent and self._is_untold(session):
            current = session.branch if session.branch in session.branches else session.branches[-1]
            if there := self.there.get(current):
                self.steps.tell_session(as_told(session), load_branch(self.steps.store, current), there)
        self._in_step(session)
        self._look_after(session)

    def _look_after(self, session: Session) -> None:
        """Where an observer would be due by now, ask the box why: whether its workers live is seen nowhere else."""
        if self.there.get(session.branch) is None:
            return
        branch = load_branch(self.steps.store, session.branch)
        state = read_state(self.steps.store, branch, session=session)
        if not observe_reading(state, self.settings).reached:
            self.watch.waits(session.key, "")
        elif self.watch.may_ask(session.key):
            self.watch.waits(session.key, self.steps.client.why_not_made(branch.key))

    def _in_step(self, session: Session) -> None:
        moved = session.key in self.steps.report.sent or session.key in self.steps.report.received
        self.watch.in_step(session.key, session.version, warm=moved or self._idle_seconds(session) < WARM_SECONDS)

    def _idle_seconds(self, session: Session) -> float:
        return abs(self.steps.store.now() - session.touched)

    def _is_untold(self, session: Session) -> bool:
        """Whether it may stand otherwise than the box knows."""
        known = self.watch.version_in_step(session.key)
        return known != session.version and (known is not None or self._idle_seconds(session) < TOLD_SECONDS)

    def _chain(self, branch: Branch) -> None:
        """The branch after those that it shares something with."""
        for each in chain_of(self.steps.store, branch):
            if each.key not in self.done and not owner_of(each.key):
                self._step(each)
                self.done.add(each.key)

    def _step(self, branch: Branch) -> None:
        session = session_of(self.steps.store, branch)
        if session is None:
            raise NotFound(f"{branch.key}: its session is not in this store")
        check_sendable(session, self.settings, self.me)
        if has_parted(self.steps.store, branch.key):
            raise Parted(PARTED)
        if branch.key not in self.there:
            self._ask_lengths([branch.key])
        try:
            self._heal_and_exchange(as_told(session), branch)
        except BoxDiverged as error:
            part_from_box(self.steps.store, branch, str(error))
            raise
        except BoxFailed as error:
            if error.status != 410:
                raise
            part_from_box(self.steps.store, branch, REMOVED)
            raise Parted(PARTED) from error

    def _heal_and_exchange(self, session: Session, branch: Branch) -> None:
        """Where a memory is another one on the box than here, its own or one that it shares, that is healed first."""
        for _ in range(HEALED_MAX):
            try:
                self._exchange(session, branch)
            except BoxDiverged:
                if not self._healed(branch):
                    raise
                self._ask_lengths([branch.key])
                branch = load_branch(self.steps.store, branch.key)
            else:
                return
        raise StoreBusy(f"{branch.key}: the box loses memory while it is healed; try again")

    def _healed(self, branch: Branch) -> bool:
        found = False
        for each in chain_of(self.steps.store, branch):
            session = None if owner_of(each.key) else session_of(self.steps.store, each)
            if session is not None:
                found = self.steps.heal(as_told(session), each) or found
        return found

    def _exchange(self, session: Session, branch: Branch) -> None:
        there = self.steps.send(session, branch, self.there[branch.key])
        self.steps.bring(session, branch, there)
        offered = self.steps.offer(session, branch)
        if offered is not None:
            there = offered
            self.steps.bring(session, branch, there)
        self.there[branch.key] = there

    def _ask_lengths(self, keys: Sequence[str]) -> None:
        for at in range(0, len(keys), KEYS_AT_ONCE):
            self.there |= self.steps.client.lengths(keys[at : at + KEYS_AT_ONCE])

    # -- those of other machines -------------------------------------------------------------------------------

    def fetch(self, after: str, *, team: bool) -> str:
        """Bring what other machines sent to the box since that cursor; the next one."""
        fetching = Fetching(self.steps, self.me, team, after, frozenset(self.watch.kept))
        waiting = list(fetching.news())
        while waiting:
            left = [listed for listed in waiting if not self._fetched(fetching, listed)]
            if len(left) == len(waiting):
                for listed in left:
                    self.watch.kept[listed.session.key] = "what it shares with another session is not for this token"
                break
            waiting = left
        return fetching.cursor

    def _fetched(self, fetching: Fetching, listed: Listed) -> bool:
        """Whether there is nothing more to be done for it in this pass."""
        with self._one(listed.session.key, -1):
            try:
                self._in_step(fetching.take(listed))
            except NotFound:
                return False
        return True

    # -- one by one --------------------------------------------------------------------------------------------

    @contextmanager
    def _one(self, key: str, version: int) -> Iterator[None]:
        """What fails for one session is noted and holds up no other, unless it is the box or the store that fails."""
        try:
            yield
            self.failures = 0
        except Kept as kept:
            self.watch.keep(key, version, str(kept))
        except (Leaving, BoxUnreachable):
            raise
        except BoxFailed as error:
            if isinstance(error, BoxRefused) and error.status == 401:
                raise
            self.watch.failed(key, version, str(error))
            self._count(error)
        except (BadInput, StoreCorrupt) as error:
            self.watch.failed(key, version, str(error))
        except (NotFound, StoreBusy) as error:  # removed or written to meanwhile: the next pass sees
            self.steps.report.failed[key] = str(error)

    def _count(self, error: BoxFailed) -> None:
        if error.status == 0 or error.status >= 500:
            self.failures += not isinstance(error, BoxDiverged)
        if self.failures >= FAILURES_MAX:
            raise error


def check_sendable(session: Session, settings: Settings, me: Me) -> None:
    """Raise Kept where the settings or the token say that it stays here."""
    if owner_of(session.key):
        return
    name = project_name(session.project)
    if not _fits(name, settings.box_projects):
        raise Kept(f"project {name} is not in box_projects")
    if not _fits(name, me.projects):
        raise Kept(f"the token is not for project {name}")
    if any(len(key) > KEY_MAX_CHARACTERS for key in session.branches):
        raise Kept("its id is too long for a box")


def as_told(session: Session) -> Session:
    """The session as the box is to know it: with its project's name instead of a folder of this machine."""
    return replace(session, project=project_name(session.project))


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

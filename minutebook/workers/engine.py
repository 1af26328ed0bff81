"""The engine of one process: a dispatcher thread that derives what is due, and a lane of worker threads for each role.

Any number of engines may work on one store; the board's claims keep them apart. Losing all that is in memory here, and
the queues, costs time and nothing else.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from minutebook.debuglog import DebugLog
from minutebook.errors import StoreError, StoreUnreachable
from minutebook.store.kernel import Job, JobState, Store
from minutebook.workers.contract import Mind
from minutebook.workers.dispatching import WHOLE_STORE, Dispatcher
from minutebook.workers.leases import Leases
from minutebook.workers.outages import Outage
from minutebook.workers.owners import new_owner, release_the_dead
from minutebook.workers.queues import Lane, queues_of
from minutebook.workers.run_notices import Tell, nobody
from minutebook.workers.runner import Minds, RoleModules, SettingsFor, role_module, run_job
from minutebook.workers.sweeping import Sweeps
from minutebook.workers.waking import change_counter, check_file, waker_of

MEMORY_ROLES = ("observer", "reflector", "digester", "dropper")
ALL_ROLES = (*MEMORY_ROLES, "judge")
STOP_SECONDS = 30.0
PAUSE_AFTER_ERROR_SECONDS = 1.0
Verdict = Literal["busy", "waiting", "idle"]
"""waiting: nothing left but jobs that pause after a failure."""
logger = logging.getLogger(__name__)


class Engine:
    """Works off what is due on a store, in threads.

    minds: role, settings and branch → mind; mind: one for all. settings_for: branch → settings, asked for each job.
    roles: those that this process serves. concurrency: jobs of one role at once. queue_path, wake_path: beside the
    store, or on its server, when None. intake: called before each look at the board, to take in what hooks announced;
    it may give the seconds after which it wants to be called again, because it is not done.
    role_modules: role → what prepares and thinks. tell: whom to tell of starts, outcomes and failures. failure: why it
    ended by itself. worked_at, answered_at: monotonic seconds of the last job, and of the last time that the store
    answered.
    """

    def __init__(
        self,
        store: Store,
        *,
        settings_for: SettingsFor,
        minds: Minds | None = None,
        mind: Mind | None = None,
        roles: Sequence[str] = ALL_ROLES,
        concurrency: int = 2,
        queue_path: Path | None = None,
        wake_path: str | None = None,
        sweep_seconds: float = 60.0,
        log: DebugLog | None = None,
        intake: Callable[[], object] | None = None,
        role_modules: RoleModules = role_module,
        tell: Tell = nobody,
    ) -> None:
        self._store = store
        self._settings_for = settings_for
        self._minds = minds or _always(mind)
        self._roles = tuple(roles)
        self._sweep_seconds = sweep_seconds
        self._log = log or DebugLog(False, Path())
        self._intake = intake
        self._intake_at: float | None = None
        self._role_modules = role_modules
        self._tell = tell
        self._owner = new_owner()
        self._dispatcher = Dispatcher(store, settings_for)
        self._leases = Leases(store)
        queues = queues_of(store, queue_path)
        self._lanes = [
            Lane(role, queues, threads=concurrency, run=self._run_job, done=self.wake) for role in self._roles
        ]
        self._waker = waker_of(store, wake_path)  # holds sockets, so after whatever may fail
        self._outage = Outage()
        self._thread = threading.Thread(target=self._dispatch, name="minutebook-dispatcher", daemon=True)
        self._halted = threading.Event()
        self.failure: StoreError | None = None
        self._looked = threading.Condition()
        self._listening = True
        self.worked_at = self.answered_at = time.monotonic()
        self._asked = 0
        self._answered = 0
        self._watching = 0
        self._verdict: Verdict = "busy"
        self._sweep_at = 0.0
        self._swept_at = 0.0
        self._sweeps = Sweeps(store, self._owner, sweep_seconds)

    def __enter__(self) -> "Engine":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the threads; the first thing is a sweep over all branches. Once started, does nothing."""
        if self._thread.ident is None:
            for lane in self._lanes:
                lane.start()
            self._thread.start()

    def wake(self) -> None:
        """Look at the board now: something was written in this process."""
        self._waker.wake()

    def run_until_idle(self, timeout_seconds: float | None = None) -> bool:
        """Work until no branch is dirty and no job of our roles is pending or running, anywhere.

        False at the timeout, and when only jobs are left that pause after a failure.
        """
        return self.wait_quiet(timeout_seconds) == "idle"

    def wait_quiet(self, timeout_seconds: float | None = None) -> Verdict:
        """Like run_until_idle, and tells how it ended: idle, waiting, or busy still."""
        self.start()
        return self._ask(("idle", "waiting"), timeout_seconds)

    def look(self) -> Verdict:
        """What there is to do, after one more look at the board."""
        return self._ask(("idle", "waiting", "busy"), None)

    def unreadable(self) -> frozenset[str]:
        """Branches of which it could not be told what is due: wrong settings of a project, most often."""
        return frozenset(self._dispatcher.unreadable)

    def listen(self, on: bool) -> None:
        """Whether hooks find a worker here, from the next look on."""
        self._listening = on

    def expects_work(self) -> bool:
        """Whether a session will be observed when it has been idle for long enough, or intake is not done."""
        return self._intake_at is not None or self._dispatcher.next_flush_at() is not None

    def stop(self, timeout_seconds: float = STOP_SECONDS) -> bool:
        """Finish the jobs in hand and end; False when one was still in hand at the timeout, and was released."""
        give_up_at = time.monotonic() + timeout_seconds
        with self._looked:
            self._halted.set()
            self._looked.notify_all()
        self._waker.wake()
        for lane in self._lanes:
            lane.stop()
        if self._thread.ident is not None:
            self._thread.join()
        ended = [lane.join(max(0.0, give_up_at - time.monotonic())) for lane in self._lanes]
        if not all(ended):
            self._leases.release_all("its worker was stopped")
        self._leases.stop()
        self._waker.close()
        return all(ended)

    # -- the dispatcher's thread -------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        while not self._halted.is_set():
            try:
                # Both before the look: what is written during it is looked at again, a clock set back in it is seen.
                seen, began = change_counter(self._store), self._store.now()
                asked = self._asked
                self._pass(seen)
                self._answer(asked)
                self._outage.over()
                self._sleep(seen, began)
            except StoreError as error:
                self._store_failed(error)
            except Exception:
                logger.exception("a look at the board failed; it is done again")
                self._halted.wait(PAUSE_AFTER_ERROR_SECONDS)

    def _store_failed(self, error: StoreError) -> None:
        """A store that is busy, full or away is tried again; with one that cannot be used at all the engine ends."""
        if isinstance(error, WHOLE_STORE):
            self._outage.begun(error)
            if isinstance(error, StoreUnreachable):  # the ear may be as dead as the rest, and never be told
                self._waker.deafen()
            self._halted.wait(self._outage.next_pause())
            return
        with self._looked:
            self.failure = error
            self._halted.set()
            self._looked.notify_all()

    def _pass(self, seen: int | None) -> None:
        if self._listening:
            self._waker.listen()
        else:
            self._waker.deafen()
        self._take_in()
        self._sweep_when_due(seen)
        self._dispatcher.take_idle()
        while self._dispatcher.take_dirty():
            pass
        for lane in self._lanes:
            ready = self._store.ready([lane.role], 2 * lane.threads)
            if ready:
                lane.send([state.job for state in ready])

    def _take_in(self) -> None:
        again = None
        try:
            if self._intake is not None:
                again = self._intake()
        except Exception:
            logger.exception("intake failed; it is done again")
        self._intake_at = None
        if isinstance(again, float):
            self._intake_at, self.worked_at = self._store.now() + again, time.monotonic()

    def _sweep_when_due(self, seen: int | None) -> None:
        now = self._store.now()
        went_back = now < self._swept_at
        if not went_back and now < self._sweep_at:
            return
        self._swept_at, self._sweep_at = now, now + self._sweep_seconds
        check_file(self._store)
        self._store.rewind_times()
        release_the_dead(self._store)
        self._dispatcher.forget_questions()  # they expire by time alone
        if self._sweeps.due(seen) or went_back:
            self._dispatcher.sweep()

    def _sleep(self, seen: int | None, began: float) -> None:
        """Until woken, until something was written, or until time makes something due or goes back.

        What all workers are told is left to those that have a thread free, as long as none is here.
        """
        until, left_to_others = self._next_at(), False
        while not self._halted.is_set() and self._asked == self._answered:
            now = self._store.now()
            self.answered_at = time.monotonic()
            left = until - now
            woken = self._waker.wait(min(self._waker.poll_seconds, left))
            if woken and self._waker.only_told and all(lane.is_full for lane in self._lanes):
                left_to_others = True
                continue
            if woken or left <= self._waker.poll_seconds:
                return
            counter = change_counter(self._store)
            if counter != seen and not left_to_others:
                self._waker.missed()
            if counter is None or counter != seen or now < began:
                return

    def _next_at(self) -> float:
        now = self._store.now()
        ready_at, flush_at = self._store.next_ready_at(self._roles), self._dispatcher.next_flush_at()
        if ready_at is not None and ready_at <= now:  # it waits for a thread, or is being taken
            ready_at = now + self._waker.poll_seconds
        return min(at for at in (ready_at, flush_at, self._intake_at, self._sweep_at) if at is not None)

    def _ask(self, enough: Sequence[Verdict], timeout_seconds: float | None) -> Verdict:
        with self._looked:
            self._asked += 1
            self._watching += 1
            mine = self._asked
            self._waker.wake()
            self._looked.wait_for(
                lambda: (self._answered >= mine and self._verdict in enough) or self._halted.is_set(), timeout_seconds
            )
            self._watching -= 1
            if self.failure is not None:
                raise self.failure
            return self._verdict if self._answered >= mine else "busy"

    def _answer(self, asked: int) -> None:
        """Tell those who wait how it stands. Here, because only this thread turns dirty branches into jobs."""
        verdict = self._judge() if self._watching else "busy"
        with self._looked:
            self._answered, self._verdict = asked, verdict
            self._looked.notify_all()

    def _judge(self) -> Verdict:
        if self._intake_at is not None or self._store.ready(self._roles, 1):  # cheap, however long the board is
            return "busy"
        jobs = [state for state in self._store.jobs() if state.job.role in self._roles]
        if any(not _pausing(state, self._store.now()) for state in jobs) or self._store.take_dirty(1):
            return "busy"
        return "waiting" if jobs else "idle"

    # -- a worker's thread -------------------------------------------------------------------------------------

    def _run_job(self, job: Job) -> None:
        self.worked_at = time.monotonic()
        try:
            run_job(
                self._store,
                job,
                minds=self._minds,
                settings_for=self._settings_for,
                owner=self._owner,
                log=self._log,
                leases=self._leases,
                roles=self._role_modules,
                tell=self._tell,
            )
        except StoreUnreachable as error:
            self._outage.begun(error)  # what cannot be written is derived again
        except StoreError as error:
            logger.warning("%s of %s: the job is done again: %s", job.role, job.branch, error)
            self._halted.wait(PAUSE_AFTER_ERROR_SECONDS)
        except Exception:
            logger.exception("%s of %s failed; the job is done again", job.role, job.branch)
            self._halted.wait(PAUSE_AFTER_ERROR_SECONDS)
        self.worked_at = time.monotonic()


def _pausing(state: JobState, now: float) -> bool:
    return state.state == "pending" and state.not_before > now


def _always(mind: Mind | None) -> Minds:
    if mind is None:
        raise ValueError("an engine needs minds, or a mind")
    return lambda role, settings, branch: mind

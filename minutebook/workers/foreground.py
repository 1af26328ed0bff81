"""A worker process in the foreground: starts an engine, waits for a reason to leave, and leaves in order."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

from minutebook.debuglog import DebugLog
from minutebook.places import data_dir
from minutebook.settings_loading import load
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.workers.choosing import ProjectSettings, minds_of
from minutebook.workers.engine import ALL_ROLES, STOP_SECONDS, Engine
from minutebook.workers.health import Health
from minutebook.workers.holding import Hold
from minutebook.workers.opening import open_patiently
from minutebook.workers.run_notices import teller_of
from minutebook.workers.runner import Minds, SettingsFor
from minutebook.workers.stopping import Stopped

START_AGAIN = -1
"""What run_worker returns of a worker that is to start anew."""
SETTINGS_SECONDS = 5.0
"""How soon a worker that hooks started sees that the settings have changed."""
LOOK_SECONDS = 0.25
"""How soon a signal is obeyed. Python runs its handler at once; this is for the thread that waits for it."""


def run_worker(
    store_url: str,
    roles: Sequence[str] = ALL_ROLES,
    concurrency: int | None = None,
    until_idle: bool = False,
    idle_exit_seconds: float | None = None,
    *,
    minds: Minds | None = None,
    settings_for: SettingsFor | None = None,
    intake: Callable[[Store], object] | None = None,
    stop_seconds: float = STOP_SECONDS,
    health: Path | None = None,
    hold: Hold | None = None,
    outdated: Callable[[], bool] | None = None,
) -> int:
    """Work on a store until a signal to stop, until idle, or until idle for so long; returns the exit code.

    concurrency: jobs of one role at once, the setting when None. intake: takes in what hooks announced, and gives the
    seconds after which it goes on. health: a file that is touched while all is well. hold: of the worker that hooks
    started. outdated: whether the settings have changed; asked now and then; START_AGAIN is returned when no job
    is in hand. 1: only jobs that pause after a failure are left, or a branch whose settings or state cannot be read.
    Raises BadSetting of the global settings, and StoreError when the store cannot be used. A store on a server that
    does not answer is waited for by a worker that was to stay.
    """
    settings = load(None, {}).settings
    with stop_on_signals() as stopped:
        stays = not until_idle and idle_exit_seconds is None
        store = open_patiently(store_url) if stays else open_store(store_url)
        if store is None:
            return 0
        with closing(store):
            engine = Engine(
                store,
                settings_for=settings_for or ProjectSettings(),
                minds=minds or minds_of(store),
                roles=roles,
                concurrency=concurrency or settings.worker_concurrency,
                sweep_seconds=settings.sweep_seconds,
                log=DebugLog(settings.debug_log, data_dir()),
                intake=None if intake is None else lambda: intake(store),
                tell=teller_of(store),
            )
            telling = Health(health, lambda: engine.answered_at)
            try:
                engine.start()
                if until_idle:
                    return _until_idle(engine, stopped)
                code = _until_left(engine, stopped, idle_exit_seconds, telling, hold, outdated)
            finally:
                telling.end()
                engine.stop(stop_seconds)
                give_back: Callable[[], None] | None = getattr(intake, "give_back", None)
                if give_back is not None:
                    give_back()
            return 0 if stopped.is_set() else code


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM, SIGINT and SIGHUP set; the second signal does what it always did. Main thread only.

    A worker that was started with nohup outlives its terminal.
    """
    stopped = Stopped()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    if before[signal.SIGHUP] == signal.SIG_IGN:
        del before[signal.SIGHUP]

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, stop)
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _until_idle(engine: Engine, stopped: threading.Event) -> int:
    while not stopped.is_set():
        verdict = engine.wait_quiet(LOOK_SECONDS)
        if verdict == "busy":
            continue
        engine.listen(False)  # who rings from here on starts a worker
        if engine.look() != "busy":
            return 0 if verdict == "idle" and not engine.unreadable() else 1
        engine.listen(True)
    return 0


def _until_left(
    engine: Engine,
    stopped: threading.Event,
    idle_exit_seconds: float | None,
    health: Health,
    hold: Hold | None,
    outdated: Callable[[], bool] | None,
) -> int:
    look_at = None if idle_exit_seconds is None else time.monotonic() + idle_exit_seconds
    settings_at = time.monotonic() + SETTINGS_SECONDS
    while not stopped.wait(LOOK_SECONDS):
        health.tell()
        if engine.failure is not None:
            raise engine.failure
        if outdated is not None and time.monotonic() >= settings_at:
            if outdated() and engine.look() != "busy":
                return START_AGAIN
            settings_at = time.monotonic() + SETTINGS_SECONDS
        if idle_exit_seconds is None or look_at is None or time.monotonic() < look_at:
            continue
        look_at = engine.worked_at + idle_exit_seconds
        if time.monotonic() >= look_at:
            if leaves(engine, hold):
                return 0
            look_at = time.monotonic() + idle_exit_seconds
    return 0


def leaves(engine: Engine, hold: Hold | None = None) -> bool:
    """Leave when idle, so that no hook is left without a worker.

    First nobody finds us any more; then, whoever rings may start another worker; then one last look at what was left
    before that. If there is something, we stay, unless another worker was started meanwhile.
    """
    if engine.look() != "idle" or engine.expects_work():
        return False
    engine.listen(False)
    engine.look()  # from here on we are deaf
    if hold is not None:
        hold.release()
    if engine.look() == "idle":
        return True
    if hold is not None and not hold.take():
        return True
    engine.listen(True)
    return False

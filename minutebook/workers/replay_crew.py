"""Who works while a session is replayed: an engine beside it, or one drained after each delivery."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from minutebook.pipeline.readings import read_state, session_key_of
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers.contract import Desk, DigestBatch, DropBatch, JudgeBatch, Mind, ObserveBatch, ReflectBatch
from minutebook.workers.dispatching import Dispatcher
from minutebook.workers.engine import MEMORY_ROLES, Engine
from minutebook.workers.runner import Minds, SettingsFor

LAG_THRESHOLDS = 2
"""A live agent leaves the workers minutes between two turns, a replay none: it waits for them when they are so many
times observe_after_tokens behind."""


class ReplaySettings:
    """The settings of the sessions that are replayed; any other session in the store is left alone."""

    def __init__(self) -> None:
        self._of: dict[str, Settings] = {}

    def put(self, session: str, settings: Settings) -> None:
        """From here on the session's branches have work due by these settings."""
        self._of[session] = settings

    def __call__(self, branch: Branch) -> Settings:
        return self._of.get(session_key_of(branch), _LEFT_ALONE)


_LEFT_ALONE = Settings(passive=True)


class Stopwatch:
    """Seconds that each role thought, from any thread."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def timing(self, role: str) -> Iterator[None]:
        """Count the block."""
        began = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._seconds[role] += time.perf_counter() - began  # type: ignore[assignment]

    def seconds(self, role: str) -> float:
        """So far."""
        with self._lock:
            return float(self._seconds[role])


class TimedMind:
    """A mind whose thinking is timed."""

    def __init__(self, mind: Mind, watch: Stopwatch) -> None:
        self._mind = mind
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mind, name)

    @property
    def name(self) -> str:
        return self._mind.name

    def observe(self, batch: ObserveBatch, desk: Desk) -> None:
        with self._watch.timing("observer"):
            self._mind.observe(batch, desk)

    def reflect(self, batch: ReflectBatch, desk: Desk) -> None:
        with self._watch.timing("reflector"):
            self._mind.reflect(batch, desk)

    def digest(self, batch: DigestBatch, desk: Desk) -> None:
        with self._watch.timing("digester"):
            self._mind.digest(batch, desk)

    def drop(self, batch: DropBatch, desk: Desk) -> None:
        with self._watch.timing("dropper"):
            self._mind.drop(batch, desk)

    def judge(self, batch: JudgeBatch, desk: Desk) -> None:
        with self._watch.timing("judge"):
            self._mind.judge(batch, desk)


class Crew(Protocol):
    """The workers of a replay."""

    def delivered(self, branch: Branch) -> None:
        """Something was taken in on the branch."""

    def drain(self) -> None:
        """Work off everything that is due."""


class Alongside:
    """An engine that works while turns come in, as live; only far behind is it waited for."""

    def __init__(self, engine: Engine, store: Store, settings_for: SettingsFor) -> None:
        self._engine = engine
        self._store = store
        self._settings_for = settings_for

    def delivered(self, branch: Branch) -> None:
        settings = self._settings_for(branch)
        lag = read_state(self._store, branch).unobserved_tokens
        if lag >= LAG_THRESHOLDS * settings.observe_after_tokens:
            self._engine.run_until_idle()
        else:
            self._engine.wake()

    def drain(self) -> None:
        self._engine.run_until_idle()


class StepByStep:
    """Nobody works while a turn is taken in; then one role after the other does, in a fixed order.

    Each role gets an engine of its own while it has something to do, so the same session gives the same memory. That a
    replay was killed changes nothing either: it begins with a sweep, and what the dead one had in hand is waited for.
    """

    def __init__(self, store: Store, settings_for: SettingsFor, engine_of: Callable[[str], Engine]) -> None:
        self._store = store
        self._dispatcher = Dispatcher(store, settings_for)
        self._engine_of = engine_of
        self._swept = False

    def delivered(self, branch: Branch) -> None:
        self.drain()

    def drain(self) -> None:
        if not self._swept:
            self._dispatcher.sweep()
            self._swept = True
        while (role := self._first_due()) is not None:
            with self._engine_of(role) as engine:
                engine.run_until_idle()

    def _first_due(self) -> str | None:
        while self._dispatcher.take_dirty():
            pass
        running = {state.job.role for state in self._store.jobs(state="running")}
        return next((role for role in MEMORY_ROLES if role in running or self._store.ready([role], 1)), None)


@contextmanager
def crew_of(store: Store, settings_for: SettingsFor, minds: Minds, *, concurrency: int, step: bool) -> Iterator[Crew]:
    """The workers, until the end of the block; they finish what they have in hand."""

    def engine(*roles: str, threads: int) -> Engine:
        return Engine(store, settings_for=settings_for, minds=minds, roles=roles, concurrency=threads)

    if step:
        yield StepByStep(store, settings_for, lambda role: engine(role, threads=1))
        return
    with engine(*MEMORY_ROLES, threads=concurrency) as working:
        yield Alongside(working, store, settings_for)

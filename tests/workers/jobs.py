"""What the tests of runner and engine share: a store with a clock that stands, sessions of a stated size, scripts."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from builders import ScriptedMind, deliver, reply

from minutebook.debuglog import DebugLog
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Store
from minutebook.workers.contract import Desk, Mind, ObserveBatch, ReflectBatch
from minutebook.workers.engine import Engine
from minutebook.workers.queues import FileQueues, Queues, queues_of
from minutebook.workers.runner import Ran, run_job

BACKENDS = ("sqlite", "redis")
ROLES = ("observer", "reflector", "digester", "dropper")
WAIT = 60
OFF = DebugLog(False, Path())
SMALL = Settings(observe_after_tokens=50, reflect_after_tokens=10_000, flush_min_tokens=40, retry_first_seconds=5)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def session_of_entries(store: Store, count: int, session: str = "s1", *, start: int = 0, **more: Any) -> Branch:
    """A session of `count` entries of about 30 tokens each, ids e0, e1, …; start: the first one to deliver now."""
    events = [
        reply(f"entry {number} of {session}: " + "some words to weigh " * 5, id=f"{session}-e{number}")
        for number in range(start, count)
    ]
    return deliver(store, events, session, **more)


def observer_of(branch: Branch) -> Job:
    return Job("observer", branch.lineage, branch.key)


def observe_each(batch: ObserveBatch, desk: Desk) -> None:
    """A script: one observation for each source, with its id in it."""
    desk.record(
        [
            {
                "content": f"saw {shown.placed.entry.id}",
                "timestamp": "2026-05-02 10:30",
                "relevance": "low",
                "sources": [shown.alias],
            }
            for shown in batch.sources
        ]
    )


def do_all(batch: Any, desk: Desk) -> None:
    """A script for observer and reflector, which concludes two things; the others have nothing to do."""
    if isinstance(batch, ObserveBatch):
        observe_each(batch, desk)
    elif isinstance(batch, ReflectBatch):
        ids = [weighed.observation.id for weighed in batch.observations]
        contents = [f"conclusion {number} from {len(ids)} observations up to {ids[-1]}" for number in (1, 2)]
        desk.record([{"content": content, "supports": ids[:1]} for content in contents])
    else:
        desk.nothing()


def observing_mind() -> ScriptedMind:
    return ScriptedMind(do_all)


def sent_ids(mind: ScriptedMind) -> list[list[str]]:
    """Of each request to an observer, the entry ids."""
    return [[shown.placed.entry.id for shown in batch.sources] for batch in mind.batches]


class Gate:
    """A script that waits in the middle of a run: entered is set when it is there, open lets it go on."""

    def __init__(self, then: Any = observe_each) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        self._then = then

    def __call__(self, batch: Any, desk: Desk) -> None:
        self.entered.set()
        assert self.open.wait(WAIT)
        self._then(batch, desk)


def contents(memory: Any) -> Sequence[str]:
    return [held.record.content for held in memory.observations.values()]


def engine(store: Store, mind: Mind, settings: Settings = SMALL, **more: Any) -> Engine:
    return Engine(store, mind=mind, settings_for=lambda branch: settings, **more)


def store_path(store: Store) -> Path:
    return Path(store.url.removeprefix("sqlite:///"))


def messages(path: Path) -> list[bytes]:
    """What waits in a queues' file."""
    return _messages(FileQueues(path))


def waiting(store: Store) -> list[bytes]:
    """What waits in the store's queues."""
    return _messages(queues_of(store))


def _messages(queues: Queues) -> list[bytes]:
    found = []
    for role in ROLES:
        queue = queues.open(role)
        found += [bytes(data) for data in queue.storage.enqueued_items()]
        queue.storage.close()
    return found


def spoil_queue(store: Store) -> None:
    """Something else lies where the observer's queue was."""
    if not store.url.startswith("sqlite:"):
        queue = queues_of(store).open("observer")
        queue.storage.conn.set(queue.storage.queue_key, "no list at all")
        queue.storage.close()
    else:
        store_path(store).with_name("store.db.queue").write_bytes(b"no database at all")


def run(
    store: Store, job: Job, mind: Mind, settings: Settings = SMALL, *, queue: bool = True, log: DebugLog = OFF
) -> Ran:
    if queue:
        store.queue(job)
    return run_job(store, job, minds=lambda *_: mind, settings_for=lambda branch: settings, owner="w1", log=log)


def not_before(store: Store) -> list[float]:
    return [state.not_before for state in store.jobs()]


def until(condition: Callable[[], object]) -> None:
    """Wait for something that another thread does."""
    give_up_at = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.01)

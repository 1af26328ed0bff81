"""huey, as the engine uses it: one queue a role, jobs as JSON, threads that wait on a condition.

A job in a queue is a hint: it is lost, doubled or stale without harm, because the board's claim decides who works. So
no result is stored, and a message that cannot be read is thrown away. huey's own consumer is not used: its polling
backs off to ten seconds.
"""

import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from huey import Huey, RedisHuey, SqliteHuey
from huey.exceptions import HueyException
from huey.registry import Message
from huey.storage import RedisStorage

from minutebook.errors import StoreError, StoreUnreachable
from minutebook.store.kernel import Job, Store
from minutebook.store.sqlite_file import translated
from minutebook.store.sqlite_making import BESIDE
from minutebook.workers.dispatching import WHOLE_STORE

if TYPE_CHECKING:
    from minutebook.store.redis_server import Server

QUEUE_SUFFIX = ".queue"
OPEN_TRIES = 3
"""Somebody may remove a queue's file while it is opened, and again."""
TASK = "minutebook_job"
TIMEOUT_SECONDS = 10.0
"""For each step of a call to a server."""
PUSH_ONCE = "return redis.call('LPOS', KEYS[1], ARGV[1]) or redis.call('LPUSH', KEYS[1], ARGV[1])"
logger = logging.getLogger(__name__)


class JsonSerializer:
    """huey's messages, and what else it stores, as JSON. Nothing is ever unpickled."""

    def serialize(self, data: Any) -> bytes:
        """A message field by field, so that fields which huey gains or loses are no matter."""
        if isinstance(data, Message):
            fields = {name: value for name, value in data._asdict().items() if value is not None}
            return json.dumps({"message": fields}).encode()
        return json.dumps({"value": data}).encode()

    def deserialize(self, data: bytes) -> Any:
        """Raises ValueError, KeyError or TypeError on anything else."""
        body = json.loads(bytes(data))
        if "message" not in body:
            return body["value"]
        return Message(**{name: value for name, value in body["message"].items() if name in Message._fields})


class Queues(Protocol):
    """Where the queues of a store are."""

    def open(self, role: str) -> Huey:
        """The queue of a role. Raises StoreError where there can be none."""

    def renew(self, role: str, old: Huey) -> Huey:
        """An empty one in place of one that cannot be used."""

    def translated(self) -> AbstractContextManager[None]:
        """Around every use of a queue: its errors as ours."""


class FileQueues:
    """Queues in a SQLite file of their own, with fsync off."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self, role: str) -> Huey:
        """An unreadable file is replaced."""
        return open_queue(self.path, role)

    def renew(self, role: str, old: Huey) -> Huey:
        """The file is replaced if it has to be."""
        old.storage.close()
        return self.open(role)

    def translated(self) -> AbstractContextManager[None]:
        """SQLite's errors."""
        return translated(self.path)


def open_queue(path: Path, role: str) -> Huey:
    """The queue of a role in the file; an unreadable file is replaced. Raises StoreError where there can be none."""
    for _ in range(OPEN_TRIES):
        try:
            return _opened(path, role)
        except WHOLE_STORE:
            raise
        except StoreError:
            with translated(path):
                for suffix in ("", *BESIDE):
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
    return _opened(path, role)


def _opened(path: Path, role: str) -> Huey:
    with translated(path):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        return _sqlite_queue(path, role)


def _sqlite_queue(path: Path, role: str) -> Huey:
    return SqliteHuey(
        f"minutebook.{role}", filename=str(path), fsync=False, results=False, serializer=JsonSerializer(), timeout=30
    )


class OnceStorage(RedisStorage):  # type: ignore[misc]
    """A list on the server that holds a job at most once, whoever sends it: as long as there are branches, at most."""

    def __init__(self, name: str, **more: Any) -> None:
        super().__init__(name, clean_name=False, blocking=False, **more)
        self.queue_key = name
        self.schedule_key, self.result_key, self.counter_key = (f"{name}:{part}" for part in ("at", "got", "count"))
        self._push_once = self.conn.register_script(PUSH_ONCE)

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """At the end, unless it waits already."""
        self._push_once(keys=[self.queue_key], args=[data])

    def close(self) -> None:
        """End its connections."""
        self.pool.disconnect()


class RedisQueue(RedisHuey):  # type: ignore[misc]
    """One role's queue on the server."""

    storage_class = OnceStorage


class ServerQueues:
    """Queues on the store's own server, beside its keys."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    def open(self, role: str) -> Huey:
        """Asks the server nothing yet."""
        name = f"{self._server.prefix.decode()}queue:{role}"
        pool = self._server.address.pool(TIMEOUT_SECONDS)
        return RedisQueue(name, connection_pool=pool, results=False, serializer=JsonSerializer())

    def renew(self, role: str, old: Huey) -> Huey:
        """What lies under its name is no list."""
        with self.translated():
            old.storage.flush_queue()
        return old

    def translated(self) -> AbstractContextManager[None]:
        """Those of Redis."""
        from minutebook.store.redis_errors import translated

        return translated(self._server.url)


def queues_of(store: Store, path: Path | None = None) -> Queues:
    """Beside the store: on its server, or in a file; path: where else."""
    if path is None and not store.url.startswith("sqlite:"):
        return ServerQueues(cast("Server", store))
    return FileQueues(path or Path(store.url.removeprefix("sqlite:///") + QUEUE_SUFFIX))


def _id_of(job: Job) -> str:
    """The same for the same job, so that its message is the same."""
    return hashlib.sha256(json.dumps([job.role, job.lineage, job.branch]).encode()).hexdigest()[:24]


def _is_ours(args: Any, role: str) -> bool:
    return len(args) == len(Job.__slots__) and all(isinstance(arg, str) for arg in args) and args[0] == role


class Lane:
    """One role's queue and its threads.

    run: does a job and never raises. done: called after each, from the thread that did it.
    """

    def __init__(
        self, role: str, queues: Queues, *, threads: int, run: Callable[[Job], None], done: Callable[[], None]
    ) -> None:
        self.role = role
        self._queues = queues
        self._use(queues.open(role))
        self._run = run
        self._done = done
        self._changed = threading.Condition()
        self._running: list[Job] = []
        self._sent: set[Job] = set()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._loop, name=f"minutebook-{role}-{number}", daemon=True)
            for number in range(threads)
        ]

    def _use(self, queue: Huey) -> None:
        self._huey = queue
        self._task = queue.task(name=TASK)(self._execute)

    @property
    def threads(self) -> int:
        """How many jobs can run at once."""
        return len(self._threads)

    @property
    def is_full(self) -> bool:
        """Whether every thread has a job in hand."""
        return len(self._running) >= len(self._threads)

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def send(self, jobs: Sequence[Job]) -> int:
        """Send those jobs that could begin at once; returns how many. A queue that cannot be used any more is replaced.

        A job in hand is not sent again, nor one that may still wait in the queue. Where the new queue is gone as well,
        nothing is sent before the next look. Raises those of WHOLE_STORE.
        """
        with self._changed:
            for _ in range(OPEN_TRIES):
                try:
                    return self._send(jobs)
                except WHOLE_STORE:
                    raise
                except StoreError as error:
                    logger.warning("%s; the queue is made anew", error)
                    self._use(self._queues.renew(self.role, self._huey))
            return 0

    def _send(self, jobs: Sequence[Job]) -> int:
        with self._queues.translated():
            waiting = self._waiting()
            if not waiting:
                self._sent.clear()  # other processes may have taken them, and may have died since
            room = len(self._threads) - len(self._running) - waiting
            new = [job for job in jobs if job not in self._running and job not in self._sent][: max(0, room)]
            for job in new:
                self._huey.enqueue(self._task.s(job.role, job.lineage, job.branch, id=_id_of(job)))
        self._sent.update(new)
        self._changed.notify(waiting + len(new))
        return len(new)

    def stop(self) -> None:
        """Take no more jobs; those in hand go on."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the threads; False when a job is still in hand."""
        with self._changed:
            ended = self._changed.wait_for(lambda: not self._running, timeout_seconds)
        if ended:
            for thread in self._threads:
                if thread.ident is not None:
                    thread.join()
            self._huey.storage.close()
        return ended

    def _waiting(self) -> int:
        return int(self._huey.storage.queue_size())

    def _loop(self) -> None:
        while (taken := self._next()) is not None:
            job, task = taken
            try:
                with self._queues.translated():
                    self._huey.execute(task)
            except StoreError as error:
                self._note(error)
            except Exception:
                logger.exception("a job of the %s did not run; it is sent again", self.role)
            finally:
                with self._changed:
                    self._running.remove(job)
                    if self._stopping:  # else nobody waits for it: this thread looks for the next job itself
                        self._changed.notify_all()
                self._done()

    def _next(self) -> tuple[Job, Any] | None:
        """The next job, marked as in hand; None at the end."""
        with self._changed:
            while not self._stopping:
                task = self._dequeue()
                if task is not None:
                    job = Job(*task.args)
                    self._sent.discard(job)
                    self._running.append(job)
                    return job, task
                self._changed.wait()
        return None

    def _dequeue(self) -> Any:
        """A task of ours, or None when the queue is empty. What is no such task is gone from the queue by then."""
        try:
            with self._queues.translated():
                while self._waiting():
                    with suppress(ValueError, KeyError, TypeError, AttributeError, HueyException):
                        task = self._huey.dequeue()
                        if task is not None and _is_ours(task.args, self.role):
                            return task
        except StoreError as error:
            self._note(error)
        except Exception:
            logger.exception("the queue of the %s cannot be read; its jobs are sent again", self.role)
        return None

    def _note(self, error: StoreError) -> None:
        """A server that is away is the dispatcher's to tell of."""
        level = logging.DEBUG if isinstance(error, StoreUnreachable) else logging.WARNING
        logger.log(level, "%s; the jobs of the %s are sent again", error, self.role)

    def _execute(self, role: str, lineage: str, branch: str) -> None:
        self._run(Job(role, lineage, branch))

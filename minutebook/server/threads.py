"""Threads in which the store is asked. Each request goes through here once, so it is kept to what that takes.

The standard library's pool does the same with two futures and a semaphore more, and takes twice as long.
"""

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], Any]
    context: Context
    loop: AbstractEventLoop
    future: "Future[Any]"

    def run(self) -> None:
        settle: Callable[[Any], None] = self.future.set_result
        try:
            outcome = self.context.run(self.work)
        except BaseException as error:
            settle, outcome = self.future.set_exception, error
        with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            self.loop.call_soon_threadsafe(self._settle, settle, outcome)

    def _settle(self, settle: Callable[[Any], None], outcome: Any) -> None:
        if not self.future.done():  # nobody waits for a request that was given up
            settle(outcome)


class Threads:
    """So many threads, from `with` to its end; what was begun is finished.

    The one that worked last works next: what SQLite keeps in memory for each thread is then still true.
    """

    def __init__(self, count: int) -> None:
        self._lock = Lock()
        self._ending = False
        self._idle: list[SimpleQueue[_Job | None]] = []
        self._waiting: deque[_Job] = deque()
        self._threads = [Thread(target=self._work, name=f"om-serve-{at}", daemon=True) for at in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._ending = True
            for desk in self._idle:
                desk.put(None)
        for thread in self._threads:
            thread.join()

    async def run(self, work: Callable[[], T]) -> T:
        """What work returns or raises, done in one of the threads."""
        loop = get_running_loop()
        future: Future[T] = loop.create_future()
        job = _Job(work, copy_context(), loop, future)
        with self._lock:
            if self._idle:
                self._idle.pop().put(job)
            else:
                self._waiting.append(job)
        return await future

    def _work(self) -> None:
        desk: SimpleQueue[_Job | None] = SimpleQueue()
        while (job := self._next(desk)) is not None:
            job.run()

    def _next(self, desk: "SimpleQueue[_Job | None]") -> _Job | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            if self._ending:
                return None
            self._idle.append(desk)
        return desk.get()

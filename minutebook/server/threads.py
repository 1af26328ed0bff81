"""Threads in which the store is asked. Each request goes through here once, so it is kept to what that takes.

The standard library's pool does the same with two futures and a semaphore more, and takes twice as long.
"""

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
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
    """So many threads, from `with` to its end; what was begun is finished."""

    def __init__(self, count: int) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [Thread(target=self._work, name=f"om-serve-{at}", daemon=True) for at in range(count)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    async def run(self, work: Callable[[], T]) -> T:
        """What work returns or raises, done in one of the threads."""
        loop = get_running_loop()
        future: Future[T] = loop.create_future()
        self._jobs.put(_Job(work, copy_context(), loop, future))
        return await future

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()

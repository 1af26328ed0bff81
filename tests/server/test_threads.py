"""The door's threads: what was asked is done once, and comes back as a value or as its error."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from minutebook.server.threads import Threads

NAME: ContextVar[str] = ContextVar("name", default="nobody")


def test_values_errors_and_the_context_come_through() -> None:
    async def ask(threads: Threads) -> None:
        NAME.set("alice")
        assert await threads.run(NAME.get) == "alice"
        assert await threads.run(threading.get_ident) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)
        assert await asyncio.gather(*(threads.run(lambda at=at: at * at) for at in range(50))) == [
            at * at for at in range(50)
        ]

    with Threads(3) as threads:
        asyncio.run(ask(threads))


def test_one_that_nobody_waits_for_any_more_is_finished_and_harms_nobody() -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go.wait(30)
        done.set()

    async def ask(threads: Threads) -> None:
        task = asyncio.create_task(threads.run(slow))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        assert await threads.run(lambda: done.wait(30))

    with Threads(2) as threads:
        asyncio.run(ask(threads))


def test_a_loop_that_has_ended_harms_no_thread() -> None:
    begun, go = threading.Event(), threading.Event()

    async def leave(threads: Threads) -> None:
        asyncio.ensure_future(threads.run(lambda: (begun.set(), go.wait(30))))  # noqa: RUF006
        while not begun.is_set():
            await asyncio.sleep(0.001)

    with Threads(1) as threads:
        asyncio.run(leave(threads))
        go.set()
        assert asyncio.run(threads.run(lambda: 7)) == 7

"""Each backend against plain dicts (store_machine.py)."""

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from cutting_proxy import CuttingProxy
from fake_redis import fake_pool
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule
from store_machine import StoreMachine

from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

pytest.importorskip("redis")
import redis

from minutebook.store.redis import RedisStore
from minutebook.store.redis_address import address_of


class SqliteMachine(StoreMachine):
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())

    def opened(self) -> Store:
        return SqliteStore(self.folder / "store.db", busy_seconds=5, create=True, clock=lambda: self.now)

    def end(self) -> None:
        shutil.rmtree(self.folder)


class FakeRedisMachine(StoreMachine):
    def begin(self) -> None:
        self.pool = fake_pool()

    def opened(self) -> Store:
        return RedisStore(address_of("redis://memory/0"), clock=lambda: self.now, pool=self.pool)

    def end(self) -> None:
        pass


class RedisMachine(StoreMachine):
    url: ClassVar[str]

    def begin(self) -> None:
        self.end()

    def opened(self) -> Store:
        return RedisStore(address_of(self.url), clock=lambda: self.now)

    def end(self) -> None:
        with closing(redis.Redis.from_url(self.url)) as client:
            client.flushdb()


class BrokenRedisMachine(RedisMachine):
    """Connections break in the middle of writes: what a call returns, and what it did, must not show it.

    cut: where the next write breaks.
    """

    def begin(self) -> None:
        super().begin()
        self.cut = ""
        server = urlsplit(self.url)
        self.proxy = CuttingProxy(server.port or 0)
        self.through = f"redis://127.0.0.1:{self.proxy.port}{server.path}"

    def opened(self) -> Store:
        store = RedisStore(address_of(self.through), clock=lambda: self.now)
        change = store.change

        def broken(*arguments: Any) -> bytes:
            self.proxy.cut, self.cut = self.cut, ""
            return change(*arguments)

        store.change = broken  # type: ignore[method-assign]
        return store

    @rule(where=st.sampled_from(["request", "reply"]))
    def break_the_next_write(self, where: str) -> None:
        self.cut = where

    def end(self) -> None:
        super().end()
        if hasattr(self, "proxy"):
            self.proxy.close()


def effort(max_examples: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=max_examples, stateful_step_count=40, deadline=None, database=None, suppress_health_check=slow
    )


TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = effort(60)
TestFakeRedis = FakeRedisMachine.TestCase
TestFakeRedis.settings = effort(10)


class OnAServer:
    @pytest.fixture(autouse=True)
    def database(self, redis_url: str) -> None:
        RedisMachine.url = redis_url


class TestRedis(OnAServer, RedisMachine.TestCase):  # type: ignore[name-defined,misc]
    settings = effort(6)


class TestBrokenRedis(OnAServer, BrokenRedisMachine.TestCase):  # type: ignore[name-defined,misc]
    settings = effort(8)

"""The Redis store keeps the promises: on a real server, and on the one in memory that other tests use."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from behind_redis import BehindRedis
from contract_races import RaceContract
from contract_suite import StoreContract
from contract_values import Clock
from fake_redis import fake_pool

from minutebook.store.kernel import Store

pytest.importorskip("redis")
import redis

from minutebook.store.redis import RedisStore
from minutebook.store.redis_address import address_of


@pytest.fixture
def clock() -> Clock:
    return Clock()


class RedisContract(StoreContract):
    """open_again: opens the same database once more."""

    @pytest.fixture
    def store(self, open_again: Callable[[], RedisStore]) -> Iterator[Store]:
        opened = open_again()
        yield opened
        opened.close()

    @pytest.fixture
    def another(self, store: Store, open_again: Callable[[], RedisStore]) -> Iterator[Store]:
        opened = open_again()
        yield opened
        opened.close()

    @pytest.fixture
    def pass_seconds(self, clock: Clock) -> Callable[[float], None]:
        return clock.pass_seconds


class TestRedis(RedisContract):
    @pytest.fixture
    def open_again(self, redis_url: str, clock: Clock) -> Callable[[], RedisStore]:
        return lambda: RedisStore(address_of(redis_url), busy_seconds=5, clock=clock)

    @pytest.fixture
    def behind(self, redis_url: str) -> BehindRedis:
        return BehindRedis(lambda: redis.Redis.from_url(redis_url))


class TestFakeRedis(RedisContract):
    @pytest.fixture
    def pool(self) -> Any:
        return fake_pool()

    @pytest.fixture
    def open_again(self, pool: Any, clock: Clock) -> Callable[[], RedisStore]:
        return lambda: RedisStore(address_of("redis://memory/0"), busy_seconds=5, clock=clock, pool=pool)

    @pytest.fixture
    def behind(self, pool: Any) -> BehindRedis:
        return BehindRedis(lambda: redis.Redis(connection_pool=pool))


class TestRedisRaces(RaceContract):
    @pytest.fixture
    def open_again(self, redis_url: str) -> Callable[[], RedisStore]:
        return lambda: RedisStore(address_of(redis_url))

    @pytest.fixture
    def store(self, open_again: Callable[[], RedisStore]) -> Iterator[Store]:
        opened = open_again()
        yield opened
        opened.close()

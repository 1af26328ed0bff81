"""The redis-server of the tests does what its fixtures say."""

from collections.abc import Callable
from contextlib import closing

import pytest
from redis_server import RedisServer


@pytest.mark.parametrize("turn", [1, 2])
def test_a_database_for_each_test(redis_url: str, turn: int) -> None:
    redis = pytest.importorskip("redis")
    with closing(redis.Redis.from_url(redis_url)) as client:
        assert client.dbsize() == 0
        client.set("a", turn)


def test_a_killed_server_comes_back_with_its_data(new_redis_server: Callable[..., RedisServer]) -> None:
    redis = pytest.importorskip("redis")
    server = new_redis_server(password="secret")
    with closing(redis.Redis.from_url(server.url)) as client:
        client.set("a", "1")
        server.kill()
        server.start()
        assert client.get("a") == b"1"

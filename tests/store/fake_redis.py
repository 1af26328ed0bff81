"""A Redis server in this process' memory (fakeredis)."""

from typing import Any

import pytest


def fake_pool() -> Any:
    """Makes connections to one new server."""
    fakeredis = pytest.importorskip("fakeredis")
    redis = pytest.importorskip("redis")
    server = fakeredis.FakeServer(version=(7,))
    kind = fakeredis.FakeRedisConnection
    return redis.ConnectionPool(connection_class=kind, server=server, version=(7,), protocol=2)

"""A URL or a path to a store."""

import re
from pathlib import Path

from minutebook.errors import BadInput, MissingExtra
from minutebook.store.kernel import Store

WORKER_BUSY_SECONDS = 30.0
HOOK_BUSY_SECONDS = 0.2
REDIS_SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")


def open_store(url: str, *, busy_seconds: float = WORKER_BUSY_SECONDS, create: bool = True) -> Store:
    """Open `sqlite:///path`, a plain path, or a Redis store (store/redis_address.py has the forms of its URL).

    Raises StoreError, BadInput for a scheme that is not known, MissingExtra for Redis without its package.
    """
    scheme, found, rest = url.partition("://")
    if not found:
        scheme, rest = "sqlite", f"/{url}"
    if scheme in REDIS_SCHEMES:
        return _open_redis(url, busy_seconds, create)
    if scheme != "sqlite":
        shown = re.sub(r"//.*@", "//", url)
        raise BadInput(f"store {shown!r}: unknown kind {scheme!r}; use a path, sqlite:///path or redis://host/0")
    from minutebook.store.sqlite import SqliteStore

    return SqliteStore(Path(rest[1:]), busy_seconds=busy_seconds, create=create)


def _open_redis(url: str, busy_seconds: float, create: bool) -> Store:
    try:
        from minutebook.store.redis import RedisStore
        from minutebook.store.redis_address import address_of
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "redis":
            raise
        raise MissingExtra("redis", "a store on a Redis server") from error
    return RedisStore(address_of(url), busy_seconds=busy_seconds, create=create)

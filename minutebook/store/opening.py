"""A URL or a path to a store."""

from pathlib import Path

from minutebook.errors import BadInput
from minutebook.store.kernel import Store

WORKER_BUSY_SECONDS = 30.0
HOOK_BUSY_SECONDS = 0.2


def open_store(url: str, *, busy_seconds: float = WORKER_BUSY_SECONDS, create: bool = True) -> Store:
    """Open `sqlite:///path` or a plain path; raises StoreError, and BadInput for a scheme that is not known."""
    scheme, found, rest = url.partition("://")
    if not found:
        scheme, rest = "sqlite", f"/{url}"
    if scheme != "sqlite":
        raise BadInput(f"store {url!r}: unknown kind {scheme!r}; use a path or sqlite:///path")
    from minutebook.store.sqlite import SqliteStore

    return SqliteStore(Path(rest[1:]), busy_seconds=busy_seconds, create=create)

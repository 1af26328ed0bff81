"""Redis' errors as ours: the one place where they are translated."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import ConnectionError, InvalidResponse, RedisError, TimeoutError

from minutebook.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreUnreachable

PASSWORD = "set MINUTEBOOK_REDIS_PASSWORD, or user and password in the store's URL"
RIGHTS = "this user may not do that: see the ACL of the server"
RESTART = "is it running, and is the address right?"
_BY_WORD: dict[str, tuple[type[StoreError], str]] = {
    "OOM": (StoreFull, "raise its maxmemory, or free some by om retention or om purge"),
    "READONLY": (StoreReadOnly, "a replica: give the address of the server that it copies"),
    "NOREPLICAS": (StoreReadOnly, "it wants more replicas than are there (min-replicas-to-write)"),
    "MISCONF": (StoreReadOnly, "it cannot save to its disk: free some space there and see its log"),
    "MASTERDOWN": (StoreUnreachable, "a replica that has lost its server"),
    "LOADING": (StoreBusy, "it reads its data from the disk: try again soon"),
    "BUSY": (StoreBusy, "a script of somebody runs on it: try again soon"),
    "NOAUTH": (StoreError, PASSWORD),
    "WRONGPASS": (StoreError, PASSWORD),
    "NOPERM": (StoreError, RIGHTS),
    "WRONGTYPE": (StoreCorrupt, "another program's keys: choose another ?prefix= or database number"),
    "MOVED": (StoreError, "a Redis Cluster: use one server, with replicas or Sentinel"),
    "CROSSSLOT": (StoreError, "a Redis Cluster: use one server, with replicas or Sentinel"),
    "CLUSTERDOWN": (StoreError, "a Redis Cluster: use one server, with replicas or Sentinel"),
    "MBLATE": (StoreUnreachable, "the answer came too late; try again"),
}
_BY_TEXT: tuple[tuple[str, type[StoreError], str], ...] = (
    ("max number of clients reached", StoreBusy, "raise its maxclients, or end some clients"),
    ("DB index is out of range", StoreError, "use a smaller database number"),
    ("invalid username-password pair", StoreError, PASSWORD),
    ("without any password configured", StoreError, "leave the password out: the server asks for none"),
    ("can't run this command", StoreError, RIGHTS),
    ("unknown command", StoreError, "no Redis server of version 7 or later"),
)
_NAMES = {
    "AskError": "MOVED",
    "AuthenticationError": "NOAUTH",
    "BusyLoadingError": "LOADING",
    "ClusterCrossSlotError": "CROSSSLOT",
    "ClusterDownError": "CLUSTERDOWN",
    "MasterDownError": "MASTERDOWN",
    "MovedError": "MOVED",
    "NoPermissionError": "NOPERM",
    "OutOfMemoryError": "OOM",
    "ReadOnlyError": "READONLY",
}
"""redis-py takes the first word off the messages of its own classes."""


def explained(error: RedisError | OSError) -> tuple[type[StoreError], str]:
    """The class and the advice for what the server or the connection to it said."""
    said = str(error)
    for part, kind, advice in _BY_TEXT:
        if part in said:
            return kind, advice
    word = _word(error)
    if word in _BY_WORD:
        return _BY_WORD[word]
    if isinstance(error, InvalidResponse):
        return StoreError, "no Redis server answers there: check the address"
    if isinstance(error, (ConnectionError, TimeoutError, OSError)):
        return StoreUnreachable, RESTART
    return StoreError, "see the log of the server"


def may_pass(error: RedisError | OSError, *, opening: bool) -> bool:
    """Whether the same call may succeed soon: the server is busy, or it is away.

    opening: a server that was never there is more likely a wrong address; who opens a store is told at once.
    """
    kind = explained(error)[0]
    return kind is StoreBusy or (kind is StoreUnreachable and not opening and _word(error) != "MBLATE")


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Raise Redis' errors as ours. url: what the message names; one without a password."""
    try:
        yield
    except (RedisError, OSError) as error:
        kind, advice = explained(error)
        if kind is StoreReadOnly and "No space left" in str(error):
            kind = StoreFull
        said = str(error).rstrip(".") or type(error).__name__
        raise kind(f"{url}: {said}: {advice}") from error


def _word(error: Exception) -> str:
    """The word in capitals by which the server names an error."""
    return _NAMES.get(type(error).__name__) or str(error).partition(" ")[0].removeprefix("-")

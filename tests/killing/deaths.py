"""How a process dies at a planned place: SIGKILL before, within or after the n-th call of a name. In the child only.

Counted are the calls of the store (its opening too), of huey's queue file, of the wake FIFO and of bells. Within a call
means at a stated SQL statement of its transaction, with the pages that were written so far pushed out to the file.
"""

import json
import os
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Literal

from huey.storage import SqliteStorage
from redis.connection import AbstractConnection

from minutebook.hosts import bell, bells, starting
from minutebook.store.kernel import Board, Documents, Log
from minutebook.store.redis import RedisStore
from minutebook.store.sqlite import SqliteStore
from minutebook.workers import waking
from minutebook.workers.queues import OnceStorage

When = Literal["before", "within", "after"]
STORE_CALLS = tuple(name for part in (Log, Documents, Board) for name in vars(part) if not name.startswith("_"))
QUEUE_CALLS = ("initialize_schema", "enqueue", "dequeue", "queue_size", "close")
FIFO_CALLS = ("listen", "deafen", "wake")
BELL_CALLS = ("_take", "_turn", "_deliver", "_drop", "give_back")
FUNCTIONS = (
    (waking, "_open_fifo", "fifo.open"),
    (bell, "wake", "fifo.ring"),
    (bell, "ring", "bell.ring"),
    (bell, "write_beside", "bell.write"),
    (starting, "hold", "lock.hold"),
    (starting, "_spawn", "lock.hand_over"),
)


@dataclass(frozen=True)
class Death:
    """call: its name, such as store.append. nth: which one, from 1.

    statement: before which one of those that change something or commit, for `within`; if there are fewer, after it. On
    a server: an odd one for half a command, an even one for a whole command without its answer.
    """

    call: str
    nth: int
    when: When
    statement: int = 1


class Reaper:
    """Counts calls by name, and kills this process at the planned one. log: where it leaves a word before."""

    def __init__(self, death: Death | None, log: Path) -> None:
        self.death = death
        self.log = log
        self.calls: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._armed = threading.local()

    def watch(self) -> None:
        """From here on every watched call of this process is counted."""
        for owner, names, prefix in (
            (SqliteStore, STORE_CALLS, "store"),
            (SqliteStorage, QUEUE_CALLS, "queue"),
            (RedisStore, STORE_CALLS, "store"),
            (OnceStorage, QUEUE_CALLS[1:], "queue"),
            (waking.Waker, FIFO_CALLS, "fifo"),
            (bells.Bells, BELL_CALLS, "bell"),
        ):
            for name in names:
                self._replace(owner, name, f"{prefix}.{name}")
        for store in (SqliteStore, RedisStore):
            self._replace(store, "__init__", "store.open")
        for module, name, told in FUNCTIONS:
            self._replace(module, name, told)
        self._trace()
        self._trace_server()

    def _replace(self, owner: Any, name: str, told: str) -> None:
        setattr(owner, name, self._watched(getattr(owner, name), told))

    def _watched(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            when = self._counted(name)
            if when == "before":
                self.die("before")
            if when == "within" and self.death:
                self._armed.statements = self.death.statement
            done = function(*args, **kwargs)
            if when:
                self.die("after")
            return done

        return watched

    def _counted(self, name: str) -> When | None:
        """Count a call; when to die of it, None for all but the planned one."""
        with self._lock:
            self.calls[name] += 1
            death = self.death
            return death.when if death and (death.call, death.nth) == (name, self.calls[name]) else None

    def _trace(self) -> None:
        """Every connection from here on tells its statements; one with a single page of cache writes them out early."""
        connect = sqlite3.connect

        @wraps(connect)
        def traced(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*args, **kwargs)
            if self.death and self.death.when == "within":
                connection.execute("PRAGMA cache_size = 1")
                connection.set_trace_callback(self._statement)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]

    def _statement(self, sql: str) -> None:
        left = getattr(self._armed, "statements", None)
        if left is None or sql.upper().startswith(("BEGIN", "PRAGMA", "SELECT")):
            return
        self._armed.statements = left - 1
        if left <= 1:
            self.die("within")

    def _trace_server(self) -> None:
        """A call of a server dies within when half of its first command is sent, or the whole, and no answer read."""
        send = AbstractConnection.send_packed_command

        @wraps(send)
        def traced(connection: Any, command: Any, check_health: bool = True) -> None:
            left = getattr(self._armed, "statements", None)
            if left is None:
                return send(connection, command, check_health)
            whole = command if isinstance(command, bytes) else b"".join(command)
            send(connection, [whole[: len(whole) // 2] if left % 2 else whole], False)
            return self.die("within")

        AbstractConnection.send_packed_command = traced  # type: ignore[method-assign]

    def die(self, when: When) -> None:
        assert self.death
        self.log.write_text(json.dumps({**asdict(self.death), "when": when}))
        os.kill(os.getpid(), signal.SIGKILL)

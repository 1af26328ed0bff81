"""What a child does. Each function is one act, called by its name with plain values, in a process of its own."""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from minutebook.cli.root import om as group
from minutebook.store.sqlite import SqliteStore

Steps = Sequence[tuple[str, dict[str, Any]]]


def om(words: Sequence[str], codes: Sequence[int] = (0,)) -> None:
    """An `om` command line; codes: the exit codes with which it may end."""
    try:
        group.main(list(words), prog_name="om")
    except SystemExit as end:
        if end.code not in codes:
            raise RuntimeError(f"om {' '.join(words)} ended with {end.code}") from end


def steps(acts: Steps) -> None:
    """Several acts, one after the other."""
    for name, args in acts:
        ACTS[name](**args)


def wipe(store: str) -> None:
    """Lose what may be lost: the board, and the queues' file under whoever uses it."""
    with closing(SqliteStore(Path(store))) as opened:
        opened.wipe_board()
    for suffix in (".queue", ".queue-wal", ".queue-shm"):
        Path(store + suffix).unlink(missing_ok=True)


def nothing() -> None:
    """To measure what a child costs."""


ACTS = {function.__name__: function for function in (om, steps, wipe, nothing)}


def quiet() -> None:
    """A child's own output goes nowhere; what it complains of stays on stderr."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

"""What a child does. Each function is one act, called by its name with plain values, in a process of its own."""

import json
import os
import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import wraps
from pathlib import Path
from typing import Any

import writing_process
from killing.homes import home_of
from killing.killed_sessions import SETTINGS

from minutebook.cli.root import om as group
from minutebook.errors import CompactionOpen
from minutebook.hosts import bells, neutral, starting
from minutebook.hosts import hook as om_hook
from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.deliveries import Reading
from minutebook.pipeline.folds import abandon_fold, compaction_marks, confirm_fold
from minutebook.pipeline.intake import accept_turns, mark_ended
from minutebook.pipeline.recall import recall
from minutebook.pipeline.sessions import find_session
from minutebook.pipeline.status import read_status
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.workers.extractive.mind import ExtractiveMind

ENDLESS = 100_000
PAUSE_SECONDS = 0.02
"""About so long the members of a crowd wait between two things that they do."""


def om(words: Sequence[str], codes: Sequence[int] = (0,)) -> None:
    """An `om` command line; codes: the exit codes with which it may end."""
    try:
        group.main(list(words), prog_name="om")
    except SystemExit as end:
        if end.code not in codes:
            raise RuntimeError(f"om {' '.join(words)} ended with {end.code}") from end


def write(store: str, log: str, first: int, batch: int) -> None:
    """Append without end; the log holds what was acknowledged."""
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 1)
    writing_process.main(store, "s", "w", first, ENDLESS, batch)


def deliver(store: str, file: str, spans: Sequence[tuple[int, int]], log: str) -> None:
    """Hand spans of a session's events to intake, and note in the log when each began and ended."""
    reading = neutral.read(Path(file))
    with closing(open_store(store)) as opened:
        for start, stop in spans:
            _note(log, start=start, stop=stop, began=time.monotonic())
            accept_turns(opened, Reading(head=reading.head, events=reading.events[start:stop]))
            _note(log, ended=time.monotonic())
            _pause(start)


def end(store: str, sessions: Sequence[str]) -> None:
    """The sessions are over."""
    with closing(open_store(store)) as opened:
        for key in sessions:
            mark_ended(opened, key)


def work(words: Sequence[str], slow_seconds: float = 0, gate: str = "") -> None:
    """`om worker` with a mind that takes its time, or waits until the file `gate` is there."""
    observe: Callable[..., None] = ExtractiveMind.observe

    @wraps(observe)
    def slowly(*args: Any) -> None:
        time.sleep(slow_seconds)
        while gate and not Path(gate).exists():
            time.sleep(PAUSE_SECONDS)
        observe(*args)

    ExtractiveMind.observe = slowly  # type: ignore[method-assign]
    om(words)


def compact(store: str, session: str, times: int, seed: int) -> None:
    """A host that compacts: composes, reads, and confirms, gives up, or is never heard of again."""
    rng = random.Random(seed)
    with closing(open_store(store)) as opened:
        for _ in range(times):
            _pause(rng.randrange(10))
            found = find_session(opened, session)
            if found and found.branch in found.branches:
                with suppress(CompactionOpen):
                    _compacted(opened, found.branch, rng)


def _compacted(store: Store, key: str, rng: random.Random) -> None:
    branch = load_branch(store, key)
    tip = BranchPath(store, branch).length()
    boundary = max(0, tip - rng.randrange(8))
    composed = compose_memory(store, branch, boundary, SETTINGS)
    if composed is None:
        return
    again = compose_memory(store, branch, boundary, SETTINGS)
    assert again is not None and again.text == composed.text, f"{key} at {boundary}: asked again, other bytes"
    for id_ in [line[1:13] for line in composed.text.splitlines() if line.startswith("[")][:2]:
        assert recall(store, branch, id_).found, f"{key}: {id_} is shown, and recall does not know it"
    read_status(store, branch, SETTINGS)
    act = rng.choice(["confirm", "confirm", "abandon", "leave"])
    if act == "confirm":
        confirm_fold(store, branch, time="T", advance=compaction_marks(kept=boundary, at=tip))
    elif act == "abandon":
        abandon_fold(store, branch)


def hook(store: str, words: Sequence[str], payload: str) -> None:
    """A hook of an agent. The worker that it starts leaves at once; the test has others."""
    os.environ["MINUTEBOOK_STORE"] = store
    starting._command = lambda *_: ["/bin/sh", "-c", "exit 0"]
    with Path(payload).open() as given:
        os.dup2(given.fileno(), 0)
    om_hook._run(list(words))


def take_in(words: Sequence[str]) -> None:
    """`om worker` that looks again for late rows rather soon."""
    bells.AGAIN_SECONDS = PAUSE_SECONDS
    om(words, codes=(0, 1))


def wipe(store: str, times: int) -> None:
    """Lose what may be lost, again and again: the board, and the queues under whoever uses them."""
    with closing(open_store(store)) as opened:
        for at in range(times):
            opened.wipe_board()
            if at % 2:
                home_of(store).lose_queues(store)
            _pause(at)


def nothing() -> None:
    """To be there, warm."""


ACTS = {
    function.__name__: function for function in (om, write, deliver, end, work, compact, hook, take_in, wipe, nothing)
}


def quiet() -> None:
    """A child's own output goes nowhere; what it complains of stays on stderr."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _note(log: str, **said: float) -> None:
    with open(log, "a") as file:
        file.write(json.dumps(said) + "\n")


def _pause(number: int) -> None:
    time.sleep(PAUSE_SECONDS * (number % 5) / 2)

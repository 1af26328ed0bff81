"""Two deliveries of one session at once, by threads and by processes."""

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import say
from ledgers import ids_of, take, turns

from minutebook.pipeline.branches import list_branches, load_branch
from minutebook.pipeline.following import ORIGINS
from minutebook.pipeline.intake import Accepted
from minutebook.pipeline.sessions import load_session
from minutebook.store.kernel import Document, Store
from minutebook.store.sqlite import SqliteStore

ALL = [*turns(60), say("back", id="x", parent="e3"), *[say(f"on {at}", id=f"x{at}") for at in range(5)]]
PROCESS = """
import sys
from pathlib import Path
sys.path[:0] = {paths!r}
from ledgers import take, turns
from minutebook.store.sqlite import SqliteStore
store = SqliteStore(Path({path!r}), busy_seconds=60)
sys.stdin.readline()
for first in range(0, 300, {step}):
    take(store, turns(min({step}, 300 - first), first))
"""


def at_once(tmp_path: Path, *acts: Callable[[Store], Accepted]) -> list[Accepted]:
    done: list[Accepted] = []
    failed: list[BaseException] = []
    ready = threading.Barrier(len(acts))

    def run(act: Callable[[Store], Accepted]) -> None:
        store = SqliteStore(tmp_path / "store.db", busy_seconds=60)
        ready.wait()
        try:
            done.append(act(store))
        except BaseException as error:
            failed.append(error)
        finally:
            store.close()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    return done


def in_pieces(size: int, events: Sequence[Any] = ALL) -> Callable[[Store], Accepted]:
    def act(store: Store) -> Accepted:
        total = Accepted(session="neutral:s1")
        for at in range(0, len(events), size):
            total.new += take(store, events[at : at + size]).new
        return total

    return act


@pytest.mark.parametrize("sizes", [(66, 66), (1, 66), (7, 11), (1, 2, 3)], ids=str)
def test_the_same_session_in_different_pieces_at_once(store: Store, tmp_path: Path, sizes: tuple[int, ...]) -> None:
    done = at_once(tmp_path, *(in_pieces(size) for size in sizes))
    assert sum(each.new for each in done) == len(ALL)
    assert ids_of(store) == [f"e{at}" for at in range(60)]
    assert ids_of(store, "neutral:s1@x") == ["x", *(f"x{at}" for at in range(5))]
    session = load_session(store, "neutral:s1")
    assert session.prompts == 30 + 6
    assert session.branches == ["neutral:s1", "neutral:s1@x"]


def test_two_copies_of_a_session_that_arrive_at_once_are_one_lineage(store: Store, tmp_path: Path) -> None:
    def act(name: str) -> Callable[[Store], Accepted]:
        return lambda own: take(own, [*turns(10), say(name, id=name, parent="e9")], name)

    at_once(tmp_path, act("a"), act("b"), act("c"))
    assert len({branch.lineage for branch in list_branches(store)}) == 1
    roots = [branch for branch in list_branches(store) if not branch.parent]
    assert len(roots) == 1
    assert ids_of(store, roots[0].key)[:10] == [f"e{at}" for at in range(10)]


def test_processes_deliver_the_same_session_at_once(store: Store, tmp_path: Path) -> None:
    tests = Path(__file__).resolve().parent.parent
    processes = []
    for step in (13, 40):
        script = PROCESS.format(paths=[str(tests)], path=str(tmp_path / "store.db"), step=step)
        processes.append(subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, text=True))
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.close()
    assert [process.wait() for process in processes] == [0, 0]
    assert ids_of(store) == [f"e{at}" for at in range(300)]
    assert load_session(store, "neutral:s1").prompts == 150
    assert load_branch(store, "neutral:s1").kind == "main"


def test_a_copy_that_came_in_after_the_first_entry_was_looked_at_is_followed(store: Store, tmp_path: Path) -> None:
    """The same race as above, with the order fixed: the rival is written between the look and the write."""

    class Overtaken(SqliteStore):
        def get(self, collection: str, key: str) -> Document | None:
            found = super().get(collection, key)
            if collection == ORIGINS and not overtaken:
                overtaken.append(take(store, turns(10), "first"))
            return found

    overtaken: list[Accepted] = []
    own = Overtaken(tmp_path / "store.db", busy_seconds=5)
    try:
        take(own, [*turns(10), say("mine", id="mine", parent="e9")], "second")
    finally:
        own.close()
    assert [(branch.key, branch.lineage, branch.fork) for branch in list_branches(store)] == [
        ("neutral:first", "neutral:first", 0),
        ("neutral:second", "neutral:first", 10),
    ]

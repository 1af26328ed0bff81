"""Promise 8: kill -9 at any instant; what was acknowledged is there, whole, and the store opens again."""

import random
import time
from pathlib import Path

from behind_sqlite import BehindSqlite
from contract_races import start_writer

from minutebook.store.sqlite import SqliteStore

KILLS_WHILE_WRITING = 90
KILLS_WHILE_OPENING = 20


def killed_writer(url: str, rng: random.Random, *, first: int, batch: int, acknowledgements: int) -> tuple[int, int]:
    """Start a writer, kill it, and give its exit code and the last number it acknowledged.

    The writer never waits for this reader, so the kill hits whatever it does some acknowledgements later.
    """
    writer = start_writer(url, "s", "w", first=first, appends=100_000, batch=batch)
    assert writer.stdout
    with writer, writer.stdout as lines:
        said = [lines.readline() for _ in range(1 + acknowledgements)]
        time.sleep(rng.random() * 0.004)
        writer.kill()
        said += lines.readlines()
        writer.wait()
    numbers = [int(line) for line in said if line.endswith("\n") and line != "opening\n"]
    return writer.returncode, max(numbers, default=first)


def assert_whole(path: Path, acknowledged: int, batch: int) -> int:
    """Check the file with SQLite alone; gives how many items there are."""
    behind = BehindSqlite(path)
    found = behind.items("s")
    count = len(found)
    assert count in (acknowledged, acknowledged + batch)
    assert [row[0] for row in found] == list(range(count))
    assert [row[1] for row in found] == [f"w-{number}" for number in range(count)]
    assert [row[4] for row in found] == [number * (number + 1) // 2 for number in range(count)]
    # The rest of the last append's transaction came with its items.
    assert behind.marks("s") == ({"w": count} if count else {})
    assert (behind.document("written", "w") or (0, "0"))[1] == str(count)
    assert behind.dirty_keys() == ({"w"} if count else set())
    assert behind.select("SELECT length, total FROM stream") == ([(count, found[-1][4])] if count else [])
    return count


def test_a_writer_killed_at_any_instant(tmp_path: Path) -> None:
    rng = random.Random(8)
    path = tmp_path / "store.db"
    held = 0
    for _ in range(KILLS_WHILE_WRITING):
        batch = rng.choice([1, 3, 20])
        code, acknowledged = killed_writer(str(path), rng, first=held, batch=batch, acknowledgements=rng.randrange(5))
        assert code == -9
        store = SqliteStore(path, busy_seconds=5, create=False)
        tip = store.tip("s")
        store.close()
        held = assert_whole(path, acknowledged, batch)
        assert tip.length == held
    assert held > KILLS_WHILE_WRITING
    assert BehindSqlite(path).checked() == "ok"


def test_a_process_killed_while_it_creates_the_store(tmp_path: Path) -> None:
    rng = random.Random(9)
    for number in range(KILLS_WHILE_OPENING):
        path = tmp_path / str(number) / "store.db"
        code, acknowledged = killed_writer(str(path), rng, first=0, batch=2, acknowledgements=0)
        assert code == -9
        store = SqliteStore(path, busy_seconds=5, create=True)
        assert store.tip("s").length in (acknowledged, acknowledged + 2)
        store.close()
        assert_whole(path, acknowledged, 2)

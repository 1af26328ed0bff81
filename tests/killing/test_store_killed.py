"""Promise 8: kill -9 at any instant; what was acknowledged is there, whole, and the store opens again."""

import random
import time
from contextlib import closing
from pathlib import Path

import pytest
from behind_sqlite import BehindSqlite
from killing.deaths import Death
from killing.family import Nursery
from killing.plans import ANY_INSTANT, ROUNDS, Plan, Tally

from minutebook.store.sqlite import SqliteStore

KILLS_WHILE_WRITING = max(40, ROUNDS)
KILLS_WHILE_OPENING = max(15, ROUNDS // 2)
STATEMENTS_OF_THE_SCHEMA = 12
WRITING_SECONDS = 0.03


def plan_of(rng: random.Random, *, call: str, statements: int) -> Plan:
    """At one of the first few calls, most often in the midst of its transaction."""
    if rng.random() < 2 * ANY_INSTANT:
        return Plan(None, rng.random() * WRITING_SECONDS)
    nth = 1 if call == "store.open" else rng.randint(1, 5)
    return Plan(Death(call, nth, rng.choice(["before", "after", "within", "within"]), rng.randint(1, statements)))


def acknowledged_by(nursery: Nursery, plan: Plan, tally: Tally, path: Path, *, first: int, batch: int) -> int:
    """Let a writer write until it dies; the last number of which it knew that it was written."""
    log = path.with_name("log")
    log.unlink(missing_ok=True)
    child = nursery.start("write", death=plan.death, store=str(path), log=str(log), first=first, batch=batch)
    if plan.death is None:
        time.sleep(plan.seconds)
        child.kill()
    tally.note(child, nursery.wait(child))
    tally.rounds += 1
    said = log.read_text().splitlines(keepends=True) if log.exists() else []
    return max([first, *(int(line) for line in said if line.endswith("\n") and line != "opening\n")])


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


@pytest.mark.timeout(300 + KILLS_WHILE_WRITING)
def test_a_writer_killed_at_any_instant(nursery: Nursery, tmp_path: Path) -> None:
    rng, tally = random.Random(8), Tally("appends to a store")
    path = tmp_path / "store.db"
    SqliteStore(path).close()
    held = 0
    for _ in range(KILLS_WHILE_WRITING):
        batch = rng.choice([1, 3, 20])
        plan = plan_of(rng, call="store.append", statements=batch + 6)
        acknowledged = acknowledged_by(nursery, plan, tally, path, first=held, batch=batch)
        with closing(SqliteStore(path, busy_seconds=5, create=False)) as store:
            length = store.tip("s").length
        held = assert_whole(path, acknowledged, batch)
        assert length == held
    assert held > KILLS_WHILE_WRITING
    assert BehindSqlite(path).checked() == "ok"
    tally.done()


@pytest.mark.timeout(300 + KILLS_WHILE_OPENING)
def test_a_process_killed_while_it_creates_the_store(nursery: Nursery, tmp_path: Path) -> None:
    rng, tally = random.Random(9), Tally("creation of a store")
    for number in range(KILLS_WHILE_OPENING):
        path = tmp_path / str(number) / "store.db"
        path.parent.mkdir()
        plan = plan_of(rng, call="store.open", statements=STATEMENTS_OF_THE_SCHEMA)
        acknowledged = acknowledged_by(nursery, plan, tally, path, first=0, batch=2)
        with closing(SqliteStore(path, busy_seconds=5)) as store:
            assert store.tip("s").length == assert_whole(path, acknowledged, 2)
    tally.done()

"""Two homes as two laptops and a box, all as real processes: `om serve`, `om worker`, `om sync`, `om compact`.

MINUTEBOOK_SYNC_KILLS=N kills `om sync` N times in the last test instead of three.
"""

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from surroundings import OM

from minutebook.pipeline import ledger
from minutebook.pipeline.boxing import lengths
from minutebook.store.opening import open_store

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "orders-service.jsonl"
KEY = "claude_code:8997d5de-3b7f-43f6-a8d6-cb3bda2a268c"
PATIENCE_SECONDS = 120.0
KILLS = int(os.environ.get("MINUTEBOOK_SYNC_KILLS", "3"))
PROJECT = "orders-service"


@dataclass
class Place:
    """A home with its own variables: a laptop, or the box."""

    home: Path
    variables: dict[str, str]
    stack: ExitStack
    told: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home.mkdir()
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), **self.variables}
        self.environ["MINUTEBOOK_HOME"] = str(self.home)

    def om(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        done = subprocess.run([*OM, *words], env=self.environ, capture_output=True, text=True, cwd=self.home)
        assert code is None or done.returncode == code, (words, done.stdout, done.stderr)
        return done

    def start(self, *words: str) -> "Process":
        """Run one beside everything else until the test is over."""
        output = self.home / f"{words[0]}-{len(self.told)}.out"
        self.told.append(output)
        with output.open("wb") as file:
            process = subprocess.Popen([*OM, *words], env=self.environ, stdout=file, stderr=file, cwd=self.home)
        self.stack.callback(lambda: (process.kill(), process.wait()))
        return Process(process, output)

    @property
    def store(self) -> str:
        return str(self.home / "minutebook.sqlite")

    def compact(self) -> str:
        return self.om("compact").stdout

    def has(self, entries: int) -> bool:
        """Whether the store has so many entries, and memory that covers all of them."""
        return thought(self.store, KEY, entries)

    def ingest(self, upto: float) -> int:
        """The beginning of the example session, as a file that grows; how many entries are in the store."""
        lines = EXAMPLE.read_bytes().splitlines(keepends=True)
        file = self.home / "orders-service.jsonl"
        file.write_bytes(b"".join(lines[: int(len(lines) * upto)]))
        self.om("ingest", str(file))
        found = shape(self.store, KEY)
        assert found is not None
        return found[0]


@dataclass
class Process:
    """A process that runs beside the test, and what it said."""

    process: subprocess.Popen[bytes]
    output: Path

    @property
    def said(self) -> str:
        return self.output.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS)


@dataclass
class Team:
    """A box and whoever has a token for it."""

    folder: Path
    url: str
    stack: ExitStack

    def __post_init__(self) -> None:
        self.box = Place(self.folder / "box", {"MINUTEBOOK_STORE": self.url}, self.stack)
        self.tokens: dict[str, str] = {}
        self.serve()

    def serve(self, port: int = 0) -> None:
        """Open the door; the same one again with its port."""
        self.door = self.box.start("serve", "--set", f"serve_port={port}")
        until(lambda: "listening on" in self.door.said)
        self.address = self.door.said.split()[-1]

    def settled(self, laptop: Place | None = None) -> None:
        """Wait until the box has nothing left to do, and the laptop, which syncs, all of its memory."""
        self.box.om("worker", "--until-idle")
        if laptop is not None:
            until(lambda: shape(self.url, f"alice~{KEY}") == shape(laptop.store, KEY))

    def laptop(self, name: str, user: str = "alice", **variables: str) -> Place:
        if user not in self.tokens:
            self.tokens[user] = self.box.om("token", "create", "--user", user).stdout.strip()
        own = {"MINUTEBOOK_BOX_URL": self.address, "MINUTEBOOK_BOX_TOKEN": self.tokens[user]}
        own |= {"MINUTEBOOK_SYNC_SECONDS": "1", **variables}
        return Place(self.folder / name, own, self.stack)


def shape(url: str, key: str) -> tuple[int, int, int] | None:
    """Sources, memory entries and observation coverage of a branch."""
    with closing(open_store(url)) as store:
        found = lengths(store, [key])[key]
        return found and (found.sources, found.memory, found.marks.get(ledger.OBSERVER, 0))


def thought(url: str, key: str, entries: int) -> bool:
    """Whether a branch has so many entries, and an observer has been through all of them."""
    found = shape(url, key)
    return found is not None and found[0] == found[2] == entries


def until(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for something that other processes do."""
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.05)


ON_BOTH = pytest.mark.parametrize("team", ["sqlite", "redis"], indirect=True)
ON_REDIS = pytest.mark.parametrize("team", ["redis"], indirect=True)
ON_SQLITE = pytest.mark.parametrize("team", ["sqlite"], indirect=True)


@pytest.fixture
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Team]:
    kept = request.param == "sqlite"
    url = str(tmp_path / "box.sqlite") if kept else str(request.getfixturevalue("redis_url"))
    with ExitStack() as stack:
        yield Team(tmp_path, url, stack)


@ON_BOTH
@pytest.mark.timeout(600)
def test_what_one_laptop_sends_comes_back_to_the_compaction_of_both(team: Team) -> None:
    """A session grows on one laptop while the box thinks; the other laptop, and a colleague, compose the same bytes."""
    team.box.start("worker")
    one = team.laptop("one")
    syncing = one.start("sync")
    for share in (0.25, 0.5):
        entries = one.ingest(share)
    until(lambda: one.has(entries))
    team.settled(one)
    composed = one.compact()
    assert "page size cap 75" in composed
    other = team.laptop("other")
    assert f"received  {entries} source entries" in other.om("sync", "--once").stdout
    assert other.compact() == composed
    team.box.om("token", "share", PROJECT)
    colleague = team.laptop("colleague", "bob", MINUTEBOOK_BOX_PULL="team")
    colleague.om("sync", "--once")
    assert colleague.om("compact", "--session", f"alice~{KEY}").stdout == composed
    known = shape(one.store, KEY)
    one.om("note", "the note of the first laptop")
    until(lambda: known and (shape(one.store, KEY) or known)[1] > known[1])
    team.settled(one)
    other.om("sync", "--once")
    assert one.compact() == other.compact() != composed
    assert syncing.stop() == 0
    assert syncing.said == ""


@ON_REDIS
@pytest.mark.timeout(600)
def test_a_missing_box_costs_freshness_only(team: Team) -> None:
    """Killed in between: the laptop takes in and composes as before, and catches up when the box is back."""
    worker = team.box.start("worker")
    one = team.laptop("one")
    syncing = one.start("sync")
    entries = one.ingest(0.2)
    until(lambda: one.has(entries))
    team.settled(one)
    before = one.compact()
    team.door.kill()
    worker.kill()
    entries = one.ingest(0.4)
    until(lambda: "does not answer" in syncing.said)
    after = one.compact()
    assert len(after) >= len(before) and before.splitlines()[10] in after
    assert "does not answer" in one.om("status", code=None).stdout
    team.serve(int(team.address.rpartition(":")[2]))
    team.box.start("worker")
    until(lambda: one.has(entries))
    until(lambda: "the box is back" in syncing.said)
    assert len(syncing.said.splitlines()) == 2
    team.settled(one)
    other = team.laptop("other")
    other.om("sync", "--once")
    assert other.compact() == one.compact()


@ON_SQLITE
@pytest.mark.timeout(600 + 20 * KILLS)
def test_a_killed_om_sync_leaves_nothing_half_done(team: Team) -> None:
    chance = random.Random(7)
    team.box.start("worker")
    one, other = team.laptop("one"), team.laptop("other")
    for number in range(KILLS):
        entries = one.ingest((number + 1) / KILLS / 2)
        killed = [place.start("sync") for place in (one, other)]
        for process in killed:
            time.sleep(chance.uniform(0.0, 1.5))
            process.kill()
            assert process.said == ""
    one.om("sync", "--once")
    until(lambda: thought(team.url, f"alice~{KEY}", entries))
    team.settled()
    for place in (one, other):
        place.om("sync", "--once")
    assert one.compact() == other.compact()
    assert shape(one.store, KEY) == shape(other.store, KEY) == shape(team.url, f"alice~{KEY}")

"""python -m tests.environment.box_rounds --rounds 200 --seed 0: a box and two laptops at work, parts of them killed.

In each round the laptops' sessions grow, a person adds a note or an agent compacts, and one of worker, door, shippers
and redis-server gets kill -9 and is started again. Every so many rounds nobody is killed any more: then box and laptops
have to come to the same sources and the same memory, each entry once, with nothing stuck.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "store"))

from environment.box_ends import ALICE, Ends
from environment.box_laptop import Laptop
from killing.killed_sessions import SETTINGS, assignments
from redis_server import RedisServer, free_port
from surroundings import OM

from minutebook.errors import StoreError
from minutebook.server.tokens import create_token
from minutebook.store.opening import open_store

ROUNDS_OF_A_STORY = 10
SETTLE_SECONDS = 120.0
AT_WORK, AT_WORK_SECONDS = 0.7, 20.0
"""So often a kill waits until something arrives, at most so long."""
STARTING_SECONDS = 10.0
PARTS = ("worker", "api", "sync-0", "sync-1", "redis")
POWER = "power"
"""That of the machine on which Redis runs, which then loses what was written in the last moment."""
OWN_WORDS = {"lease_seconds": "2", "job_deadline_seconds": "30", "sync_seconds": "1", "retry_first_seconds": "1"}
tell = partial(print, flush=True)


@dataclass
class Part:
    """One process of `om`. stays: it must never end by itself; others are started again, as a container would be."""

    words: Sequence[str]
    environment: Mapping[str, str]
    output: Path
    stays: bool
    process: "subprocess.Popen[bytes] | None" = None
    began: float = 0.0

    def start(self) -> None:
        self.began = time.monotonic()
        with self.output.open("ab") as file:
            self.process = subprocess.Popen(
                [*OM, *self.words], env={**os.environ, **self.environment}, stdout=file, stderr=file
            )

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """Its exit code; 0 also of one that was started just now, and did not hear signals yet."""
        assert self.process is not None
        is_new = time.monotonic() - self.began < STARTING_SECONDS
        self.process.terminate()
        code = self.process.wait(60)
        return 0 if is_new and code == -signal.SIGTERM else code

    def ended(self) -> int | None:
        return None if self.process is None else self.process.poll()


class Machine:
    """The one on which Redis runs, with what docker-compose.yml does before it starts."""

    def __init__(self, folder: Path) -> None:
        self.redis = RedisServer(folder, ["--aof-load-truncated", "no"])
        self._logs = folder / "appendonlydir"
        self._noted = (Path(), 0)

    def note(self) -> None:
        """What is written up to here is on the disk; what comes later may be lost."""
        log = self._log()
        self._noted = (log, log.stat().st_size)

    def lose(self, rng: random.Random) -> int:
        """The end of what was written since, wherever that cuts it; how many bytes."""
        log, size = self._log(), self._log().stat().st_size
        kept = rng.randrange(self._noted[1] if log == self._noted[0] else 0, size + 1)
        os.truncate(log, kept)
        return size - kept

    def kill(self) -> None:
        self.redis.kill()

    def start(self) -> None:
        for manifest in self._logs.glob("*.manifest"):
            subprocess.run(["redis-check-aof", "--fix", manifest], input=b"y\n" * 9, capture_output=True, check=True)
        self.redis.start()

    def _log(self) -> Path:
        return max(self._logs.glob("*.incr.aof"), key=lambda path: int(path.name.split(".")[-3]))


@dataclass
class Story:
    """Some rounds on a database of its own, with two new homes. tally: kills by part, and what was done."""

    machine: "Machine"
    number: int
    seed: int
    folder: Path
    tally: Counter[str]
    power_cuts: bool = False
    parts: dict[str, Part] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.folder.mkdir()
        self.url = self.machine.redis.database_url(self.number)
        with closing(open_store(self.url)) as store:
            _, self.token = create_token(store, ALICE, ["*"])
        self.laptops = [Laptop(self.folder / f"home-{number}", self.seed * 2 + number) for number in range(2)]
        self.ends = Ends(self.url, self.laptops)
        port = str(free_port())
        box = {**own_settings(), "MINUTEBOOK_STORE": self.url, "MINUTEBOOK_HOME": str(self.folder / "box")}
        away = {"MINUTEBOOK_BOX_URL": f"http://127.0.0.1:{port}", "MINUTEBOOK_BOX_TOKEN": self.token}
        self._part("api", ["serve"], {**box, "MINUTEBOOK_SERVE_PORT": port})
        self._part("worker", ["worker"], box)
        for number, laptop in enumerate(self.laptops):
            home = {"MINUTEBOOK_HOME": str(laptop.home), **own_settings(), **away}
            self._part(f"sync-{number}", ["sync"], home, stays=True)

    def play(self, rounds: int) -> Iterator[str]:
        """What is wrong after those rounds."""
        try:
            for part in self.parts.values():
                part.start()
            for _ in range(rounds):
                self._round()
                yield from self._look_after()
            yield from self._settle()
        finally:
            for part in self.parts.values():
                part.kill()

    def _part(self, name: str, words: Sequence[str], environment: Mapping[str, str], *, stays: bool = False) -> None:
        self.parts[name] = Part(words, environment, self.folder / f"{name}.out", stays)

    def _round(self) -> None:
        before = self.ends.taken()
        self._work()
        if self.rng.random() < AT_WORK:
            self._wait_for_more_than(before)
        self.machine.note()
        time.sleep(self.rng.uniform(0, 1.2))
        victim = self.rng.choice(PARTS + (POWER,) * len(PARTS) * self.power_cuts)
        part = self.parts.get(victim, self.machine)
        part.kill()
        if victim == POWER:
            self.tally["bytes lost by power cuts"] += self.machine.lose(self.rng)
        self._work()
        time.sleep(self.rng.uniform(0, 0.5))
        part.start()
        self.tally[f"kills of {victim.split('-')[0]}"] += 1

    def _wait_for_more_than(self, before: Mapping[str, int]) -> None:
        """Until the box has taken in something new of each laptop: then all parts are up and in the middle of it."""
        give_up_at = time.monotonic() + AT_WORK_SECONDS
        while time.monotonic() < give_up_at:
            taken = self.ends.taken()
            if all(taken[name] > count for name, count in before.items()):
                return
            time.sleep(0.05)
        self.tally["rounds without anything new on the box"] += 1

    def _work(self) -> None:
        for laptop in self.laptops:
            self.tally.update(laptop.work(self.rng))

    def _look_after(self) -> Iterator[str]:
        for name, part in self.parts.items():
            if (code := part.ended()) is not None:
                if part.stays:
                    yield f"{name} ended by itself with {code}: {part.output.read_text()[-500:]}"
                self.tally[f"{name.split('-')[0]} started again"] += 1
                part.start()

    def _settle(self) -> Iterator[str]:
        """Everything is delivered and over, nobody dies: in time both sides have the same, and nothing is to do."""
        for laptop in self.laptops:
            laptop.finish()
        for number in range(len(self.laptops) * self.power_cuts):
            # A list that was set back is read anew by a new process, else every ten minutes.
            self.parts[f"sync-{number}"].kill()
            self.parts[f"sync-{number}"].start()
        ends = self.ends
        self.tally["source entries on the box while parts were killed"] += sum(ends.taken().values())
        give_up_at = time.monotonic() + SETTLE_SECONDS
        left = "not looked at"
        while left and time.monotonic() < give_up_at:
            time.sleep(0.5)
            yield from self._look_after()
            with suppress(StoreError):
                left = ends.unsettled()
        if left:
            yield f"did not come to rest in {SETTLE_SECONDS:.0f} s: {left}"
        for name, part in self.parts.items():
            if code := part.stop():
                yield f"{name} ended with {code} when it was told to"
            if "Traceback" in part.output.read_text():
                yield f"{name} printed a traceback"
        yield from ends.broken()
        self.tally.update(ends.counts())
        self.tally["sessions that parted"] += sum(map(len, ends.alone()))


def own_settings() -> dict[str, str]:
    """The small thresholds of the kill suite as variables, and times that suit processes."""
    words = [word for word in assignments(SETTINGS) if word != "--set"]
    pairs = dict(word.split("=", 1) for word in words) | OWN_WORDS
    return {f"MINUTEBOOK_{name.upper()}": value for name, value in pairs.items()}


def play(
    rounds: int, seed: int, folder: Path, *, power_cuts: bool = False, say: bool = False
) -> tuple[Counter[str], list[str]]:
    """So many rounds in stories; what was done, and what was wrong with the seed of its story."""
    tally: Counter[str] = Counter()
    wrong = []
    machine = Machine(folder / "redis")
    try:
        for number, first in enumerate(range(0, rounds, ROUNDS_OF_A_STORY)):
            story = Story(machine, number + 1, seed + number, folder / f"story-{number}", tally, power_cuts)
            here = [f"seed {story.seed}: {line}" for line in story.play(min(ROUNDS_OF_A_STORY, rounds - first))]
            wrong += here
            if say:
                tell(f"{min(rounds, first + ROUNDS_OF_A_STORY)} rounds:", *(here or ["all the same on all sides"]))
    finally:
        machine.kill()
    return tally, wrong


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 when something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.environment.box_rounds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the first story")
    parser.add_argument("--power", action="store_true", help="Redis' machine loses power, too, and its last writes")
    parser.add_argument("--keep", type=Path, help="a new folder in which stores and output stay")
    asked = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        tally, wrong = play(asked.rounds, asked.seed, asked.keep or Path(temporary), power_cuts=asked.power, say=True)
    done = ", ".join(f"{count:,} {what}" for what, count in sorted(tally.items()))
    seconds = time.monotonic() - began
    tell(f"{asked.rounds} rounds from seed {asked.seed}: {done}; {seconds:.0f} s; failures: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

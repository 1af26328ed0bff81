"""python -m tests.fuzz --seeds 2000 --from 0 --store redis: play seeds, shrink what fails, print one line of sums."""

import argparse
import logging
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.dealing import scenario_of
from fuzz.playing import Played, play
from fuzz.shrinking import as_test, shrunk
from fuzz.stores import NewStore, OnServer, in_file
from redis_server import DATABASES, RedisServer

tell = partial(print, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 when a seed failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--store", choices=["sqlite", "redis"], default="sqlite", help="on what")
    parser.add_argument("--no-shrink", action="store_true", help="only name the seeds that fail")
    asked = parser.parse_args(arguments)
    with serving(asked.store == "redis") as url:
        return played(asked, url)


@contextmanager
def serving(wanted: bool) -> Iterator[str]:
    """The URL of a redis-server without a database, for as long as it is used; "" where none is wanted."""
    if not wanted:
        yield ""
        return
    with TemporaryDirectory(prefix="fuzz-redis-") as folder:
        server = RedisServer(Path(folder))
        try:
            yield server.url.rpartition("/")[0]
        finally:
            server.kill()


def played(asked: argparse.Namespace, url: str) -> int:
    """All seeds, and what came of them. url: of the server, "" for files."""
    began = time.monotonic()
    sums: Counter[str] = Counter()
    failed = []
    with multiprocessing.Pool(asked.jobs, use_store, (url,)) as pool:
        for seed, played in pool.imap(_played, range(asked.first, asked.first + asked.seeds)):
            sums.update(played.counts)
            if played.broken:
                failed.append(seed)
                tell(f"seed {seed} failed:", *played.broken, sep="\n  ")
    use_store(url)
    for seed in () if asked.no_shrink else failed:
        scenario = scenario_of(seed)
        small = shrunk(scenario, play(scenario, STORES[0](seed)), new_store=STORES[0](seed))
        tell(as_test(small, play(small, STORES[0](seed)).broken))
    counted = ", ".join(f"{count:,} {name}" for name, count in sums.items())
    wall = time.monotonic() - began
    tell(f"{asked.seeds:,} seeds from {asked.first}: {counted}; {wall:.0f} s; failures: {failed or 'none'}")
    return 1 if failed else 0


def use_store(url: str) -> None:
    """From here on this process plays on the server's databases, a seed on its own, or in files."""
    STORES[:] = [lambda seed: OnServer(url, first=seed % DATABASES, databases=1) if url else in_file]


STORES: list[Callable[[int], NewStore]] = []


def _played(seed: int) -> tuple[int, Played]:
    logging.disable(logging.CRITICAL)
    played = play(scenario_of(seed), STORES[0](seed))
    played.moves = []
    return seed, played


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

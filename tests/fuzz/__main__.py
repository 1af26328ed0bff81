"""python -m tests.fuzz --seeds 2000 --from 0: play so many seeds, shrink what fails, print one line of sums."""

import argparse
import logging
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.dealing import scenario_of
from fuzz.playing import Played, play
from fuzz.shrinking import as_test, shrunk

tell = partial(print, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 when a seed failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--no-shrink", action="store_true", help="only name the seeds that fail")
    asked = parser.parse_args(arguments)
    began = time.monotonic()
    sums: Counter[str] = Counter()
    failed = []
    with multiprocessing.Pool(asked.jobs) as pool:
        for seed, played in pool.imap(_played, range(asked.first, asked.first + asked.seeds)):
            sums.update(played.counts)
            if played.broken:
                failed.append(seed)
                tell(f"seed {seed} failed:", *played.broken, sep="\n  ")
    for seed in () if asked.no_shrink else failed:
        scenario = scenario_of(seed)
        small = shrunk(scenario, play(scenario))
        tell(as_test(small, play(small).broken))
    counted = ", ".join(f"{count:,} {name}" for name, count in sums.items())
    wall = time.monotonic() - began
    tell(f"{asked.seeds:,} seeds from {asked.first}: {counted}; {wall:.0f} s; failures: {failed or 'none'}")
    return 1 if failed else 0


def _played(seed: int) -> tuple[int, Played]:
    logging.disable(logging.CRITICAL)
    played = play(scenario_of(seed))
    played.moves = []
    return seed, played


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

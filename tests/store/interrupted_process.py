"""python interrupted_process.py URL: reads a store on Redis and is interrupted, as by Ctrl-C, again and again."""

import random
import signal
import sys
from contextlib import closing

from minutebook.store.opening import open_store

INTERRUPTS = 500
READS = 100


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def read_until_interrupted(url: str) -> int:
    """How often a call was interrupted. Python drops an interrupt that comes in a finalizer: then the reads end."""
    rng, came = random.Random(4), 0
    with closing(open_store(url)) as store:
        signal.signal(signal.SIGALRM, interrupt)
        for _ in range(INTERRUPTS):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + rng.random() * 0.003)
                for _ in range(READS):
                    store.read("s")
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                came += 1
        assert store.tip("s").length == 0
    return came


if __name__ == "__main__":
    sys.exit(0 if read_until_interrupted(sys.argv[1]) else "no call was interrupted")

"""A process that appends to a store: python writing_process.py URL STREAM NAME FIRST APPENDS BATCH.

Prints "opening", then after each append that returned the number of items that this writer has written so far. Each
append also advances the writer's mark, puts its document and sets its dirty key, so that half a write would show.
"""

import os
import sys

from minutebook.store.kernel import Appended, Item, Put
from minutebook.store.opening import open_store

BODY = '"' + "x" * 2000 + '"'


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def main(url: str, stream: str, name: str, first: int, appends: int, batch: int) -> None:
    say("opening")
    store = open_store(url)
    for start in range(first, first + appends * batch, batch):
        done = start + batch
        outcome = store.append(
            stream,
            [Item(f"{name}-{number}", name, number, BODY) for number in range(start, done)],
            advance={name: done},
            dirty=name,
            puts=[Put("written", name, str(done))],
        )
        assert isinstance(outcome, Appended)
        say(str(done))
    store.close()


if __name__ == "__main__":
    url, stream, name, *numbers = sys.argv[1:]
    first, appends, batch = map(int, numbers)
    main(url, stream, name, first, appends, batch)

"""python clocked.py AHEAD LOG WORDS…: `om` on a machine whose clock is so many seconds ahead.

Its observer takes longer than a lease, and notes in the log when it began and ended, by the clock that all share.
"""

import sys
import time
from functools import wraps
from pathlib import Path
from typing import Any

SLOW_SECONDS = 5.0
true_time, true_time_ns = time.time, time.time_ns


def main(ahead_seconds: float, log: Path, words: list[str]) -> None:
    """Before anything of ours is imported, so that nobody has kept the true clock."""
    time.time = lambda: true_time() + ahead_seconds
    time.time_ns = lambda: true_time_ns() + int(ahead_seconds * 1e9)
    from minutebook.cli.root import om
    from minutebook.workers.extractive.mind import ExtractiveMind

    observe = ExtractiveMind.observe

    @wraps(observe)
    def slowly(self: Any, batch: Any, desk: Any) -> None:
        began = true_time()
        time.sleep(SLOW_SECONDS)
        observe(self, batch, desk)
        with log.open("a") as file:
            file.write(f"{batch.sources[0].placed.entry.id} {began} {true_time()}\n")

    ExtractiveMind.observe = slowly  # type: ignore[method-assign]
    om.main(words, prog_name="om")


if __name__ == "__main__":
    main(float(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])

"""Minds and sessions for measuring the engine: what thinks takes a stated time and says little."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.growing import message
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.deliveries import Reading, SessionHead
from minutebook.pipeline.intake import accept_turns
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers.contract import Desk
from minutebook.workers.foreground import run_worker

SETTINGS = Settings(observe_after_tokens=50, reflect_after_tokens=10**9, job_deadline_seconds=600)
TURN = range(4)
"""Numbers of the messages of one turn: more than observe_after_tokens in all."""


class SleepingMind:
    """Thinks for so long, then records one observation. begun: a file that gets a line when thinking starts."""

    name = "sleeping"

    def __init__(self, seconds: float = 0.0, begun: Path | None = None) -> None:
        self._seconds = seconds
        self._begun = begun

    def observe(self, batch: Any, desk: Desk) -> None:
        if self._begun is not None:
            with self._begun.open("a") as file:
                file.write(f"{batch.sources[0].placed.entry.id} {time.monotonic()}\n")
        time.sleep(self._seconds)
        first = batch.sources[0]
        proposal = {
            "content": f"saw {first.placed.entry.id}",
            "timestamp": "2026-01-01 00:00",
            "relevance": "low",
            "sources": [first.alias],
        }
        desk.record([proposal])

    def reflect(self, batch: Any, desk: Desk) -> None:
        desk.nothing()

    digest = drop = judge = reflect


def settings_for(branch: Branch) -> Settings:
    return SETTINGS


def turn(store: Store, session: str, first: int = 0) -> Branch:
    """One turn of a session, by intake."""
    head = SessionHead(host="neutral", session=session)
    accept_turns(store, Reading(head=head, events=[message(first + at, session) for at in TURN]))
    return load_branch(store, f"neutral:{session}")


def main(arguments: Sequence[str]) -> int:
    """A worker with this mind: STORE BEGUN [SECONDS [CONCURRENCY]]."""
    url, begun, *numbers = arguments
    seconds = float(numbers[0]) if numbers else 0.0
    concurrency = float(numbers[1]) if numbers[1:] else 2
    mind = SleepingMind(seconds, Path(begun))
    return run_worker(
        url, concurrency=int(concurrency), minds=lambda role, settings, branch: mind, settings_for=settings_for
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

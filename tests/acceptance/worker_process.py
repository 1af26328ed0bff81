"""A worker in a process of its own: python worker_process.py STORE MARKS [NAME=SECONDS] ….

Each run of its mind appends one line to the file MARKS. slow: the mind then sleeps for so long. idle: it leaves after
so long. stop: it waits so long for its jobs when it is told to stop. ahead: the clock of its machine is wrong by so
much. lease: of a job, by default a second.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minutebook.settings import Settings
from minutebook.workers.contract import Desk, Mind
from minutebook.workers.foreground import run_worker

SETTINGS = Settings(observe_after_tokens=50, reflect_after_tokens=10**6, lease_seconds=1, job_deadline_seconds=60)


class MarkingMind:
    """Observes each source; tells that it was asked before it does."""

    name = "marking"

    def __init__(self, marks: Path, *, slow: float) -> None:
        self.marks = marks
        self.slow = slow

    def observe(self, batch: Any, desk: Desk) -> None:
        with self.marks.open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(self.slow)
        desk.record(
            [
                {
                    "content": f"saw {shown.placed.entry.id}",
                    "timestamp": "2026-05-02 10:30",
                    "relevance": "low",
                    "sources": [shown.alias],
                }
                for shown in batch.sources
            ]
        )

    def reflect(self, batch: Any, desk: Desk) -> None:
        desk.nothing()

    digest = drop = reflect

    def judge(self, batch: Any, desk: Desk) -> None:
        with self.marks.open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(self.slow)
        desk.record([{"id": record.id} for record in reversed(batch.records)])


def set_clock(ahead: float) -> None:
    real = time.time
    time.time = lambda: real() + ahead


def main(arguments: Sequence[str]) -> int:
    store, marks, *words = arguments
    options = dict(word.partition("=")[::2] for word in words)
    mind: Mind = MarkingMind(Path(marks), slow=float(options.get("slow") or 0))
    settings = replace(SETTINGS, lease_seconds=int(options.get("lease") or SETTINGS.lease_seconds))
    idle = options.get("idle")
    if "ahead" in options:
        set_clock(float(options["ahead"]))
    return run_worker(
        store,
        until_idle="until-idle" in options,
        idle_exit_seconds=float(idle) if idle else None,
        minds=lambda role, settings, branch: mind,
        settings_for=lambda branch: settings,
        stop_seconds=float(options.get("stop") or 30),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

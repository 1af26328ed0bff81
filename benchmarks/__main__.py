"""`make bench`: one table. Ratios are within this one run, of medians of interleaved measurements.

python -m benchmarks [GROUP…] [--entries N]
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module

from benchmarks.bench import Bench, benching
from benchmarks.scale import FULL, Scale
from benchmarks.table import HEADINGS, Row, machine

GROUPS = {
    "compose": "reading.compose_rows",
    "status": "reading.status_rows",
    "due": "reading.due_rows",
    "commit": "committing.rows",
    "ingest": "ingesting.rows",
    "job": "engine.job_rows",
    "pending": "engine.pending_rows",
    "threads": "engine.threads_rows",
    "latency": "worker.latency_rows",
    "idle": "worker.idle_rows",
    "prompts": "prompt_tokens.rows",
    "redaction": "redaction.rows",
}
"""Group → the function that yields its rows."""


def rows_of(group: str, bench: Bench) -> Iterator[Row]:
    """The rows of one group."""
    module, _, name = GROUPS[group].partition(".")
    rows: Iterator[Row] = getattr(import_module(f"benchmarks.{module}"), name)(bench)
    return rows


def main(arguments: Sequence[str]) -> int:
    """Print the table of the named groups, of all of them without a name; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Prints one table of measured bars.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", choices=[[], *GROUPS], help=", ".join(GROUPS))
    parser.add_argument("--entries", type=int, default=FULL.large, metavar="N", help="of the largest stores")
    parser.add_argument("--runs", type=int, default=FULL.runs, metavar="N", help="of which medians are taken")
    options = parser.parse_args(arguments)
    scale = replace(FULL, large=options.entries, middle=min(FULL.middle, options.entries), runs=options.runs)
    return show(options.groups or [*GROUPS], scale)


def show(groups: Sequence[str], scale: Scale) -> int:
    print(f"{machine()}\n\n{HEADINGS}", flush=True)
    begin, over = time.monotonic(), 0
    with benching(scale) as bench:
        for group in groups:
            for row in rows_of(group, bench):
                print(row, flush=True)
                over += row.ok is False
    print(f"\n{over} over; {time.monotonic() - begin:,.0f} s")
    return min(over, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

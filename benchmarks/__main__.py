"""`make bench`: one table. Ratios are within this one run, of medians of interleaved measurements.

python -m benchmarks [GROUP…] [--entries N] [--runs N] [--publish]
"""

import argparse
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from benchmarks.bench import Bench, benching
from benchmarks.scale import FULL, Scale
from benchmarks.table import HEADINGS, Row, machine

GROUPS = {
    "compose": "reading.compose_rows",
    "status": "reading.status_rows",
    "due": "reading.due_rows",
    "commit": "committing.rows",
    "ingest": "ingest.rows",
    "job": "engine.job_rows",
    "pending": "engine.pending_rows",
    "threads": "engine.threads_rows",
    "latency": "worker.latency_rows",
    "idle": "worker.idle_rows",
    "hook": "hooks.rows",
    "pi": "pi.rows",
    "box": "box.rows",
    "http": "http.rows",
    "prompts": "prompt_tokens.rows",
    "redaction": "redaction.rows",
}
"""Group → the function that yields its rows."""
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
BLOCK = re.compile(r"(<!-- output: make bench -->\n```\n).*?(```\n)", re.DOTALL)


def rows_of(group: str, bench: Bench) -> Iterator[Row]:
    """The rows of one group."""
    module, _, name = GROUPS[group].partition(".")
    rows: Iterator[Row] = getattr(import_module(f"benchmarks.{module}"), name)(bench)
    return rows


def main(arguments: Sequence[str]) -> int:
    """Print the table of the named groups, of all of them without a name; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Prints one table of measured bars.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"one of {', '.join(GROUPS)}")
    parser.add_argument("--entries", type=int, default=FULL.large, metavar="N", help="of the largest stores")
    parser.add_argument("--runs", type=int, default=FULL.runs, metavar="N", help="of which medians are taken")
    parser.add_argument("--publish", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"unknown group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    scale = replace(FULL, large=options.entries, middle=min(FULL.middle, options.entries), runs=options.runs)
    lines, over = [], False
    for line, missed in table(options.groups or [*GROUPS], scale):
        print(line, flush=True)
        lines.append(f"{line}\n")
        over = over or missed
    if options.publish:
        PAGE.write_text(BLOCK.sub(lambda found: found[1] + "".join(lines) + found[2], PAGE.read_text()))
    return int(over)


def table(groups: Sequence[str], scale: Scale) -> Iterator[tuple[str, bool]]:
    """The lines, as they are measured, and whether a bar is missed there."""
    begin, over = time.monotonic(), 0
    yield f"{machine()}\n\n{HEADINGS}", False
    with benching(scale) as bench:
        for group in groups:
            for row in rows_of(group, bench):
                yield str(row), row.ok is False
                over += row.ok is False
    yield f"\n{over or 'no'} bar{'' if over == 1 else 's'} missed; {time.monotonic() - begin:,.0f} s", False


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the large stores are not left behind
    sys.exit(main(sys.argv[1:]))

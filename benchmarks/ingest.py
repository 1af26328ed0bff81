"""What taking a session in costs, beside json.loads of the same lines; without redaction, and with it.

    python -m benchmarks.ingest FILE … [--rounds 9]

Timed: the reader and accept_turns into a fresh SQLite store that is open, and the lines (as bytes) through json.loads.
They take turns in one run, and medians are compared. A file below 3 MB is repeated with other ids and times
until it is as large.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from benchmarks import sessionfiles
from benchmarks.bench import Bench
from benchmarks.scale import FULL
from benchmarks.table import Row, Timed, medians, ratio_row
from minutebook.hosts.detecting import detect
from minutebook.hosts.lines import Lines
from minutebook.pipeline.intake import accept_turns
from minutebook.records import SourceEntry
from minutebook.redaction import Redactor
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

BAR, REDACTED_BAR = 4.0, 10.0
REAL_BYTES = 500_000
"""Real files below are left out: repeated so often they would say little."""

UUID = re.compile(r"[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
SHORT_ID = re.compile(r'("(?:id|parentId)":\s?")[0-9a-f]{2}(?=[0-9a-f]{6}")')
YEAR = re.compile(r'(?<=")\d{4}(?=-\d\d-\d\dT\d\d:\d\d)')
ABOUT_THE_SESSION = re.compile(r'"type":\s?"session(?:_meta)?"')
SESSION = re.compile(r'"(?:sessionId|session_id)":\s?"([0-9a-f]{8})')


def rows(bench: Bench) -> Iterator[Row]:
    """Generated sessions of each host, and real ones of the folder that MINUTEBOOK_SESSIONS names."""
    scale = bench.scale
    for host in sessionfiles.HOSTS:
        yield from file_rows(sessionfiles.written(bench.folder, host, scale.file_bytes), host, scale.file_runs)
    folder = Path(os.environ.get("MINUTEBOOK_SESSIONS", os.devnull))
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        if path.stat().st_size >= REAL_BYTES:
            host = f"{detect(path)[0].replace('_', ' ').title()}, real ({path.stat().st_size / 1e6:.1f} MB)"
            yield from file_rows(grown(path, bench.folder, scale.file_bytes), host, scale.file_runs)


def file_rows(path: Path, name: str, runs: int) -> Iterator[Row]:
    """The two rows of one file."""
    lines, fresh = records_of(path), Fresh()
    works = {
        "loads": Timed(run=lambda: decode(lines)),
        "bare": Timed(before=fresh.open, run=lambda: ingest(fresh.store, path, redact=False)),
        "redacted": Timed(before=fresh.open, run=lambda: ingest(fresh.store, path, redact=True)),
    }
    with closing(fresh):
        done = medians(runs, works)
    name = f"ingest of {path.stat().st_size / 1e6:.1f} MB of {name}, without redaction"
    yield ratio_row(name, done["bare"], done["loads"], BAR)
    yield ratio_row("  with redaction", done["redacted"], done["loads"], REDACTED_BAR)


def decode(lines: Sequence[bytes]) -> None:
    """Nothing is kept: what is kept costs the garbage collector's time too, and would flatter the ratio."""
    for line in lines:
        json.loads(line)


def records_of(path: Path) -> list[bytes]:
    """The file's JSON objects as they stand in it; nearly always one a line."""
    data = path.read_bytes()
    with path.open("rb") as file:
        return [data[row.offset : row.offset + row.length] for row in Lines(file, 0, 0, len(data))]


class Fresh:
    """An empty store in a folder of its own, a new one at each opening."""

    def open(self) -> None:
        """Instead of the one before."""
        self.close()
        self.folder = TemporaryDirectory()
        self.store = open_store(str(Path(self.folder.name) / "s.sqlite"))

    def close(self) -> None:
        """Nothing stays."""
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


def ingest(store: Store, path: Path, *, redact: bool) -> None:
    """One session into a store. Leaving redaction out is for this measurement only: no setting does it."""
    bare = nullcontext() if redact else patch.object(Redactor, "redact_entry", _as_it_is)
    with bare:
        accept_turns(store, detect(path)[1].read(path), path=str(path))


def _as_it_is(_self: Redactor, entry: SourceEntry) -> SourceEntry:
    return entry


def grown(path: Path, folder: Path, smallest_bytes: int) -> Path:
    """The file itself if it is large enough, else one in which it is repeated as if the session had gone on."""
    if path.stat().st_size >= smallest_bytes:
        return path
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    made = folder / path.name
    with made.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        for copy in range(-(-smallest_bytes // path.stat().st_size)):
            file.writelines(repeated(text.splitlines(keepends=True), copy))
    return made


def repeated(lines: Sequence[str], copy: int) -> Iterator[str]:
    """The lines with ids and years of their own; the session's id stays, and what opens a session comes once."""
    sessions = {match[1] for line in lines if (match := SESSION.search(line))}
    for line in lines:
        if copy and ABOUT_THE_SESSION.search(line[:200]):
            continue
        other = UUID.sub(lambda match: match[0] if match[0] in sessions else f"{copy:02x}{match[0][2:]}", line)
        other = SHORT_ID.sub(rf"\g<1>{copy:02x}", other)
        yield YEAR.sub(lambda match: str(int(match[0]) + copy), other) if copy else line


def main(arguments: Sequence[str]) -> None:
    """Print the rows of the named files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=FULL.file_runs)
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        for path in options.files:
            for row in file_rows(grown(path, Path(folder), 3_000_000), path.name, options.rounds):
                print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

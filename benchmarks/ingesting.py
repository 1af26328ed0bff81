"""Rows: taking a session file in, beside json.loads of the same lines; without redaction, and with it."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from benchmarks import sessionfiles
from benchmarks.bench import Bench
from benchmarks.ingest import BARS, _as_it_is, grown, records_of
from benchmarks.table import Row, medians, ratio_row
from minutebook.hosts.detecting import READERS, detect
from minutebook.pipeline.intake import accept_turns
from minutebook.redaction import Redactor
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

REAL_BYTES = 500_000
"""A real file of at least so much is repeated until it is as large as the generated ones."""


def rows(bench: Bench) -> Iterator[Row]:
    """Generated sessions of each host, and real ones of the folder that MINUTEBOOK_SESSIONS names."""
    for host in sessionfiles.HOSTS:
        path = sessionfiles.written(bench.folder, host, bench.scale.file_bytes)
        yield from _file_rows(bench, path, host)
    folder = Path(os.environ.get("MINUTEBOOK_SESSIONS", os.devnull))
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        if path.stat().st_size >= REAL_BYTES:
            large = grown(path, bench.folder, smallest_bytes=bench.scale.file_bytes)
            real = f"real, {path.stat().st_size / 1e6:.1f} MB repeated" if large != path else "real"
            yield from _file_rows(bench, large, f"{_name(path)} ({real})")


def _name(path: Path) -> str:
    host = detect(path)[0]
    assert host in READERS
    return host.replace("_", " ").title()


def _file_rows(bench: Bench, path: Path, name: str) -> Iterator[Row]:
    lines = records_of(path)
    works = {
        "loads": lambda: _decoded(lines),
        "bare": lambda: _taken_in(path, redact=False),
        "redacted": lambda: _taken_in(path, redact=True),
    }
    done = medians(bench.scale.file_runs, works)
    size = f"{path.stat().st_size / 1e6:.1f} MB of {name}"
    yield ratio_row(f"ingest without redaction, {size}", done["bare"], done["loads"], BARS[False])
    yield ratio_row("  with redaction", done["redacted"], done["loads"], BARS[True])


def _decoded(lines: Sequence[bytes]) -> None:
    # Nothing is kept: what is kept costs the garbage collector's time too, and would flatter the ratio.
    for line in lines:
        json.loads(line)


def _taken_in(path: Path, *, redact: bool) -> None:
    """The file into a store of its own, opening and closing included."""
    with TemporaryDirectory() as folder, closing(open_store(str(Path(folder) / "s.sqlite"))) as store:
        _accept(store, path, redact)


def _accept(store: Store, path: Path, redact: bool) -> None:
    with nullcontext() if redact else patch.object(Redactor, "redact_entry", _as_it_is):
        accept_turns(store, detect(path)[1].read(path), path=str(path))

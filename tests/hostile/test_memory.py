"""What reading costs in memory: it follows the largest record, never the number of them. Each in its own process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from transcripts import NEUTRAL, OPENCODE, SAMPLES, Sample, encoded

PROCESS = Path(__file__).with_name("ingest_process.py")
MANY_BYTES = 32 * 2**20
"""What a file of any length may cost above a tiny one: two pieces of a file as records, and the store's cache."""

Peak = Callable[..., int]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Bytes of memory that a file of ten entries takes."""
    folder = tmp_path_factory.mktemp("tiny")
    return peak_of(write(folder / "tiny.jsonl", NEUTRAL, 10))


@pytest.fixture
def peak(tiny: int) -> Peak:
    """Bytes of memory that `om ingest` has at most, above what it has for a file of ten entries."""
    return lambda path, *options: peak_of(path, *options) - tiny


def peak_of(path: Path, *options: str) -> int:
    own = {"HOME": str(path.parent), "MINUTEBOOK_STORE": str(path.parent / "s.sqlite"), "MINUTEBOOK_PASSIVE": "true"}
    command = [sys.executable, str(PROCESS), "ingest", *options, str(path)]
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, timeout=110)
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["code"] == 0, done.stderr
    return int(said["peak"])


def write(path: Path, sample: Sample, count: int) -> Path:
    path.write_bytes(sample.file([encoded(row) for row in sample.head] + list(prompts(sample, count))))
    return path


def prompts(sample: Sample, count: int) -> Iterator[bytes]:
    return (encoded(sample.prompt(number, f"short words, number {number}")) for number in range(count))


def test_fifty_thousand_entries_cost_what_a_piece_of_them_costs(tmp_path: Path, peak: Peak) -> None:
    path = write(tmp_path / "many.jsonl", NEUTRAL, 50_000)
    assert peak(path) < MANY_BYTES


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_every_reader_reads_in_pieces(tmp_path: Path, peak: Peak, sample: Sample) -> None:
    path = write(tmp_path / f"many{sample.suffix}", sample, 12_000)
    assert peak(path, "--estimate") < MANY_BYTES


@pytest.mark.parametrize("sample", [NEUTRAL, OPENCODE], ids=lambda sample: sample.name)
def test_record_of_ten_megabytes_costs_a_few_times_its_size(tmp_path: Path, peak: Peak, sample: Sample) -> None:
    path = tmp_path / f"large{sample.suffix}"
    row = encoded(sample.prompt(1, "ten characters " * 700_000))
    path.write_bytes(sample.file([*(encoded(head) for head in sample.head), row, *prompts(sample, 3)]))
    assert peak(path) < 10 * len(row)


@pytest.mark.parametrize("junk", [b"[" * 10_000_000, b'{"a":' * 1_000_000, b'"' + b"\\" * 3_000_000, b"x" * 10_000_000])
@pytest.mark.parametrize("sample", [NEUTRAL, OPENCODE], ids=lambda sample: sample.name)
def test_megabytes_that_are_no_record(tmp_path: Path, peak: Peak, sample: Sample, junk: bytes) -> None:
    """In an export they are within a message; what is not closed there makes the document no whole one."""
    path = tmp_path / f"junk{sample.suffix}"
    whole = junk if sample is NEUTRAL else json.dumps(junk.decode()).encode()
    path.write_bytes(sample.file([*(encoded(head) for head in sample.head), whole, *prompts(sample, 3)]))
    assert peak(path) < 10 * len(whole)

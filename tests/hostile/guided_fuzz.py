"""Coverage-guided fuzzing of one reader, for as long as it is let run: needs the package atheris (not in CI).

    python tests/hostile/guided_fuzz.py records claude_code -max_total_time=120
    python tests/hostile/guided_fuzz.py bytes opencode -max_total_time=120

records: records broken at any place, through the whole of intake into a store. bytes: any bytes, through the reader.
What it finds is written as crash-… into the current folder; the options are libFuzzer's.
"""

import random
import sys
import tempfile
from pathlib import Path

import atheris
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "hostile")]

with atheris.instrument_imports(
    include=["minutebook.hosts", "minutebook.pipeline.intake", "minutebook.pipeline.placing"]
):
    from test_fuzzed_transcripts import broken_file, check
    from transcripts import SAMPLES, Sample, encoded

    from minutebook.errors import BadTranscript
    from minutebook.hosts.detecting import READERS


def records(sample: Sample, folder: Path) -> None:
    """The bytes are the choices that a broken file is drawn with."""

    @settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def one(data: st.DataObject) -> None:
        check(sample, data.draw(broken_file(sample)))

    chosen = random.Random(sample.name)
    for number in range(20):
        (folder / f"seed-{number}").write_bytes(chosen.randbytes(8_000))
    sys.argv += ["-len_control=0", "-max_len=16000", str(folder)]
    _fuzz(one.hypothesis.fuzz_one_input)


def bytes_(sample: Sample, folder: Path) -> None:
    """The bytes are the file. Read at once and in two pieces; both must tell the same."""
    (folder / "sample").write_bytes(sample.file([encoded(row) for row in [*sample.head, *sample.rows]]))
    reader = READERS[sample.host]
    path = Path(tempfile.mkdtemp(prefix="fuzz-")) / f"session{sample.suffix}"

    def one(data: bytes) -> None:
        path.write_bytes(data)
        try:
            whole = reader.read(path)
        except BadTranscript:
            return
        first = reader.read(path, stop=len(data) // 2)
        second = reader.read(path, first.cursor)
        assert [*first.events, *second.events] == whole.events

    sys.argv += ["-max_len=20000", str(folder)]
    _fuzz(one)


def _fuzz(one: object) -> None:
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    how, name = sys.argv.pop(1), sys.argv.pop(1)
    chosen_sample = next(sample for sample in SAMPLES if sample.name == name)
    {"records": records, "bytes": bytes_}[how](chosen_sample, Path(tempfile.mkdtemp(prefix="corpus-")))

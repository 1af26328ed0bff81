"""What taking a session in costs, beside json.loads of the same lines.

    python -m benchmarks.ingest [FILE …] [--rounds 9]

Timed: the reader and accept_turns into a fresh SQLite store, from the first byte to the last commit, and the lines (as
bytes) through json.loads. Both take turns in one run, and medians are compared. A file below 3 MB is repeated with
other ids and times until it is as large; without a FILE, a generated session is measured.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter
from unittest.mock import patch

from minutebook.hosts.detecting import detect
from minutebook.hosts.lines import Lines
from minutebook.pipeline.intake import accept_turns
from minutebook.records import SourceEntry
from minutebook.redaction import Redactor
from minutebook.store.opening import open_store

BARS = {False: 4.0, True: 10.0}
"""With redaction or without → the ratio that must not be passed."""
SMALLEST_BYTES = 3_000_000
ROUNDS = 9

UUID = re.compile(r"[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
SHORT_ID = re.compile(r'("(?:id|parentId)":\s?")[0-9a-f]{2}([0-9a-f]{6})(?=")')
YEAR = re.compile(r'(?<=")\d{4}(?=-\d\d-\d\dT\d\d:\d\d)')
ABOUT_THE_SESSION = re.compile(r'"type":\s?"session(?:_meta)?"')
SESSION = re.compile(r'"(?:sessionId|session_id)":\s?"([0-9a-f]{8})')


def ingest_ratio(path: Path, *, redact: bool, rounds: int = ROUNDS) -> float:
    """Median time of taking the file in ÷ median time of json.loads of its lines, in turns."""
    lines = records_of(path)
    read: list[float] = []
    taken: list[float] = []
    for _ in range(rounds):
        read.append(seconds(lambda: decode(lines)))
        taken.append(seconds_of_ingest(path, redact=redact))
    return median(taken) / median(read)


def decode(lines: Sequence[bytes]) -> None:
    """Nothing is kept: what is kept costs the garbage collector's time too, and would flatter the ratio."""
    for line in lines:
        json.loads(line)


def records_of(path: Path) -> list[bytes]:
    """The file's JSON objects as they stand in it; nearly always one a line."""
    data = path.read_bytes()
    with path.open("rb") as file:
        return [data[row.offset : row.offset + row.length] for row in Lines(file, 0, 0, len(data))]


def seconds_of_ingest(path: Path, *, redact: bool) -> float:
    """One session into a store of its own. Leaving redaction out is for this measurement only: no setting does it."""
    with tempfile.TemporaryDirectory() as folder, closing(open_store(str(Path(folder) / "s.sqlite"))) as store:

        def ingest() -> None:
            accept_turns(store, detect(path)[1].read(path), path=str(path))

        if redact:
            return seconds(ingest)
        with patch.object(Redactor, "redact_entry", _as_it_is):
            return seconds(ingest)


def _as_it_is(_self: Redactor, entry: SourceEntry) -> SourceEntry:
    return entry


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def grown(path: Path, folder: Path, *, smallest_bytes: int = SMALLEST_BYTES) -> Path:
    """The file itself if it is large enough, else one in which it is repeated as if the session had gone on."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    if path.stat().st_size >= smallest_bytes:
        return path
    made = folder / path.name
    with made.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        for copy in range(-(-smallest_bytes // path.stat().st_size)):
            file.writelines(repeated(text.splitlines(keepends=True), copy))
    return made


def repeated(lines: Sequence[str], copy: int) -> Iterator[str]:
    """The lines with ids and years of their own, after the copy before; what opens a session comes once."""
    sessions = {match[1] for line in lines if (match := SESSION.search(line))}
    last = [match[2] for line in lines if (match := SHORT_ID.search(line))]
    for line in lines:
        if copy and ABOUT_THE_SESSION.search(line[:200]):
            continue
        other = UUID.sub(lambda match: match[0] if match[0] in sessions else f"{copy:02x}{match[0][2:]}", line)
        other = SHORT_ID.sub(rf"\g<1>{copy:02x}\g<2>", other)
        if copy and last:
            other = other.replace('"parentId":null', f'"parentId":"{copy - 1:02x}{last[-1]}"')
        yield YEAR.sub(lambda match: str(int(match[0]) + copy), other) if copy else line


def generated(folder: Path, *, smallest_bytes: int = SMALLEST_BYTES) -> Path:
    """A session in Claude Code's form: prompts, replies, and tool calls with results from short to long."""
    made = folder / "generated.jsonl"
    with made.open("w", encoding="utf-8") as file:
        at = 0
        while file.tell() < smallest_bytes:
            file.write(json.dumps(_row(at), separators=(",", ":")) + "\n")
            at += 1
    return made


def _row(at: int) -> dict[str, object]:
    moment = f"2026-05-{1 + at // 1440 % 28:02}T{at // 60 % 24:02}:{at % 60:02}:00.000Z"
    role = "assistant" if at % 2 else "user"
    usage = {"input_tokens": 9, "cache_creation_input_tokens": 90, "cache_read_input_tokens": 9 * at}
    return {
        "parentUuid": _uuid(at - 1) if at else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/user/project",
        "sessionId": _uuid(10**9),
        "version": "2.1.300",
        "gitBranch": "main",
        "type": role,
        "message": {"role": role, "id": f"msg_{at}", "model": "m", "content": [_block(at)]}
        | ({"usage": usage | {"output_tokens": 30}} if at % 2 else {}),
        "uuid": _uuid(at),
        "timestamp": moment,
    }


def _block(at: int) -> dict[str, object]:
    """A prompt, a call, its result, a reply, in this order."""
    words = "the parser keeps an index of every token; see src/cache/ledger.py:120 for the retry and its limits\n"
    match at % 4:
        case 0:
            return {"type": "text", "text": f"Step {at}: {words * 2}"}
        case 1:
            command = f'rg -n "retry" src | head -{at} && python -m pytest -q tests/test_ledger.py'
            return {"type": "tool_use", "id": f"toolu_{at}", "name": "Bash", "input": {"command": command}}
        case 2:
            numbered = "".join(f"{number:>5}: {words}" for number in range(2 + at % 90))
            return {"type": "tool_result", "tool_use_id": f"toolu_{at - 1}", "content": numbered}
        case _:
            return {"type": "text", "text": f"Done with {at}. {words * (1 + at % 7)}"}


def _uuid(at: int) -> str:
    return f"{at:08x}-0000-4000-8000-000000000000"


def main(arguments: Sequence[str] = ()) -> None:
    """Print a line a file; over a generated session unless files are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    print("ingest: reader and accept_turns into a fresh store, against json.loads of the same lines")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in [grown(each, folder) for each in options.files] or [generated(folder)]:
            report(path, options.rounds)


def report(path: Path, rounds: int) -> None:
    """One file's two ratios, and whether they are within their bars."""
    shown = []
    for redact, bar in BARS.items():
        ratio = ingest_ratio(path, redact=redact, rounds=rounds)
        shown.append(
            f"{'with' if redact else 'without'} redaction {ratio:5.2f} (bar {bar:g}) {'ok' if ratio <= bar else 'OVER'}"
        )
    print(f"  {path.name:<36} {path.stat().st_size / 1e6:4.1f} MB  {'   '.join(shown)}")


if __name__ == "__main__":
    main(sys.argv[1:])

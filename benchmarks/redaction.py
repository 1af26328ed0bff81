"""What redaction costs beside reading the same lines, and what it finds in them.

    python -m benchmarks.redaction FOLDER [--show] [--rounds 9]

FOLDER holds session files (*.jsonl); without it, MINUTEBOOK_SESSIONS or the examples. Reading and redacting take turns
in one run and medians are compared, so that a busy machine slows both. --show prints every hit for reading by hand:
it shows secrets.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.table import Row, Work, medians, ratio_row
from minutebook.redaction import Redactor, found


def string_values(value: Any) -> Iterator[str]:
    """Every string value of a decoded line, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from string_values(inner)


def readable_lines(folder: Path) -> tuple[int, list[str]]:
    """How many files there are, and their lines that are one JSON value."""
    files = sorted(folder.glob("**/*.jsonl"))
    lines = []
    for path in files:
        for line in path.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            try:
                json.loads(line)
            except ValueError:
                continue
            lines.append(line)
    return len(files), lines


def show_hits(texts: list[str], show: bool) -> None:
    kinds: Counter[str] = Counter()
    for text in texts:
        for kind, start, end in found(text):
            kinds[kind] += 1
            if show:
                print(f"  {kind}: {text[max(0, start - 50) : start]!r} >>> {text[start:end]!r} <<<")
    print("hits by type:", dict(kinds) or "none")


LONG = 40
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def main(arguments: Sequence[str] = ()) -> None:
    """Print what is found, and how long it takes; over the examples unless a folder is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=os.environ.get("MINUTEBOOK_SESSIONS", EXAMPLES))
    parser.add_argument("--show", action="store_true", help="print every hit")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(arguments)
    files, lines = readable_lines(Path(options.folder))
    texts = [text for line in lines for text in string_values(json.loads(line))]
    print(f"{files} files, {len(lines):,} lines, {len(texts):,} strings, {sum(map(len, texts)):,} characters in them")
    show_hits(texts, options.show)
    done = timed(lines, texts, options.rounds)
    read, whole, long = (done[name] for name in ("loads", "redact", "redact long"))
    print(f"json.loads of the lines {read * 1e3:.1f} ms; redact of all their strings {whole * 1e3:.1f} ms")
    print(f"ratio {whole / read:.2f}; of the strings of {LONG} characters and more {long / read:.2f}")


def timed(lines: Sequence[str], texts: Sequence[str], rounds: int) -> dict[str, float]:
    """Median seconds of reading the lines, of redacting all their strings, and of redacting the longer ones."""
    redact = Redactor(b"benchmark").redact
    long_texts = [text for text in texts if len(text) >= LONG]
    works: dict[str, Work] = {
        "loads": lambda: [json.loads(line) for line in lines],
        "redact": lambda: [redact(text) for text in texts],
        "redact long": lambda: [redact(text) for text in long_texts],
    }
    return medians(rounds, works)


def rows(bench: Bench) -> Iterator[Row]:
    """The examples: all strings of all lines, of which intake redacts only what the agent saw."""
    _, lines = readable_lines(EXAMPLES)
    texts = [text for line in lines for text in string_values(json.loads(line))]
    done = timed(lines, texts, bench.scale.file_runs)
    size = sum(map(len, texts)) / 1e6
    name = f"redaction of {len(texts):,} strings, {size:.1f} million characters"
    yield ratio_row(f"{name}, against json.loads", done["redact"], done["loads"], None)
    yield ratio_row(f"  of those of {LONG} characters and more", done["redact long"], done["loads"], None)


if __name__ == "__main__":
    main(sys.argv[1:])

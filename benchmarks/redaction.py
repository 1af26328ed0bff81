"""What redaction costs beside reading the same lines, and what it finds in them.

    python benchmarks/redaction.py FOLDER [--show] [--rounds 9]

FOLDER holds session files (*.jsonl); without it, MINUTEBOOK_SESSIONS or the examples. Reading and redacting take turns
in one run and medians are compared, so that a busy machine slows both. --show prints every hit for reading by hand:
it shows secrets.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

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


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show_hits(texts: list[str], show: bool) -> None:
    kinds: Counter[str] = Counter()
    for text in texts:
        for kind, start, end in found(text):
            kinds[kind] += 1
            if show:
                print(f"  {kind}: {text[max(0, start - 50) : start]!r} >>> {text[start:end]!r} <<<")
    print("hits by type:", dict(kinds) or "none")


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
    redact = Redactor(b"benchmark").redact
    long_texts = [text for text in texts if len(text) >= 40]
    rounds = [
        (
            seconds(lambda: [json.loads(line) for line in lines]),
            seconds(lambda: [redact(text) for text in texts]),
            seconds(lambda: [redact(text) for text in long_texts]),
        )
        for _ in range(options.rounds)
    ]
    read, whole, long = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"json.loads of the lines {read * 1e3:.1f} ms; redact of all their strings {whole * 1e3:.1f} ms")
    print(f"ratio {whole / read:.2f}; of the {len(long_texts):,} strings of 40 characters and more {long / read:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])

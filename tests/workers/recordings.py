"""Session files for replays, in the neutral format: short to write, long enough to compact at small settings."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from minutebook.settings import Settings

SMALL = Settings(
    observe_after_tokens=200,
    reflect_after_tokens=400,
    compact_after_tokens=1_500,
    keep_recent_tokens=400,
    compaction_max_tokens=1_200,
    extract_max_tokens=200,
    observations_pool_max_tokens=600,
    reflection_context_max_tokens=300,
    flush_min_tokens=10,
)
"""So that forty short turns are observed, reflected on and compacted a few times."""

Row = Mapping[str, Any]


def header(**fields: Any) -> Row:
    return {"type": "minutebook.session", "session": "s1", "zone": "UTC", **fields}


def turn(number: int) -> list[Row]:
    """A prompt with something to remember, a call with its result, a reply."""
    time = f"2026-05-02T{10 + number // 60:02}:{number % 60:02}:00Z"
    return [
        {"id": f"p{number}", "role": "user", "time": time, "text": f"Never touch module_{number}.py without a test."},
        {
            "id": f"c{number}",
            "role": "assistant",
            "time": time,
            "parts": [
                {"kind": "tool_call", "name": "Bash", "call_id": f"k{number}", "arguments": {"command": "pytest -q"}}
            ],
        },
        {"id": f"r{number}", "role": "tool", "time": time, "call_id": f"k{number}", "text": f"{number} passed " * 20},
        {"id": f"a{number}", "role": "assistant", "time": time, "text": f"Done with part {number}. " + "Fine. " * 20},
    ]


def turns(count: int, first: int = 1) -> list[Row]:
    return [row for number in range(first, first + count) for row in turn(number)]


def write(path: Path, rows: Iterable[Row], *, mode: str = "w") -> Path:
    with path.open(mode, encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path

"""What a hook that answers with memory loads: nothing that is slow to import, and no way to a model or a queue."""

import subprocess
import sys

FORBIDDEN = (
    "litellm",
    "huey",
    "redis",
    "pydantic",
    "rich",
    "click",
    "numpy",
    "tenacity",
    "minutebook.workers",
    "tomllib",
)
SCRIPT = """
import sys
import minutebook.store.opening, minutebook.store.sqlite
import minutebook.pipeline.intake, minutebook.pipeline.compaction
import minutebook.hosts.claude_code.reader
print("\\n".join(sys.modules))
"""


def test_the_answering_path_loads_nothing_slow() -> None:
    done = subprocess.run([sys.executable, "-I", "-c", SCRIPT], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "minutebook.pipeline.compaction" in loaded
    assert {name for name in loaded if name.startswith(FORBIDDEN)} == set()

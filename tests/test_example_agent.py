"""The example agent as a person runs it, offline, with less turns in a smaller window."""

import os
import re
import subprocess
import sys
from pathlib import Path

AGENT = Path(__file__).resolve().parent.parent / "examples" / "agent.py"
WINDOW = 9_000


def test_the_example_agent_survives_its_window_and_knows_what_it_was_told(tmp_path: Path) -> None:
    """More tokens than the window holds several times, no request over it, and every fact answered."""
    command = [sys.executable, str(AGENT), "--turns", "72", "--window", str(WINDOW)]
    environ = {**os.environ, "MINUTEBOOK_HOME": str(tmp_path / "minutebook")}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=tmp_path, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "9 of 9 facts known" in done.stdout and "(wrong)" not in done.stdout
    compactions = re.findall(r"compaction \d+: ([\d,]+) -> ([\d,]+) tokens", done.stdout)
    assert len(compactions) >= 3
    assert all(int(after.replace(",", "")) < int(before.replace(",", "")) for before, after in compactions)
    largest = re.search(r"largest request ([\d,]+) of", done.stdout)
    assert largest and int(largest[1].replace(",", "")) <= WINDOW
    assert "(by memory_search, then recall)" in done.stdout or "(in its context)" in done.stdout

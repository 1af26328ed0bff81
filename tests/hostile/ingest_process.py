"""`om` in a process of its own, which prints at its end how much memory it had at most: JSON on the last line."""

import json
import resource
import sys
from pathlib import Path

from minutebook.cli import main

STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """Most resident memory. Linux counts in ru_maxrss what the parent had when it forked, but not in VmHWM."""
    if STATUS.exists():
        lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


try:
    main()
except SystemExit as ended:
    code = ended.code
sys.stdout.write("\n" + json.dumps({"code": code or 0, "peak": peak_bytes()}))

"""`om` in a process of its own, which prints at its end how much memory it had at most: JSON on the last line."""

import json
import resource
import sys

from minutebook.cli import main

try:
    main()
except SystemExit as ended:
    code = ended.code
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
sys.stdout.write("\n" + json.dumps({"code": code or 0, "peak": peak}))

"""The file beside a store by which hooks know what is paused, without opening the store."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from minutebook.pipeline.pauses import Pause

PAUSED_SUFFIX = ".paused"


def paused_file(store_file: Path) -> Path:
    """Where it is."""
    return store_file.with_name(store_file.name + PAUSED_SUFFIX)


def write_paused(store_file: Path, pauses: Sequence[Pause]) -> None:
    """Say what is paused now; without anything, the file goes. Raises OSError."""
    file = paused_file(store_file)
    if not pauses:
        file.unlink(missing_ok=True)
        return
    body = json.dumps({"pauses": [{"scope": each.scope, "name": each.name, "since": each.since} for each in pauses]})
    new = file.with_name(f"{file.name}.new{os.getpid()}")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(body)
    new.replace(file)

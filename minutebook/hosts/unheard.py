"""A worker that does not come, whatever hooks do: nobody else is left to say so but the hook itself, once.

Nothing is lost by it: the transcripts are there, and the bells say which.
"""

import time

from minutebook.hosts.barejson import parse, to_json
from minutebook.hosts.beside import BELL_MAX_BYTES, UNHEARD_RINGS, bells_folder, read_beside, safe_name, write_beside

SECONDS = 120.0
"""A worker that is there takes a bell within a second or two, and one that hooks start is there within as many."""


def notice(store_path: str, host: str, session: str) -> str:
    """What to tell the person, once for each time that nobody comes; "" otherwise. Raises OSError."""
    path = f"{bells_folder(store_path)}/{safe_name(host, session)}"
    bell = parse(read_beside(path, BELL_MAX_BYTES) or "")
    if not isinstance(bell, dict) or bell.get("told") is True:
        return ""
    since, rings = bell.get("since"), bell.get("rings")
    if (
        not isinstance(since, float)
        or not isinstance(rings, int)
        or rings < UNHEARD_RINGS
        or time.time() - since < SECONDS
    ):
        return ""
    write_beside(path, to_json({**bell, "told": True}))
    return (
        f"Minutebook: since {time.strftime('%H:%M', time.localtime(since))} nobody takes in what is said here, because "
        "its worker does not run. Nothing is lost; `om doctor` says what to do."
    )

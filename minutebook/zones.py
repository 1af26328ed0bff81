"""The machine's time zone, for sessions whose host names none. Standard library only."""

import os
from collections.abc import Mapping
from pathlib import Path

LOCALTIME = Path("/etc/localtime")
_FOLDER = "zoneinfo/"


def machine_zone(environ: Mapping[str, str] = os.environ, localtime: Path = LOCALTIME) -> str:
    """The IANA name by TZ, else by what /etc/localtime points to; UTC where neither names a zone that is known."""
    named = environ.get("TZ", "").lstrip(":").rpartition(_FOLDER)[2]
    if named and _is_known(named):
        return named
    pointed = os.path.realpath(localtime).rpartition(_FOLDER)[2]
    return pointed if pointed and _is_known(pointed) else "UTC"


def _is_known(name: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True

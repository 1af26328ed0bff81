"""One line of `om doctor`."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "info", "fail"]
ROLES = ("observer", "reflector", "digester", "dropper", "judge")
"""Those that may have a model."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line. fix: what to do about one that fails."""

    name: str
    verdict: Verdict
    said: str
    fix: str = ""

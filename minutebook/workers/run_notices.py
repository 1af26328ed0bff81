"""What the user of a session is told of the work on it: six routine notices, and one warning for each failure.

They go to a host that can show them, and to nobody else; nothing of it is stored (003-134 to 003-136, 003-138).
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Literal

from minutebook.errors import MissingExtra, ProviderFailed
from minutebook.pipeline.clocks import BranchState, Reading, reflect_reading
from minutebook.pipeline.outcomes import Outcome
from minutebook.pipeline.status import percent
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens
from minutebook.workers import relaying
from minutebook.workers.contract import ObserveBatch
from minutebook.workers.models_session import path_of_branch
from minutebook.workers.roles import Prepared

Level = Literal["info", "warning"]
Tell = Callable[[Branch, Level, str], object]
"""The branch that it is about, how much it matters, one line."""

CAUSE_CHARACTERS = 300


def nobody(branch: Branch, level: Level, text: str) -> None:
    """Tell no one."""


def teller_of(store: Store) -> Tell:
    """Tells the open session of a branch, where its host can show a notice; drops what nobody is there for."""

    def tell(branch: Branch, level: Level, text: str) -> None:
        if path := path_of_branch(store, branch):
            relaying.notify(path, level, text)

    return tell


class Telling:
    """The notices of one run. Whatever telling raises, the work goes on."""

    def __init__(self, branch: Branch, settings: Settings, tell: Tell) -> None:
        self._branch = branch
        self._settings = settings
        self._tell = tell

    def started(self, role: str, prepared: Prepared, state: BranchState) -> None:
        """A role begins to think."""
        self._routine(start_text(role, prepared, state, self._settings))

    def ended(self, role: str, outcome: Outcome) -> None:
        """A run was committed."""
        self._routine(end_text(role, outcome))
        if outcome.remark:
            self._say("warning", f"Minutebook: the {role}: {outcome.remark}")

    def failed(self, role: str, error: Exception, *, before: str) -> None:
        """A run failed. before: the kind of this role's failure since it worked last, "" for none.

        A provider that is away is told once, however often it is asked (003-133); `om status` has it all the time.
        """
        if not (isinstance(error, (ProviderFailed, MissingExtra)) and before == "provider"):
            self._say("warning", f"Minutebook: the {role} failed: {_one_line(error)}")

    def _routine(self, text: str) -> None:
        if text and self._settings.show_worker_notifications:
            self._say("info", f"Minutebook: {text}")

    def _say(self, level: Level, text: str) -> None:
        with suppress(Exception):
            self._tell(self._branch, level, text)


def start_text(role: str, prepared: Prepared, state: BranchState, settings: Settings) -> str:
    """With the figure that made the role due; "" for a role whose start is not told. Pure."""
    if role == "observer":
        return f"observer starts on ~{chunk_tokens(prepared):,} tokens"
    if role == "reflector":
        return f"reflector starts at {_of(reflect_reading(state, settings))} tokens"
    if role == "dropper":
        pool = Reading(state.pool_tokens, settings.observations_pool_target_tokens)
        return f"dropper starts at {_of(pool)} tokens ({percent(pool)} % of the target)"
    return f"digester starts on ~{state.undigested_tokens:,} tokens" if role == "digester" else ""


def end_text(role: str, outcome: Outcome) -> str:
    """What the observer found; "" for other roles, and for a span of which nothing was to be sent. Pure."""
    if role != "observer":
        return ""
    count = sum(len(entry.data.get("observations", ())) for entry in outcome.entries)
    if count:
        return f"observer recorded {count:,} observation{'' if count == 1 else 's'}"
    return "observer found nothing to record"


def chunk_tokens(prepared: Prepared) -> int:
    """Tokens of the sources that one observer request carries, as estimated."""
    batch = getattr(prepared, "batch", None)
    return _sum(shown.text for shown in batch.sources) if isinstance(batch, ObserveBatch) else 0


def _sum(texts: Iterable[str]) -> int:
    return sum(map(estimate_tokens, texts))


def _of(reading: Reading) -> str:
    return f"~{reading.tokens:,} / {reading.threshold:,}"


def _one_line(error: Exception) -> str:
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= CAUSE_CHARACTERS else f"{said[: CAUSE_CHARACTERS - 1]}…"

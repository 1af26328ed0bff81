"""What a replay has to tell, as plain data."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minutebook.pipeline.branches import Path, load_branch
from minutebook.pipeline.compaction import Composition
from minutebook.pipeline.rendering import OBSERVATIONS_HEADING, REFLECTIONS_HEADING, records_shown
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.sourcetext import entry_text
from minutebook.pipeline.status import Status, work_done
from minutebook.records import NOTE, Branch, Observation, Reflection, observation_line, reflection_line
from minutebook.redaction import PLACEHOLDER
from minutebook.store.kernel import Store
from minutebook.workers.engine import MEMORY_ROLES
from minutebook.workers.models_accounts import Account

NO_MEMORY = "no memory yet: the host's own summarizer would run"
ALL_KEPT = "nothing to cut: what is there is one exchange, or fits into keep_recent_tokens"
COUNTED = ("runs", "recorded", "nothing", "failed", "gaps")
_QUOTED = re.compile('"(.+)"', re.DOTALL)
_WORDS_TO_TRY = 5
_HEAD_CHARACTERS = 60
_TELLING = ("[critical]", "] Constraint:", "] Decision:", "] Correction:", "] Preference:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """One compaction. turn: of which typed prompt. at: entries on the branch then. boundary: the first that stayed.

    before_tokens, after_tokens: of the context, as far as it is session: memory text and verbatim entries.
    """

    turn: int
    at: int
    boundary: int
    branch: str
    milliseconds: float
    before_tokens: int
    after_tokens: int
    memory_tokens: int
    kept_tokens: int
    kept_entries: int
    pool_tokens: int
    observations: int
    reflections: int
    left_out: int
    extracted: int
    full_fold: bool


@dataclass(frozen=True, slots=True)
class NotCompacted:
    """A compaction that was due and found nothing to do, and how often that happened in a row."""

    turn: int
    reason: str
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleWork:
    """Runs of a role in this replay, how they ended, and the seconds for which its mind thought."""

    runs: int = 0
    recorded: int = 0
    nothing: int = 0
    failed: int = 0
    gaps: int = 0
    seconds: float = 0.0
    mind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A memory text. compacted: it is that of the last compaction; else what one at the tip would show."""

    text: str
    tokens: int
    compacted: bool
    recall_id: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One replayed file. new: entries that the store did not have. notes: a person's, which no file has. seconds: of
    the whole replay.

    recorded_compactions: the file's own, which are not replayed. imported: memory entries that the file brought along.
    redactions: kind of secret → placeholders in the session's entries. status: None where there is no entry.
    minds: role → mind → records in this replay. usage: of its models, by role and model.
    """

    path: str
    session: Session
    seconds: float
    turns: int
    prompts: int
    entries: int
    tokens: int
    new: int
    notes: int
    recorded_compactions: int
    imported: int
    work: Mapping[str, RoleWork]
    minds: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    usage: Sequence[Account] = ()
    compactions: Sequence[Compaction] = ()
    not_compacted: Sequence[NotCompacted] = ()
    redactions: Mapping[str, int] = field(default_factory=dict)
    status: Status | None = None
    memory: Remembered | None = None

    @property
    def known(self) -> int:
        """Entries of the file that were in the store before."""
        return self.entries - self.new - self.notes


def remembered(composed: Composition | None, *, compacted: bool) -> Remembered | None:
    """A composition as it is reported, with a record and a word of it to try."""
    if composed is None:
        return None
    record_id, content = _telling_record(composed.text)
    return Remembered(
        text=composed.text,
        tokens=composed.tokens,
        compacted=compacted,
        recall_id=record_id,
        words=telling_words(content),
    )


def _telling_record(text: str) -> tuple[str, str]:
    """Id and words of the latest of the most telling records that the text shows; a reflection where there is one."""
    lines = records_shown(text, REFLECTIONS_HEADING) or records_shown(text, OBSERVATIONS_HEADING)
    best = max(enumerate(lines), key=lambda pair: (weight_of(pair[1]), pair[0]), default=(0, ""))[1]
    key, _, content = best[1:].partition("] ")
    return key, content


def line_of(record: Observation | Reflection) -> str:
    """A record as memory shows it."""
    return observation_line(record) if isinstance(record, Observation) else reflection_line(record)


def weight_of(line: str) -> int:
    """How much a line of memory is worth showing: by its rating, or by what the extractive mind calls it."""
    head = line[:_HEAD_CHARACTERS]
    return 2 if any(word in head for word in _TELLING) else 1 if "[high]" in head else 0


def telling_words(content: str) -> tuple[str, ...]:
    """The first words of what was said."""
    said = _QUOTED.search(content)
    return tuple((said[1] if said else content).split()[:_WORDS_TO_TRY])


def work_of(store: Store, branches: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Role → its counts over the branches, so far."""
    sums: dict[str, dict[str, Any]] = {}
    for key in branches:
        for role, row in work_done(store, load_branch(store, key)).items():
            held = sums.setdefault(role, dict.fromkeys(COUNTED, 0))
            for name in COUNTED:
                held[name] += row.get(name, 0)
            held["mind"] = row.get("mind", "") or held.get("mind", "")
    return sums


def work_since(
    before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]], seconds: Mapping[str, float]
) -> dict[str, RoleWork]:
    """What each role did between two counts."""
    found = {}
    for role in MEMORY_ROLES:
        row, old = after.get(role, {}), before.get(role, {})
        counts = {name: row.get(name, 0) - old.get(name, 0) for name in COUNTED}
        found[role] = RoleWork(**counts, seconds=seconds.get(role, 0.0), mind=row.get("mind", ""))
    return found


def notes_of(store: Store, branches: Iterable[Branch]) -> int:
    """A person's notes among the branches' own entries."""
    placed = (placed for branch in branches for placed in Path(store, branch).walk(branch.fork))
    return sum(each.entry.custom_type == NOTE for each in placed)


def redactions_of(store: Store, branches: Iterable[Branch]) -> dict[str, int]:
    """Kind of secret → its placeholders in the branches' own entries."""
    kinds: Counter[str] = Counter()
    for branch in branches:
        for placed in Path(store, branch).walk(branch.fork):
            kinds.update(match.split(":")[1] for match in PLACEHOLDER.findall(entry_text(placed.entry)))
    return dict(sorted(kinds.items()))

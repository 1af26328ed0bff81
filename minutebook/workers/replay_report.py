"""What a replay has to tell, as plain data."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minutebook.pipeline.branches import Path, load_branch
from minutebook.pipeline.compaction import Composition
from minutebook.pipeline.projection import Projection
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.sourcetext import entry_text
from minutebook.pipeline.status import Status, work_done
from minutebook.records import RELEVANCES, Branch
from minutebook.redaction import PLACEHOLDER
from minutebook.store.kernel import Store
from minutebook.workers.engine import ALL_ROLES

NO_MEMORY = "no memory yet: the host's own summarizer would run"
ALL_KEPT = "all that is there stays verbatim: keep_recent_tokens is not below compact_after_tokens"
COUNTED = ("runs", "recorded", "nothing", "failed", "gaps")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LONGEST_WORD = 14


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
    word: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One replayed file. new: entries that the store did not have. seconds: of the whole replay.

    recorded_compactions: the file's own, which are not replayed. imported: memory entries that the file brought along.
    redactions: kind of secret → placeholders in the session's entries. status: None where there is no entry.
    """

    path: str
    session: Session
    seconds: float
    turns: int
    prompts: int
    entries: int
    tokens: int
    new: int
    recorded_compactions: int
    imported: int
    work: Mapping[str, RoleWork]
    compactions: Sequence[Compaction] = ()
    not_compacted: Sequence[NotCompacted] = ()
    redactions: Mapping[str, int] = field(default_factory=dict)
    status: Status | None = None
    memory: Remembered | None = None


def remembered(composed: Composition | None, *, compacted: bool) -> Remembered | None:
    """A composition as it is reported, with a record and a word of it to try."""
    if composed is None:
        return None
    record_id, content = _telling_record(composed.projection, composed.text)
    return Remembered(
        text=composed.text,
        tokens=composed.tokens,
        compacted=compacted,
        recall_id=record_id,
        word=telling_word(content),
    )


def _telling_record(projection: Projection, text: str) -> tuple[str, str]:
    """The latest of the most relevant observations that the text shows, else the latest reflection."""
    shown = [held.record for held in projection.observations if f"[{held.record.id}]" in text]
    if shown:
        best = max(enumerate(shown), key=lambda pair: (RELEVANCES.index(pair[1].relevance), pair[0]))[1]
        return best.id, best.content
    reflections = [held.record for held in projection.recent if f"[{held.record.id}]" in text]
    return (reflections[-1].id, reflections[-1].content) if reflections else ("", "")


def telling_word(content: str) -> str:
    """The longest plain word of a line, or its first piece where it has none."""
    words = [word for word in _WORD.findall(content) if len(word) <= _LONGEST_WORD]
    return max(words, key=len, default="") or next(iter(content.split()), "")


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
    for role in ALL_ROLES:
        row, old = after.get(role, {}), before.get(role, {})
        counts = {name: row.get(name, 0) - old.get(name, 0) for name in COUNTED}
        found[role] = RoleWork(**counts, seconds=seconds.get(role, 0.0), mind=row.get("mind", ""))
    return found


def redactions_of(store: Store, branches: Iterable[Branch]) -> dict[str, int]:
    """Kind of secret → its placeholders in the branches' own entries."""
    kinds: Counter[str] = Counter()
    for branch in branches:
        for placed in Path(store, branch).walk(branch.fork):
            kinds.update(match.split(":")[1] for match in PLACEHOLDER.findall(entry_text(placed.entry)))
    return dict(sorted(kinds.items()))

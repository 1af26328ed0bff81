"""The main job: a recorded session goes in turn by turn as if live, the workers work, and it is compacted on the way.

The file's own compactions are left out and counted: the context that they shrank is not the one that is compacted here.
Memory that a file brings along is taken in.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path as File

from minutebook.errors import BadTranscript
from minutebook.hosts.detecting import detect
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, list_branches, load_branch, memory_stream
from minutebook.pipeline.clocks import compaction_due
from minutebook.pipeline.compaction import Composition, compose_memory, look_at_memory
from minutebook.pipeline.deliveries import ImportedMemory, Reading, SessionHead
from minutebook.pipeline.folds import compaction_marks, confirm_fold
from minutebook.pipeline.intake import accept_turns, mark_ended
from minutebook.pipeline.placing import Places, fork_key, version_id, with_hash
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.sessions import Session, find_session, load_session, session_key
from minutebook.pipeline.status import read_status
from minutebook.records import Branch, Placed, SourceEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers.engine import MEMORY_ROLES
from minutebook.workers.replay_crew import Crew, ReplaySettings, Stopwatch, TimedMind, crew_of
from minutebook.workers.replay_models import Records, minds_since, records_of, usage_of, usage_since
from minutebook.workers.replay_report import (
    ALL_KEPT,
    NO_MEMORY,
    Compaction,
    NotCompacted,
    Replayed,
    notes_of,
    redactions_of,
    remembered,
    work_of,
    work_since,
)
from minutebook.workers.replay_turns import (
    Event,
    Turn,
    deliveries_of,
    kept_from,
    last_known,
    turns_of,
    without_compactions,
)
from minutebook.workers.runner import Minds


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """window: the model's context window, for the ratio mode. step: drain the workers after each delivery."""

    settings: Settings
    window: int | None = None
    concurrency: int = 2
    step: bool = False
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is. turn 0: before the first typed prompt; entries = total: only the workers' tail is left."""

    turn: int
    turns: int
    entries: int
    total: int
    compactions: int


@dataclass(frozen=True, slots=True)
class Recording:
    """A session file, read once."""

    path: File
    host: str
    reading: Reading
    head: SessionHead


Tell = Callable[[Progress], None]


def read_recording(path: File) -> Recording:
    """Read a session file; raises BadTranscript where there is none that can be replayed."""
    host, reader = detect(path)
    reading = reader.read(path)
    if reading.head is None:
        raise BadTranscript(f"{path}: a {host} file without a session in it; nothing to replay")
    return Recording(path, host, reading, reading.head)


def replay(
    store: Store, recording: Recording, options: ReplayOptions, minds: Minds, *, tell: Tell = lambda progress: None
) -> Replayed:
    """Play one session, and say what happened. A session that the store has already goes on where that one ends."""
    return _Replay(store, recording, options, tell).run(minds)


@dataclass(slots=True)
class _Replay:
    """One session on its way."""

    store: Store
    recording: Recording
    options: ReplayOptions
    tell: Tell
    new: int = 0
    entries: int = 0
    compactions: list[Compaction] = field(default_factory=list)
    not_compacted: list[NotCompacted] = field(default_factory=list)
    last: Composition | None = None
    memory_tokens: dict[str, int] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return session_key(self.recording.head)

    @property
    def settings(self) -> Settings:
        """A sub-agent's session that is named is observed, whatever the setting says."""
        return replace(self.options.settings, observe_subagents=True)

    def run(self, minds: Minds) -> Replayed:
        began = time.perf_counter()
        events, recorded_compactions = without_compactions(self.recording.reading.events)
        turns = turns_of(events)
        before, recorded, used = self._work(), self._records(), usage_of(self.store, self.key)
        watch, settings_for = Stopwatch(), ReplaySettings()
        settings_for.put(self.key, self.settings)
        timed: Minds = lambda role, settings, branch: TimedMind(minds(role, settings, branch), watch)  # noqa: E731
        options = self.options
        with crew_of(self.store, settings_for, timed, concurrency=options.concurrency, step=options.step) as crew:
            self._play(turns, crew)
            mark_ended(self.store, self.key)
            crew.drain()
        seconds = {role: watch.seconds(role) for role in MEMORY_ROLES}
        session = load_session(self.store, self.key)
        branches = [load_branch(self.store, key) for key in session.branches]
        current = next((branch for branch in branches if branch.key == session.branch), None)
        return Replayed(
            path=str(self.recording.path),
            session=session,
            turns=len(turns),
            prompts=sum(turn.number > 0 for turn in turns),
            entries=sum(Path(self.store, branch).length() - branch.fork for branch in branches),
            tokens=sum(Path(self.store, branch).tokens() - branch.base_tokens for branch in branches),
            new=self.new,
            notes=notes_of(self.store, branches),
            recorded_compactions=recorded_compactions,
            imported=sum(isinstance(event, ImportedMemory) for event in events),
            work=work_since(before, self._work(), seconds),
            minds=minds_since(recorded, self._records()),
            usage=usage_since(used, usage_of(self.store, self.key)),
            compactions=self.compactions,
            not_compacted=self.not_compacted,
            redactions=redactions_of(self.store, branches),
            status=read_status(self.store, current, self.settings, window=options.window) if current else None,
            memory=remembered(self.last or self._now(current), compacted=self.last is not None),
            seconds=time.perf_counter() - began,
        )

    # -- turns -------------------------------------------------------------------------------------------------

    def _play(self, turns: Sequence[Turn], crew: Crew) -> None:
        pieces = [
            (turn, piece) for turn in turns for piece in deliveries_of(turn.events, self.settings.observe_after_tokens)
        ]
        total = sum(isinstance(event, SourceEntry) for _, piece in pieces for event in piece)
        last_turn = turns[-1].number if turns else 0
        reached = self._reached([piece for _, piece in pieces])
        for index, (turn, piece) in enumerate(pieces):
            self._deliver(piece, last=index == len(pieces) - 1)
            branch = self._branch()
            if branch is not None and index >= reached:
                crew.delivered(branch)
                self._compact_when_due(branch, turn.number)
            self.tell(Progress(turn.number, last_turn, self.entries, total, len(self.compactions)))
        if not pieces:
            self._deliver((), last=True)

    def _reached(self, pieces: Sequence[Sequence[Event]]) -> int:
        """The last piece of which anything is in the ledger: those before it were worked off before it came in.

        So a replay that was killed goes on where it was, also in the midst of a piece, or of opening a branch for it.
        """
        session = find_session(self.store, self.key)
        if session is None:
            return 0
        hashed = [[with_hash(event) for event in piece] for piece in pieces]
        places = Places(self.store, session)
        places.look_up(event.id for piece in hashed for event in piece if isinstance(event, SourceEntry))
        places.look_up(version_id(event) for piece in hashed for event in piece if isinstance(event, SourceEntry))
        opened = {branch.key for branch in list_branches(self.store, self.key)}
        return last_known(hashed, lambda entry: places.has(entry) or fork_key(self.key, entry) in opened)

    def _deliver(self, events: Sequence[Event], *, last: bool) -> None:
        """One piece; with the last one goes where the file was read to, so that a later intake goes on there."""
        whole = self.recording.reading
        piece = replace(whole, events=list(events)) if last else Reading(head=whole.head, events=list(events))
        accepted = accept_turns(self.store, piece, path=str(self.recording.path.absolute()), zone=self.options.zone)
        self.new += accepted.new
        self.entries += sum(isinstance(event, SourceEntry) for event in events)

    def _branch(self) -> Branch | None:
        session = find_session(self.store, self.key)
        return load_branch(self.store, session.branch) if session and session.branch else None

    # -- compactions -------------------------------------------------------------------------------------------

    def _compact_when_due(self, branch: Branch, turn: int) -> None:
        if not compaction_due(read_state(self.store, branch), self.settings, self.options.window):
            return
        marks = self.store.tip(memory_stream(branch.key)).marks
        entries = Path(self.store, branch).read(marks.get(ledger.COMPACTED_FROM, 0))
        first = kept_from(entries, self.settings.keep_recent_tokens)
        if first == 0:
            self._note(turn, ALL_KEPT)
        else:
            self._compact(branch, turn, entries, first)

    def _compact(self, branch: Branch, turn: int, entries: Sequence[Placed], first: int) -> None:
        """As a host does it: ask for the memory before the cut, put it in place, record that it compacted."""
        kept = entries[first]
        before = self._before(branch, entries)
        with _at_once():
            began = time.perf_counter()
            composed = compose_memory(
                self.store, branch, kept.position, self.settings, first_kept=kept.entry.id, tokens_before=before
            )
            milliseconds = (time.perf_counter() - began) * 1000
        if composed is None:
            self._note(turn, NO_MEMORY)
            return
        at = entries[-1].position + 1
        confirm_fold(
            self.store, branch, time=entries[-1].entry.time, advance=compaction_marks(kept=kept.position, at=at)
        )
        self.last = composed
        self.memory_tokens[branch.key] = composed.tokens
        kept_tokens = sum(placed.tokens for placed in entries[first:])
        self.compactions.append(
            Compaction(
                turn=turn,
                at=at,
                boundary=kept.position,
                branch=branch.key,
                milliseconds=milliseconds,
                before_tokens=before,
                after_tokens=composed.tokens + kept_tokens,
                memory_tokens=composed.tokens,
                kept_tokens=kept_tokens,
                kept_entries=len(entries) - first,
                pool_tokens=composed.pool_tokens,
                observations=composed.observations,
                reflections=composed.reflections,
                left_out=composed.left_out,
                extracted=composed.extracted,
                full_fold=composed.full_fold,
            )
        )

    def _before(self, branch: Branch, entries: Sequence[Placed]) -> int:
        """Tokens of the context: the last memory text, and the entries from the last cut on."""
        memory = self.memory_tokens.get(branch.key, self.memory_tokens.get(branch.parent, 0))
        return (memory if entries[0].position else 0) + sum(placed.tokens for placed in entries)

    def _note(self, turn: int, reason: str) -> None:
        noted = self.not_compacted
        if noted and noted[-1].reason == reason:
            noted[-1] = replace(noted[-1], times=noted[-1].times + 1)
        else:
            noted.append(NotCompacted(turn, reason))

    # -- the report --------------------------------------------------------------------------------------------

    def _now(self, branch: Branch | None) -> Composition | None:
        """What a compaction of everything would show."""
        if branch is None:
            return None
        return look_at_memory(self.store, branch, Path(self.store, branch).length(), self.settings)

    def _work(self) -> dict[str, dict[str, object]]:
        return work_of(self.store, self._branches())

    def _records(self) -> Records:
        return records_of(self.store, self._branches())

    def _branches(self) -> Sequence[str]:
        session: Session | None = find_session(self.store, self.key)
        return session.branches if session else ()


@contextmanager
def _at_once() -> Iterator[None]:
    """A host's hook is a process of its own; here it shares one with busy workers, so it may cut in sooner."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before / 50)
    try:
        yield
    finally:
        sys.setswitchinterval(before)

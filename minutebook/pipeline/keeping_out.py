"""What must not enter the ledger: entries of a paused time, ignored projects, and tool calls that name an ignored path.

`kept_out` is pure; `keep_out` does it with what the store knows of pauses and of calls that were left out before.
Private spans are not done here: the redactor takes them out of every text, whatever door it comes through.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from minutebook.pipeline.deliveries import HostCompaction, ImportedMemory, Reading, SessionHead
from minutebook.pipeline.ignoring import NO_GLOBS, Globs, names_ignored, without_ignored_lines
from minutebook.pipeline.pauses import Pause, covers, list_pauses
from minutebook.pipeline.sessions import session_key
from minutebook.records import Part, SourceEntry
from minutebook.store import codec
from minutebook.store.kernel import Put, Stale, Store

IGNORED_CALLS = "ignored_calls"
CALLS_KNOWN = 1_000
"""A result comes soon after its call."""
PAUSED, IGNORED = "paused", "ignored"
"""What was left out is counted under these names among what a reading skipped."""
CALL_PLACEHOLDER = '{"left_out":"it names an ignored path"}'
RESULT_PLACEHOLDER = "[left out: the call names an ignored path]"

PERSONS_COMMANDS = ("bash_execution", "local_command")
"""custom_type of what a person ran with "!" in Pi and in Claude Code."""

Event = SourceEntry | HostCompaction | ImportedMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds for one session. pauses: those that are about it. folders: the project's, as the host names it and as
    it really is. calls: ids of calls that were left out before. now: ISO UTC, for entries without a time."""

    pauses: tuple[Pause, ...] = ()
    globs: Globs = NO_GLOBS
    folders: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()
    now: str = ""


@dataclass(slots=True, kw_only=True)
class Kept:
    """reading: what may go on to intake; without a head, nothing may. calls: ids of calls left out, known ones too."""

    reading: Reading
    calls: list[str]


def keep_out(store: Store, reading: Reading, ignore: Sequence[str] = ()) -> Reading:
    """The reading without what must not be recorded. ignore: the setting's globs.

    What it changes in the store is which tool calls it left out, so that their results are known when they come later.
    """
    head = reading.head
    if head is None:
        return reading
    key, folders = session_key(head), _folders(head.project)
    pauses = tuple(pause for pause in list_pauses(store) if pause.concerns(key, folders))
    if not pauses and not ignore:
        return reading
    before = _calls(store, key) if ignore else ()
    rules = Rules(
        pauses=pauses,
        globs=Globs.of(ignore, home=os.path.expanduser("~")),  # noqa: PTH111
        folders=folders,
        calls=frozenset(before),
        now=_iso(store.now()),
    )
    kept = kept_out(reading, rules)
    if len(kept.calls) > len(before):
        _save_calls(store, key, kept.calls)
    return kept.reading


def is_ignored_project(project: str, ignore: Sequence[str]) -> bool:
    """Whether nothing of a project's folder is recorded."""
    return _is_ignored(Globs.of(ignore, home=os.path.expanduser("~")), _folders(project))  # noqa: PTH111


def kept_out(reading: Reading, rules: Rules) -> Kept:
    """What of a reading may be recorded. Pure: the same in pieces as at once, given the calls left out before."""
    if reading.head is not None and _is_ignored(rules.globs, rules.folders):
        return Kept(reading=Reading(head=None), calls=[])
    work = _Work(rules, reading.head)
    events = list(work.all(reading.events))
    skipped = {**reading.skipped}
    for kind, count in ((PAUSED, work.paused), (IGNORED, work.ignored)):
        if count:
            skipped[kind] = skipped.get(kind, 0) + count
    return Kept(reading=replace(reading, events=events, skipped=skipped), calls=list(work.calls))


class _Work:
    def __init__(self, rules: Rules, head: SessionHead | None) -> None:
        self.rules = rules
        self.calls = dict.fromkeys(rules.calls)
        self.folder = head.project if head else ""
        self.paused = self.ignored = 0

    def all(self, events: Iterable[Event]) -> Iterable[Event]:
        for event in events:
            if self._is_paused(event):
                self.paused += isinstance(event, SourceEntry)
            elif isinstance(event, SourceEntry) and self.rules.globs:
                yield self._without_ignored(event)
            else:
                yield event

    def _is_paused(self, event: Event) -> bool:
        """A compaction of the host is no content, and is not left out: what stood before it is gone from its view."""
        if not self.rules.pauses or isinstance(event, HostCompaction):
            return False
        time = event.time if isinstance(event, SourceEntry) else event.entry.time
        return covers(self.rules.pauses, time or self.rules.now)

    def _without_ignored(self, entry: SourceEntry) -> SourceEntry:
        if entry.call_id in self.calls and entry.role == "tool_result":
            self.ignored += 1
            return replace(entry, parts=(Part(kind="text", text=RESULT_PLACEHOLDER),))
        if entry.role == "tool_result":
            return self._result(entry)
        if entry.custom_type in PERSONS_COMMANDS:
            return self._persons_command(entry)
        if not any(part.kind == "tool_call" for part in entry.parts):
            return entry
        parts = tuple(map(self._part, entry.parts))
        return entry if parts == entry.parts else replace(entry, parts=parts)

    def _result(self, entry: SourceEntry) -> SourceEntry:
        """Of a search over many files only the lines of ignored ones are left out."""
        texts = [without_ignored_lines(part.text, self.rules.globs, self.folder) for part in entry.parts]
        if texts == [part.text for part in entry.parts]:
            return entry
        self.ignored += 1
        parts = tuple(replace(part, text=text) for part, text in zip(entry.parts, texts, strict=True))
        return replace(entry, parts=parts)

    def _persons_command(self, entry: SourceEntry) -> SourceEntry:
        """What a person ran inside the agent: the command with its output, or the output in an entry that follows."""
        said = "\n".join(part.text for part in entry.parts)
        if entry.parent not in self.calls and not names_ignored(said, self.rules.globs, self.folder):
            return entry
        self.ignored += 1
        self.calls[entry.id] = None
        return replace(entry, parts=(Part(kind="text", text=RESULT_PLACEHOLDER),))

    def _part(self, part: Part) -> Part:
        if part.kind != "tool_call" or not names_ignored(part.text, self.rules.globs, self.folder):
            return part
        self.ignored += 1
        if part.call_id:
            self.calls[part.call_id] = None
        return replace(part, text=CALL_PLACEHOLDER)


def _is_ignored(globs: Globs, folders: tuple[str, ...]) -> bool:
    return any(globs.match(folder) for folder in folders)


@lru_cache(maxsize=256)
def _folders(project: str) -> tuple[str, ...]:
    """A project's folder as the host names it, and without symbolic links where it is on this machine."""
    if not os.path.isabs(project):  # noqa: PTH117
        return (project,) if project else ()
    try:
        return tuple(dict.fromkeys((os.path.normpath(project), os.path.realpath(project))))
    except (OSError, ValueError):
        return (project,)


def _calls(store: Store, key: str) -> tuple[str, ...]:
    document = store.get(IGNORED_CALLS, key)
    return tuple(codec.from_json(document.body).get("calls", ())) if document else ()


def _save_calls(store: Store, key: str, calls: list[str]) -> None:
    """Join them with what another delivery of the same session wrote meanwhile."""
    for _ in range(50):
        document = store.get(IGNORED_CALLS, key)
        there = codec.from_json(document.body).get("calls", []) if document else []
        joined = list(dict.fromkeys([*there, *calls]))[-CALLS_KNOWN:]
        body = codec.to_json({"v": codec.VERSION, "calls": joined})
        if not isinstance(store.put(Put(IGNORED_CALLS, key, body, document.version if document else 0)), Stale):
            return


def _iso(seconds: float) -> str:
    from datetime import UTC

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""One store with its clock, and what a fuzz must know beside it: what was delivered, sent, composed, and died."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fuzz.minds import WAYS, NamedMind
from fuzz.seen import Delivery
from fuzz.stores import NewStore, in_file, keyed
from fuzz.story import Event, Story, story_of

from minutebook.debuglog import DebugLog
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.deliveries import HostCompaction, Reading, SessionHead
from minutebook.pipeline.folds import COMPOSITIONS, read_proposal
from minutebook.pipeline.intake import accept_turns
from minutebook.records import Branch, SourceEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Store

BEGIN = 1_777_700_000.0
OFF = DebugLog(False, Path())
PRESETS = (
    {"reflect_after_tokens": 150, "observations_pool_max_tokens": 900, "reflection_context_max_tokens": 400},
    {"reflect_after_tokens": 100, "observations_pool_max_tokens": 250, "reflection_context_max_tokens": 120},
    {"reflect_after_tokens": 60, "observations_pool_max_tokens": 120, "reflection_context_max_tokens": 90},
    {"reflect_after_tokens": 400, "observations_pool_max_tokens": 3_000, "reflection_context_max_tokens": 2_000},
)


def settings_of(preset: int) -> Settings:
    """Thresholds so small that every role gets its turn within some dozen entries."""
    return Settings(
        observe_after_tokens=90,
        flush_min_tokens=20,
        observer_chunk_max_tokens=256,
        compaction_max_tokens=(700, 1_500, 6_000)[preset % 3],
        extract_max_tokens=(200, 600)[preset % 2],
        span_max_tries=2,
        observe_subagents=preset % 2 == 0,
        **PRESETS[preset % len(PRESETS)],  # type: ignore[arg-type]
    )


@dataclass
class World:
    """Everything of one run. tick: counts what happens, so that deliveries have an order."""

    seed: int
    folder: Path
    settings: Settings
    new_store: NewStore = in_file
    clock: float = BEGIN
    went_back: bool = False
    tick: int = 0
    delivered: list[Delivery] = field(default_factory=list)
    minds: list[NamedMind] = field(default_factory=list)
    records: dict[str, list[HostCompaction]] = field(default_factory=dict)
    stories: dict[str, Story] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    wiped: bool = False
    compactions: int = 0

    @cached_property
    def store(self) -> Store:
        """The store, opened anew from an empty one; its redaction key is the seed's, so that texts repeat."""
        return keyed(self.new_store(self.folder, lambda: self.clock), self.seed)

    def close(self) -> None:
        """Close the store and remove its folder."""
        self.store.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def now(self) -> int:
        """The next number of the order of things."""
        self.tick += 1
        return self.tick

    def settings_for(self, branch: Branch) -> Settings:
        """The same for all."""
        return self.settings

    def story(self, session: str) -> Story:
        """What a session's file holds."""
        if session not in self.stories:
            self.stories[session] = story_of(self.seed, session)
        return self.stories[session]

    def file(self, session: str) -> list[Event]:
        """The whole file with the compactions that this run made, each where it was written."""
        events = list(self.story(session).events)
        for record in self.records.get(session, []):
            places = [at for at, event in enumerate(events) if getattr(event, "id", "") == record.after]
            at = places[-1] + 1 if places else len(events)
            events.insert(at, record)
        return events

    @property
    def secrets(self) -> list[str]:
        """All that was planted in the files that were read."""
        return [secret for story in self.stories.values() for secret in story.secrets]

    def mind(self, way: str) -> NamedMind:
        """A new mind for one run. mixed: a way that only its number decides."""
        number = len(self.minds)
        if way == "mixed":
            way = list(WAYS)[number * 7 % len(WAYS)]
        made = NamedMind(f"{way}-{number}", WAYS[way])
        self.minds.append(made)
        return made

    def sent(self) -> dict[str, frozenset[str]]:
        """Mind's name → ids that it was sent."""
        return {mind.name: frozenset(mind.sent) for mind in self.minds}

    def pass_time(self, seconds: float) -> None:
        """On the store's clock; it may go back."""
        self.clock += seconds
        self.went_back = self.went_back or seconds < 0

    def watch(self, name: str, args: Sequence[Any], call: Callable[[], Any]) -> Any:
        """Do a call; a composition may take the place of another only when that is closed, or too old."""
        if name != "put" or args[0].collection != COMPOSITIONS:
            return call()
        branch = load_branch(self.store, args[0].key)
        before, done, after = read_proposal(self.store, branch), call(), read_proposal(self.store, branch)
        young = before and self.clock - before.opened_at < self.settings.lease_seconds
        stood = before and before.open and young and not self.went_back  # what is open then is a matter of its own
        if before and stood and after and after.open and before.boundary != after.boundary:
            self.broken.append(f"4: {branch.key}: {after.boundary} took the place of {before.boundary}, still open")
        return done

    def deliver(
        self, store: Store, session: str, events: Sequence[Event], *, replaced: bool = False, ended: bool = False
    ) -> None:
        """Hand a piece of a file to intake, and keep what was handed over and whether intake returned."""
        name, _, agent = session.partition("/")
        head = SessionHead(host="neutral", session=name, agent=agent, started="2026-05-02T10:00:00Z")
        entries = tuple(event for event in events if isinstance(event, SourceEntry))
        told = Delivery(session=f"neutral:{session}", entries=entries, began=self.now())
        at = len(self.delivered)
        self.delivered.append(told)
        cursor = {"at": len(self.delivered)}
        accept_turns(store, Reading(head=head, events=list(events), cursor=cursor, replaced=replaced, ended=ended))
        self.delivered[at] = Delivery(session=told.session, entries=told.entries, began=told.began, ended=self.now())

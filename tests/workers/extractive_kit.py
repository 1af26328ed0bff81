"""Builders for batches, and a desk that accepts everything and gives ids as the real ones do."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from minutebook.records import Observation, Part, Placed, SourceEntry, observation_id
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import ObserveBatch, Proposal, Receipt, Shown
from minutebook.workers.extractive import ExtractiveMind

NOW = "2026-03-01 12:00"


@dataclass
class AcceptingDesk:
    """Keeps every proposal of every call."""

    calls: list[list[Proposal]] = field(default_factory=list)
    nothings: int = 0

    def record(self, proposals: Sequence[Proposal]) -> Receipt:
        self.calls.append(list(proposals))
        return Receipt(recorded=len(proposals), duplicate=0, refused=(), total=len(self.proposals))

    def nothing(self) -> None:
        self.nothings += 1

    @property
    def proposals(self) -> list[Proposal]:
        return [proposal for call in self.calls for proposal in call]


def user(text: str, *, typed: bool = True) -> SourceEntry:
    return SourceEntry(id="", role="user", parts=(Part(kind="text", text=text),), typed=typed)


def assistant(text: str = "", *calls: Part) -> SourceEntry:
    parts = (Part(kind="text", text=text),) if text else ()
    return SourceEntry(id="", role="assistant", parts=parts + calls)


def call(name: str, call_id: str, **arguments: object) -> Part:
    return Part(kind="tool_call", name=name, call_id=call_id, text=json.dumps(arguments, separators=(",", ":")))


def result(call_id: str, text: str, *, error: bool = False, tool: str = "Bash") -> SourceEntry:
    parts = (Part(kind="text", text=text),)
    return SourceEntry(id="", role="tool_result", parts=parts, call_id=call_id, tool_name=tool, is_error=error)


def shown(entries: Sequence[SourceEntry], *, start: int = 0, time: str = "") -> tuple[Shown, ...]:
    """Entries as a batch shows them, with ids and times by position where none is given."""
    sources = []
    total = 0
    for at, entry in enumerate(entries, start=start):
        text = "\n".join(part.text for part in entry.parts)
        tokens = estimate_tokens(text)
        total += tokens
        placed = Placed(position=at, tokens=tokens, total=total, entry=_with_id(entry, f"e{at}"))
        sources.append(
            Shown(alias=f"s{at}", placed=placed, time=time or f"2026-03-01 {at // 60 % 24:02}:{at % 60:02}", text=text)
        )
    return tuple(sources)


def _with_id(entry: SourceEntry, entry_id: str) -> SourceEntry:
    return SourceEntry(
        id=entry.id or entry_id,
        role=entry.role,
        parts=entry.parts,
        tool_name=entry.tool_name,
        call_id=entry.call_id,
        is_error=entry.is_error,
        typed=entry.typed,
    )


def batch_of(
    entries: Sequence[SourceEntry], observations: Sequence[Observation] = (), *, start: int = 0, time: str = ""
) -> ObserveBatch:
    return ObserveBatch(
        sources=shown(entries, start=start, time=time),
        observations=tuple(observations),
        reflections=(),
        left_out=0,
        now=NOW,
        zone="UTC",
    )


def observed(*entries: SourceEntry) -> list[Proposal]:
    """What the mind proposes of these entries."""
    desk = AcceptingDesk()
    ExtractiveMind().observe(batch_of(entries), desk)
    return desk.proposals


def contents(*entries: SourceEntry) -> list[str]:
    return [proposal["content"] for proposal in observed(*entries)]


@dataclass
class Memory:
    """Active observations over several batches, as the desk and the fold would keep them."""

    active: list[Observation] = field(default_factory=list)
    position: int = 0

    def take(self, *entries: SourceEntry) -> list[Proposal]:
        batch = batch_of(entries, self.active, start=self.position)
        desk = AcceptingDesk()
        ExtractiveMind().observe(batch, desk)
        aliases = {one.alias: one.placed.entry.id for one in batch.sources}
        for proposal in desk.proposals:
            self._accept(proposal, tuple(aliases[alias] for alias in proposal["sources"]))
        self.position += len(entries)
        return desk.proposals

    def _accept(self, proposal: Proposal, source_ids: tuple[str, ...]) -> None:
        gone = set(proposal.get("supersedes", ()))
        assert gone <= {one.id for one in self.active}, "supersedes an observation that is not active"
        self.active = [one for one in self.active if one.id not in gone]
        record_id = observation_id(proposal["content"], proposal["timestamp"], source_ids)
        self.active.append(
            Observation(
                id=record_id,
                content=proposal["content"],
                timestamp=proposal["timestamp"],
                relevance=proposal["relevance"],
                source_ids=source_ids,
            )
        )

    @property
    def text(self) -> str:
        return "\n".join(one.content for one in self.active)

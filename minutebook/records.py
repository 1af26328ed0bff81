"""Plain data of the domain: what a host says, and what is remembered about it. No I/O, standard library only.

Positions are counts along one branch's path from root to tip: position 0 is the first source entry, and a *coverage*
or a *boundary* of n means "the first n entries". Times are ISO 8601 UTC with a trailing Z.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, TypeVar, dataclass_transform

ROLES = ("user", "assistant", "tool_result", "custom", "branch_summary")
"""What a source entry can be; host metadata is no source entry and has no weight."""

Relevance = Literal["low", "medium", "high", "critical"]
RELEVANCES: tuple[Relevance, ...] = ("low", "medium", "high", "critical")

Tier = Literal["none", "partial", "strong"]
"""How many current reflections cite an observation: 0, 1, 2 or more."""

OBSERVATIONS = "om.observations.recorded"
REFLECTIONS = "om.reflections.recorded"
DIGEST = "om.reflection_digest.recorded"
DROPS = "om.observations.dropped"
RETIREMENTS = "om.reflections.retired"
GAP = "om.gap"
FOLD = "om.folded"
MEMORY_KINDS = (OBSERVATIONS, REFLECTIONS, DIGEST, DROPS, RETIREMENTS, GAP, FOLD)

CONTENT_MAX_CHARACTERS = 10_000
NOTE = "om.note"
"""custom_type of a note that a person wrote with `om note`; ours, so never observed."""
INJECTED = "om.injected"
"""custom_type of a block that we put into the host's context; ours, so never observed."""
HOST_SUMMARY = "om.host_summary"
"""custom_type of the summary that a host wrote when it compacted: it retells entries that are there already."""
RECALLED = "om.recalled"
"""custom_type of what one of our own tools answered an agent: it tells memory again."""
UNOBSERVED = (NOTE, INJECTED, HOST_SUMMARY, RECALLED)
"""The custom types that weigh nothing and are never observed, extracted or searched."""


R = TypeVar("R")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def record(*, kw_only: bool = True) -> Callable[[type[R]], type[R]]:
    """A frozen dataclass to the type checker; when running a plain one, which is built five times faster.

    For what is made by the thousand: entries, their parts, rows of a file or of a stream. Without kw_only it can be
    made from arguments in their order, which takes a third of the time; the readers and the codec do.
    """
    return dataclass(slots=True, unsafe_hash=True, kw_only=kw_only)


@record(kw_only=False)
class Part:
    """One piece of a source entry's content, in the order the agent saw it.

    kind: text, thinking, tool_call, image, or other (a placeholder for what has no text).
    text: the text itself; for a tool call its arguments as compact JSON; for image and other a short description.
    name: the tool's name of a tool call.
    call_id: the host's id of the call, on a tool call.
    """

    kind: Literal["text", "thinking", "tool_call", "image", "other"]
    text: str = ""
    name: str = ""
    call_id: str = ""


@record(kw_only=False)
class Usage:
    """What the provider reported for one reply. context_tokens: its total (spec 003-055), None when not usable."""

    reply_id: str
    model: str
    context_tokens: int | None


@record(kw_only=False)
class RawPointer:
    """Where the raw record stands: byte offset and length in the file, and which of a line's records it is."""

    path: str
    offset: int
    length: int


@record(kw_only=False)
class SourceEntry:
    """One raw item of a host's session, as a reader yields it and the ledger keeps it.

    id: the host's id, or one derived from role, time and text. parent: the host's parent id, mapped by the reader to
    the nearest source entry where the host's parent is metadata; None where the host gives none.
    time: ISO UTC or "" when the host gives none. call_id: the tool call that a tool_result answers.
    typed: a prompt that a person typed. moved: the host says that this entry follows `parent` and not the tip.
    text_sha256: of the raw text before redaction, but without private spans (set by intake).
    """

    id: str
    role: str
    parent: str | None = None
    time: str = ""
    parts: tuple[Part, ...] = ()
    tool_name: str = ""
    custom_type: str = ""
    call_id: str = ""
    is_error: bool = False
    typed: bool = False
    moved: bool = False
    usage: Usage | None = None
    raw: RawPointer | None = None
    text_sha256: str = ""
    version_of: str = ""


@record()
class Placed:
    """A source entry and where it stands on a branch's path; tokens: its weight; total: of all up to and with it."""

    position: int
    tokens: int
    total: int
    entry: SourceEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A rated event. timestamp: YYYY-MM-DD HH:MM in the session's zone. tokens: of its rendered line."""

    id: str
    content: str
    timestamp: str
    relevance: Relevance
    source_ids: tuple[str, ...]
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """A durable conclusion and the observations that support it. tokens: of its rendered line."""

    id: str
    content: str
    support_ids: tuple[str, ...]
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One entry of a branch's memory stream.

    id: unique in the stream. kind: one of MEMORY_KINDS. covers: position on the path (a count of entries) up to which
    the work got. since: where the covered span begins (batches, gaps and immediate drops; else equal to covers).
    covers_id: the host's id of the last covered entry, "" for none. time: when it was recorded.
    data: the kind's own content, in the shapes of docs/formats.md.
    branch, index: where it stands (set when read); index counts the memory stream of `branch`.
    """

    id: str
    kind: str
    covers: int
    since: int
    covers_id: str = ""
    time: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    branch: str = ""
    index: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One path through a host's conversation.

    key: unique in the store. lineage: key of the root branch of all that share a root. fork: length of the parent's
    path that this branch shares. parent_memory: length M of the parent's memory stream at the fork.
    base_tokens: tokens of the shared prefix. zone: IANA name in which times are shown. kind: main, fork or subagent.
    fork_id, memory_id: ids of the last shared source entry and of the parent's memory entry M - 1, "" for none (and in
    branches of older versions): by them a copy elsewhere is seen to share the same. observed, reflected: coverages at
    the fork. given: on a box, how many memory entries the branch's laptop had made before; nobody works on it until
    they are there.
    """

    key: str
    host: str
    session: str
    lineage: str
    parent: str = ""
    fork: int = 0
    parent_memory: int = 0
    base_tokens: int = 0
    zone: str = "UTC"
    project: str = ""
    kind: str = "main"
    created: str = ""
    fork_id: str = ""
    memory_id: str = ""
    observed: int = 0
    reflected: int = 0
    given: int = 0


def tier_of_citations(citations: int) -> Tier:
    """The coverage tier of an observation that this many current reflections cite (003-021)."""
    return "none" if citations == 0 else "partial" if citations == 1 else "strong"


def content_id(*parts: str) -> str:
    """Twelve lowercase hex characters of SHA-256 over the parts (joined by NUL where there are several)."""
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def observation_id(content: str, timestamp: str, source_ids: tuple[str, ...]) -> str:
    """An observation's id: from content, time and sources, so the same words about two events stay two (003-150)."""
    return content_id(content, timestamp, *source_ids)


def reflection_id(content: str) -> str:
    """A reflection's id: from its content alone (003-150)."""
    return content_id(content)


def observation_line(observation: Observation) -> str:
    """The one rendered form of an observation (003-083)."""
    return f"[{observation.id}] {observation.timestamp} [{observation.relevance}] {observation.content}"


def reflection_line(reflection: Reflection) -> str:
    """The one rendered form of a reflection (003-083)."""
    return f"[{reflection.id}] {reflection.content}"

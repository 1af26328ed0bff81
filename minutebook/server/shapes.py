"""What goes in and out over HTTP, for checks at the edge and for the OpenAPI page. Rows: docs/formats.md."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

KEY_CHARACTERS = 1_000
ENTRIES_MAX = 5_000
KEYS_MAX = 500
MARKS_MAX = 50
PAGE_MAX = 1_000
QUERY_CHARACTERS = 4_000
HITS_MAX = 100
SESSIONS_MAX = 200
POSITION_MAX = 2**53 - 1
CURSOR = r"^(?:[0-9]{1,12}\.[0-9]{6} [\s\S]+)?$"
"""When a session was touched last, and its key."""

Key = Annotated[str, Field(min_length=1, max_length=KEY_CHARACTERS, examples=["claude_code:3f2a8c51"])]
Position = Annotated[int, Field(ge=0, le=POSITION_MAX)]
Limit = Annotated[int, Field(ge=1, le=PAGE_MAX)]
Row = dict[str, Any]


class Question(BaseModel):
    """What stands in an address: exactly these names."""

    model_config = ConfigDict(extra="forbid")


class NoQuestion(Question):
    """Nothing is asked."""


class BranchQuestion(Question):
    """branch: a key as this token's user sees it."""

    branch: Key


class EntriesQuestion(BranchQuestion):
    """after: how many entries to pass over."""

    after: Position = 0
    limit: Limit = PAGE_MAX


class ViewQuestion(BranchQuestion):
    """full: all active memory, not only what the last compaction showed."""

    full: bool = False


class RecallQuestion(BranchQuestion):
    """id: of a record, as shown in brackets."""

    id: Annotated[str, Field(pattern="^[0-9a-f]{12}$")]


class SearchQuestion(BranchQuestion):
    """q: any text; there is no syntax."""

    q: Annotated[str, Field(min_length=1, max_length=QUERY_CHARACTERS)]
    limit: Annotated[int, Field(ge=1, le=HITS_MAX)] = 10


class CompactionQuestion(BranchQuestion):
    """boundary: the position of the first entry that stays. keep: instead, about so many tokens of newest entries."""

    boundary: Position | None = None
    keep: Position | None = None


class McpQuestion(Question):
    """session: a key as this token's user sees it; the tools want one."""

    session: Annotated[str, Field(max_length=KEY_CHARACTERS)] = ""


class SessionsQuestion(Question):
    """after: what `next` said, nothing for all."""

    after: Annotated[str, Field(max_length=KEY_CHARACTERS, pattern=CURSOR)] = ""
    limit: Annotated[int, Field(ge=1, le=SESSIONS_MAX)] = 100


class NoticesQuestion(Question):
    """after: how many notices to pass over."""

    after: Position = 0


class Body(BaseModel):
    """What is sent: exactly these fields, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class LengthsBody(Body):
    """branches: keys as this token's user sees them."""

    branches: Annotated[list[Key], Field(max_length=KEYS_MAX)]


class SourcesBody(Body):
    """at: how many entries of the branch's own stream come before these; before: the id of the last of them, or ""."""

    session: Row
    branch: Row
    at: Position
    before: Annotated[str, Field(max_length=KEY_CHARACTERS)] = ""
    entries: Annotated[list[Row], Field(max_length=ENTRIES_MAX)]


class MemoryBody(Body):
    """at: as in SourcesBody, for the memory that a branch brings along; null: entries from an outbox.

    marks: coverages that moved without an entry.
    """

    branch: Key
    at: Position | None = None
    before: Annotated[str, Field(max_length=KEY_CHARACTERS)] = ""
    entries: Annotated[list[Row], Field(max_length=ENTRIES_MAX)]
    marks: Annotated[dict[str, Position], Field(max_length=MARKS_MAX)] = {}


class ErrorAnswer(BaseModel):
    """error: one word for programs."""

    error: str
    message: str
    request_id: str


class MeAnswer(BaseModel):
    """Whose token it is, and for which projects. version, time: of the box; seconds since 1970."""

    user: str
    projects: list[str]
    version: str
    time: float


class LengthsAnswer(BaseModel):
    """What the box has of one branch's own streams, and the id of the last entry of each, "" for none."""

    sources: int
    sources_tip: str
    memory: int
    memory_tip: str
    marks: dict[str, int]
    boxed: bool
    parent_memory: int


class ManyLengthsAnswer(BaseModel):
    """null: not known, or not for this token."""

    branches: dict[str, LengthsAnswer | None]


class EntriesAnswer(BaseModel):
    """Rows of memory or source entries from a position on, and how much there is."""

    entries: list[Row]
    lengths: LengthsAnswer


class SessionAnswer(BaseModel):
    """readable: by the user alone (private), or by everybody whose token covers the project (team)."""

    session: Row
    branches: list[Row]
    lengths: dict[str, LengthsAnswer]
    owner: str
    readable: Literal["private", "team"]


class SessionsAnswer(BaseModel):
    """next: what `after` must be for those that follow, or that change later."""

    sessions: list[SessionAnswer]
    next: str


class StatusAnswer(BaseModel):
    """As `om status --json`."""

    model_config = ConfigDict(extra="allow")
    session: str
    branch: str
    entries: int
    not_made: bool


class ViewAnswer(BaseModel):
    """The text of `om view`."""

    branch: str
    full: bool
    text: str


class RecallAnswer(BaseModel):
    """As `om recall --json --page 0`, without places in files."""

    model_config = ConfigDict(extra="allow")
    id: str
    kind: str
    partial: bool
    observations: list[Row]
    reflections: list[Row]
    sources: list[Row]


class SearchAnswer(BaseModel):
    """As `om search --json`."""

    hits: list[Row]


class NoticeAnswer(BaseModel):
    """time: ISO 8601, UTC."""

    position: int
    time: str
    text: str


class NoticesAnswer(BaseModel):
    """next: what `after` must be to go on from here."""

    notices: list[NoticeAnswer]
    next: int


class CompactionAnswer(BaseModel):
    """As `om compact --json`; composition is null where there is no memory."""

    boundary: int
    entries: int
    composition: Row | None


class HealthAnswer(BaseModel):
    """The process answers, or the store does."""

    ok: bool

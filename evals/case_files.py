"""The cases as people write them: TOML files in evals/cases, checked as they are read. The format: evals/README.md."""

import re
import tomllib
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from minutebook.errors import BadInput
from minutebook.records import Relevance

FOLDER = Path(__file__).resolve().parent / "cases"
START = "2026-05-02T10:00:00Z"
MINUTE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}$"

Phrase = str | list[str]
"""A string that must be there, or a list of which one must be."""
RoleName = Literal["observer", "reflector", "dropper", "digester"]


class Row(BaseModel):
    """A table of a case file; a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class EntryRow(Row):
    """One source entry: exactly one of user, assistant, call, result, custom, summary.

    at: ISO time, else a minute after the entry before. before, repeat, after: a text of many lines, {n} being the
    number of the line. image: a description of an image that stands with the text. type: of a custom entry.
    """

    user: str | None = None
    assistant: str | None = None
    call: str | None = None
    result: str | None = None
    custom: str | None = None
    summary: str | None = None
    arguments: dict[str, Any] = {}
    thinking: str = ""
    image: str = ""
    type: str = ""
    typed: bool = True
    error: bool = False
    at: str = ""
    before: str = ""
    repeat: int = Field(1, ge=1)
    after: str = ""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if len(self.kinds()) != 1:
            raise ValueError("needs exactly one of user, assistant, call, result, custom, summary")
        return self

    def kinds(self) -> list[str]:
        """Which of the six it has."""
        names = ("user", "assistant", "call", "result", "custom", "summary")
        return [name for name in names if getattr(self, name) is not None]

    def text(self) -> str:
        """Its text, repeated where it says so; of a call its tool's name."""
        lines = [str(getattr(self, self.kinds()[0])).replace("{n}", str(n)) for n in range(1, self.repeat + 1)]
        return "\n".join([*filter(None, [self.before]), *lines, *filter(None, [self.after])])


class OldObservation(Row):
    """What memory holds before the run. key: how the case names it. said: the user's words, else the content."""

    key: str
    content: str
    relevance: Relevance = "high"
    at: str = Field("2026-05-01 09:00", pattern=MINUTE)
    said: str = ""


class OldReflection(Row):
    """A reflection that memory holds. supports: keys of old observations."""

    key: str
    content: str
    supports: list[str] = Field(min_length=1)


class OldDigest(Row):
    """A digest that memory holds. through: key of the last reflection that it tells."""

    content: str
    through: str


class Must(Row):
    """One record must hold all of this. relevance: at least. cites: entry numbers, among others.

    supersedes: keys that it must replace. supports: exactly these keys. timestamp: exactly.
    """

    all: list[Phrase] = Field(min_length=1)
    without: list[str] = []
    relevance: Relevance | None = None
    cites: list[int] = []
    timestamp: str = ""
    supersedes: list[str] = []
    supports: list[str] = []


class MustNot(Row):
    """No record may hold all of this. unless: strings of which one excuses it. relevance: only from this one on."""

    all: list[Phrase] = Field(min_length=1)
    unless: list[str] = []
    relevance: Relevance | None = None


class Ideal(Row):
    """A record of a perfect answer. cites: entry numbers (observer). supports: keys (reflector). at: else the last
    cited entry's time."""

    content: str
    relevance: Relevance = "medium"
    cites: list[int] = []
    at: str = ""
    supersedes: list[str] = []
    supports: list[str] = []


class Case(Row):
    """One small transcript, or one small memory, and what must come of it."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    about: str
    role: RoleName = "observer"
    group: str = ""
    zone: str = "UTC"
    start: str = START
    now: str = ""
    entries: list[EntryRow] = []
    observations: list[OldObservation] = []
    reflections: list[OldReflection] = []
    digest: OldDigest | None = None
    settings: dict[str, int] = {}
    must: list[Must] = []
    must_not: list[MustNot] = []
    max_records: int | None = Field(None, ge=0)
    nothing: bool = False
    keeps: list[str] = []
    drops: list[str] = []
    ideal: list[Ideal] = []
    ideal_drops: list[str] = []

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if problems := list(_problems(self)):
            raise ValueError("; ".join(problems))
        return self

    def times(self) -> list[str]:
        """ISO time of each entry."""
        found: list[str] = []
        before = datetime.fromisoformat(self.start) - timedelta(minutes=1)
        for row in self.entries:
            before = datetime.fromisoformat(row.at) if row.at else before + timedelta(minutes=1)
            found.append(before.strftime("%Y-%m-%dT%H:%M:%SZ"))
        return found

    def keys(self) -> set[str]:
        """The names of what memory holds."""
        return {row.key for row in self.observations} | {row.key for row in self.reflections}


def read_cases(names: Iterable[str] = (), folder: Path = FOLDER) -> list[Case]:
    """All cases, or those whose id, role or group is named; BadInput for a file or name that cannot be used."""
    cases = [case for path in sorted(folder.glob("*.toml")) for case in _read_file(path)]
    ids = [case.id for case in cases]
    if twice := {id_ for id_ in ids if ids.count(id_) > 1}:
        raise BadInput(f"evals: two cases have the id {', '.join(sorted(twice))}")
    wanted = set(names)
    if unknown := wanted - {name for case in cases for name in (case.id, case.role, case.group)}:
        raise BadInput(f"evals: no case, role or group is called {', '.join(sorted(unknown))}")
    return [case for case in cases if not wanted or wanted & {case.id, case.role, case.group}]


def _read_file(path: Path) -> list[Case]:
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path.name}: {error}") from error
    shared = {name: value for name, value in rows.items() if name != "case"}
    return [_case(path, {"group": path.stem, **shared, **row}) for row in rows.get("case", [])]


def _case(path: Path, row: dict[str, Any]) -> Case:
    try:
        return Case.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        message = re.sub(r"^Value error, ", "", first["msg"])
        raise BadInput(f"{path.name}, case {row.get('id', '?')}: {where or 'case'}: {message}") from error


def _problems(case: Case) -> Iterable[str]:
    """What the types do not tell: names that lead nowhere, a case that checks nothing."""
    if not (case.must or case.must_not or case.nothing or case.keeps or case.drops or case.max_records is not None):
        yield "it checks nothing"
    if case.nothing and (case.must or case.ideal or case.ideal_drops):
        yield "nothing = true goes with no must and no ideal"
    if case.role == "observer" and not case.entries:
        yield "an observer needs entries"
    if case.role == "digester" and len(case.ideal) > 1:
        yield "a digest is one text"
    cited = [row.cites for row in case.must] + [row.cites for row in case.ideal]
    numbers = [number for cites in cited for number in cites]
    if wrong := sorted({number for number in numbers if not 1 <= number <= len(case.entries)}):
        yield f"cites {wrong}: there are {len(case.entries)} entries"
    if case.role == "observer" and any(not row.cites for row in case.ideal):
        yield "an ideal observation cites nothing"
    if unknown := sorted(set(_named(case)) - case.keys()):
        yield f"no old record has the key {', '.join(unknown)}"


def _named(case: Case) -> Iterable[str]:
    yield from (*case.keeps, *case.drops, *case.ideal_drops)
    for must in case.must:
        yield from (*must.supersedes, *must.supports)
    for ideal in case.ideal:
        yield from (*ideal.supersedes, *ideal.supports)
    for reflection in case.reflections:
        yield from reflection.supports
    if case.digest:
        yield case.digest.through

"""A perfect model for an example session: it records what is planted there, and routine beside it.

It reads nothing but the text that a model is sent. Facts files: examples/README.md.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minutebook.hosts.detecting import detect
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import SourceEntry

ROUTINE = "Routine: "
Call = tuple[str, dict[str, Any]]
Calls = tuple[Call, ...]
DONE: Calls = ()
_SOURCE = re.compile(r"^\[(s[0-9]+)\] (\w+)[^\n]*?(\d{4}-\d\d-\d\d \d\d:\d\d)[^\n]*$", re.MULTILINE)
_OBSERVATION = re.compile(r"^\[([0-9a-f]{12})\] [^\[]*\[\w+\] (?:\[coverage: \w+\] )?(.*)$", re.MULTILINE)
_REFLECTION = re.compile(r"^\[([0-9a-f]{12})\] (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One planted statement. said: the text of the entry that states it. content: the record that keeps it.

    replaces: content of the statement that it takes back, "" for none.
    """

    said: str
    content: str
    replaces: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source as the request shows it."""

    label: str
    role: str
    time: str
    text: str


class PerfectModel:
    """session: a file with a facts file beside it. group: of so many sources there is one routine record."""

    def __init__(self, session: Path, *, group: int = 1_000_000) -> None:
        self.statements = read_statements(session)
        self.group = group
        self._lasting = {each.content for each in self.statements}
        self._replaces = {each.content: each.replaces for each in self.statements if each.replaces}
        self._roles = {
            "observer": self._observe,
            "reflector": self._reflect,
            "digester": self._digest,
            "dropper": self._drop,
        }

    def answer(self, role: str, task: str, turn: int) -> Calls:
        """The calls of one reply; none when the run is done. task: the message that began it; turn: replies so far."""
        return self._roles[role](task, turn)

    # -- roles -----------------------------------------------------------------------------------------------------

    def _observe(self, task: str, turn: int) -> Calls:
        """What is planted, then the routine, then the end: up to three replies."""
        sources = sources_in(task)
        facts = self._facts(sources, known=observations_in(task))
        replies = [rows for rows in (facts, self._routine(sources)) if rows]
        return (("record_observations", {"observations": replies[turn]}),) if turn < len(replies) else DONE

    def _facts(self, sources: Sequence[Source], known: Mapping[str, str]) -> list[dict[str, Any]]:
        found = [(each, source) for each in self.statements for source in sources if each.said in source.text]
        taken_back = {each.replaces for each, _ in found}
        return [
            {
                "content": each.content,
                "timestamp": source.time,
                "relevance": "critical",
                "sources": [source.label],
                "supersedes": [known[each.replaces]] if each.replaces in known else [],
            }
            for each, source in found
            if each.content not in known and each.content not in taken_back
        ]

    def _routine(self, sources: Sequence[Source]) -> list[dict[str, Any]]:
        return [_routine(sources[at : at + self.group]) for at in range(0, len(sources), self.group)]

    def _reflect(self, task: str, turn: int) -> Calls:
        """Each planted fact that stands and is not reflected yet."""
        known = reflections_in(task)
        rows = [
            {
                "content": content,
                "supports": [id_],
                "supersedes": [known[old] for old in [self._replaces.get(content, "")] if old in known],
            }
            for content, id_ in observations_in(task).items()
            if content in self._lasting and content not in known
        ]
        if turn:
            return DONE
        return (("record_reflections", {"reflections": rows}),) if rows else (("nothing_to_record", {}),)

    def _digest(self, task: str, turn: int) -> Calls:
        """All of it, a line each."""
        previous = _part(task, "Previous digest").strip().removeprefix("(none yet)")
        new = re.findall(_REFLECTION, _part(task, "Reflections after it"))
        lines = [*previous.splitlines(), *(content for _, content in new)]
        return (("record_digest", {"content": "\n".join(dict.fromkeys(lines))}),)

    def _drop(self, task: str, turn: int) -> Calls:
        """Routine only."""
        ids = [id_ for content, id_ in observations_in(task).items() if content.startswith(ROUTINE)]
        if turn:
            return DONE
        rows = [{"id": id_} for id_ in ids]
        return (("drop_observations", {"observations": rows}),) if rows else (("no_safe_drops", {}),)


def read_statements(session: Path) -> tuple[Statement, ...]:
    """The facts of a session and the old statements of those that correct one."""
    facts: list[Mapping[str, Any]] = json.loads(session.with_suffix(".facts.json").read_text("utf-8"))["facts"]
    events = detect(session)[1].read(session).events
    texts = {event.id: entry_text(event) for event in events if isinstance(event, SourceEntry)}
    found = []
    for fact in facts:
        old = fact.get("supersedes")
        before = _content(fact, old["must_match"]) if old else ""
        now = _content(fact, fact["must_match"])
        if old:
            found.append(Statement(said=texts[old["stated_in"]], content=before))
            now = f"{now} (was {', '.join(old['must_match'])})"
        found.append(Statement(said=texts[fact["stated_in"]], content=now, replaces=before))
    return tuple(found)


def _content(fact: Mapping[str, Any], strings: Sequence[str]) -> str:
    return f"{fact['kind'].capitalize()}, {fact['query']}: {', '.join(strings)}"


def _routine(sources: Sequence[Source]) -> dict[str, Any]:
    """About as long as a record of a model."""
    first, last = sources[0], sources[-1]
    roles = ", ".join(dict.fromkeys(source.role for source in sources))
    content = (
        f"{ROUTINE}{len(sources)} steps ({roles}) from {first.time} to {last.time}, begun in {len(first.text)} and"
        f" ended in {len(last.text)} characters; nothing later rests on them"
    )
    labels = [source.label for source in sources]
    return {"content": content, "timestamp": last.time, "relevance": "low", "sources": labels}


# -- reading what was sent -----------------------------------------------------------------------------------------


def sources_in(task: str) -> list[Source]:
    """The sources of an observer's message."""
    part = _part(task, "Sources", until="\n# End of the sources\n")
    heads = list(_SOURCE.finditer(part))
    ends = [head.start() for head in heads[1:]] + [len(part)]
    return [
        Source(label=head[1], role=head[2], time=head[3], text=part[head.end() + 1 : end].strip("\n"))
        for head, end in zip(heads, ends, strict=True)
    ]


def observations_in(task: str) -> dict[str, str]:
    """Content → id."""
    return {content: id_ for id_, content in _OBSERVATION.findall(_part(task, "Observations"))}


def reflections_in(task: str) -> dict[str, str]:
    """Content → id."""
    return {content: id_ for id_, content in _REFLECTION.findall(_part(task, "Reflections"))}


def _part(task: str, heading: str, until: str = "\n# ") -> str:
    """What stands below a heading."""
    return f"\n{task}".partition(f"\n# {heading}\n")[2].partition(until)[0]

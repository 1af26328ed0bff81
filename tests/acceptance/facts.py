"""A facts file (examples/README.md) held against a memory: what it holds, what wrongly stands, what can be found."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minutebook.pipeline.recall import recall
from minutebook.pipeline.search import Hit, search
from minutebook.records import Branch
from minutebook.store.kernel import Store

HITS = 10
"""How many hits of a search a person looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Ids of facts and decoys. missing: facts that no line of the memory holds. standing: corrected facts whose old
    statement stands as current. fooled_by: decoys remembered as if they were facts. lost: facts that searching for them
    does not lead to."""

    facts: int
    missing: tuple[str, ...]
    standing: tuple[str, ...]
    fooled_by: tuple[str, ...]
    lost: tuple[str, ...]

    @property
    def remembered(self) -> int:
        """How many facts the memory holds."""
        return self.facts - len(self.missing)


def read_facts(path: Path) -> dict[str, Any]:
    """A facts file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def judge(facts: Mapping[str, Any], memory: str, store: Store, branch: Branch) -> Verdict:
    """Hold a rendered memory and the store behind it against a facts file."""
    lines = memory.splitlines()
    return Verdict(
        facts=len(facts["facts"]),
        missing=ids(fact for fact in facts["facts"] if not lines_with(lines, fact["must_match"])),
        standing=ids(fact for fact in facts["facts"] if standing_lines(lines, fact)),
        fooled_by=ids(decoy for decoy in facts["decoys"] if decoy_lines(lines, decoy)),
        lost=ids(fact for fact in facts["facts"] if not leads_to(store, branch, fact)),
    )


def ids(rows: Any) -> tuple[str, ...]:
    return tuple(row["id"] for row in rows)


def lines_with(lines: Sequence[str], strings: Sequence[str]) -> list[str]:
    """The lines that hold all of the strings, in any case."""
    wanted = [string.casefold() for string in strings]
    return [line for line in lines if all(string in line.casefold() for string in wanted)]


def standing_lines(lines: Sequence[str], fact: Mapping[str, Any]) -> list[str]:
    """Lines that give the old statement of a correction without the new value."""
    if "supersedes" not in fact:
        return []
    old = lines_with(lines, fact["supersedes"]["must_not_stand"])
    return [line for line in old if not lines_with([line], fact["must_match"])]


def decoy_lines(lines: Sequence[str], decoy: Mapping[str, Any]) -> list[str]:
    """Lines that remember a decoy without telling that it is none of the user's facts."""
    told = decoy.get("unless", [])
    return [
        line for line in lines_with(lines, decoy["must_not_match"]) if not any(lines_with([line], [w]) for w in told)
    ]


def leads_to(store: Store, branch: Branch, fact: Mapping[str, Any]) -> bool:
    """Whether one search for a fact, and one recall of a hit, shows the entry that states it."""
    hits = search(store, [branch], fact["query"], limit=HITS)
    return any(fact["stated_in"] in entries_behind(store, branch, hit) for hit in hits)


def entries_behind(store: Store, branch: Branch, hit: Hit) -> set[str]:
    """Ids of the file's records that a hit shows: its own, or those of the sources of what it says to recall."""
    sources = [placed.entry.id for key in hit.recall for placed in recall(store, branch, key).sources]
    return {entry_id.partition("#")[0] for entry_id in [hit.id, *sources]}

"""A case as a store: its entries delivered through intake, its old memory appended as a role would have recorded it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evals.case_files import Case, EntryRow
from minutebook.pipeline.branches import Path, load_branch
from minutebook.pipeline.deliveries import Reading, SessionHead
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.sessions import load_session
from minutebook.pipeline.shapes import counted_observation, counted_reflection, observation_data, reflection_data
from minutebook.records import (
    DIGEST,
    OBSERVATIONS,
    REFLECTIONS,
    Branch,
    Observation,
    Part,
    Reflection,
    SourceEntry,
    observation_id,
    reflection_id,
)
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens

LONG_AGO = "2026-05-01T09:00:00Z"
ROLE_OF = {"user": "user", "assistant": "assistant", "call": "assistant", "result": "tool_result"} | {
    "custom": "custom",
    "summary": "branch_summary",
}


@dataclass(frozen=True)
class Staged:
    """A case in a store. keys: id of an old record -> how the case names it."""

    case: Case
    branch: Branch
    keys: dict[str, str]


def stage(store: Store, case: Case) -> Staged:
    """Bring a case into an empty store; the old memory covers everything but the case's own entries."""
    earlier = [_said(row.key, row.said or row.content) for row in case.observations]
    head = SessionHead(host="neutral", session=case.id, zone=case.zone)
    accepted = accept_turns(store, Reading(head=head, events=[*earlier, *entries_of(case)]))
    branch = load_branch(store, load_session(store, accepted.session).branch)
    observations = _observations(case)
    reflections = _reflections(case, observations)
    covers = len(earlier) or (Path(store, branch).length() if case.role != "observer" else 0)
    memory = _memory(case, list(observations.values()), reflections, covers)
    append_memory(store, branch, [memory_entry(entry) for entry in memory])
    return Staged(case, branch, {id_: key for key, id_ in old_ids(case).items()})


def old_ids(case: Case) -> dict[str, str]:
    """Key -> record id of everything that memory holds."""
    observations = _observations(case)
    ids = {key: record.id for key, record in observations.items()}
    return ids | {key: record.id for key, record in _reflections(case, observations).items()}


def entry_id(number: int) -> str:
    """The host's id of a case's entry, from 1."""
    return f"e{number}"


def entries_of(case: Case) -> list[SourceEntry]:
    """The entries of a case; a result answers the oldest call that is still open."""
    entries: list[SourceEntry] = []
    open_calls: list[tuple[str, str]] = []
    for number, (row, time) in enumerate(zip(case.entries, case.times(), strict=True), start=1):
        call_id, tool = "", ""
        if row.call is not None:
            call_id = f"call{number}"
            open_calls.append((call_id, row.call))
        elif row.result is not None and open_calls:
            call_id, tool = open_calls.pop(0)
        entries.append(_entry(row, entry_id(number), time, call_id, tool))
    return entries


def _entry(row: EntryRow, id_: str, time: str, call_id: str, tool: str) -> SourceEntry:
    role = ROLE_OF[row.kinds()[0]]
    return SourceEntry(
        id=id_,
        role=role,
        time=time,
        parts=tuple(_parts(row, call_id)),
        tool_name=tool,
        call_id=call_id if role == "tool_result" else "",
        custom_type=row.type,
        is_error=row.error,
        typed=role == "user" and row.typed,
    )


def _parts(row: EntryRow, call_id: str) -> Iterator[Part]:
    if row.thinking:
        yield Part(kind="thinking", text=row.thinking)
    if row.call is not None:
        arguments = json.dumps(row.arguments, ensure_ascii=False, separators=(",", ":"))
        yield Part(kind="tool_call", name=row.call, text=arguments, call_id=call_id)
    elif row.text():
        yield Part(kind="text", text=row.text())
    if row.image:
        yield Part(kind="image", text=row.image)


def _said(key: str, text: str) -> SourceEntry:
    return SourceEntry(
        id=f"old-{key}", role="user", time=LONG_AGO, typed=True, parts=(Part(kind="text", text=f"({key}) {text}"),)
    )


def _observations(case: Case) -> dict[str, Observation]:
    """Key -> observation, each on an entry of its own."""
    found: dict[str, Observation] = {}
    for row in case.observations:
        sources = (f"old-{row.key}",)
        found[row.key] = counted_observation(
            Observation(
                id=observation_id(row.content, row.at, sources),
                content=row.content,
                timestamp=row.at,
                relevance=row.relevance,
                source_ids=sources,
            )
        )
    return found


def _reflections(case: Case, observations: dict[str, Observation]) -> dict[str, Reflection]:
    found: dict[str, Reflection] = {}
    for row in case.reflections:
        supports = tuple(observations[key].id for key in row.supports)
        record = Reflection(id=reflection_id(row.content), content=row.content, support_ids=supports)
        found[row.key] = counted_reflection(record)
    return found


def _memory(
    case: Case, observations: list[Observation], reflections: dict[str, Reflection], covers: int
) -> Iterator[Entry]:
    def entry(kind: str, since: int, data: dict[str, Any]) -> Entry:
        return Entry(kind=kind, covers=covers, since=since, time=LONG_AGO, data={**data, "mind": "evals"})

    if observations:
        yield entry(OBSERVATIONS, 0, {"observations": [observation_data(each) for each in observations]})
    if reflections:
        # New observations are past what was reflected on, so that the reflector is asked at all.
        rows = [reflection_data(each) for each in reflections.values()]
        reach = max(0, covers - 1) if case.role == "reflector" else covers
        yield Entry(kind=REFLECTIONS, covers=reach, since=reach, time=LONG_AGO, data={"reflections": rows})
    if case.digest:
        through = reflections[case.digest.through].id
        tokens = estimate_tokens(case.digest.content)
        told = {"content": case.digest.content, "coversThroughReflectionId": through, "tokenCount": tokens}
        yield entry(DIGEST, covers, told)

"""What must hold of a store at any moment, whoever wrote it and whatever died.

`broken_invariants` is the door: it reads, writes nothing, and gives one sentence for each thing that is wrong. Each
sentence begins with the number of its invariant in docs/reliability.md.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from fuzz.folds import folds_that_differ
from fuzz.intake import misplaced
from fuzz.seen import Delivery, Seen, SeenBranch, is_ours, is_work, look, records_of
from fuzz.stores import everything

from minutebook.errors import MinutebookError
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.clocks import due_roles
from minutebook.pipeline.questions import open_questions
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.recall import recall
from minutebook.records import GAP, NOTE, OBSERVATIONS, MemoryEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.workers.chunking import is_sendable

__all__ = ["Delivery", "broken_invariants", "misnumbered_jobs", "stuck", "unsettled", "with_secrets"]


def broken_invariants(
    store: Store,
    delivered: Sequence[Delivery],
    settings: Settings,
    *,
    sent: Mapping[str, frozenset[str]] | None = None,
    secrets: Sequence[str] = (),
    quiet: bool = False,
) -> list[str]:
    """All that is wrong, [] when nothing is. Call it while nobody writes.

    delivered: every call of intake, also those that did not return. sent: mind's name → ids of the source entries that
    it was sent; each run with a name of its own. secrets: planted in what was delivered. quiet: the workers have worked
    until nothing was left, so nothing may be due or pending.
    """
    seen = look(store)
    broken = [*misplaced(store, seen, delivered), *misnumbered_jobs(store)]
    for branch in seen.branches.values():
        broken += forked_wrongly(store, seen, branch)
        broken += uncovered(branch, sent or {})
        broken += recorded_twice(branch)
        broken += untraced(store, branch)
        broken += folds_that_differ(store, branch, settings)
    if quiet:
        broken += stuck(store, settings)
    return [*broken, *with_secrets(store, secrets)]


# -- 2: coverage passes only what was sent, is ours, was imported, or is a gap ---------------------------------------


def uncovered(seen: SeenBranch, sent: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Entries before the observation coverage that no batch or gap spans; batches over what their mind never read."""
    key, mark = seen.branch.key, seen.marks.get(ledger.OBSERVER, 0)
    if mark > len(seen.path):
        yield f"2: {key}: coverage {mark} is past the tip {len(seen.path)}"
    spans = [entry for entry in seen.memory if entry.kind in (OBSERVATIONS, GAP)]
    told = {position for entry in spans for position in range(entry.since, entry.covers)}
    for placed in seen.path[:mark]:
        if placed.position not in told and is_sendable(placed):
            yield f"2: {key}: coverage {mark} passed {placed.entry.id} at {placed.position}, which nobody was sent"
    for entry in spans:
        read = _read_by(entry, sent)
        for placed in seen.path[entry.since : entry.covers] if read is not None else ():
            if is_sendable(placed) and placed.entry.id not in read:
                yield f"2: {key}: {entry.kind} {entry.id} covers {placed.entry.id}, which its mind was not sent"


def _read_by(entry: MemoryEntry, sent: Mapping[str, frozenset[str]]) -> frozenset[str] | None:
    """Which entries a span may cover, None where that is not known."""
    if entry.kind == GAP:
        return frozenset(entry.data.get("sourceEntryIds", ())) if is_ours(entry) else None
    mind = entry.data.get("mind")
    return sent.get(mind) if isinstance(mind, str) else None


# -- 3: every record is traced by recall to its source text ----------------------------------------------------------


def untraced(store: Store, seen: SeenBranch) -> Iterator[str]:
    """Records, dropped and retired ones too, that recall does not lead back to source entries of this branch."""
    key = seen.branch.key
    ours = dict.fromkeys(id_ for entry, id_ in records_of(seen.memory) if is_ours(entry))
    imported = {id_ for entry, id_ in records_of(seen.memory) if not is_ours(entry)}
    for id_ in ours:
        found = recall(store, seen.branch, id_)
        lost = [*found.missing, *found.foreign, *found.unknown_supports]
        foreign = any(each.record.id in imported for each in found.observations)  # it may name what nobody delivered
        if not found.found or (not foreign and (lost or not found.sources)):
            yield f"3: {key}: recall of {id_} found={found.found}, without {lost or 'any source'}"
        for placed in found.sources:
            here = placed.position < len(seen.path) and seen.path[placed.position].entry == placed.entry
            if not here and placed.entry.custom_type != NOTE:
                yield f"3: {key}: recall of {id_} shows {placed.entry.id}, which is not on this branch"


# -- 5: nothing lost, nothing twice, nothing stuck -------------------------------------------------------------------


def recorded_twice(seen: SeenBranch) -> Iterator[str]:
    """A record that stands there twice, and batches that overlap or leave a hole: two runs did the same work."""
    key = seen.branch.key
    for id_, times in Counter(id_ for entry, id_ in records_of(seen.memory) if is_ours(entry)).items():
        if times > 1:
            yield f"5: {key}: record {id_} was recorded {times} times"
    work = [entry for entry in seen.memory if is_work(entry)]
    for before, after in pairwise(work):
        if after.since < before.covers:
            yield f"5: {key}: {after.id} covers from {after.since}, {before.id} before it covers to {before.covers}"


def misnumbered_jobs(store: Store) -> Iterator[str]:
    """More than one job of a role on a branch."""
    for (role, branch), jobs in Counter((state.job.role, state.job.branch) for state in store.jobs()).items():
        if jobs > 1:
            yield f"5: {branch}: {jobs} jobs of the {role}"


def stuck(store: Store, settings: Settings) -> Iterator[str]:
    """After the workers came to rest: roles that are due, jobs, marks and questions that are left."""
    yield from unsettled(store, settings, by_turns=False)
    for state in store.jobs():
        yield f"5: {state.job.branch}: a job of the {state.job.role} is left, {state.state}, {state.error!r}"
    for dirty in store.take_dirty(100):
        yield f"5: {dirty.key}: still marked dirty"
    for question in open_questions(store):
        yield f"5: {question.branch}: question {question.id} is open"


def unsettled(store: Store, settings: Settings, *, by_turns: bool) -> Iterator[str]:
    """Roles that are due. by_turns: only by what was written to the branch, which its mark on the board tells.

    That a session ended or went quiet, or that a factor learned on another branch brings this one over a threshold,
    only a sweep need find.
    """
    for key in look(store).branches:
        state = read_state(store, load_branch(store, key))
        plain = replace(state, ended=False, idle_seconds=0.0, factor=min(1.0, state.factor)) if by_turns else state
        for role, why in due_roles(plain, settings).items():
            yield f"5: {key}: the {role} is due and nobody knows: {why}"


# -- forks inherit exactly what stood there, and stay so -------------------------------------------------------------


def forked_wrongly(store: Store, seen: Seen, here: SeenBranch) -> Iterator[str]:
    """A child shares its parent's prefix, and sees the parent's memory before M whose coverage lies within it."""
    branch = here.branch
    try:
        told = ledger.read_memory(store, branch)
    except MinutebookError as error:
        yield f"4: {branch.key}: its memory cannot be read: {error}"
        return
    if tuple(told) != here.memory:
        yield f"4: {branch.key}: sees {_named(told)}, and should see {_named(here.memory)}"
    if not branch.parent:
        return
    parent = seen.branches[branch.parent]
    if not (branch.fork <= len(parent.path) and branch.parent_memory <= len(parent.own)):
        yield f"4: {branch.key}: forked at {branch.fork}, memory {branch.parent_memory}, which its parent has not"
    if branch.lineage != parent.branch.lineage:
        yield f"4: {branch.key}: of lineage {branch.lineage}, its parent of {parent.branch.lineage}"
    if here.path[: branch.fork] != parent.path[: branch.fork]:
        yield f"4: {branch.key}: its first {branch.fork} entries are not its parent's"
    if branch.base_tokens != sum(placed.tokens for placed in here.path[: branch.fork]):
        yield f"4: {branch.key}: base_tokens {branch.base_tokens} is not the weight of the shared prefix"


def _named(entries: Sequence[MemoryEntry]) -> list[str]:
    return [f"{entry.kind}@{entry.branch}:{entry.index}" for entry in entries]


# -- 7: no secret is stored ------------------------------------------------------------------------------------------


def with_secrets(store: Store, secrets: Sequence[str]) -> Iterator[str]:
    """Planted secrets that stand in any file or key of the store."""
    for name, content in everything(store) if secrets else ():
        for secret in secrets:
            if secret.encode() in content:
                yield f"7: {name} holds the secret {secret[:8]}…"

"""The numbers of one branch: what is recorded, visible, due, failing. Reads; decides with the clocks' own readings."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, list_branches
from minutebook.pipeline.clocks import (
    BranchState,
    Reading,
    compact_reading,
    due_roles,
    observe_reading,
    reflect_reading,
)
from minutebook.pipeline.folding import Gap, HeldDigest, Memory, fold
from minutebook.pipeline.folds import read_proposal
from minutebook.pipeline.projection import Projection, digest_budget, drift, full_projection, visible_projection
from minutebook.pipeline.readings import read_state, session_of
from minutebook.pipeline.sessions import Session
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store import codec
from minutebook.store.kernel import JobState, Store

ERRORS = "errors"
WORK = "work"
STALLED_SECONDS = 120.0
"""Work that is due, that nobody does, and that did not change for so long counts as not being made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleError:
    """The last error of a role; it stays until that role's next success."""

    role: str
    error: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Everything that `om status` shows; tokens are estimates.

    added, removed: drift of the observations (only in full, only in visible); reflections_added likewise.
    dropper: within target, waiting for a reflection, or due. since_drop_tokens: sources after the last drop's coverage.
    due: role → reason. running: roles at work. not_made: memory is due and nobody makes it.
    """

    branch: Branch
    session: Session | None
    entries: int
    source_tokens: int
    observations: int
    dropped: int
    active: int
    visible: int
    added: int
    removed: int
    reflections: int
    retired: int
    reflections_visible: int
    reflections_added: int
    observe: Reading
    reflect: Reading
    compact: Reading
    compact_mode: str
    visible_pool: Reading
    active_pool: Reading
    dropper: str
    since_drop_tokens: int
    reflection_tokens: int
    context: Reading
    digest: HeldDigest | None
    passive: bool
    mind: str
    due: Mapping[str, str]
    running: Sequence[str]
    pending: Sequence[str]
    open_compaction: int | None
    gaps: Sequence[Gap]
    errors: Sequence[RoleError]
    malformed: int
    minds: Mapping[str, int] = field(default_factory=dict)
    siblings: int = 0
    not_made: bool = False


def read_status(store: Store, branch: Branch, settings: Settings, *, window: int | None = None) -> Status:
    """The status of one branch, as of now."""
    session = session_of(store, branch)
    entries = ledger.read_memory(store, branch)
    memory = fold(entries)
    share = digest_budget(settings.reflection_context_max_tokens).digest
    chain = [each.key for each in ledger.chain_of(store, branch)]
    path = Path(store, branch)
    full = full_projection(memory, path.length(), digest_tokens=share)
    visible = visible_projection(entries, chain, digest_tokens=share)
    added, removed, reflections_added = drift(visible, full)
    state = read_state(store, branch, session=session)
    jobs = [job for job in store.jobs() if job.job.branch == branch.key]
    errors = role_errors(store, branch)
    due = due_roles(state, settings)
    return Status(
        branch=branch,
        session=session,
        entries=path.length(),
        source_tokens=path.tokens(),
        observations=len(memory.observations),
        dropped=len(memory.observations) - len(full.observations),
        active=len(full.observations),
        visible=len(visible.observations),
        added=len(added),
        removed=len(removed),
        reflections=len(memory.reflections),
        retired=len(memory.reflections) - len(full.reflections),
        reflections_visible=len(visible.reflections),
        reflections_added=len(reflections_added),
        observe=observe_reading(state, settings),
        reflect=reflect_reading(state, settings),
        compact=compact_reading(state, settings, window),
        compact_mode=settings.compact_after_tokens_mode,
        visible_pool=Reading(visible.pool_tokens, settings.observations_pool_max_tokens),
        active_pool=Reading(full.pool_tokens, settings.observations_pool_target_tokens),
        dropper=dropper_state(state, settings),
        since_drop_tokens=path.tokens() - path.tokens_before(memory.dropped_through),
        reflection_tokens=sum(held.record.tokens for held in memory.reflections.values()),
        context=Reading(context_tokens(full), settings.reflection_context_max_tokens),
        digest=full.digest,
        passive=settings.passive,
        mind=mind_in_use(settings),
        due=due,
        running=[job.job.role for job in jobs if job.state == "running"],
        pending=[job.job.role for job in jobs if job.state == "pending"],
        open_compaction=_open_boundary(store, branch, settings),
        gaps=memory.open_gaps(),
        errors=errors,
        malformed=memory.malformed,
        minds=_minds(memory),
        siblings=len(list_branches(store, branch.lineage)) - 1,
        not_made=not_being_made(due, jobs, errors, state.idle_seconds),
    )


def not_being_made(
    due: Mapping[str, str], jobs: Sequence[JobState], errors: Sequence[RoleError], idle_seconds: float
) -> bool:
    """Whether memory is due and nobody makes it: a due role failed last time, or nothing runs and nothing moved."""
    if not due or any(job.state == "running" for job in jobs):
        return False
    return any(error.role in due for error in errors) or idle_seconds >= STALLED_SECONDS


def dropper_state(state: BranchState, settings: Settings) -> str:
    """The three states of 003-101."""
    if state.pool_tokens <= settings.observations_pool_target_tokens:
        return "within target"
    return "due" if state.reflections_recorded > state.dropper_read else "over target, waiting for a new reflection"


def context_tokens(projection: Projection) -> int:
    """Tokens of digest and of the reflections after it, as a compaction would carry them."""
    digest = projection.digest.tokens if projection.digest else 0
    return digest + sum(held.record.tokens for held in projection.recent)


def mind_in_use(settings: Settings) -> str:
    """The name of what thinks."""
    choice = settings.model_of("observer")
    return "extractive" if choice is None else f"{choice.provider}/{choice.id}"


def role_errors(store: Store, branch: Branch) -> list[RoleError]:
    """The last error of each role that has not succeeded since, by role."""
    found = []
    for role in ledger.COVERAGE_OF_ROLE:
        document = store.get(ERRORS, f"{role}|{branch.key}")
        if document is not None:
            body: Mapping[str, Any] = codec.from_json(document.body)
            found.append(RoleError(role=role, error=str(body.get("error", "")), at=str(body.get("at", ""))))
    return found


def work_done(store: Store, branch: Branch) -> dict[str, dict[str, Any]]:
    """Role → its counts of runs, as the workers kept them."""
    document = store.get(WORK, branch.key)
    if document is None:
        return {}
    return {role: row for role, row in codec.from_json(document.body).items() if isinstance(row, dict)}


def _open_boundary(store: Store, branch: Branch, settings: Settings) -> int | None:
    proposal = read_proposal(store, branch)
    if proposal is None or not proposal.open or store.now() - proposal.opened_at >= settings.lease_seconds:
        return None
    return proposal.boundary


def _minds(memory: Memory) -> dict[str, int]:
    names = [held.mind for held in memory.observations.values()]
    names += [held.mind for held in memory.reflections.values()]
    return dict(Counter(name or "imported" for name in names))


def percent(reading: Reading) -> int:
    """Whole percent, may pass 100; 0 for a zero total (003-103)."""
    return 0 if reading.threshold <= 0 else round(100 * reading.tokens / reading.threshold)

"""The numbers of one branch: what is recorded, visible, due, failing. Reads; decides with the clocks' own readings."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, list_branches
from minutebook.pipeline.checkpoints import read_totals
from minutebook.pipeline.clocks import (
    BranchState,
    Reading,
    compact_reading,
    due_roles,
    observe_reading,
    reflect_reading,
)
from minutebook.pipeline.folding import BeyondCheckpoint, Gap, HeldDigest, fold
from minutebook.pipeline.folds import memory_length, read_proposal
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import digest_budget, full_projection
from minutebook.pipeline.readings import read_state, session_of
from minutebook.pipeline.remembering import whole_memory
from minutebook.pipeline.sessions import Session
from minutebook.pipeline.totals import Totals, totals_of
from minutebook.pipeline.workbook import ERRORS, WORK
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.settings_loading import is_of_pi_here, session_may_think
from minutebook.store import codec
from minutebook.store.kernel import JobState, Store

SESSION_MIND = "the session's own model, extractive while Pi is closed"
STALLED_SECONDS = 120.0
"""A worker that is there comes within seconds, and sweeps every minute: due work left for so long has none."""


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
    due: role → reason. running: roles at work. why_not_made: why memory that is due is not being made, "" when it is.
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
    why_not_made: str = ""

    @property
    def not_made(self) -> bool:
        """Whether memory is due and nobody makes it: exit code 1 of `om status` (003-105)."""
        return bool(self.why_not_made)


def read_status(store: Store, branch: Branch, settings: Settings, *, window: int | None = None) -> Status:
    """The status of one branch, as of now."""
    session = session_of(store, branch)
    state = read_state(store, branch, session=session)
    share = digest_budget(settings.reflection_context_max_tokens).digest
    totals, (digest, undigested) = _totals(store, branch, share)
    path = Path(store, branch)
    return Status(
        branch=branch,
        session=session,
        entries=path.length(),
        source_tokens=path.tokens(),
        since_drop_tokens=path.tokens() - path.tokens_before(totals.dropped_through),
        siblings=len(list_branches(store, branch.lineage)) - 1,
        open_compaction=_open_boundary(store, branch, settings),
        gaps=totals.gaps,
        malformed=totals.malformed,
        minds=totals.minds,
        digest=digest,
        context=Reading((digest.tokens if digest else 0) + undigested, settings.reflection_context_max_tokens),
        **_counts(totals),
        **_readings(state, settings, totals, window),
        **_work(store, branch, settings, state, totals.recorded_at),
    )


def read_totals_now(store: Store, branch: Branch) -> Totals:
    """The numbers of a branch's memory as of now, from its checkpoint where there is one."""
    found = read_totals(store, branch, memory_length(store, branch))
    if found is not None:
        return found
    memory = whole_memory(ledger.read_memory(store, branch), [each.key for each in ledger.chain_of(store, branch)])
    return totals_of(memory, page_of(memory))


def _totals(store: Store, branch: Branch, share: int) -> tuple[Totals, tuple[HeldDigest | None, int]]:
    """Totals, with the digest that fits its share and the tokens of the reflections after it."""
    totals = read_totals_now(store, branch)
    with suppress(BeyondCheckpoint):
        return totals, totals.digest_within(share)
    memory = fold(ledger.read_memory(store, branch))
    full = full_projection(page_of(memory), digest_tokens=share)
    return totals, (full.digest, full.recent_tokens())


def _counts(totals: Totals) -> dict[str, Any]:
    return {
        "observations": totals.observations,
        "dropped": totals.observations - totals.active,
        "active": totals.active,
        "visible": totals.visible,
        "added": totals.added,
        "removed": totals.removed,
        "reflections": totals.reflections,
        "retired": totals.reflections - totals.current,
        "reflections_visible": totals.reflections_visible,
        "reflections_added": totals.reflections_added,
        "reflection_tokens": totals.reflection_tokens,
    }


def _readings(state: BranchState, settings: Settings, totals: Totals, window: int | None) -> dict[str, Any]:
    return {
        "observe": observe_reading(state, settings),
        "reflect": reflect_reading(state, settings),
        "compact": compact_reading(state, settings, window),
        "compact_mode": settings.compact_after_tokens_mode,
        "visible_pool": Reading(totals.visible_tokens, settings.observations_pool_max_tokens),
        "active_pool": Reading(totals.pool_tokens, settings.observations_pool_target_tokens),
        "dropper": dropper_state(state, settings),
    }


def _work(store: Store, branch: Branch, settings: Settings, state: BranchState, recorded_at: float) -> dict[str, Any]:
    """What is due, who is at it, and what keeps it from being done."""
    now, jobs = store.now(), store.jobs()
    here = [job for job in jobs if job.job.branch == branch.key]
    running = [job.job.role for job in here if _at_work(job, now)]
    due, errors = due_roles(state, settings), role_errors(store, branch)
    anybody = any(_at_work(job, now) for job in jobs)
    return {
        "passive": settings.passive,
        "mind": mind_in_use(settings, branch),
        "due": due,
        "running": running,
        "pending": [job.job.role for job in here if job.job.role not in running],
        "errors": errors,
        "why_not_made": why_not_made(
            due.keys() - set(running),
            {error.role for error in errors},
            at_work=bool(running),
            quiet_seconds=_quiet_seconds(state, recorded_at, settings, now),
            patience_seconds=settings.job_deadline_seconds if anybody else STALLED_SECONDS,
        ),
    }


def why_not_made(
    waiting: Collection[str], failed: Collection[str], *, at_work: bool, quiet_seconds: float, patience_seconds: float
) -> str:
    """Why memory that is due is not being made; "" when it is, or when a worker may just not have come to it yet.

    waiting: roles that are due and not at work. failed: roles whose last run failed. quiet_seconds: since the work
    became due or the branch last moved.
    """
    failing = sorted(set(waiting) & set(failed))
    if failing:
        return f"{' and '.join(failing)} failed last time"
    if waiting and not at_work and quiet_seconds >= patience_seconds:
        return f"no worker came for {int(quiet_seconds // 60)} minutes"
    return ""


def _at_work(job: JobState, now: float) -> bool:
    """A claim whose lease has run out is nobody's: its worker died."""
    return job.state == "running" and job.lease_ends > now


def _quiet_seconds(state: BranchState, recorded_at: float, settings: Settings, now: float) -> float:
    """Since the last turn was taken in or the last record was made; an idle session's tail became due only later."""
    only_idle = not state.ended and not observe_reading(state, settings).reached
    waited = settings.flush_idle_seconds if only_idle and "observer" in due_roles(state, settings) else 0
    return min(state.idle_seconds - waited, now - recorded_at)


def dropper_state(state: BranchState, settings: Settings) -> str:
    """The three states of 003-101."""
    if state.pool_tokens <= settings.observations_pool_target_tokens:
        return "within target"
    return "due" if state.reflections_recorded > state.dropper_read else "over target, waiting for a new reflection"


def mind_in_use(settings: Settings, branch: Branch | None = None) -> str:
    """The name of what thinks; for a branch of Pi without a configured model, the session's own model (003-127)."""
    choice = settings.model_of("observer")
    if choice is None and branch and is_of_pi_here(branch) and session_may_think("observer", settings):
        return SESSION_MIND
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
    if proposal is None or not proposal.is_open_at(store.now(), settings.lease_seconds):
        return None
    return proposal.boundary


def percent(reading: Reading) -> int:
    """Whole percent, may pass 100; 0 for a zero total (003-103)."""
    if reading.threshold <= 0:
        return 0
    return (200 * reading.tokens + reading.threshold) // (2 * reading.threshold)

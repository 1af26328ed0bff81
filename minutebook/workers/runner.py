"""One job: claim -> read -> think -> commit_outcome -> finish; of the judge: claim -> answer what is asked -> finish.

A run commits only what its role read, and only while its claim holds; killed at any line, another does it again.
Whatever it raises ends here: noted, paced, never passed on to the thread that ran it.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, cast

from minutebook.debuglog import CHUNK_CAPPED, CHUNK_EXCERPTED, RUN_REASONS, DebugLog, RunReason, rows_of_run
from minutebook.errors import BadInput, MissingExtra, ProviderFailed, SpanFailed, ThinkingFailed
from minutebook.pipeline import ledger, workbook
from minutebook.pipeline.branches import Path, find_branch, memory_stream
from minutebook.pipeline.clocks import BranchState, due_roles
from minutebook.pipeline.erasing import forget_branch
from minutebook.pipeline.outcomes import Outcome, Refused, commit_outcome
from minutebook.pipeline.questions import JUDGE, Verdict, open_questions
from minutebook.pipeline.readings import read_state, session_of
from minutebook.records import GAP, Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Claim, Job, Store
from minutebook.workers import judge, recording
from minutebook.workers.contract import Mind, ObserveBatch
from minutebook.workers.leases import Held, Leases
from minutebook.workers.roles import Context, Prepared, Role
from minutebook.workers.run_notices import Tell, Telling, nobody

Minds = Callable[[str, Settings, Branch], Mind]
"""Role, settings and the branch to think about → the mind.

One that asks a model may have a `window`, in tokens, and a mind to think `instead` when no model can be asked.
"""
SettingsFor = Callable[[Branch], Settings]
RoleModules = Callable[[str], Role]

Ended = Literal["taken", "gone", "not_due", "nothing", "recorded", "stale", "lost", "gap", "retry", "answered"]
RUBBISH_PAUSES = 12
"""A role that cannot leave a gap asks again for as long as it is due, and each answer costs: at last once an hour."""
RECORDS = ("observations", "reflections", "content", "observationIds", "reflectionIds")
"""Names in the data of a memory entry under which something was recorded; an entry without them says "nothing"."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How one job ended. taken: not ours to run. lost: the claim ended under way. stale: refused, derived anew."""

    job: Job
    ended: Ended
    error: str = ""


def role_module(role: str) -> Role:
    """The module of a role, loaded on use."""
    return cast(Role, import_module(f"minutebook.workers.{role}"))


def run_job(
    store: Store,
    job: Job,
    *,
    minds: Minds,
    settings_for: SettingsFor,
    owner: str,
    log: DebugLog,
    leases: Leases | None = None,
    roles: RoleModules = role_module,
    tell: Tell = nobody,
) -> Ran:
    """Do one job if it is ours to do. owner: names this worker on the board. Raises StoreError."""
    if leases is None:
        with Leases(store) as own:
            more: Any = {"owner": owner, "log": log, "leases": own, "roles": roles, "tell": tell}
            return run_job(store, job, minds=minds, settings_for=settings_for, **more)
    branch = find_branch(store, job.branch)
    settings, refusal = _settings_of(branch, settings_for)
    lease_seconds = min(settings.lease_seconds, judge.LEASE_SECONDS) if job.role == JUDGE else settings.lease_seconds
    claim = store.claim(job, owner, lease_seconds=lease_seconds, deadline_seconds=settings.job_deadline_seconds)
    if claim is None:
        return Ran(job, "taken")
    if branch is None:
        store.finish(claim)
        return Ran(job, "gone")
    with leases.keeping(claim, lease_seconds) as held:
        run = _Run(store, branch, settings, held, log, minds, roles, Telling(branch, settings, tell))
        with rows_of_run(**run.about):
            if job.role == JUDGE:
                ran = run.answer(refusal)
            else:
                ran = run.put_off(refusal, "settings", settings.retry_max_seconds) if refusal else run.go()
    if find_branch(store, branch.key) is None:  # it was purged under way: nothing was committed, and no trace may stay
        forget_branch(store, branch)
        if log.enabled:
            log.forget(branch.session, [branch.key])
        return Ran(job, "gone")
    return ran


def _settings_of(branch: Branch | None, settings_for: SettingsFor) -> tuple[Settings, BadInput | None]:
    """The settings of a branch, or the defaults and what is wrong with them."""
    try:
        return (settings_for(branch) if branch else Settings()), None
    except BadInput as error:
        return Settings(), error


def retry_seconds(settings: Settings, failures: int, *, longest: int = 1) -> float:
    """The pause after so many failures in a row: doubling from retry_first_seconds to `longest` retry_max_seconds."""
    doublings = min(max(failures, 1) - 1, 32)
    return float(min(settings.retry_first_seconds * 2**doublings, settings.retry_max_seconds * longest))


class _Run:
    """One claimed job."""

    def __init__(
        self,
        store: Store,
        branch: Branch,
        settings: Settings,
        held: Held,
        log: DebugLog,
        minds: Minds,
        roles: RoleModules,
        telling: Telling,
    ) -> None:
        self.store = store
        self.branch = branch
        self.settings = settings
        self.held = held
        self.log = log
        self.minds = minds
        self.roles = roles
        self.telling = telling
        self.claim: Claim = held.claim
        self.job: Job = held.claim.job
        self.coverage = 0
        self.prepared: Prepared | None = None
        self.mind = ""
        session = session_of(store, branch) if log.enabled or settings.debug_log else None
        self.about = {
            "session": branch.session,
            "session_file": session.path if session else "",
            "branch": branch.key,
            "cwd": branch.project,
            "run_id": uuid.uuid4().hex[:12],
        }

    def go(self) -> Ran:
        try:
            return self._work()
        except SpanFailed as error:
            return self._span_failed(error)
        except Exception as error:
            return self.put_off(error, _kind(error), retry_seconds(self.settings, self.claim.tries))

    # -- questions to the judge --------------------------------------------------------------------------------

    def answer(self, refusal: BadInput | None) -> Ran:
        """Answer what is asked on this branch. A failure is told to its asker; nothing is tried again later."""

        def mind_of() -> Mind:
            if refusal is not None:
                raise refusal
            return self.minds(JUDGE, self.settings, self.branch)

        judge.serve(self.store, self.branch.key, mind_of, self._judged, self.held.beat)
        if not self.store.finish(self.claim):
            return self._discard("lost")
        if open_questions(self.store, self.branch.key):  # asked between the last look and the end of the job
            self.store.queue(self.job)
        return Ran(self.job, "answered")

    def _judged(self, verdict: Verdict, error: Exception | None) -> None:
        reason: RunReason = "nothing_to_record" if error is None else _why_failed(error)
        data = {"mind": verdict.mind, "ranked": len(verdict.ids), "seconds": verdict.seconds, "error": error}
        self._log_end(reason, data)

    # -- the run -----------------------------------------------------------------------------------------------

    def _work(self) -> Ran:
        state = read_state(self.store, self.branch)
        if self.job.role not in due_roles(state, self.settings):  # it may have been when it was queued (003-141)
            self._log_end(_why_not_due(self.job.role, state, self.settings))
            return self._finish("not_due")
        self.coverage = state.observed
        mind = self.minds(self.job.role, self.settings, self.branch)
        self.mind = mind.name
        role = self.roles(self.job.role)
        prepared = role.prepare(self._context(getattr(mind, "window", None)))
        if prepared is None:
            self._log_end("nothing_to_record")
            return self._finish("nothing")
        if isinstance(prepared, Outcome):
            return self._commit(prepared)
        self.prepared = prepared
        self._row("run_started", {"start": prepared.start, "entries": prepared.entries, "mind": self.mind})
        self._chunk_row(prepared)
        self.telling.started(self.job.role, prepared, state)
        return self._commit(self._think(role, prepared, mind))

    def _think(self, role: Role, prepared: Prepared, mind: Mind) -> Outcome:
        """Let the mind think; where no model can be asked, the mind that it names to do it `instead`, from the start.

        The first one's proposals stay at its own desk.
        """
        try:
            return role.think(prepared, mind)
        except (ProviderFailed, MissingExtra) as error:
            other: Mind | None = getattr(mind, "instead", _nobody)(error)
            if other is None:
                raise
            self._row("instead", {"mind": other.name, "error": error})
            mind = other
            return role.think(prepared, mind)
        finally:
            self.mind = mind.name

    def _context(self, window: int | None) -> Context:
        span = workbook.read_span(self.store, self.job, self.coverage) if self.job.role == "observer" else None
        return Context(
            store=self.store,
            branch=self.branch,
            settings=self.settings,
            now=workbook.iso_time(self.store.now()),
            max_entries=span.next_entries() if span else None,
            window=window,
        )

    def _commit(self, outcome: Outcome) -> Ran:
        if not self.held.beat():
            return self._discard("lost")
        moved = self._refused(outcome) if self._moves_something(outcome) else ""
        if moved:
            return self._discard("stale", moved)
        recorded = any(entry.data.get(name) for entry in outcome.entries for name in RECORDS)
        ended: Literal["recorded", "nothing"] = "recorded" if recorded else "nothing"
        workbook.clear_error(self.store, self.job)
        workbook.clear_span(self.store, self.job)
        workbook.count_run(self.store, self.job, ended, mind=self.mind)
        self._log_end("recorded" if recorded else "nothing_to_record", {"entries": len(outcome.entries)})
        if self.prepared is not None:
            self.telling.ended(self.job.role, outcome)
        return self._finish(ended)

    def _refused(self, outcome: Outcome) -> str:
        """Commit, and ""; where another run came first, what moved: nothing is written, and derived anew (003-167)."""
        done = commit_outcome(self.store, self.branch, outcome)
        if not isinstance(done, Refused):
            return ""
        self.store.mark_dirty(self.branch.key)
        self.store.finish(self.claim)
        return done.stale.what

    def _moves_something(self, outcome: Outcome) -> bool:
        """An outcome that changes nothing is not written: it would mark the branch, and the work would go round."""
        marks = self.store.tip(memory_stream(self.branch.key)).marks
        moved = (
            value != marks.get(mark, 0) if mark == ledger.DIGEST_BUDGET else value > marks.get(mark, 0)
            for mark, value in outcome.advance.items()
        )
        return bool(outcome.entries) or any(moved)

    # -- its ends ----------------------------------------------------------------------------------------------

    def _finish(self, ended: Ended) -> Ran:
        self.store.finish(self.claim)
        return Ran(self.job, ended)

    def _discard(self, ended: Ended, cause: str = "") -> Ran:
        if ended == "lost" and self.store.now() >= self.claim.deadline_at:
            late = ThinkingFailed(f"took longer than job_deadline_seconds = {self.settings.job_deadline_seconds}")
            self._failed(late, "deadline")
        self._log_end("discarded", {"cause": cause or ended})
        return Ran(self.job, ended)

    def _failed(self, error: Exception, kind: str) -> None:
        """Keep the error until this role's next success, and tell it."""
        before = workbook.kind_of_error(self.store, self.job)
        workbook.note_error(self.store, self.job, error, kind)
        self.telling.failed(self.job.role, error, before=before)

    def put_off(self, error: Exception, kind: str, seconds: float) -> Ran:
        """Keep the error, and the job for later."""
        said = f"{type(error).__name__}: {error}"
        self._failed(error, kind)
        workbook.count_run(self.store, self.job, "failed", mind=self.mind)
        self._log_end(_why_failed(error), {"error": error, "kind": kind, "retry_seconds": seconds})
        self.store.fail(self.claim, retry_seconds=seconds, error=said)
        return Ran(self.job, "retry", said)

    def _span_failed(self, error: SpanFailed) -> Ran:
        """Halve the observer's span; a lone entry that failed too often becomes a gap (003-012)."""
        prepared = self.prepared
        if self.job.role != "observer" or prepared is None:
            return self.put_off(error, "span", retry_seconds(self.settings, self.claim.tries, longest=RUBBISH_PAUSES))
        if not self.held.beat():
            return self._discard("lost")
        span = self._failed_span(prepared, error)
        if span.tries >= self.settings.span_max_tries:
            return self._leave_gap(span, error)
        workbook.note_span(self.store, self.job, span)
        return self.put_off(error, "span", retry_seconds(self.settings, span.tries) if span.tries else 0.0)

    def _failed_span(self, prepared: Prepared, error: SpanFailed) -> workbook.Span:
        before = workbook.read_span(self.store, self.job, self.coverage)
        again = before is not None and before.entries == 1 and before.start == prepared.start
        tries = 0 if prepared.entries > 1 else 1 + (before.tries if before and again else 0)
        return workbook.Span(
            read=self.coverage, start=prepared.start, entries=prepared.entries, tries=tries, error=str(error)
        )

    def _leave_gap(self, span: workbook.Span, error: SpanFailed) -> Ran:
        outcome = self._gap_outcome(span)
        if moved := self._refused(outcome):
            return self._discard("stale", moved)
        self._failed(error, "span")
        workbook.clear_span(self.store, self.job)
        workbook.count_run(self.store, self.job, "gaps", mind=self.mind)
        self._log_end(_why_failed(error), {"error": error, "gap": outcome.entries[0].id, "tries": span.tries})
        return self._finish("gap")

    def _gap_outcome(self, span: workbook.Span) -> Outcome:
        source = Path(self.store, self.branch).at(span.start)
        ids = [source.entry.id] if source else []
        covers = span.start + 1
        about = recording.Span(
            since=span.read,
            covers=covers,
            covers_id="".join(ids),
            time=workbook.iso_time(self.store.now()),
            mind=self.mind,
        )
        gap = about.entry(GAP, {"reason": span.error, "tries": span.tries, "sourceEntryIds": ids})
        return Outcome(
            role="observer",
            branch=self.branch.key,
            read=span.read,
            advance={ledger.OBSERVER: covers},
            entries=(gap,),
        )

    # -- the debug log -----------------------------------------------------------------------------------------

    def _log_end(self, reason: RunReason, data: Mapping[str, object] | None = None) -> None:
        self.log.run_ended(reason, **self.about, data={"role": self.job.role, **(data or {})})

    def _row(self, event: str, data: Mapping[str, object]) -> None:
        self.log.row(event, **self.about, data={"role": self.job.role, **data})

    def _chunk_row(self, prepared: Prepared) -> None:
        """A chunk that was cut at its cap, or is one entry as an excerpt, has a row of its own (003-146)."""
        batch, covers = getattr(prepared, "batch", None), getattr(prepared, "covers", 0)
        if not self.log.enabled or not isinstance(batch, ObserveBatch):
            return
        if any(shown.excerpted for shown in batch.sources):
            self._row(CHUNK_EXCERPTED, {"start": prepared.start, "covers": covers})
        elif covers < Path(self.store, self.branch).length():
            self._row(CHUNK_CAPPED, {"start": prepared.start, "covers": covers})


def _why_not_due(role: str, state: BranchState, settings: Settings) -> RunReason:
    if role != "dropper":
        return "below_mark"
    over = state.pool_tokens > settings.observations_pool_target_tokens
    return "waiting_for_reflection" if over else "not_over_target"


def _nobody(error: Exception) -> None:
    return None


def _kind(error: Exception) -> str:
    if isinstance(error, BadInput):
        return "settings"
    return "provider" if isinstance(error, (ProviderFailed, MissingExtra)) else "bug"


def _why_failed(error: Exception) -> RunReason:
    """An error may carry its own reason; else its class tells."""
    reason = getattr(error, "reason", None)
    if reason in RUN_REASONS:
        return cast(RunReason, reason)
    if isinstance(error, SpanFailed):
        return "nothing_called"
    return "model_unavailable" if isinstance(error, (ThinkingFailed, MissingExtra)) else "stream_error"

"""The board in the SQLite file: dirty branches, jobs, claims with leases and fencing tokens."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minutebook.store.kernel import Claim, Dirty, Job, JobState
from minutebook.store.sqlite_file import Connection, Database, bound, first_value, holes, text_of

JOB_COLUMNS = "role, lineage, branch, state, not_before, owner, lease_ends, tries, error, failed_at"
READY_AT = "CASE state WHEN 'pending' THEN not_before ELSE lease_ends END"
THIS_JOB = "role = :role AND lineage = :lineage AND branch = :branch"
AHEAD = "max(0, written_at - :now)"
"""By how much the clock went back since the times of a job were set."""
QUEUE = (
    "INSERT INTO job (role, lineage, branch, state, not_before, written_at)"
    " VALUES (:role, :lineage, :branch, 'pending', :now + :delay_seconds, :now)"
    " ON CONFLICT (role, lineage, branch) DO NOTHING"
)
STILL_OURS = THIS_JOB + " AND state = 'running' AND token = :token AND lease_ends > :now"


class Board(Database):
    """kernel.Board."""

    def now(self) -> float:
        return self._clock()

    def mark_dirty(self, key: str) -> None:
        with self.writing() as connection:
            write_dirty(connection, key)

    def take_dirty(self, limit: int) -> list[Dirty]:
        rows = self.rows("SELECT key, revision FROM dirty ORDER BY revision LIMIT ?", (limit,))
        return [Dirty(text_of(key), revision) for key, revision in rows]

    def settle_dirty(self, *taken: Dirty, jobs: Sequence[Job] = ()) -> int:
        now = self.now()
        with self.writing() as connection:
            connection.executemany(QUEUE, [_queued(job, now, 0.0) for job in jobs])
            return connection.executemany(
                "DELETE FROM dirty WHERE key = ? AND revision = ?", [(bound(each.key), each.revision) for each in taken]
            ).rowcount

    def queue(self, job: Job, *, delay_seconds: float = 0.0) -> bool:
        return self._changed(QUEUE, _queued(job, self.now(), delay_seconds))

    def ready(self, roles: Iterable[str], limit: int) -> list[JobState]:
        wanted = [bound(role) for role in roles]
        rows = self.rows(
            f"SELECT {JOB_COLUMNS} FROM job WHERE role IN ({holes(len(wanted))}) AND {READY_AT} <= ?"
            f" ORDER BY {READY_AT}, rowid LIMIT ?",
            (*wanted, self.now(), limit),
        )
        return [_job_state(row) for row in rows]

    def next_ready_at(self, roles: Iterable[str]) -> float | None:
        wanted = [bound(role) for role in roles]
        sql = f"SELECT min({READY_AT}) FROM job WHERE role IN ({holes(len(wanted))})"
        at: float | None = self.rows(sql, wanted)[0][0]
        return at

    def claim(self, job: Job, owner: str, *, lease_seconds: float, deadline_seconds: float) -> Claim | None:
        with self.writing() as connection:
            now = self.now()
            deadline_at = now + deadline_seconds
            values = {
                **_job_key(job),
                "now": now,
                "owner": bound(owner),
                "lease_ends": min(now + lease_seconds, deadline_at),
                "deadline_at": deadline_at,
            }
            tries = first_value(
                connection,
                "UPDATE job SET state = 'running', owner = :owner, tries = tries + 1, lease_ends = :lease_ends,"
                " deadline_at = :deadline_at, written_at = :now, token = (SELECT last + 1 FROM fence)"
                f" WHERE {THIS_JOB} AND {READY_AT} <= :now RETURNING tries",
                values,
            )
            if tries is None:
                return None
            token: int = first_value(connection, "UPDATE fence SET last = last + 1 RETURNING last")
            return Claim(job, owner, token, tries, deadline_at)

    def beat(self, claim: Claim, *, lease_seconds: float) -> bool:
        return self._changed_claim(
            claim,
            f"UPDATE job SET lease_ends = min(:now + :lease_seconds, deadline_at - {AHEAD}),"
            f" deadline_at = deadline_at - {AHEAD}, written_at = :now",
            {"lease_seconds": lease_seconds},
        )

    def finish(self, claim: Claim) -> bool:
        return self._changed_claim(claim, "DELETE FROM job", {})

    def fail(self, claim: Claim, *, retry_seconds: float, error: str) -> bool:
        return self._changed_claim(
            claim,
            "UPDATE job SET state = 'pending', not_before = :now + :retry_seconds, owner = '', lease_ends = 0,"
            " deadline_at = 0, error = :error, failed_at = :now, written_at = :now",
            {"retry_seconds": retry_seconds, "error": bound(error)},
        )

    def release(self, job: Job, owner: str) -> bool:
        sql = f"UPDATE job SET lease_ends = :now, written_at = :now WHERE {THIS_JOB} AND state = 'running'"
        values = {**_job_key(job), "owner": bound(owner), "now": self.now()}
        return self._changed(f"{sql} AND owner = :owner AND lease_ends > :now", values)

    def rewind_times(self) -> bool:
        return self._changed(
            f"UPDATE job SET not_before = not_before - {AHEAD}, lease_ends = lease_ends - {AHEAD},"
            f" deadline_at = deadline_at - {AHEAD}, failed_at = min(failed_at, :now), written_at = :now"
            " WHERE written_at > :now",
            {"now": self.now()},
        )

    def jobs(self, *, state: str | None = None) -> list[JobState]:
        rows = self.rows(f"SELECT {JOB_COLUMNS} FROM job WHERE state = coalesce(?, state)", (state,))
        states = [_job_state(row) for row in rows]
        return sorted(states, key=lambda state: (state.job.role, state.job.branch, state.job.lineage))

    def wipe_board(self) -> None:
        with self.writing() as connection:
            connection.execute("DELETE FROM job")
            connection.execute("DELETE FROM dirty")

    def _changed_claim(self, claim: Claim, change: str, values: Mapping[str, Any]) -> bool:
        """Apply a change to the claimed job if the claim still holds."""
        with self.writing() as connection:
            # The clock is read under the lock: a wait for the lock must not make an expired claim look alive.
            key = {**_job_key(claim.job), "token": claim.token, "now": self.now()}
            return bool(connection.execute(f"{change} WHERE {STILL_OURS}", {**key, **values}).rowcount)

    def _changed(self, sql: str, values: Mapping[str, Any]) -> bool:
        with self.writing() as connection:
            return bool(connection.execute(sql, values).rowcount)


def write_dirty(connection: Connection, key: str) -> None:
    # REPLACE gives the key a new revision, so that settling at the old one leaves this mark alone.
    connection.execute("INSERT OR REPLACE INTO dirty (key) VALUES (?)", (bound(key),))


def _job_key(job: Job) -> dict[str, Any]:
    return {"role": bound(job.role), "lineage": bound(job.lineage), "branch": bound(job.branch)}


def _queued(job: Job, now: float, delay_seconds: float) -> dict[str, Any]:
    return {**_job_key(job), "now": now, "delay_seconds": delay_seconds}


def _job_state(row: tuple[Any, ...]) -> JobState:
    role, lineage, branch, state, not_before, owner, lease_ends, tries, error, failed_at = row
    job = Job(text_of(role), text_of(lineage), text_of(branch))
    return JobState(job, state, not_before, text_of(owner), lease_ends, tries, text_of(error), failed_at)

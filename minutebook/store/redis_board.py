"""The board on the Redis server: dirty branches, jobs, claims with leases and fencing tokens (lua/jobs.lua)."""

from collections.abc import Iterable, Sequence

from minutebook.store.kernel import Claim, Dirty, Job, JobState
from minutebook.store.redis_listening import Listener
from minutebook.store.redis_server import Server, packed, text_of

STATES = {b"p": "pending", b"r": "running"}
PLACE_DIGITS = 16


class Board(Server):
    """kernel.Board."""

    def mark_dirty(self, key: str) -> None:
        self.change("mark_dirty", [self._dirty_key, self._fence_key], packed(key))

    def take_dirty(self, limit: int) -> list[Dirty]:
        if limit <= 0:
            return []
        held = self.ask("ZRANGE", self._dirty_key, 0, limit - 1, "WITHSCORES")
        return [Dirty(text_of(key), int(score)) for key, score in zip(held[::2], held[1::2], strict=True)]

    def settle_dirty(self, *taken: Dirty, jobs: Sequence[Job] = ()) -> int:
        marks = [value for each in taken for value in (packed(each.key), each.revision)]
        keys = [*self.board_keys(), self._dirty_key]
        return int(self.change("settle_dirty", keys, len(jobs), *map(_packed_job, jobs), *marks))

    def queue(self, job: Job, *, delay_seconds: float = 0.0) -> bool:
        return self._changed("queue", _packed_job(job), repr(float(delay_seconds)))

    def ready(self, roles: Iterable[str], limit: int) -> list[JobState]:
        keys = [self._jobs_key, *map(self._ready_key, dict.fromkeys(roles))]
        if limit <= 0 or len(keys) == 1:
            return []
        found = self.look("ready", keys, self.clock_argument(), limit)
        in_order = sorted(zip(found[::3], found[1::3], found[2::3], strict=True), key=_by_time_and_place)
        return [_job_state(member[PLACE_DIGITS:], row) for _, member, row in in_order[:limit]]

    def next_ready_at(self, roles: Iterable[str]) -> float | None:
        first = self.ask_all([("ZRANGE", self._ready_key(role), 0, 0, "WITHSCORES") for role in roles])
        return min((float(each[1]) for each in first if each), default=None)

    def claim(self, job: Job, owner: str, *, lease_seconds: float, deadline_seconds: float) -> Claim | None:
        times = (repr(float(lease_seconds)), repr(float(deadline_seconds)))
        reply = self.change("claim", self.board_keys(), _packed_job(job), packed(owner), *times)
        if not reply:
            return None
        token, tries, deadline_at = reply.split()
        return Claim(job, owner, int(token), int(tries), float(deadline_at))

    def beat(self, claim: Claim, *, lease_seconds: float) -> bool:
        return self._changed_claim(claim, "beat", lease_seconds)

    def finish(self, claim: Claim) -> bool:
        return self._changed_claim(claim, "finish")

    def fail(self, claim: Claim, *, retry_seconds: float, error: str) -> bool:
        return self._changed_claim(claim, "fail", retry_seconds, error)

    def release(self, job: Job, owner: str) -> bool:
        return self._changed("release", _packed_job(job), packed(owner))

    def rewind_times(self) -> bool:
        return self._changed("rewind_times")

    def jobs(self, *, state: str | None = None) -> list[JobState]:
        held = self.ask("HGETALL", self._jobs_key)
        states = [_job_state(job, row) for job, row in zip(held[::2], held[1::2], strict=True)]
        wanted = [each for each in states if state in (None, each.state)]
        return sorted(wanted, key=lambda each: (each.job.role, each.job.branch, each.job.lineage))

    def wipe_board(self) -> None:
        self.change("wipe_board", [*self.board_keys(), self._dirty_key])

    def listen(self) -> Listener:
        """What tells when a branch became dirty, or a job was queued, failed or released, by anybody."""
        return Listener(self)

    def listeners(self) -> int:
        """How many listen just now: the workers of the store."""
        return int(self.ask("PUBSUB", "NUMSUB", self.channel)[1])

    def board_keys(self) -> list[bytes]:
        """The keys of lua/jobs.lua."""
        return [self._jobs_key, self._ready_key(""), self._fence_key]

    @property
    def _jobs_key(self) -> bytes:
        return self.prefix + b"jobs"

    @property
    def _dirty_key(self) -> bytes:
        return self.prefix + b"dirty"

    @property
    def _fence_key(self) -> bytes:
        return self.prefix + b"fence"

    def _ready_key(self, role: str) -> bytes:
        return self.prefix + b"ready:" + packed(role)

    def _changed(self, name: str, *arguments: str | bytes) -> bool:
        return self.change(name, self.board_keys(), *arguments) == b"1"

    def _changed_claim(self, claim: Claim, what: str, seconds: float = 0.0, error: str = "") -> bool:
        arguments = (what, repr(float(seconds)), packed(error))
        return self._changed("change_claim", _packed_job(claim.job), str(claim.token), *arguments)


def _packed_job(job: Job) -> bytes:
    role, lineage, branch = packed(job.role), packed(job.lineage), packed(job.branch)
    return b"%d %d\n%b%b%b" % (len(role), len(lineage), role, lineage, branch)


def _job(held: bytes) -> Job:
    head, _, rest = held.partition(b"\n")
    role_size, lineage_size = map(int, head.split())
    lineage_ends = role_size + lineage_size
    return Job(text_of(rest[:role_size]), text_of(rest[role_size:lineage_ends]), text_of(rest[lineage_ends:]))


def _job_state(job: bytes, row: bytes) -> JobState:
    head, _, rest = row.partition(b"\n")
    state, not_before, lease_ends, _, _, tries, failed_at, _, _, owner_size = head.split()
    size = int(owner_size)
    owner, error = text_of(rest[:size]), text_of(rest[size:])
    times = float(not_before), float(lease_ends), float(failed_at)
    return JobState(_job(job), STATES[state], times[0], owner, times[1], int(tries), error, times[2])


def _by_time_and_place(each: tuple[bytes, bytes, bytes]) -> tuple[float, bytes]:
    score, member, _ = each
    return float(score), member

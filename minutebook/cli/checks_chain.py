"""What `om doctor` checks between an agent's hooks and its memory: pauses, bells, worker, logs, what came last."""

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from minutebook.cli.check import Check
from minutebook.cli.pausing import said
from minutebook.cli.place import Place
from minutebook.cli.showing import counted
from minutebook.errors import MinutebookError
from minutebook.hosts.bells import waiting_bells
from minutebook.hosts.beside import HOOK_LOG, WORKER_LOG, local_store_path, lock_path
from minutebook.pipeline.branches import find_branch, memory_stream
from minutebook.pipeline.keeping_out import is_ignored_project
from minutebook.pipeline.pauses import open_pauses
from minutebook.pipeline.sessions import list_sessions
from minutebook.places import data_dir
from minutebook.store import codec
from minutebook.store.kernel import Store

BELL_LATE_SECONDS = 120.0
"""A worker takes a bell within a second or two."""
LOG_RECENT_SECONDS = 600.0
LOG_TAIL_BYTES = 8_192


def chain_checks(place: Place, hosts: bool, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """What needs no open store; hosts: whether Minutebook is in some agent, so that hooks have to work."""
    yield from hook_environment(hosts, environ)
    yield writable(data_dir(environ))
    store_path = local_store_path(environ)
    if store_path is not None:
        yield bells(store_path, time.time())
        if hosts:
            yield lock(store_path)
    yield hook_log(data_dir(environ), time.time())
    yield from ignored(place)


def hook_environment(hosts: bool, environ: Mapping[str, str]) -> Iterator[Check]:
    """Variables under which hooks do nothing."""
    if local_store_path(environ) is None:
        said = "MINUTEBOOK_STORE names a server: hooks work with a file on this machine and do nothing"
        fix = "unset MINUTEBOOK_STORE where agents are started, or name a file; `om sync` is the way to a box"
        yield Check("hooks", "fail" if hosts else "info", said, fix if hosts else "")
    if environ.get("MINUTEBOOK_OFF", "0") not in ("", "0"):
        yield Check("hooks", "fail", "MINUTEBOOK_OFF is set: hooks leave at once", "unset MINUTEBOOK_OFF")


def writable(data: Path) -> Check:
    """Whether the data folder takes a file: hooks, workers and logs write there."""
    probe = data / f".doctor.{os.getpid()}"
    folder = next(parent for parent in (data, *data.parents) if os.path.isdir(parent))  # noqa: PTH112
    if folder != data:
        if os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            return Check("data folder", "ok", f"{data}: not there yet; it can be made")
        return Check("data folder", "fail", f"{folder}: cannot be written", f"make {folder} writable for this user")
    try:
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        why = f"{data}: cannot be written: {error.strerror or error}"
        return Check("data folder", "fail", why, f"make {data} writable, or set MINUTEBOOK_HOME to a folder that is")
    return Check("data folder", "ok", f"{data}: can be written")


def bells(store_path: str, now: float) -> Check:
    """Sessions that moved and were not taken in yet."""
    waiting = waiting_bells(store_path)
    if not waiting:
        return Check("bells", "ok", "no session waits to be taken in")
    age = max(0.0, now - waiting[0].since)
    what = f"{counted(len(waiting), 'session')} to be taken in, the first for {duration(age)}: {waiting[0].key}"
    if age < BELL_LATE_SECONDS:
        return Check("bells", "info", what)
    return Check("bells", "fail", what, f"om worker --until-idle; {data_dir() / WORKER_LOG} may say why none came")


def lock(store_path: str) -> Check:
    """The worker that hooks start, of which there is one."""
    path = lock_path(store_path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return Check("hooks' worker", "info", "none was started yet; the first turn of an agent does it")
    except OSError as error:
        return Check("hooks' worker", "fail", f"{path}: {error.strerror or error}", f"make {path} yours: chmod 600")
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        number = os.read(handle, 20).decode(errors="replace").strip()
        return Check("hooks' worker", "ok", f"running{f', process {number}' if number.isdigit() else ''}")
    except OSError as error:
        return Check("hooks' worker", "info", f"{path}: cannot be looked at: {error.strerror or error}")
    finally:
        os.close(handle)
    return Check("hooks' worker", "info", "none is running; the next turn of an agent starts it")


def hook_log(data: Path, now: float) -> Check:
    """The last complaint of a hook."""
    file = data / HOOK_LOG
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - LOG_TAIL_BYTES))
            lines = opened.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return Check("hook log", "ok", "no hook ever complained")
    except OSError as error:
        return Check("hook log", "fail", f"{file}: {error.strerror or error}", f"make {file} readable")
    last = next((line for line in reversed(lines) if line.strip()), "")
    if not last:
        return Check("hook log", "ok", "no hook complained")
    age = now - _seconds(last.partition(" ")[0], now)
    if age < LOG_RECENT_SECONDS:
        told = f"mend what is named there; done, it is told for another {duration(LOG_RECENT_SECONDS - age)}"
        return Check("hook log", "fail", last, f"{told}; {file} has what came before")
    return Check("hook log", "info", f"{duration(age)} ago: {last.partition(' ')[2]}")


def ignored(place: Place) -> Iterator[Check]:
    """Whether this project is not recorded, on purpose."""
    try:
        ignore = place.settings.ignore
    except MinutebookError:
        return  # the line of the settings says what is wrong
    if is_ignored_project(str(place.project), ignore):
        yield Check("ignored", "info", f"{place.project}: nothing is recorded of it; a glob of `ignore` matches")


def paused(store: Store) -> Iterator[Check]:
    """Pauses that last."""
    for pause in open_pauses(store):
        yield Check("paused", "info", f"{said(pause)}; `om resume` ends it")


def last_came(store: Store) -> Iterator[Check]:
    """When the last turn was taken in, and the last record made."""
    sessions = list_sessions(store)
    if not sessions:
        return
    now, latest = store.now(), sessions[0]
    yield Check("last turn", "info", f"taken in {duration(max(0.0, now - latest.touched))} ago, of {latest.key}")
    made = max((_last_record(store, session.branch) for session in sessions[:20]), default="")
    text = f"{duration(max(0.0, now - _seconds(made, now)))} ago" if made else "none yet"
    yield Check("last record", "info", text)


def _last_record(store: Store, key: str) -> str:
    branch = find_branch(store, key) if key else None
    if branch is None:
        return ""
    stream = memory_stream(branch.key)
    found = store.read(stream, limit=1, reverse=True)
    return max((codec.memory_entry(branch.key, item).time for item in found), default="")


def _seconds(time_: str, otherwise: float) -> float:
    try:
        return datetime.fromisoformat(time_).timestamp()
    except ValueError:
        return otherwise


def duration(seconds: float) -> str:
    """In the largest unit that says enough."""
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return counted(int(seconds // size), unit)
    return counted(int(seconds), "second")

"""What `om doctor` checks: one line each, and one thing to do for a line that fails."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from minutebook.cli.check import ROLES, Check
from minutebook.cli.place import Place, may_be_there
from minutebook.cli.showing_status import broken_lines
from minutebook.errors import MinutebookError, StoreReadOnly
from minutebook.pipeline.sessions import list_sessions
from minutebook.pipeline.workbook import ERRORS
from minutebook.settings_pi import SECTION, global_pi_file, project_pi_file, read_section
from minutebook.store import codec
from minutebook.store.kernel import Put, Store
from minutebook.store.opening import open_store
from minutebook.store.sqlite_file import LIBRARY_OLDEST, LIBRARY_VERSION

DISK_LEAST_BYTES = 200 * 1024 * 1024
BUSY_SECONDS = 2.0
CLOCK_EARLIEST = 1_735_689_600.0  # 2025-01-01: no store of ours is older
CLOCK_SLACK_SECONDS = 60.0
WAL_HEADER = b"\x02\x02"
EXTRAS = {"models": "litellm", "mcp": "mcp", "redis": "redis", "search": "numpy"}
SCRIPTS = ("om", "minutebook")
WITH_MCP = {"claude-code", "codex"}
SHOWN = 5


def checks(place: Place) -> Iterator[Check]:
    """All checks but those of a store on a server, in order; none of them raises."""
    from minutebook.cli.checks_chain import chain_checks
    from minutebook.cli.checks_hosts import host_checks
    from minutebook.cli.checks_models import mind_checks

    yield python_version(sys.version_info[:3])
    yield sqlite_version(LIBRARY_VERSION)
    yield from (script(name, own_script()) for name in SCRIPTS)
    yield settings(place)
    yield from settings_of_pi(place)
    in_agents = set[str]()
    for check in host_checks(place.project):
        yield check
        in_agents |= {check.name} if check.verdict != "info" else set()
    yield from chain_checks(place, hosts=bool(in_agents))
    if place.store_file is not None:
        yield disk(place.store_file)
    yield clock(time.time())
    if place.store_file is not None:
        yield worker(place.wake_worker())
    needed = {"models": "the settings name a model" if asks_models(place) else ""}
    needed["mcp"] = "agents call recall and search by it" if in_agents & WITH_MCP else ""
    for name, module in EXTRAS.items():
        yield extra(name, module, needed_as=needed.get(name, ""))
    yield from mind_checks(place)
    if place.store_file is not None:
        yield from store_checks(place, place.store_file)


def python_version(version: tuple[int, ...]) -> Check:
    """3.11 or newer."""
    said = ".".join(map(str, version))
    if version < (3, 11):
        return Check("python", "fail", said, "install Minutebook with Python 3.11 or newer")
    return Check("python", "ok", said)


def sqlite_version(version: str) -> Check:
    """New enough for what the store asks of it."""
    found = tuple(int(part) for part in version.split(".") if part.isdigit())
    if found < LIBRARY_OLDEST:
        needed = ".".join(map(str, LIBRARY_OLDEST))
        return Check("sqlite", "fail", version, f"use a Python that is built with SQLite {needed} or newer")
    return Check("sqlite", "ok", version)


def own_script() -> Path:
    """Our `om`: what was started, else the one beside this interpreter."""
    started = Path(sys.argv[0])
    return started if started.name in SCRIPTS and started.exists() else Path(sys.executable).with_name("om")


def script(name: str, own: Path) -> Check:
    """Whether typing the name starts this installation."""
    found = shutil.which(name)
    if found is None:
        return Check(f"`{name}`", "info", f"not on PATH; this one is {own}")
    folder = own.parent
    if os.path.realpath(Path(found).parent) == os.path.realpath(folder):
        return Check(f"`{name}`", "ok", found)
    whose = "another installation of Minutebook" if _is_ours(Path(found)) else "another program"
    fix = f"put {folder} first on PATH" if name == "minutebook" else f"put {folder} first on PATH, or type `minutebook`"
    return Check(f"`{name}`", "fail", f"{whose} comes first on PATH: {found}", fix)


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"minutebook" in file.read(4096)
    except OSError:
        return False


def settings(place: Place) -> Check:
    """Whether files, environment and flags can be used."""
    try:
        resolved = place.resolved
    except MinutebookError as error:
        said = "; ".join(str(error).splitlines())
        return Check("settings", "fail", said, "mend what is named there; nothing else is wrong with it")
    notes = [*map(str, resolved.held_back), *resolved.warnings]
    if notes:
        return Check("settings", "info", "; ".join(notes))
    return Check("settings", "ok", "every value is allowed")


def settings_of_pi(place: Place) -> Iterator[Check]:
    """Whether our section of Pi's settings files can be used; nothing is said where there is none."""
    try:
        files = (global_pi_file(), project_pi_file(place.project))
        if not any(read_section(file) for file in files):
            return
        before, resolved = place.resolved, place.resolved_for_pi
    except MinutebookError as error:
        said = "; ".join(str(error).splitlines())
        yield Check("settings of Pi", "fail", said, "mend what is named there; sessions of Pi wait for it")
        return
    notes = [str(held) for held in resolved.held_back if held not in before.held_back] + list(resolved.warnings)
    said = "; ".join(notes) or f"every value of {SECTION} is allowed"
    yield Check("settings of Pi", "info" if notes else "ok", said)


def disk(store_file: Path) -> Check:
    """Space where the store is."""
    folder = next(parent for parent in store_file.parents if os.path.isdir(parent))  # noqa: PTH112 (never raises)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check("disk", "fail", f"{folder}: {error.strerror or error}", f"check {folder}")
    said = f"{free / 1024**3:,.1f} GB free at {folder}"
    if free < DISK_LEAST_BYTES:
        return Check("disk", "fail", said, "free some space, or move the store with --store or MINUTEBOOK_STORE")
    return Check("disk", "ok", said)


def clock(now: float) -> Check:
    """Whether the machine's clock can be right."""
    said = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    if now < CLOCK_EARLIEST:
        return Check("clock", "fail", said, "set the machine's clock")
    return Check("clock", "ok", said)


def worker(listens: bool) -> Check:
    """Whether somebody listens for work."""
    if listens:
        return Check("worker", "ok", "one is running for this store")
    return Check("worker", "info", "none is running; `om worker` starts one")


def asks_models(place: Place) -> bool:
    """Whether the settings name a provider's model for some role; a host's program needs no library."""
    try:
        return any(not choice.is_program for role in ROLES for choice in place.settings.chain_of(role))
    except MinutebookError:
        return False  # the line of the settings says what is wrong


def extra(name: str, module: str, *, needed_as: str = "") -> Check:
    """Whether an optional part is installed, and whether it may be missing: needed_as says why not."""
    install = f"pip install 'minutebook[{name}]'"
    if find_spec(module) is None:
        if needed_as:
            return Check(f"extra {name}", "fail", f"not installed, and {needed_as}", install)
        return Check(f"extra {name}", "info", f"not installed: {install}")
    return Check(f"extra {name}", "ok", "installed")


def store_checks(place: Place, file: Path) -> Iterator[Check]:
    """The store itself; a store that cannot be opened is one line."""
    if not may_be_there(file):
        yield Check("store", "info", f"{file}: not there yet; the first `om ingest` makes it")
        return
    try:
        store = open_store(place.url, busy_seconds=BUSY_SECONDS, create=False)
    except MinutebookError as error:
        yield store_failed(str(file), error)
        return
    try:
        yield from _opened(store, file)
    except MinutebookError as error:
        yield store_failed(str(file), error)
    finally:
        store.close()


def store_failed(where: str, error: MinutebookError) -> Check:
    """The store's own errors say what to do after their last colon."""
    said, _, advice = str(error).rpartition(": ")
    return Check("store", "fail", said or str(error), advice or f"look at {where}")


def _opened(store: Store, file: Path) -> Iterator[Check]:
    yield writing(store, file)
    yield journal(file)
    yield access(file)
    yield from intake(store)
    yield from came_in(store)
    yield from roles(store)


def came_in(store: Store) -> Iterator[Check]:
    """What is paused, and what came last."""
    from minutebook.cli.checks_chain import last_came, paused

    yield from paused(store)
    yield from last_came(store)


def writing(store: Store, file: Path) -> Check:
    """Whether the store takes a write; one that can only be looked at has other lines that tell more."""
    try:
        store.put(Put("doctor", "probe", "{}"))
        store.delete("doctor", "probe")
    except StoreReadOnly:
        said = f"{file}: can be looked at and not be written"
        return Check("store", "fail", said, "make the file and its folder writable for this user")
    return Check("store", "ok", f"{file}: opens and can be written, {file.stat().st_size / 1024**2:,.1f} MB")


def journal(file: Path) -> Check:
    """The write-ahead log, where the file system has it."""
    with file.open("rb") as opened:
        opened.seek(18)
        wal = opened.read(2) == WAL_HEADER
    if wal:
        return Check("journal", "ok", "write-ahead log: readers and writers do not wait for each other")
    return Check("journal", "info", "rollback journal, as this file system has no write-ahead log; hooks may wait")


def access(file: Path) -> Check:
    """Memory is for its owner's eyes."""
    mode = file.stat().st_mode & 0o777
    if mode & 0o077:
        return Check("access", "fail", f"others may read or write the store (mode {mode:o})", f"chmod 600 {file}")
    return Check("access", "ok", f"only you may read the store (mode {mode:o})")


def intake(store: Store) -> Iterator[Check]:
    """Sessions, whether their times can be, and what could not be decoded."""
    sessions = list_sessions(store)
    yield Check("sessions", "ok", f"{len(sessions):,} in the store")
    late = [session for session in sessions if session.touched > store.now() + CLOCK_SLACK_SECONDS]
    if late:
        said = f"{len(late):,} sessions were taken in at a time that is still to come, the first {late[0].key}"
        yield Check("clock of sessions", "fail", said, "set the machine's clock; it went back, or was ahead before")
    for session in [session for session in sessions if session.broken_count][:SHOWN]:
        lines = broken_lines(session.broken, session.broken_count)
        yield Check("broken lines", "info", f"{session.path or session.key}: line {lines}; the others were taken in")


def roles(store: Store) -> Iterator[Check]:
    """Roles whose last run failed."""
    failing = store.documents(ERRORS)
    for document in failing[:SHOWN]:
        role, _, branch = document.key.partition("|")
        body = codec.from_json(document.body)
        said = f"{role} on {branch} failed at {body.get('at', '')}: {body.get('error', '')}"
        yield Check("roles", "fail", said, "see `om jobs`; it is tried again by itself while a worker runs")
    if not failing:
        yield Check("roles", "ok", "none is failing")

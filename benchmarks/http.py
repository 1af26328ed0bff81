"""What the door adds to the intake of a team box: `om serve` in a process of its own, clients in this one."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles

from benchmarks.bench import Bench
from benchmarks.table import Row
from minutebook.pipeline.receiving import receive_sources
from minutebook.pipeline.rows import branch_row, session_row, source_row
from minutebook.pipeline.sessions import Session
from minutebook.records import Branch, Part, SourceEntry
from minutebook.server.tokens import create_token
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

ONE_BAR, HUNDRED_BAR, TAIL_BAR = 0.35, 0.5, 5.0
CLIENTS, MANY_CLIENTS = 8, 50
ROUNDS = 5
PROJECT = "github.com/acme/orders"
WORDS = "The gateway listens on port 8443 and the retries stop after three. " * 6
USER = "alice"


@dataclass(frozen=True, slots=True)
class Load:
    """What one client sends: batches of entries of a session of its own, in order."""

    session: Session
    branch: Branch
    batches: Sequence[Sequence[SourceEntry]]


def rows(bench: Bench) -> Iterator[Row]:
    """Before a SQLite file, and before a Redis server."""
    yield from door_rows(bench)
    yield from door_rows(bench, url=bench.redis_url())


def door_rows(bench: Bench, *, url: str = "") -> Iterator[Row]:
    """url: of a store, a new SQLite file without."""
    kind = url.partition(":")[0] or "sqlite"
    target = url or str(bench.folder / "http.sqlite")
    with closing(open_store(target)) as store, _serving(target, bench.folder) as port:
        token, rounds, marks = create_token(store, USER, [])[1], min(ROUNDS, bench.scale.job_rounds), bench.scale.marks
        for size, count, bar in ((1, marks, ONE_BAR), (100, max(1, marks // 6), HUNDRED_BAR)):
            shares = [_share(store, port, token, f"{size}-{round}", count, size) for round in range(rounds + 1)][1:]
            direct, http = (median(each) for each in zip(*shares, strict=True))
            share = median(done / alone for alone, done in shares)
            measured = f"{http:,.0f} of {direct:,.0f} a second, {share:.2f}"
            name = f"intake over HTTP against the same called directly, {size} a body, {kind}"
            yield Row(name=name, measured=measured, bar=f"≥ {bar}", ok=share >= bar)
        yield _tail_row(port, token, kind, max(1, marks * 2 // 3))


def _share(store: Store, port: int, token: str, name: str, count: int, size: int) -> tuple[float, float]:
    """Entries a second: called directly, and over HTTP."""
    alone = _loads(f"direct-{name}", 1, count * 2, size)[0]
    requests = _requests_of(token, _loads(f"http-{name}", CLIENTS, count, size))  # not while the clock runs
    began = time.perf_counter()
    _direct(store, alone)
    direct = count * 2 * size / (time.perf_counter() - began)
    began = time.perf_counter()
    asyncio.run(_send_all(port, requests))
    return direct, CLIENTS * count * size / (time.perf_counter() - began)


def _tail_row(port: int, token: str, kind: str, count: int) -> Row:
    asyncio.run(_send_all(port, _requests_of(token, _loads("warm", MANY_CLIENTS, 4, 1))))
    seconds = asyncio.run(_send_all(port, _requests_of(token, _loads("tail", MANY_CLIENTS, count, 1))))
    p50, p99 = median(seconds), quantiles(seconds, n=100)[98]
    measured = f"{p50 * 1e3:.0f} ms, {p99 * 1e3:.0f} ms: {p99 / p50:.1f}"
    name = f"p50 and p99 of a request at {MANY_CLIENTS} clients, {kind}"
    return Row(name=name, measured=measured, bar=f"< {TAIL_BAR:.0f}", ok=p99 < TAIL_BAR * p50)


def _loads(name: str, clients: int, batches: int, size: int) -> list[Load]:
    return [_load(f"{name}-{client}", batches, size) for client in range(clients)]


def _load(name: str, batches: int, size: int) -> Load:
    key = f"claude_code:{name}"
    names = {"key": key, "host": "claude_code", "session": name, "project": PROJECT, "lineage": key}
    session = Session(**names, branch=key, branches=[key])
    branch = Branch(**names)
    made = [_entry(at) for at in range(batches * size)]
    return Load(session, branch, [made[at : at + size] for at in range(0, len(made), size)])


def _entry(at: int) -> SourceEntry:
    return SourceEntry(id=f"e{at}", role="user", parts=(Part(kind="text", text=f"{at} {WORDS}"),), typed=True)


def _direct(store: Store, load: Load) -> None:
    at, before = 0, ""
    for entries in load.batches:
        receive_sources(store, USER, load.session, load.branch, at, before, entries)
        at, before = at + len(entries), entries[-1].id


def _requests(token: str, load: Load) -> Iterator[bytes]:
    """Each batch as the bytes of a request."""
    session, branch, at, before = session_row(load.session), branch_row(load.branch), 0, ""
    for entries in load.batches:
        rows = [source_row(load.branch.key, at + number, entry) for number, entry in enumerate(entries)]
        body = {"session": session, "branch": branch, "at": at, "before": before, "entries": rows}
        content = json.dumps(body).encode()
        head = f"POST /v1/sources HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        yield f"{head}Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content
        at, before = at + len(entries), entries[-1].id


def _requests_of(token: str, loads: Sequence[Load]) -> list[list[bytes]]:
    """Those of each client."""
    return [[*_requests(token, load)] for load in loads]


async def _send_all(port: int, requests: Sequence[Sequence[bytes]]) -> list[float]:
    """All clients at once, each waiting for its answers; the seconds of every request."""
    done = await asyncio.gather(*(_client(port, each) for each in requests))
    return [second for seconds in done for second in seconds]


async def _client(port: int, requests: Sequence[bytes]) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times = [time.perf_counter()]
    for request in requests:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert head.startswith(b"HTTP/1.1 200") and length, head
        await reader.readexactly(int(length[1]))
        times.append(time.perf_counter())
    writer.close()
    return [later - earlier for earlier, later in pairwise(times)]


@contextmanager
def _serving(target: str, folder: Path) -> Iterator[int]:
    """The port of `om serve` on a store."""
    arguments = ["serve", "--store", target, "--set", "serve_port=0", "--set", "serve_requests_per_minute=100000000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "minutebook", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MINUTEBOOK_HOME": str(folder / "home")},
    )
    try:
        assert process.stdout is not None
        found = re.search(r"listening on http://\S+:(\d+)", process.stdout.readline())
        assert found, "om serve did not say where it listens"
        yield int(found[1])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()

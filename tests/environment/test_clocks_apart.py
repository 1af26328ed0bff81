"""Workers on two machines whose clocks are two hours apart, on one Redis: its clock alone says when a lease ends."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from surroundings import om, talk, until

from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.ledger import OBSERVER
from minutebook.records import OBSERVATIONS
from minutebook.store.opening import open_store

HOUR = 3_600
SESSIONS = ("s1", "s2", "s3", "s4")
CLOCKED = Path(__file__).with_name("clocked.py")


def start(ahead_seconds: int, log: Path, url: str, home: Path) -> "subprocess.Popen[str]":
    """A worker that must keep its claim alive, as each of its runs takes longer than a lease."""
    words = ["worker", "--store", url, "--role", "observer", "--concurrency", "1"]
    env = {**os.environ, "MINUTEBOOK_HOME": str(home), "MINUTEBOOK_LEASE_SECONDS": "3"}
    argv = [sys.executable, str(CLOCKED), str(ahead_seconds), str(log), *words]
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_leases_hold_between_machines_whose_clocks_disagree(redis_url: str, tmp_path: Path) -> None:
    """Each span is observed once, by one of them, and never by both at a time."""
    for name in SESSIONS:
        assert om("ingest", "--store", redis_url, talk(tmp_path / f"{name}.jsonl", 160)).returncode == 0
    log = tmp_path / "log"
    log.touch()
    workers = [start(ahead, log, redis_url, tmp_path / f"home{ahead}") for ahead in (HOUR, -HOUR)]
    with closing(open_store(redis_url)) as store:
        until(lambda: all(store.tip(memory_stream(f"neutral:{name}")).marks.get(OBSERVER) == 160 for name in SESSIONS))
        until(lambda: store.jobs() == [])
        for worker in workers:
            worker.terminate()
        printed = [worker.communicate(timeout=60) for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0], printed
        recorded = [len(store.read(memory_stream(f"neutral:{name}"), kinds=[OBSERVATIONS])) for name in SESSIONS]
    assert recorded == [1] * len(SESSIONS)
    runs = sorted(line.split() for line in log.read_text().splitlines())
    assert [run[0] for run in runs] == [f"{name}-0" for name in SESSIONS], "each was thought about once"

"""Does a test fail when a row's number or rule is changed? `python -m tests.meta.mutants [ROW …] [--jobs N]`.

Each mutant of spec/*.toml is made in a temporary copy of the tree, and the tests that name its row are run there: the
mutant is killed when one fails, and has survived when all pass. Exit code 1 when one survived, or could not be judged.
"""

import argparse
import gc
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Literal, NamedTuple

import pytest

from tests.meta.spec_rows import PACKAGE, ROOT, Mutant, in_scope, named_tests, read_rows

Verdict = Literal["killed", "survived", "broken", "stale", "untested"]
NOT_COPIED = (".*", "__pycache__", "*.sqlite*", "build", "dist")
RUN_MAX_SECONDS = 300
UNCHANGED_MAX_SECONDS = 1_800
TIMED = re.compile(r"^([\d.]+)s (?:call|setup|teardown) +(\S+?)(?:\[.*\])?$", re.MULTILINE)
OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "LITELLM_OFFLINE_MODE")
OPTIONS = (
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:anyio",
    "--timeout=60",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
RAN = 100
"""Added to pytest's exit code, so that it is told from that of a process which broke before."""
TIMES = count(1)
VERDICTS: Mapping[int, Verdict] = {RAN: "survived", RAN + 1: "killed"}
"""Every other code says that pytest could not run the tests, which shows nothing about them."""


PROCESSES = multiprocessing.get_context("forkserver")
PRELOADED = ["pytest", "hypothesis", "litellm", "huey", "pydantic", "rich.console", "click", "tenacity"]
"""Libraries that many tests load, loaded once. A name that is not installed does not matter."""


class Ran(NamedTuple):
    """RAN and pytest's exit code, and what it printed."""

    code: int
    output: str


class Judged(NamedTuple):
    """What became of a mutant. output: the last lines of its run."""

    mutant: Mutant
    verdict: Verdict
    seconds: float
    output: str


def copy_tree(folder: Path, root: Path = ROOT) -> Path:
    """A copy of the project's tree in which mutants can be made."""
    return Path(shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*NOT_COPIED)))


def run_tests(copy: Path, arguments: Iterable[str], *, seconds: int = RUN_MAX_SECONDS) -> Ran:
    """Run pytest against the copy, up to the first test that fails; a run that hangs is ended, and has failed."""
    output = copy.with_suffix(".txt")
    run = PROCESSES.Process(target=_pytest, args=(copy, list(arguments), output))
    run.start()
    run.join(seconds)
    if run.exitcode is None:
        run.kill()
        run.join()
        return Ran(RAN + 1, "the tests hung")
    return Ran(run.exitcode, output.read_text(errors="replace"))


def _pytest(copy: Path, arguments: list[str], output: Path) -> None:
    """In a process of its own, forked from one that has the slow libraries loaded, and nothing of the product."""
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False  # what was compiled serves the next mutant of this copy
    sys.path.insert(0, str(copy))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", PACKAGE)]:
        del sys.modules[name]
    gc.freeze()  # pytest collects garbage several times, and need not look at all those libraries
    code = pytest.main([*OPTIONS, *arguments])
    sys.stdout.flush()
    os._exit(RAN + code)  # threads that a failed test left behind are not waited for


def judge(mutant: Mutant, copy: Path, node_ids: Sequence[str]) -> Judged:
    """Make one mutant in the copy, run its row's tests, and put the file back."""
    started = time.monotonic()
    path = copy / PACKAGE / mutant.file
    text = path.read_text() if path.is_file() else ""
    if text.count(mutant.old) != 1:
        return Judged(mutant, "stale", 0, f"its old text stands {text.count(mutant.old)} times in {mutant.file}")
    if not node_ids:
        return Judged(mutant, "untested", 0, "no test names the row")
    _write(path, text.replace(mutant.old, mutant.new))
    try:
        done = run_tests(copy, node_ids)
    finally:
        _write(path, text)
    verdict = VERDICTS.get(done.code, "broken")
    return Judged(mutant, verdict, time.monotonic() - started, "\n".join(done.output.splitlines()[-3:]))


def _write(path: Path, text: str) -> None:
    """With a time of its own, by which Python sees that what it compiled before is out of date."""
    path.write_text(text)
    os.utime(path, (next(TIMES),) * 2)


def judge_all(mutants: Sequence[Mutant], tests: Mapping[str, Sequence[str]], folder: Path, jobs: int) -> list[Judged]:
    """Every mutant, each in a copy that no other uses at the time, told as it is judged."""
    free: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        free.put(copy_tree(folder / f"copy{number}"))

    def one(mutant: Mutant) -> Judged:
        copy = free.get()
        try:
            judged = judge(mutant, copy, tests.get(mutant.row, ()))
        finally:
            free.put(copy)
        told = "" if judged.verdict == "killed" else f"\n    {judged.output}"
        print(f"{judged.verdict:9}{judged.seconds:5.1f} s  {mutant}{told}", flush=True)
        return judged

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, mutants))


def run_unchanged(tests: Iterable[str], folder: Path) -> dict[str, float] | None:
    """Node id → seconds of the tests without a mutant, in a copy as well; None when one fails: that shows nothing."""
    done = run_tests(copy_tree(folder / "unchanged"), ["--durations=0", *tests], seconds=UNCHANGED_MAX_SECONDS)
    print("unchanged:", (done.output.splitlines() or ["no output"])[-1], flush=True)
    if done.code != RAN:
        print(done.output[-3000:])
        return None
    seconds: Counter[str] = Counter()
    for spent, node_id in TIMED.findall(done.output):
        seconds[node_id] += float(spent)  # type: ignore[assignment]
    return dict(seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the mutants of the rows given, or of all rows in scope."""
    parser = argparse.ArgumentParser(prog="python -m tests.meta.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", help="numbers such as 003-004 or 4; all in scope without any")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    wanted = {f"003-{int(row.rpartition('-')[2]):03}" for row in options.rows}
    rows = [row for row in in_scope(read_rows()) if not wanted or row.number in wanted]
    if unknown := wanted - {row.number for row in rows}:
        parser.error(f"not in scope: {', '.join(sorted(unknown))}")  # no rows would mean all tests
    tests = named_tests()
    named = list(dict.fromkeys(test for row in rows for test in tests.get(row.number, ())))
    os.environ.update(dict.fromkeys(OFFLINE, "True"))
    PROCESSES.set_forkserver_preload(PRELOADED)
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        seconds = run_unchanged(named, Path(name))
        if seconds is None:
            return 1
        quickest_first = {row: sorted(found, key=lambda each: seconds.get(each, 0)) for row, found in tests.items()}
        judged = judge_all([mutant for row in rows for mutant in row.mutants], quickest_first, Path(name), options.jobs)
    counts = Counter(each.verdict for each in judged)
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    whole = {row.number for row in rows} - {each.mutant.row for each in judged if each.verdict != "killed"}
    whole -= {row.number for row in rows if not row.mutants}
    print(f"{len(rows)} rows, {len(judged)} mutants: {told}; {len(whole)} rows have all their mutants killed")
    return 0 if len(whole) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())

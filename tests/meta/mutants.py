"""Does a test fail when a row's number or rule is changed? `python -m tests.meta.mutants [ROW …] [--jobs N]`.

Each mutant of spec/*.toml is made in a temporary copy of the tree, and the tests that name its row are run there: the
mutant is killed when one fails, and has survived when all pass. Exit code 1 when one survived, or could not be judged.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Literal, NamedTuple

from tests.meta.spec_rows import PACKAGE, ROOT, Mutant, in_scope, named_tests, read_rows

Verdict = Literal["killed", "survived", "broken", "stale", "untested"]
NOT_COPIED = (".*", "__pycache__", "*.sqlite*", "build", "dist")
RUN_MAX_SECONDS = 300
UNCHANGED_MAX_SECONDS = 1_800
TIMED = re.compile(r"^([\d.]+)s (?:call|setup|teardown) +(\S+?)(?:\[.*\])?$", re.MULTILINE)
PYTEST_VERDICTS: Mapping[int, Verdict] = {0: "survived", 1: "killed"}
"""Every other exit code says that pytest could not run the tests, which shows nothing about them."""


class Judged(NamedTuple):
    """What became of a mutant. output: the last lines of its run."""

    mutant: Mutant
    verdict: Verdict
    seconds: float
    output: str


def copy_tree(folder: Path, root: Path = ROOT) -> Path:
    """A copy of the project's tree in which mutants can be made."""
    return Path(shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*NOT_COPIED)))


def run_tests(
    copy: Path, node_ids: Iterable[str], *, seconds: int = RUN_MAX_SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run tests against the copy, up to the first that fails; a run that hangs is ended, and has failed."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout=60", *node_ids]
    try:
        return subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "the tests hung", "")


def judge(mutant: Mutant, copy: Path, node_ids: Sequence[str]) -> Judged:
    """Make one mutant in the copy, run its row's tests, and put the file back."""
    started = time.monotonic()
    path = copy / PACKAGE / mutant.file
    text = path.read_text() if path.is_file() else ""
    if text.count(mutant.old) != 1:
        return Judged(mutant, "stale", 0, f"its old text stands {text.count(mutant.old)} times in {mutant.file}")
    if not node_ids:
        return Judged(mutant, "untested", 0, "no test names the row")
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        done = run_tests(copy, node_ids)
    finally:
        path.write_text(text)
    verdict = PYTEST_VERDICTS.get(done.returncode, "broken")
    return Judged(mutant, verdict, time.monotonic() - started, "\n".join((done.stdout + done.stderr).splitlines()[-3:]))


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
    print("unchanged:", (done.stdout.splitlines() or ["no output"])[-1], flush=True)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-1000:])
        return None
    seconds: Counter[str] = Counter()
    for spent, node_id in TIMED.findall(done.stdout):
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
    tests = named_tests()
    named = list(dict.fromkeys(test for row in rows for test in tests.get(row.number, ())))
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

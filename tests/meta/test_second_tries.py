"""CI gives a failed test a second try, but not many, and says so."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FLAKY = """
import pathlib, pytest

@pytest.mark.parametrize("number", range({count}))
def test_flaky(number):
    tried = pathlib.Path(__file__).with_name(f"tried-{{number}}")
    if not tried.exists():
        tried.touch()
        raise AssertionError("planted")
"""


@pytest.mark.parametrize(("count", "code"), [(3, 0), (4, 1)])
def test_a_run_with_more_than_three_second_tries_has_failed(tmp_path: Path, count: int, code: int) -> None:
    (tmp_path / "test_it.py").write_text(FLAKY.format(count=count), encoding="utf-8")
    options = ["-p", "conftest", "-p", "no:cacheprovider", "--reruns", "1"]
    ours = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ours},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.count("AssertionError: planted") == count
    assert f"{count} passed, {count} rerun" in done.stdout.splitlines()[-1]


def test_an_old_temporary_folder_that_stays_fails_no_run() -> None:
    """pytest warns so after the last test, when another run on the machine removes the same folder."""
    warnings.warn(
        pytest.PytestWarning("(rm_rf) error removing /tmp/garbage\n<class 'OSError'>: not empty"), stacklevel=1
    )
    with pytest.raises(pytest.PytestWarning):
        warnings.warn(pytest.PytestWarning("another"), stacklevel=1)

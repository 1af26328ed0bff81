"""Ctrl-C at any instant of a call to Redis is a KeyboardInterrupt, and the connection goes on with the next call."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("redis")

PROCESS = Path(__file__).with_name("interrupted_process.py")


def test_a_process_that_is_interrupted_again_and_again(redis_url: str) -> None:
    done = subprocess.run(
        [sys.executable, PROCESS, redis_url], capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stderr

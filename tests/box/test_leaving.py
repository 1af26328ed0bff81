"""A signal ends `om sync`, also in the middle of a request that nobody answers."""

import os
import signal
import socket
import threading
from pathlib import Path

import pytest
from raw_box import RawBox, answer
from surroundings import om_running

WAITS = 60


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_pass_that_a_signal_ends_says_so(tmp_path: Path, number: signal.Signals) -> None:
    """The box neither answers nor hangs up: without the signal's help the request would be waited for."""
    done, error = ended_by(number, tmp_path, "--once")
    assert done == (128 + number, "ended before it was done; the next pass does the rest. So far:")
    assert "Traceback" not in error


def test_the_running_one_leaves_quietly(tmp_path: Path) -> None:
    done, error = ended_by(signal.SIGTERM, tmp_path)
    assert done == (0, "") and "Traceback" not in error


def test_a_trickle_is_left_too(tmp_path: Path) -> None:
    done, _ = ended_by(signal.SIGTERM, tmp_path, "--once", first=b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n{")
    assert done[0] == 128 + signal.SIGTERM


def ended_by(number: int, home: Path, *words: str, first: bytes = b"") -> tuple[tuple[int, str], str]:
    """Exit code and first line of an `om sync` that gets the signal while it waits for an answer; its stderr."""
    asked, released = threading.Event(), threading.Event()

    def hang(connection: socket.socket) -> None:
        connection.sendall(first)
        asked.set()
        released.wait(WAITS)

    with RawBox() as box:
        box.script += [answer({"user": "alice", "projects": ["*"]}), hang]
        environ = os.environ | {"MINUTEBOOK_HOME": str(home), "MINUTEBOOK_BOX_TOKEN": "mb_0123abcd_secretsecret"}
        with om_running("sync", "--set", f"box_url={box.url}", *words, env=environ) as process:
            try:
                assert asked.wait(WAITS)
                process.send_signal(number)
                out, error = process.communicate(timeout=WAITS)
            finally:
                released.set()
        assert len(box.asked) == 2
    return (process.returncode, out.partition("\n")[0]), error

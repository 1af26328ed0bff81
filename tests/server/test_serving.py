"""`om serve` as a process of its own: where it listens, what it warns of, how it stops."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from doors import received, status_of
from redis_server import RedisServer

from minutebook.server.tokens import create_token
from minutebook.store.opening import open_store

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `om serve` on a store in the test's folder, with settings NAME=VALUE."""
    started: list[subprocess.Popen[str]] = []

    def start(*assigned: str, store: str = str(tmp_path / "box.sqlite")) -> "subprocess.Popen[str]":
        named = [each for assignment in ("serve_port=0", *assigned) for each in ("--set", assignment)]
        command = [sys.executable, "-m", "minutebook", "serve", "--store", store, *named]
        environment = {**os.environ, "MINUTEBOOK_HOME": str(tmp_path)}
        started.append(
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def port_of(process: "subprocess.Popen[str]") -> int:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(r"listening on http://(?:127\.0\.0\.1|0\.0\.0\.0):(\d+)\n", line)
    assert found, line + process.communicate()[1]
    return int(found[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_says_where_it_listens_and_ends_by_a_signal(start: Start, number: signal.Signals) -> None:
    process = start()
    with socket.create_connection(("127.0.0.1", port_of(process)), timeout=60) as connection:
        connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status_of(received(connection)) == 200  # and the connection stays open
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_what_is_being_answered_is_finished(start: Start, tmp_path: Path) -> None:
    """The signal comes when a request is begun; its body comes after it, and so does the answer."""
    process = start()
    port = port_of(process)
    store = open_store(str(tmp_path / "box.sqlite"))
    token = create_token(store, "alice", [])[1]
    store.close()
    body = b'{"branches": []}'
    head = f"POST /v1/lengths HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(head.encode() + body[:5])
        assert status_of(_ask(port, "/healthz")) == 200  # the request has been read as far as that one
        process.send_signal(signal.SIGTERM)
        _wait_until_closed(port)
        connection.sendall(body[5:])
        assert received(connection).endswith(b'{"branches":{}}')
    assert process.wait(60) == 0


def _ask(port: int, path: str, token: str = "") -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        return received(connection)


def _wait_until_closed(port: int) -> None:
    """Until nobody is let in any more."""
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return
        threading.Event().wait(0.05)
    raise AssertionError("the door stays open")


def test_an_address_for_others_is_warned_of(start: Start) -> None:
    process = start("serve_host=0.0.0.0")
    port_of(process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert "plain HTTP" in err and "TLS" in err and err.count("\n") == 1


def test_a_port_that_is_taken_is_one_line(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = start(f"serve_port={taken.getsockname()[1]}")
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("om: cannot listen on 127.0.0.1") and "serve_port" in err and err.count("\n") == 1


def test_the_audit_log_is_in_the_data_folder(start: Start, tmp_path: Path) -> None:
    process = start()
    port = port_of(process)
    store = open_store(str(tmp_path / "box.sqlite"))
    token = create_token(store, "alice", [])[1]
    store.close()
    assert status_of(_ask(port, "/v1/sessions", token)) == 200
    assert '"user":"alice"' in (tmp_path / "audit.jsonl").read_text()


def test_the_door_loads_no_worker_and_no_model() -> None:
    code = "import sys, minutebook.server.running; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {name for name in loaded if name.split(".")[0] in ("litellm", "huey", "redis", "httpx")}
    assert not {name for name in loaded if name.startswith("minutebook.workers")}


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from minutebook.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--store", str(tmp_path / "box.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'minutebook[server]'" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("comes", [True, False])
def test_a_redis_that_is_not_up_yet_is_waited_for(
    start: Start, new_redis_server: Callable[..., RedisServer], comes: bool
) -> None:
    server = new_redis_server()
    server.stop()
    process = start(store=server.url)
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said.startswith("om serve: redis://") and said.endswith("it is tried again for 120 s\n")
    if comes:
        server.start()
        assert status_of(_ask(port_of(process), "/readyz")) == 200
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert err.startswith("om serve: the store can be used again") if comes else err == ""

"""A real redis-server for tests: on loopback, with a folder and an append-only file of its own, that can be killed."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

BINARY = shutil.which("redis-server")
START_SECONDS = 60.0
PORTS = range(12_000, 30_000)
DATABASES = 10_000
"""One for each test: nobody has to wait for another's flush."""


def free_port() -> int:
    """A port of loopback that nobody listens on just now.

    None of those that the system gives to whoever asks for any: a server that starts again finds it free.
    """
    while True:
        port = PORTS.start + secrets.randbelow(len(PORTS))
        with closing(socket.socket()) as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class RedisServer:
    """redis-server on 127.0.0.1 with its data in a folder. Started at once; `start` again finds the same data.

    arguments: of redis-server, after those given here ("--maxmemory", "10mb"). password: asked of every client.

    "appendfsync no": what was answered is in the file whenever the process is killed. With "everysec", which loses less
    with the machine, the server goes on answering for up to two seconds while a slow disk syncs, and writes later.
    """

    def __init__(self, folder: Path, arguments: Sequence[str] = (), *, password: str = "") -> None:
        if BINARY is None:
            raise FileNotFoundError("no redis-server: install it (apt-get install redis-server)")
        self.folder = folder
        self.arguments = [*arguments, *(("--requirepass", password) if password else ())]
        self.password = password
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self.start()

    @property
    def url(self) -> str:
        """redis://…/0; the same after a restart."""
        return self.database_url(0)

    def database_url(self, number: int) -> str:
        secret = f":{self.password}@" if self.password else ""
        return f"redis://{secret}127.0.0.1:{self.port}/{number}"

    @property
    def pid(self) -> int:
        assert self.process, "the server is not running"
        return self.process.pid

    def start(self) -> None:
        """Start, and wait until it answers and has loaded its data. The port stays the same from the first time on."""
        for _ in range(5):
            port = self.port or free_port()
            if self._answers(port, self._launched(port)):
                self.port = port
                return
            self.kill()  # another program took the port meanwhile
        raise RuntimeError(f"redis-server does not start: see {self.folder / 'log'}")

    def stop(self) -> None:
        """End it in order, its data on disk."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9: what was not written to the append-only file is lost."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """It hangs: connections stay, no answer comes."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _launched(self, port: int) -> "subprocess.Popen[bytes]":
        assert BINARY
        own = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        log = ["--appendonly", "yes", "--appendfsync", "no", "--databases", str(DATABASES)]
        with (self.folder / "log").open("ab") as output:
            self.process = subprocess.Popen(
                [BINARY, *own, *log, *self.arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        return self.process

    def _answers(self, port: int, process: "subprocess.Popen[bytes]") -> bool:
        """Whether it says PONG before it ends: only once its data is loaded. Without the password it would ask for that
        before it says that it is loading."""
        greeting = f"AUTH {self.password}\r\nPING\r\n" if self.password else "PING\r\n"
        give_up_at = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < give_up_at:
            try:
                with closing(socket.create_connection(("127.0.0.1", port), 1.0)) as connection:
                    connection.sendall(greeting.encode())
                    replies = connection.makefile("rb")
                    last = [replies.readline() for _ in greeting.splitlines()][-1]
                    if last.startswith(b"+PONG") and process.poll() is None:
                        return True
            except OSError:
                pass
            time.sleep(0.01)
        return False

    def _end(self, signal_number: int) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal_number)
            process.send_signal(signal.SIGCONT)
        process.wait(30)


class RedisSentinel:
    """A redis-sentinel that watches one server and puts a replica in its place soon after it went away.

    url: of the database 0 of whatever server that is, under the service name "main".
    """

    def __init__(self, folder: Path, watched: RedisServer, *, down_after_milliseconds: int = 300) -> None:
        assert BINARY
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"redis+sentinel://127.0.0.1:{self.port}/main/0"
        settings = folder / "sentinel.conf"
        lines = [
            f"port {self.port}",
            "bind 127.0.0.1",
            f"dir {folder}",
            f"sentinel monitor main 127.0.0.1 {watched.port} 1",
            f"sentinel down-after-milliseconds main {down_after_milliseconds}",
            "sentinel failover-timeout main 3000",
        ]
        settings.write_text("".join(f"{line}\n" for line in lines))
        with (folder / "log").open("ab") as output:
            self.process = subprocess.Popen(
                [BINARY, str(settings), "--sentinel"], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)


RedisPair = tuple[RedisServer, RedisServer, RedisSentinel]


def watched_pair(first: RedisServer, second: RedisServer, folder: Path) -> RedisSentinel:
    """A Sentinel that knows a server and its replica, as soon as it knows both."""
    import redis

    def holds(url: str, about: Callable[[Any], bool]) -> bool:
        try:
            with closing(redis.Redis.from_url(url)) as client:
                return about(client)
        except redis.RedisError:
            return False

    def until(condition: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + 3 * START_SECONDS
        while not condition():
            assert time.monotonic() < give_up_at, "a replica or its Sentinel does not come up"
            time.sleep(0.02)

    until(lambda: holds(second.url, lambda client: client.info("replication")["master_link_status"] == "up"))
    sentinel = RedisSentinel(folder, first)
    address = f"redis://127.0.0.1:{sentinel.port}"
    until(lambda: holds(address, lambda client: int(client.sentinel_master("main")["num-slaves"]) == 1))
    return sentinel

"""`pi --mode rpc` as a process that is driven by lines of JSON."""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

SECONDS = 30.0
OFFLINE = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
Record = dict[str, Any]


class Rpc:
    """`pi --mode rpc`. events: what it wrote, in order."""

    def __init__(self, command: list[str], cwd: Path, environ: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=cwd, env=environ, stdin=pipe, stdout=pipe, stderr=pipe)
        self.events: list[Record] = []
        self.errors = b""
        self._condition = threading.Condition()
        self._over = False
        self._requests = 0
        self._threads = [threading.Thread(target=read, daemon=True) for read in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._condition:
                self.events.append({**json.loads(line), "_at": time.monotonic()})
                self._condition.notify_all()
        with self._condition:
            self._over = True
            self._condition.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.errors += line

    def mark(self) -> int:
        """Where the events stand now."""
        with self._condition:
            return len(self.events)

    def wait(self, wanted: Callable[[Record], bool], since: int = 0, seconds: float = SECONDS) -> Record:
        """The first event from there on for which it holds."""
        deadline, at = time.monotonic() + seconds, since
        with self._condition:
            while True:
                while at < len(self.events):
                    if wanted(self.events[at]):
                        return self.events[at]
                    at += 1
                left = deadline - time.monotonic()
                if left <= 0 or self._over:
                    seen = [_named(event) for event in self.events[since:]]
                    raise AssertionError(f"not seen (over: {self._over}) among {seen}; {self.errors[-2000:]!r}")
                self._condition.wait(left)

    def send(self, kind: str, **fields: Any) -> str:
        """A command; its id."""
        assert self.process.stdin
        self._requests += 1
        line = {"id": f"r{self._requests}", "type": kind, **fields}
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()
        return str(line["id"])

    def call(self, kind: str, **fields: Any) -> Record:
        """A command and its response."""
        since = self.mark()
        id_ = self.send(kind, **fields)
        return self.wait(lambda event: event.get("type") == "response" and event.get("id") == id_, since)

    def prompt(self, message: str) -> list[Record]:
        """A prompt, until Pi has settled; the events that came of it. A command of an extension is just done."""
        since = self.mark()
        response = self.call("prompt", message=message)
        assert response.get("success"), response
        if (response.get("data") or {}).get("disposition") != "handled":
            self.wait(lambda event: event.get("type") == "agent_settled", since)
        return self.events[since:]

    def notices(self, since: int = 0) -> list[str]:
        """What a person was told: `level: text`."""
        return [
            f"{event.get('notifyType', 'info')}: {event['message']}"
            for event in self.events[since:]
            if event.get("type") == "extension_ui_request" and event.get("method") == "notify"
        ]

    def told(self, words: str, since: int = 0) -> str:
        """The first notice with these words, once it is there."""
        self.wait(lambda event: event.get("method") == "notify" and words in event["message"], since)
        return next(notice for notice in self.notices(since) if words in notice)

    def close(self) -> int:
        """End its input and wait; the exit code."""
        assert self.process.stdin
        with suppress(OSError):
            self.process.stdin.close()
        try:
            code = self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait(5)
        for thread in self._threads:
            thread.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream
            stream.close()
        return code


def until(wanted: Callable[[], Any], what: str, seconds: float = SECONDS) -> Any:
    """What it gives once that is true."""
    deadline = time.monotonic() + seconds
    while not (found := wanted()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.02)
    return found


def _named(event: Record) -> str:
    return str(event.get("type")) + (f" {event.get('method')}" if "method" in event else "")

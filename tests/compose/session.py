"""A session through the box, as two laptops see it: sent from one, observed there, and its memory on both."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from compose.box import Box
from compose.broken import Broken
from compose.sandbox import said
from surroundings import talk

MEMORY_SECONDS = 180.0
COMMAND_SECONDS = 90.0
ENTRIES = 160
"""About 14,000 tokens: enough for the observer to be due."""


class Laptop:
    """A home of its own, with its own store, that knows the box by the address that it publishes."""

    def __init__(self, box: Box, home: Path, token: str) -> None:
        home.mkdir()
        self._box, self.home = box, home
        own = {"HOME": str(home), "MINUTEBOOK_HOME": str(home / "minutebook"), "PATH": os.environ["PATH"]}
        port = box.compose.services["api"].own["ports"][0].split(":")[-2]
        self._environment = {**own, "MINUTEBOOK_BOX_URL": f"http://127.0.0.1:{port}", "MINUTEBOOK_BOX_TOKEN": token}

    def om(self, *words: object) -> str:
        """What `om` printed; Broken when it failed."""
        argv = self._box.network.within([sys.executable, "-m", "minutebook", *map(str, words)])
        where = f"om {' '.join(map(str, words))} on a laptop"
        return said(argv, COMMAND_SECONDS, where, env=self._environment, cwd=self.home)

    def memory(self) -> str:
        """What an agent on it would get back, after it has asked the box."""
        self.om("sync", "--once")
        return self.om("compact")


def two_laptops(box: Box, work: Path, name: str) -> str:
    """Send a session from one laptop and read its memory on another of the same user; what came of it in a line."""
    token = new_token(box, name)
    first, second = Laptop(box, work / f"{name}-one", token), Laptop(box, work / f"{name}-two", token)
    first.om("ingest", talk(first.home / f"{name}.jsonl", ENTRIES))
    began = time.monotonic()
    while True:  # while workers go on, one of the two may be a step behind
        texts = {first.memory(), second.memory()}
        seconds = time.monotonic() - began
        if len(texts) == 1 and f"of {name} listens on port" in (text := texts.pop()):
            return f"memory of {len(text)} characters on both laptops, {seconds:.1f} s after it was sent"
        if seconds > MEMORY_SECONDS:
            raise Broken(f"after {seconds:.0f} s no memory of {name} has come back to both laptops")


def new_token(box: Box, user: str) -> str:
    """As README says it: created in the container of the door, shown once."""
    printed = box.run("api", "om", "token", "create", "--user", user)
    words = [word for word in printed.split() if word.startswith("mb_")]
    if len(words) != 1:
        raise Broken(f"om token create printed no token: {printed.strip()}")
    return words[0]


def stopped_cleanly(box: Box, names: Sequence[str]) -> None:
    """Stop containers as compose does; Broken when one had to be killed or failed on its way out."""
    for name in names:
        code = box.stop(name)
        if code not in (0, 143):
            raise Broken(
                f"{name}: {'had to be killed' if code is None else f'ended with {code}'} when it was told to stop"
            )

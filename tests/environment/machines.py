"""Several machines on this one: a network space each, joined by a wire to the box's, that can be cut."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from compose.sandbox import Network, network
from surroundings import OM, PATIENCE_SECONDS, Done

BOX = "box"


class Town:
    """A box and machines around it. The box has another address on each wire, as no machine reaches another."""

    def __init__(self, box: Network, machines: Mapping[str, Network]) -> None:
        self._networks = {BOX: box, **machines}
        self._running: list[subprocess.Popen[str]] = []
        for number, name in enumerate(machines, start=1):
            box_end, far_end = f"to-{name}", "to-box"
            self._ip(BOX, f"link add {box_end} type veth peer name {far_end} netns {machines[name].pid}")
            self._ip(BOX, f"address add 10.77.{number}.1/24 dev {box_end}")
            self._ip(name, f"address add 10.77.{number}.2/24 dev {far_end}")
            self._ip(name, f"link set {far_end} up")
        self.address_for = {name: f"10.77.{number}.1" for number, name in enumerate(machines, start=1)}
        self.mend()

    def cut(self) -> None:
        """Nothing arrives any more, and nobody is told: the far ends stay up."""
        self._switch("down")

    def mend(self) -> None:
        """Everything arrives again."""
        self._switch("up")

    def reaches_the_box(self, name: str, port: int) -> bool:
        """Whether a connection from that machine comes about within a second."""
        script = f"import socket; socket.create_connection(('{self.address_for[name]}', {port}), 1)"
        return subprocess.run(self._at(name, sys.executable, "-c", script), capture_output=True).returncode == 0

    def om(self, name: str, *words: object, env: Mapping[str, str]) -> Done:
        """Run `om` on a machine; env: besides this process' own."""
        argv = self._at(name, *OM, *map(str, words))
        return subprocess.run(argv, env={**os.environ, **env}, capture_output=True, text=True, timeout=PATIENCE_SECONDS)

    def start(self, name: str, *argv: object, env: Mapping[str, str], output: Path) -> "subprocess.Popen[str]":
        """Start a program on a machine; it is killed at the end if it is still there."""
        with output.open("ab") as file:
            process = subprocess.Popen(
                self._at(name, *map(str, argv)), env={**os.environ, **env}, stdout=file, stderr=file, text=True
            )
        self._running.append(process)
        return process

    def end(self) -> None:
        """Kill what still runs."""
        for process in self._running:
            process.kill()
            process.wait()

    def _switch(self, state: str) -> None:
        for name in self.address_for:
            self._ip(BOX, f"link set to-{name} {state}")

    def _ip(self, name: str, words: str) -> None:
        subprocess.run(self._at(name, "ip", *words.split()), check=True, capture_output=True)

    def _at(self, name: str, *argv: str) -> list[str]:
        return self._networks[name].within(argv)


@contextmanager
def town(*names: str) -> Iterator[Town]:
    """A box and machines of those names; skips where nobody may make a network."""
    missing = [tool for tool in ("ip", "nsenter", "unshare") if not shutil.which(tool)]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"a network of its own needs root and {', '.join(missing or ['nothing else'])}")
    with ExitStack() as networks:
        made: Any = {name: networks.enter_context(network()) for name in (BOX, *names)}
        box = made.pop(BOX)
        here = Town(box, made)
        networks.callback(here.end)
        yield here

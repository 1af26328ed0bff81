"""Processes as a container engine would confine them, from Linux' own tools: unshare, nsenter, chroot, setpriv.

A root of its own, read-only but for its volumes and tmpfs; an own space of process numbers and an own host name; one
network for the box, cut off from the machine's; a user without rights or capabilities. What an image would bring of its
own is this machine's: /usr, /etc and the like, and the Python that runs the check.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compose.broken import Broken

START_SECONDS = 10.0
TOOLS = ("unshare", "nsenter", "chroot", "setpriv", "mount", "ip")
MACHINE = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")
"""What every image here takes from the machine, besides its Python."""


def check_machine() -> None:
    """Raise Broken where no process can be confined."""
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if not sys.platform.startswith("linux") or missing:
        raise Broken(f"the check needs Linux with {', '.join(missing or TOOLS)}")
    if os.geteuid() != 0:
        raise Broken(f"the check needs root, to confine what it starts: sudo {sys.executable} -m tests.compose")
    done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--uts", "--fork", "true"], capture_output=True)
    if done.returncode:
        raise Broken(f"this machine lets nobody confine a process: {done.stderr.decode().strip()}")


@dataclass(frozen=True, slots=True)
class Root:
    """What a process sees. folder: its root. writable: where folder itself may be written, as in a build.

    binds: path in it → path on the machine and whether read-only. tmpfs: path in it → options of mount.
    """

    folder: Path
    writable: bool = False
    binds: Mapping[str, tuple[Path, bool]] = field(default_factory=dict)
    tmpfs: Mapping[str, str] = field(default_factory=dict)

    def script(self) -> str:
        """Lines for a shell that mount all of it, in a mount space of their own."""
        own = _quoted(self.folder)
        lines = ["mount --make-rprivate /", f"mount --bind {own} {own}"]
        for path in _of_the_machine():
            lines += self._bound(path, Path(path), read_only=True)
        links = [path for path in MACHINE if Path(path).is_symlink()]
        lines += [f"ln -sfn {os.readlink(path)} {_quoted(self._inside(path))}" for path in links]  # noqa: PTH115
        lines += [*self._bound("/dev", Path("/dev"), read_only=False), *self._mounted("/proc", "proc", "nosuid")]
        for path, options in self.tmpfs.items():
            lines += self._mounted(path, "tmpfs", options or "mode=1777")
        for path, (source, read_only) in self.binds.items():
            lines += self._bound(path, source, read_only=read_only)
        return "\n".join([*lines, *([] if self.writable else [f"mount -o remount,bind,ro {own}"])])

    def _bound(self, path: str, source: Path, *, read_only: bool) -> list[str]:
        inside = _quoted(self._inside(path))
        make_file = f"mkdir -p $(dirname {inside}); test -e {inside} || touch {inside}"
        make = f"mkdir -p {inside}" if source.is_dir() else make_file
        close = [f"mount -o remount,bind,ro {inside}"] if read_only else []
        return [make, f"mount --rbind {_quoted(source)} {inside}", *close]

    def _mounted(self, path: str, kind: str, options: str) -> list[str]:
        inside = _quoted(self._inside(path))
        return [f"mkdir -p {inside}", f"mount -t {kind} -o {_quoted(options)} {kind} {inside}"]

    def _inside(self, path: str) -> Path:
        return self.folder / path.lstrip("/")


def _of_the_machine() -> list[str]:
    own = [path for path in MACHINE if Path(path).is_dir() and not Path(path).is_symlink()]
    python = sys.base_prefix
    return own if python.startswith("/usr") else [*own, python]


def _quoted(path: object) -> str:
    return shlex.quote(str(path))


@dataclass(frozen=True, slots=True)
class Who:
    """As whom, in which folder, with which environment, and nothing else from the machine's."""

    environment: Mapping[str, str]
    user: int = 0
    folder: str = "/"

    def argv(self, command: Sequence[str]) -> list[str]:
        """The command as that user, who can gain no rights; root in a build keeps its own."""
        given = [f"{name}={value}" for name, value in self.environment.items()]
        rights = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        drop = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", *rights]
        return ["env", "-i", f"--chdir={self.folder}", *given, *(drop if self.user else []), *command]


@dataclass(slots=True)
class Network:
    """One network for a whole box. Its loopback is all that it has. pid: of the process that holds it."""

    pid: int

    def within(self, command: Sequence[str]) -> list[str]:
        """A command in this network, and else on the machine."""
        return ["nsenter", f"--target={self.pid}", "--net", *command]


@contextmanager
def network() -> Iterator[Network]:
    """A new network that is gone at the end."""
    holder = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        if holder.stdout.readline().strip() != "up":
            raise Broken("no network of its own can be made on this machine")
        yield Network(holder.pid)
    finally:
        holder.kill()
        holder.communicate()


def confined(
    root: Root, who: Who, command: Sequence[str], *, within: Network | None = None, name: str = ""
) -> list[str]:
    """The argv that runs a command in a root of its own; its exit code is the command's.

    The command is number 1 in a space of process numbers: when it or the argv's own process ends, all in it do.
    """
    start = shlex.join(["exec", "chroot", str(root.folder), *who.argv(command)])
    host = f"echo {_quoted(name)} > /proc/sys/kernel/hostname\n" if name else ""
    spaces = ["unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child"]
    argv = [*spaces, "sh", "-ec", f"{host}{root.script()}\n{start}"]
    return within.within(argv) if within else argv


def said(argv: Sequence[str], timeout_seconds: float, where: str, **more: Any) -> str:
    """What a command printed; Broken when it failed, with the last of what it said. more: for subprocess.run."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=timeout_seconds, stdin=subprocess.DEVNULL, **more
        )
    except subprocess.TimeoutExpired as error:
        raise Broken(f"{where} takes longer than {timeout_seconds:.0f} s") from error
    if done.returncode:
        last = " | ".join((done.stderr or done.stdout).strip().splitlines()[-4:])
        raise Broken(f"{where} ended with {done.returncode}: {last}")
    return str(done.stdout)


@dataclass(slots=True)
class Container:
    """A started container; output goes to the file."""

    name: str
    process: "subprocess.Popen[bytes]"
    who: Who
    output: Path

    def wait_started(self) -> None:
        """Until its command runs in the root that was made for it; a container that has ended by then is no matter."""
        give_up_at = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < give_up_at:
            with suppress(Broken, OSError):
                if os.readlink(f"/proc/{self.pid}/root") != "/":  # noqa: PTH115
                    return
            time.sleep(0.01)

    @property
    def pid(self) -> int:
        """On the machine, of what is number 1 inside; Broken when it has ended."""
        with suppress(OSError, IndexError):
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            return int(children[0])
        raise Broken(f"{self.name}: it has ended")

    def run(self, command: Sequence[str], timeout_seconds: float, where: str) -> str:
        """What a command printed that ran inside, as by `docker exec`; Broken when it failed."""
        spaces = [f"--target={self.pid}", "--mount", "--pid", "--uts", "--net", "--root", "--wd"]
        return said(["nsenter", *spaces, *self.who.argv(command)], timeout_seconds, where)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to number 1."""
        with suppress(ProcessLookupError, Broken):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9 of all that is in it."""
        self.send(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=10)
        self.process.kill()
        self.process.wait()

    def stop(self, grace_seconds: float) -> float | None:
        """Ask it to end and wait; its exit code, None when it had to be killed."""
        self.send(signal.SIGTERM)
        try:
            return self.process.wait(timeout=grace_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def tail(self, lines: int = 6) -> str:
        """The last of what it printed, in one line."""
        printed = self.output.read_text(errors="replace").splitlines()
        return " | ".join([line for line in printed if line.strip() and not line.startswith("unshare:")][-lines:])

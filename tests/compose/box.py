"""The services of a compose file as running containers: started in order, watched by their own health checks, stopped.

What compose would do by itself and is done by hand here: a container that died is started again when it is told to.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from compose.broken import Broken
from compose.dockerfile import Stage
from compose.reading import Compose, Service
from compose.sandbox import Container, Network, Root, Who, confined, network

HEALTHY_SECONDS = 120.0
LOOK_SECONDS = 0.2
PATHS = "/usr/local/bin:/usr/bin:/bin"
USERS = {"redis": 999}
"""Users by name of images that are not built here, with the numbers that those images give them."""


class Box:
    """The containers of one compose file. folder: of the file; work: for volumes, roots and output.

    shared: more of the machine that images built here see: path → path on the machine and whether read-only.
    """

    def __init__(self, compose: Compose, folder: Path, image: Path, stage: Stage, work: Path, net: Network) -> None:
        self.compose, self.network = compose, net
        self.containers: dict[str, Container] = {}
        self.shared: Mapping[str, tuple[Path, bool]] = {}
        self._folder, self._image, self._stage, self._work = folder, image, stage, work
        self._hosts = work / "hosts"
        addresses = {name: f"127.0.0.{number}" for number, name in enumerate(compose.services, start=2)}
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in addresses.items())]
        self._hosts.write_text("".join(f"{line}\n" for line in lines))
        self.addresses: Mapping[str, str] = addresses

    def up(self, profiles: Sequence[str] = (), scale: Mapping[str, int] | None = None) -> list[str]:
        """Start what is not there yet, each service when those it waits for are well; the new containers' names.

        The others of a service are numbered: worker, worker-2. scale: how many of a service, 1 where it says nothing.
        """
        new = []
        for service in self.compose.services.values():
            if service.profiles and not set(service.profiles) & set(profiles):
                continue
            for needed, how in service.needs.items():
                if how == "service_healthy" and (scale or {}).get(service.name, 1):
                    self.wait_healthy(needed)
            for number in range(1, (scale or {}).get(service.name, 1) + 1):
                name = service.name if number == 1 else f"{service.name}-{number}"
                if name not in self.containers:
                    self.containers[name] = self._started(service, name)
                    new.append(name)
        return new

    def is_healthy(self, name: str) -> str:
        """Nothing where its health check passes, else what is wrong."""
        health = self.compose.services[_service_of(name)].health
        try:
            self.containers[name].run(health.argv, health.timeout_seconds, f"{name}: its health check")
        except Broken as error:
            return str(error)
        return ""

    def wait_healthy(self, name: str) -> None:
        """Until its health check passes; Broken when it does not in time."""
        give_up_at = time.monotonic() + HEALTHY_SECONDS
        while wrong := self.is_healthy(name):
            container = self.containers[name]
            if container.process.poll() is not None:
                raise Broken(f"{name}: it has ended: {container.tail()}")
            if time.monotonic() > give_up_at:
                raise Broken(f"{wrong} | it printed: {container.tail()}")
            time.sleep(LOOK_SECONDS)

    def check_published(self, name: str) -> None:
        """Broken where a published port leads to a program that listens for its own container alone."""
        for port in self.compose.services[name].own.get("ports", ()):
            inside = int(port.rsplit(":", 1)[1])
            script = f"import socket; socket.create_connection(('{self.addresses[name]}', {inside}), 5)"
            if subprocess.run(self.network.within([sys.executable, "-c", script]), capture_output=True).returncode:
                raise Broken(f"{name}: nobody outside of its container reaches port {inside}, which is published")

    def run(self, name: str, *command: str) -> str:
        """What a command printed that ran in a container, as by `docker compose exec`; Broken when it failed."""
        return self.containers[name].run(command, 60.0, f"{name}: {' '.join(command)}")

    def kill(self, name: str) -> None:
        """kill -9; the container stays listed, as a dead one."""
        self.containers[name].kill()

    def restart(self, name: str) -> None:
        """Start a dead container again, with the volumes that it had."""
        self.containers[name] = self._started(self.compose.services[_service_of(name)], name)

    def stop(self, name: str) -> float | None:
        """Ask it to end, and forget it; its exit code, or None when it was killed after its grace period."""
        return self.containers.pop(name).stop(self.compose.services[_service_of(name)].stop_grace_seconds)

    def _started(self, service: Service, name: str) -> Container:
        who = Who(self._environment(service), self._user(service), folder=self._workdir(service))
        command = [*(self._stage.command("ENTRYPOINT") if service.built else ()), *service.command]
        output = self._work / f"{name}.out"
        with output.open("ab") as file:
            process = subprocess.Popen(
                confined(self._root(service), who, command, within=self.network, name=name),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        container = Container(name, process, who, output)
        container.wait_started()
        return container

    def _environment(self, service: Service) -> dict[str, str]:
        image = self._stage.environment() if service.built else {"PATH": PATHS}
        return {**image, **service.environment}

    def _workdir(self, service: Service) -> str:
        step = self._stage.last("WORKDIR") if service.built else None
        return step.words[0] if step else "/"

    def _user(self, service: Service) -> int:
        step = self._stage.last("USER")
        name = (service.user or (step.words[0] if step and service.built else "0")).split(":")[0]
        return int(name) if name.isdecimal() else USERS[name]

    def _root(self, service: Service) -> Root:
        folder = self._image if service.built else self._work / "images" / service.name
        folder.mkdir(parents=True, exist_ok=True)
        binds = {"/etc/hosts": (self._hosts, True), **(self.shared if service.built else {})}
        for mount in service.mounts:
            source = self._folder / mount.source if mount.is_path else self._volume(mount.source, mount.target, service)
            binds[mount.target] = (source, mount.read_only)
        tmpfs = {path: options for path, _, options in (each.partition(":") for each in service.tmpfs)}
        return Root(folder, binds=binds, tmpfs=tmpfs)

    def _volume(self, name: str, target: str, service: Service) -> Path:
        """A new volume belongs to whom the image's folder of that path belongs, as an engine does it."""
        folder = self._work / "volumes" / name
        if not folder.exists():
            folder.mkdir(parents=True)
            there = self._image / target.lstrip("/")
            if not service.built:
                os.chown(folder, self._user(service), self._user(service))
            elif there.exists():
                os.chown(folder, there.stat().st_uid, there.stat().st_gid)
        return folder


@contextmanager
def running(compose: Compose, folder: Path, image: Path, stage: Stage, work: Path) -> Iterator[Box]:
    """A box of which nothing runs yet; at the end nothing of it runs any more, whatever happened."""
    with network() as net:
        box = Box(compose, folder, image, stage, work, net)
        try:
            yield box
        finally:
            for container in box.containers.values():
                container.kill()


def _service_of(name: str) -> str:
    return name.partition("-")[0]

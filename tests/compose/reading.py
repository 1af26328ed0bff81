"""A compose file as typed services: parsed, interpolated, its shape checked, what it names looked up."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from compose.broken import Broken
from compose.interpolating import interpolate
from compose.schema import check_shape, duration


@dataclass(frozen=True, slots=True)
class Health:
    """argv: what is run in the container."""

    argv: tuple[str, ...]
    interval_seconds: float
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Mount:
    """source: a path on the machine, or the name of a volume."""

    source: str
    target: str
    read_only: bool

    @property
    def is_path(self) -> bool:
        """Whether the source is a path."""
        return self.source.startswith((".", "/"))


@dataclass(frozen=True, slots=True)
class Service:
    """One service, as the check uses it. own: all of its keys, for what is only looked at."""

    name: str
    image: str
    built: bool
    command: tuple[str, ...]
    environment: Mapping[str, str]
    health: Health
    mounts: tuple[Mount, ...]
    tmpfs: tuple[str, ...]
    user: str
    profiles: tuple[str, ...]
    needs: Mapping[str, str]
    stop_grace_seconds: float
    own: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compose:
    """file: its name. services: in the order in which they can start."""

    file: str
    services: Mapping[str, Service]
    internal_networks: frozenset[str]


def read_compose(path: Path, env: Mapping[str, str]) -> Compose:
    """The file with variables from env; raises Broken, with the file's name at the front."""
    try:
        file = interpolate(yaml.load(path.read_text(), Loader=_Strict), env)
        check_shape(file)
        services = {name: _service(name, own, env) for name, own in file["services"].items()}
        for service in services.values():
            _check_names(service, services, file, path.parent)
        networks = file.get("networks", {})
        internal = frozenset(name for name, network in networks.items() if network.get("internal"))
        return Compose(path.name, {name: services[name] for name in _in_order(services)}, internal)
    except (Broken, yaml.YAMLError) as error:
        raise Broken(f"{path.name}: {' '.join(str(error).split())}") from error


class _Strict(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error, as for compose."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        written = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        if not getattr(node, "merged", False) and len(set(written)) < len(written):
            raise Broken(f"a key stands twice in line {node.start_mark.line + 1} and below: {', '.join(written)}")
        node.merged = True  # type: ignore[attr-defined]  # from here on its merges are written out in it
        return super().construct_mapping(node, deep)


def _service(name: str, own: Mapping[str, Any], env: Mapping[str, str]) -> Service:
    if "healthcheck" not in own:
        raise Broken(f"services.{name}: has no healthcheck")
    given = own.get("environment", {})
    passed = {key: env.get(key) if value is None else value for key, value in given.items()}
    return Service(
        name=name,
        image=own["image"],
        built="build" in own,
        command=tuple(own.get("command", ())),
        environment={key: value for key, value in passed.items() if value is not None},
        health=_health(own["healthcheck"], f"services.{name}.healthcheck"),
        mounts=tuple(_mount(each) for each in own.get("volumes", ())),
        tmpfs=tuple(own.get("tmpfs", ())),
        user=own.get("user", ""),
        profiles=tuple(own.get("profiles", ())),
        needs={needed: how.get("condition", "service_started") for needed, how in own.get("depends_on", {}).items()},
        stop_grace_seconds=duration(own.get("stop_grace_period", "10s"), name),
        own=own,
    )


def _health(own: Mapping[str, Any], where: str) -> Health:
    kind, *words = own["test"]
    argv = tuple(words) if kind == "CMD" else ("/bin/sh", "-c", *words)
    return Health(argv, duration(own["interval"], where), duration(own["timeout"], where))


def _mount(text: str) -> Mount:
    source, target, *mode = text.split(":")
    return Mount(source, target, mode == ["ro"])


def _check_names(service: Service, services: Mapping[str, Service], file: Mapping[str, Any], folder: Path) -> None:
    where = f"services.{service.name}"
    for needed in service.needs:
        if needed not in services:
            raise Broken(f"{where}.depends_on: there is no service {needed!r}")
        if services[needed].profiles and not service.profiles:
            raise Broken(f"{where}.depends_on: {needed!r} is only there with a profile")
    for network in service.own.get("networks", ()):
        if network not in file.get("networks", {}):
            raise Broken(f"{where}.networks: there is no network {network!r}")
    for mount in service.mounts:
        if mount.is_path and not (folder / mount.source).is_file():
            raise Broken(f"{where}.volumes: {mount.source} is no file; compose would make a folder of that name")
        if not mount.is_path and mount.source not in file.get("volumes", {}):
            raise Broken(f"{where}.volumes: there is no volume {mount.source!r}")


def _in_order(services: Mapping[str, Service]) -> list[str]:
    done: list[str] = []
    while left := [name for name in services if name not in done]:
        ready = [name for name in left if all(needed in done for needed in services[name].needs)]
        if not ready:
            raise Broken(f"services {', '.join(left)}: wait for each other in a circle")
        done += ready
    return done

"""What the box promises beyond a valid file: one door, a hidden Redis, services that are confined and watched. Pure."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from compose.broken import Broken
from compose.reading import Compose, Service

ROLES = ("observer", "reflector", "digester", "dropper", "judge")
DOOR, STORE, ALL_ROLES = "api", "redis", "worker"
LOOPBACK = ("127.0.0.1", "[::1]")
JOB_IN_HAND_SECONDS = 30.0
"""How long a worker that was told to stop goes on with what it has in hand."""
CONFINED: Mapping[str, Any] = {
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
    "restart": "unless-stopped",
}


def check_promises(box: Compose) -> None:
    """Raise Broken with every promise that the file does not keep."""
    broken = [
        *_services(box),
        *_ports(box),
        *_store(box),
        *(line for each in box.services.values() for line in _one(each)),
    ]
    if broken:
        raise Broken(f"{box.file}: {'; '.join(broken)}")


def check_redis_conf(path: Path) -> None:
    """Raise Broken where Redis would lose or throw away what it was given, or keep a password in a file."""
    lines = [line.split(maxsplit=1) for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]
    found = {name.lower(): rest[0] if rest else "" for name, *rest in lines}
    wanted = {"appendonly": "yes", "appendfsync": "everysec", "aof-load-truncated": "no"}
    wanted |= {"maxmemory-policy": "noeviction", "protected-mode": "yes"}
    broken = [f"{name} must be {value}" for name, value in wanted.items() if found.get(name) != value]
    if broken or "requirepass" in found:
        raise Broken(f"{path.name}: {'; '.join(broken) or 'a password stands in the file'}")


def _services(box: Compose) -> Iterator[str]:
    for name in (STORE, DOOR, ALL_ROLES, *ROLES):
        if name not in box.services:
            yield f"there is no service {name}"
    for name in set(box.services) & set(ROLES):
        if box.services[name].profiles != ("scaled",):
            yield f"services.{name}: must be behind the profile scaled"
    for name in {STORE, DOOR, ALL_ROLES} & set(box.services):
        if box.services[name].profiles:
            yield f"services.{name}: must need no profile"


def _ports(box: Compose) -> Iterator[str]:
    for service in box.services.values():
        ports = service.own.get("ports", [])
        if service.name != DOOR and ports:
            yield f"services.{service.name}.ports: publishes {', '.join(ports)}; only {DOOR} may publish a port"
        for port in ports:
            if not port.startswith(LOOPBACK):
                yield f"services.{service.name}.ports: {port} listens for other machines by default"
    if DOOR in box.services and len(box.services[DOOR].own.get("ports", [])) != 1:
        yield f"services.{DOOR}.ports: must publish one port"


def _store(box: Compose) -> Iterator[str]:
    if STORE not in box.services:
        return
    networks = set(box.services[STORE].own.get("networks", []))
    if not networks or not networks <= box.internal_networks:
        yield f"services.{STORE}.networks: must all be internal"
    for service in box.services.values():
        if not networks & set(service.own.get("networks", [])):
            yield f"services.{service.name}.networks: does not reach {STORE}"
        if service.name != STORE and service.needs.get(STORE) != "service_healthy":
            yield f"services.{service.name}.depends_on: must wait until {STORE} is healthy"


def _one(service: Service) -> Iterator[str]:
    where = f"services.{service.name}"
    for key, value in CONFINED.items():
        if service.own.get(key) != value:
            yield f"{where}.{key}: must be {value}"
    if not any(each.split(":")[0] == "/tmp" for each in service.tmpfs):
        yield f"{where}.tmpfs: must have /tmp"
    if service.user in ("root", "0") or service.user.startswith(("root:", "0:")):
        yield f"{where}.user: must not be root"
    if not service.user and not service.built:
        yield f"{where}.user: is missing; the image's own may be root"
    if not {"max-size", "max-file"} <= set(service.own.get("logging", {}).get("options", {})):
        yield f"{where}.logging: must have a max-size and a max-file"
    if service.name in (ALL_ROLES, *ROLES) and service.stop_grace_seconds <= JOB_IN_HAND_SECONDS:
        yield f"{where}.stop_grace_period: must be longer than a job in hand gets, {JOB_IN_HAND_SECONDS:.0f} s"
    for mount in service.mounts:
        if mount.is_path and not mount.read_only:
            yield f"{where}.volumes: {mount.source} must be mounted read-only"

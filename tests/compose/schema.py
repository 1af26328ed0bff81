"""What may stand in a compose file: the part of the Compose specification that a box like ours can need. Pure.

Whatever is not here is an error, so that a misspelt key is found, which compose would refuse as well.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from compose.broken import Broken

Shape = Callable[[Any, str], object]


def text(value: Any, where: str) -> None:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise Broken(f"{where}: must be a text")


def flag(value: Any, where: str) -> None:
    """true or false."""
    if not isinstance(value, bool):
        raise Broken(f"{where}: must be true or false")


def count(value: Any, where: str) -> None:
    """A whole number from 1 on."""
    if type(value) is not int or value < 1:
        raise Broken(f"{where}: must be a whole number from 1 on")


def duration(value: Any, where: str) -> float:
    """Seconds of a text such as 1m30s."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    if not isinstance(value, str) or not re.fullmatch(r"([0-9]+(h|ms|m|s))+", value):
        raise Broken(f"{where}: must be a time such as 30s or 1m30s")
    return sum(int(number) * units[unit] for number, unit in re.findall(r"([0-9]+)(h|ms|m|s)", value))


def one_of(*words: str) -> Shape:
    """One of these words."""

    def check(value: Any, where: str) -> None:
        if value not in words:
            raise Broken(f"{where}: must be one of {', '.join(words)}")

    return check


def list_of(shape: Shape) -> Shape:
    """A list without doubles."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list) or not value:
            raise Broken(f"{where}: must be a list")
        for number, each in enumerate(value):
            shape(each, f"{where}[{number}]")
        if len({str(each) for each in value}) < len(value):
            raise Broken(f"{where}: lists something twice")

    return check


def words(value: Any, where: str) -> None:
    """A command: texts, which may be equal and, but for the first, empty."""
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value) or not value[0]:
        raise Broken(f"{where}: must be a list of texts; a line for a shell is [sh, -c, …]")


def table_of(shape: Shape) -> Shape:
    """A table with names of one's own."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise Broken(f"{where}: must be a table")
        for key, each in value.items():
            if not isinstance(key, str) or not re.fullmatch(r"[A-Za-z0-9._-]+", key):
                raise Broken(f"{where}: {key!r} is no name")
            shape(each, f"{where}.{key}")

    return check


def keys(known: Mapping[str, Shape], needed: tuple[str, ...] = ()) -> Shape:
    """A table of which every key is known."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise Broken(f"{where}: must be a table")
        for key, each in value.items():
            if key not in known:
                raise Broken(f"{where}: unknown key {key!r}; known are {', '.join(known)}")
            known[key](each, f"{where}.{key}")
        for key in needed:
            if key not in value:
                raise Broken(f"{where}: {key} is missing")

    return check


def environment(value: Any, where: str) -> None:
    """A table of variables; without a value it is taken from where compose was started. Numbers need quotes."""
    if not isinstance(value, dict):
        raise Broken(f"{where}: must be a table")
    for name, each in value.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", str(name)):
            raise Broken(f"{where}: {name!r} is no name of a variable")
        if each is not None and not isinstance(each, str):
            raise Broken(f"{where}.{name}: must be a text; put {each!r} into quotes")


def test(value: Any, where: str) -> None:
    """A health check's command."""
    words(value, where)
    if value[0] not in ("CMD", "CMD-SHELL") or len(value) < 2:
        raise Broken(f"{where}: must begin with CMD or CMD-SHELL, and a command after it")
    if value[0] == "CMD-SHELL" and len(value) != 2:
        raise Broken(f"{where}: CMD-SHELL takes one line for a shell")


def port(value: Any, where: str) -> None:
    """ADDRESS:PORT:PORT; compose allows shorter ones, which listen everywhere."""
    if not isinstance(value, str) or not re.fullmatch(r"([0-9.]+|\[[0-9a-f:]+\]):[0-9]{1,5}:[0-9]{1,5}", value):
        raise Broken(f"{where}: must be ADDRESS:PORT:PORT, as a text")


def mount(value: Any, where: str) -> None:
    """SOURCE:TARGET or SOURCE:TARGET:ro."""
    if not isinstance(value, str) or not re.fullmatch(r"[^:]+:/[^:]+(:ro|:rw)?", value):
        raise Broken(f"{where}: must be SOURCE:/TARGET or SOURCE:/TARGET:ro")


HEALTHCHECK = keys(
    {"test": test, "interval": duration, "timeout": duration, "retries": count, "start_period": duration},
    needed=("test", "interval", "timeout", "retries"),
)
SERVICE = keys(
    {
        "build": text,
        "cap_drop": list_of(text),
        "command": words,
        "depends_on": table_of(
            keys({"condition": one_of("service_started", "service_healthy", "service_completed_successfully")})
        ),
        "environment": environment,
        "healthcheck": HEALTHCHECK,
        "image": text,
        "init": flag,
        "logging": keys({"driver": one_of("json-file", "local", "journald"), "options": table_of(text)}),
        "networks": list_of(text),
        "pids_limit": count,
        "ports": list_of(port),
        "profiles": list_of(text),
        "read_only": flag,
        "restart": one_of("no", "always", "on-failure", "unless-stopped"),
        "security_opt": list_of(text),
        "stop_grace_period": duration,
        "tmpfs": list_of(text),
        "user": text,
        "volumes": list_of(mount),
    },
    needed=("image",),
)
FILE = keys(
    {
        "name": text,
        "services": table_of(SERVICE),
        "networks": table_of(keys({"internal": flag})),
        "volumes": table_of(keys({})),
    },
    needed=("services",),
)


def check_shape(file: Any) -> None:
    """Raise Broken for the first key or value that compose would not take. Keys that begin with x- are free."""
    if not isinstance(file, dict):
        raise Broken("the file must be a table")
    FILE({key: value for key, value in file.items() if not str(key).startswith("x-")}, "file")

"""python -m tests.compose: the team box, as docker-compose.yml and Dockerfile say it, without a container engine.

Reads and judges both files, runs the Dockerfile's own steps, starts each service's own command, confined as compose
would, waits for each health check, sends a session through from two laptops, kills services, and stops everything.
"""

import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compose.box import Box, running
from compose.broken import Broken
from compose.building import build
from compose.dockerfile import Stage, check_dockerfile, read_dockerfile
from compose.ignoring import read_ignored
from compose.image import check_image
from compose.interpolating import read_env
from compose.promises import ROLES, check_promises, check_redis_conf
from compose.reading import Compose, read_compose
from compose.sandbox import check_machine
from compose.session import stopped_cleanly, two_laptops

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a-password_of-the-check"
IN_THE_CONTAINER = (
    ("doctor",),
    ("sessions",),
    ("status",),
    ("export", "--with-redaction-key"),
    ("retention", "--days", "3650", "--yes"),
    ("token", "list"),
)
"""What docs/operating.md runs there by `docker compose exec`."""
tell = partial(print, flush=True)


def main(root: Path = ROOT) -> int:
    """0 when all holds; 1 with one line of what does not."""
    began = time.monotonic()
    try:
        compose, stages, ignored = read(root)
        tell(f"read: {len(compose.services)} services, {sum(len(stage.steps) for stage in stages)} steps of a build")
        check_machine()
        with tempfile.TemporaryDirectory(prefix="minutebook-compose-") as folder:
            work = Path(folder)
            work.chmod(0o755)
            image = build(stages, root, ignored, work)
            tell("built:", check_image(image, stages[-1], root, ignored))
            with running(compose, root, image, stages[-1], work) as box:
                play(box, work)
    except Broken as broken:
        tell("compose-check:", broken)
        return 1
    tell(f"compose-check: the box works; {time.monotonic() - began:.0f} s")
    return 0


def read(root: Path) -> tuple[Compose, list[Stage], list[str]]:
    """All files of the box, judged; raises Broken."""
    check_password_is_asked_for(root)
    compose = read_compose(root / "docker-compose.yml", {**read_env(root / ".env.example"), **secret()})
    check_promises(compose)
    check_redis_conf(root / "config" / "redis.conf")
    ignored = read_ignored(root / ".dockerignore")
    stages = read_dockerfile(root / "Dockerfile")
    check_dockerfile(stages, root, ignored)
    return compose, stages, ignored


def check_password_is_asked_for(root: Path) -> None:
    """The .env of a person who has set nothing in it does not start a box."""
    try:
        read_compose(root / "docker-compose.yml", read_env(root / ".env.example"))
    except Broken as error:
        if "required variable MINUTEBOOK_REDIS_PASSWORD is missing" in str(error):
            return
        raise
    raise Broken("docker-compose.yml: starts without a password for Redis")


def secret() -> dict[str, str]:
    """What a person has to set."""
    return {"MINUTEBOOK_REDIS_PASSWORD": PASSWORD}


def play(box: Box, work: Path) -> None:
    """All that is asked of a box, in order."""
    start(box, box.up())
    box.check_published("api")
    tell("  session:", two_laptops(box, work, "alice"))
    for words in IN_THE_CONTAINER:
        box.run("api", "om", *words)
    for name in ("worker", "api", "redis"):
        killed(box, name)
    tell("  session after the kills:", two_laptops(box, work, "bob"))
    stopped_cleanly(box, ["worker"])
    start(box, box.up(["scaled"], {"worker": 0, "observer": 2}))
    tell("  session with a service for each role:", two_laptops(box, work, "carol"))
    names = sorted(box.containers, key=lambda name: name == "redis")  # Redis last, as depends_on has it
    with nothing_left(box):
        stopped_cleanly(box, names)
    tell(f"  stopped: {', '.join(names)}; {len(ROLES)} roles had a service of their own")


def start(box: Box, names: Sequence[str]) -> None:
    """Wait for new containers."""
    for name in names:
        began = time.monotonic()
        box.wait_healthy(name)
        tell(f"  {name}: healthy, {time.monotonic() - began:.1f} s")


def killed(box: Box, name: str) -> None:
    """Its health check fails once it is dead, and passes when it was started again."""
    box.kill(name)
    if not box.is_healthy(name):
        raise Broken(f"{name}: its health check passes although it was killed")
    box.restart(name)
    for each in box.containers:
        box.wait_healthy(each)
    tell(f"  {name}: killed, seen by its health check, started again")


@contextmanager
def nothing_left(box: Box) -> Iterator[None]:
    """Broken when a process of a container outlives it."""
    pids = {name: container.pid for name, container in box.containers.items()}
    yield
    left = [name for name, pid in pids.items() if Path(f"/proc/{pid}").exists()]
    if left:
        raise Broken(f"processes are left of {', '.join(left)}")


def leave(*_: object) -> None:
    """Told to stop: as after Ctrl-C, nothing is left running."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, leave)
    raise SystemExit(main())

"""Laptops of a box: each with a store of its own and one `Shipper` over real HTTP."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import deliver, observed, remember
from doors import RunningDoor

from minutebook.box.access import Access
from minutebook.box.client import BoxClient
from minutebook.box.report import Report
from minutebook.box.shipping import Shipper
from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.ledger import read_own
from minutebook.pipeline.sessions import list_sessions
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

ORDERS = "github.com/acme/orders"
KEY, BOXED = "neutral:s1", "alice~neutral:s1"
SETTINGS = Settings(observe_after_tokens=1)


@dataclass
class Machine:
    """One laptop. client: asked by its shipper."""

    store: Store
    client: BoxClient
    settings: Settings

    def __post_init__(self) -> None:
        self.shipper = Shipper(self.store, self.client, self.settings)

    def restart(self) -> None:
        """Another process of `om sync`: it remembers nothing."""
        self.shipper = Shipper(self.store, self.client, self.settings)

    def sync(self) -> Report:
        return self.shipper.pass_once()

    def in_step(self) -> Report:
        """A pass in which nothing failed."""
        report = self.sync()
        assert report.ok, list(report.lines())
        return report

    def deliver(self, events: Any, session: str = "s1", *, project: str = ORDERS, **more: Any) -> Branch:
        return deliver(self.store, events, session, project=project, **more)

    def branch(self, key: str = "neutral:s1") -> Branch:
        return load_branch(self.store, key)


@contextmanager
def machine(
    door: RunningDoor, folder: Path, token: str, *, client: Any = BoxClient, **settings: Any
) -> Iterator[Machine]:
    """A laptop with a store in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    store = open_store(str(folder / "laptop.sqlite"))
    with client(Access(f"http://127.0.0.1:{door.port}", token), tries=1) as asked:
        yield Machine(store, asked, Settings(**settings))
    store.close()


class Laptops:
    """Machines by name; those of one user share a token."""

    def __init__(self, door: RunningDoor, folder: Path, stack: ExitStack) -> None:
        self.door, self.folder, self.stack = door, folder, stack
        self.tokens: dict[str, str] = {}

    def __call__(self, name: str = "a", *, user: str = "alice", token: str = "", **settings: Any) -> Machine:
        token = token or self.tokens.setdefault(user, self.door.token(user))
        return self.stack.enter_context(machine(self.door, self.folder / f"{user}-{name}", token, **settings))


def think(box: Store, key: str, content: str, *, covers: int | None = None) -> None:
    """A worker of the box records an observation on everything so far."""
    remember(box, load_branch(box, key), observations=[observed(content)], covers=covers)


def told(store: Store, key: str) -> dict[str, Any]:
    """What a store says of a branch, without the names that differ between a laptop and a box: for comparing."""
    branch = load_branch(store, key)
    path = [(each.position, each.entry.id, each.entry.parts) for each in BranchPath(store, branch).read()]
    memory = [(each.id, each.kind, each.covers, each.since, dict(each.data)) for each in read_own(store, branch)]
    texts = [look_at_memory(store, branch, at, SETTINGS) for at in range(len(path) + 1)]
    return {"path": path, "memory": memory, "texts": [each.text if each else "" for each in texts]}


def keys_of(store: Store) -> dict[str, list[str]]:
    """Session → its branches."""
    return {session.key: session.branches for session in list_sessions(store)}

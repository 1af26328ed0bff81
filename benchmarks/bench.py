"""What the benchmarks of one run share: its scale, a folder, and the large stores, each built once."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import flat, growing
from benchmarks.growing import Grown, Profile
from benchmarks.scale import Scale
from minutebook.records import Branch
from minutebook.store.kernel import Store
from tests.redis_server import RedisServer


class Bench:
    """One run. folder: goes with everything in it when the run ends."""

    def __init__(self, scale: Scale, folder: Path, ending: ExitStack) -> None:
        self.scale = scale
        self.folder = folder
        self._ending = ending
        self._server: RedisServer | None = None
        self._databases = 0
        self.flat: Callable[[int], tuple[Store, Branch]] = cache(self._flat)
        self.grown: Callable[[Profile, int], Grown] = cache(self._grown)

    def redis_url(self) -> str:
        """An empty database of a real redis-server, which this run starts. Raises FileNotFoundError without one."""
        if self._server is None:
            self._server = RedisServer(self.folder / "redis")
            self._ending.callback(self._server.kill)
        self._databases += 1
        return self._server.database_url(self._databases)

    def _flat(self, count: int) -> tuple[Store, Branch]:
        store, branch = flat.build(self.folder / f"flat-{count}.sqlite", count)
        self._ending.callback(store.close)
        return store, branch

    def _grown(self, profile: Profile, count: int) -> Grown:
        path = self.folder / f"{profile.name}-{count}.sqlite"
        grown = growing.grow(path, profile, count, min(count, self.scale.tail))
        self._ending.callback(grown.store.close)
        return grown


@contextmanager
def benching(scale: Scale) -> Iterator[Bench]:
    """A run whose files are gone afterwards."""
    with TemporaryDirectory(prefix="minutebook-bench-") as folder, ExitStack() as ending:
        yield Bench(scale, Path(folder), ending)

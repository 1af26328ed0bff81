"""The network between laptops, workers and the box is cut, and comes back: everybody goes on, nobody has to be told."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from environment.machines import BOX, Town, town
from redis_server import BINARY
from surroundings import OM, Done, talk, until

PASSWORD = "a-password-of-the-test"
REDIS_PORT, DOOR_PORT = 6379, 8765
CUT_SECONDS = 8.0


class Team:
    """Redis and the door on the box, a worker on a machine of its own, a laptop that sends."""

    def __init__(self, here: Town, folder: Path) -> None:
        self.town, self.folder = here, folder
        (folder / "redis").mkdir()
        redis = ["redis-server", "--bind", "0.0.0.0", "--dir", folder / "redis", "--appendonly", "yes", "--save", ""]
        self._start(BOX, *redis, "--requirepass", PASSWORD)
        until(lambda: here.reaches_the_box("laptop", REDIS_PORT))
        names = ",".join(here.address_for.values())
        self._start(BOX, *OM, "serve", MINUTEBOOK_SERVE_HOST="0.0.0.0", MINUTEBOOK_SERVE_NAMES=names)
        until(lambda: here.reaches_the_box("laptop", DOOR_PORT))
        made = here.om(BOX, "token", "create", "--user", "alice", env=self.variables(BOX))
        self.token = next(word for word in made.stdout.split() if word.startswith("mb_"))

    def variables(self, name: str) -> dict[str, str]:
        """Of a machine: its own home, and where the store is that it works on."""
        own = {"MINUTEBOOK_HOME": str(self.folder / name)}
        if name == "laptop":
            url = f"http://{self.town.address_for[name]}:{DOOR_PORT}"
            return {
                **own,
                "MINUTEBOOK_BOX_URL": url,
                "MINUTEBOOK_BOX_TOKEN": self.token,
                "MINUTEBOOK_SYNC_SECONDS": "1",
            }
        host = self.town.address_for.get(name, "127.0.0.1")
        return {**own, "MINUTEBOOK_STORE": f"redis://{host}:{REDIS_PORT}/0", "MINUTEBOOK_REDIS_PASSWORD": PASSWORD}

    def laptop(self, *words: object) -> Done:
        """A command on the laptop, which has to work whatever the network does."""
        done = self.town.om("laptop", *words, env=self.variables("laptop"))
        assert done.returncode == 0, done.stderr
        return done

    def has_memory(self, session: str) -> bool:
        """Whether the laptop has memory of one of its sessions."""
        return f"of {session} listens" in self.laptop("compact", "--session", session).stdout

    def start_sync_and_worker(self) -> "list[subprocess.Popen[str]]":
        return [self._start("laptop", *OM, "sync"), self._start("worker", *OM, "worker", "--role", "observer")]

    def printed(self, name: str) -> str:
        return (self.folder / f"{name}.out").read_text()

    def _start(self, name: str, *argv: object, **env: str) -> "subprocess.Popen[str]":
        output = self.folder / f"{name}.out"
        return self.town.start(name, *argv, env={**self.variables(name), **env}, output=output)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    if BINARY is None:
        pytest.skip("no redis-server")
    with town("laptop", "worker") as here:
        yield Team(here, tmp_path)


def test_a_cut_network_costs_freshness_and_nothing_else(team: Team, tmp_path: Path) -> None:
    """Packets vanish, as in a tunnel: no connection is refused or reset, and both ends find out by themselves."""
    team.laptop("ingest", talk(tmp_path / "before.jsonl", 160))
    running = team.start_sync_and_worker()
    until(lambda: team.has_memory("before"))
    team.town.cut()
    assert not any(team.town.reaches_the_box(name, REDIS_PORT) for name in ("laptop", "worker"))
    team.laptop("ingest", talk(tmp_path / "during.jsonl", 160))
    time.sleep(CUT_SECONDS)
    assert team.has_memory("before") and not team.has_memory("during")
    assert [process.poll() for process in running] == [None, None]
    team.town.mend()
    until(lambda: team.has_memory("during"))
    for process in running:
        process.send_signal(signal.SIGTERM)
    assert [process.wait(60) for process in running] == [0, 0], team.printed("laptop") + team.printed("worker")
    assert "Traceback" not in team.printed("laptop") + team.printed("worker") + team.printed(BOX)

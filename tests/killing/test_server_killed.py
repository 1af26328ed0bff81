"""The redis-server itself is killed under hosts and workers: they wait for it; nothing is lost, doubled or stuck."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import needs_redis_server
from killing.family import KILLED, Nursery
from killing.free_running import Scene
from killing.homes import OnServer
from killing.plans import Tally, rounds_of
from redis_server import RedisServer

ROUNDS = rounds_of(0.2)


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server that no other test uses."""
    pytest.importorskip("redis")
    needs_redis_server()
    server = RedisServer(tmp_path_factory.mktemp("mortal"))
    yield server
    server.kill()


def killed_once(server: RedisServer, rng: random.Random, tally: Tally) -> None:
    """At any instant, and gone for up to a second."""
    time.sleep(rng.random() * 0.4)
    server.kill()
    tally.kills["any instant"] += 1
    tally.calls["redis-server"] += 1
    time.sleep(rng.choice([0.0, rng.random()]))
    server.start()


@pytest.mark.timeout(300 + 20 * ROUNDS)
def test_a_server_killed_under_hosts_and_workers(nursery: Nursery, mortal: RedisServer, tmp_path: Path) -> None:
    tally = Tally("redis-server, killed under om ingest and om worker")
    home = OnServer(mortal.url.rpartition("/")[0])
    for seed in range(1, ROUNDS + 1):
        scene = Scene(nursery, tmp_path / str(seed), seed, tally, home=home)
        scene.grow(0.3)
        scene.take_in("ingest")
        worker = scene.start(None, ["worker", *scene.words("worker")[1:-1]])
        for share in (0.6, 1.0):
            scene.grow(share)
            # One that finds no server when it begins is told so at once, and ends with 1.
            host = nursery.start("om", words=scene.words("ingest"), codes=(0, 1))
            killed_once(mortal, scene.rng, tally)
            assert nursery.wait(host) == 0
        worker.stop()
        assert nursery.wait(worker) != KILLED
        scene.finish()
        tally.rounds += 1
        assert not (broken := list(scene.broken())), f"seed {seed}: {broken}"
    tally.done()

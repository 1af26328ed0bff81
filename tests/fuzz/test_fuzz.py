"""Seeds that interleave hosts, workers, persons, deaths and lost boards at every call to the store.

MINUTEBOOK_FUZZ_SEEDS: how many, MINUTEBOOK_FUZZ_REDIS_SEEDS: how many of them on Redis, MINUTEBOOK_FUZZ_FROM: the
first one. A failing seed is shrunk and printed as a test.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz.dealing import FIRST, REDIS_SEEDS, SEEDS, scenario_of
from fuzz.playing import Die, Run, Tick, play
from fuzz.shrinking import as_test, merged, shrunk, without
from fuzz.stores import NewStore, OnServer, in_file
from redis_server import DATABASES, RedisServer

TESTS = Path(__file__).resolve().parents[1]
TRACE = """
import sys
sys.path.insert(0, {tests!r})
from fuzz.dealing import scenario_of
from fuzz.playing import play
for seed in (3, 5):
    played = play(scenario_of(seed))
    print(played.counts, played.broken, played.moves)
"""


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_seed(seed: int) -> None:
    """Invariants 1-5 and 7."""
    hold(seed, in_file)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + REDIS_SEEDS))
def test_seed_on_redis(seed: int, redis_server: RedisServer) -> None:
    """Invariants 1-5 and 7, on a real Redis server."""
    hold(seed, on_server(redis_server))


def on_server(server: RedisServer) -> OnServer:
    """In databases that no other test has."""
    pytest.importorskip("redis")
    return OnServer(server.url.rpartition("/")[0], first=DATABASES // 2)


def hold(seed: int, new_store: NewStore) -> None:
    """Play a seed; one that fails is shrunk, and told as a test."""
    scenario = scenario_of(seed)
    played = play(scenario, new_store)
    if played.broken:
        small = shrunk(scenario, played, new_store=new_store)
        pytest.fail(f"{played.broken[0]}\n\n{as_test(small, play(small, new_store).broken)}", pytrace=False)


def test_the_same_seed_is_the_same_run_in_another_process() -> None:
    """Also where sets of texts have another order."""
    told = [
        subprocess.run(
            [sys.executable, "-c", TRACE.format(tests=str(TESTS))],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": order},
        ).stdout
        for order in ("1", "2")
    ]
    assert told[0] == told[1]
    assert "store calls" in told[0]


def test_a_seed_is_the_same_run_on_both_stores(redis_server: RedisServer) -> None:
    """What they give back is equal, call for call: else the actors would go other ways."""
    on_file, on_redis = (play(scenario_of(3), new_store) for new_store in (in_file, on_server(redis_server)))
    assert (on_redis.moves, on_redis.counts, on_redis.broken) == (on_file.moves, on_file.counts, [])


def test_recorded_moves_replay_the_run() -> None:
    scenario = scenario_of(4)
    played = play(scenario)
    again = play(replace(scenario, moves=tuple(played.moves)))
    assert (again.moves, again.counts) == (played.moves, played.counts)


def test_shrinking_leaves_what_is_needed() -> None:
    assert without(list(range(50)), lambda kept: 7 in kept and 31 in kept) == [7, 31]
    assert merged([Run("a", 2), Run("a", 3), Die("a"), Run("a", 1), Tick(5), Run("b", 1)]) == [
        Run("a", 5),
        Die("a"),
        Run("a", 1),
        Tick(5),
        Run("b", 1),
    ]

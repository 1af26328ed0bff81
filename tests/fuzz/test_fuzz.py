"""Seeds that interleave hosts, workers, persons, deaths and lost boards at every call to the store.

MINUTEBOOK_FUZZ_SEEDS: how many, MINUTEBOOK_FUZZ_FROM: the first one. A failing seed is shrunk and printed as a test.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz.dealing import FIRST, SEEDS, scenario_of
from fuzz.playing import Die, Run, Tick, play
from fuzz.shrinking import as_test, merged, shrunk, without

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
    scenario = scenario_of(seed)
    played = play(scenario)
    if played.broken:
        small = shrunk(scenario, played)
        pytest.fail(f"{played.broken[0]}\n\n{as_test(small, play(small).broken)}", pytrace=False)


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

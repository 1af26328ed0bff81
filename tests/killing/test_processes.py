"""Real processes at once on one store, some of which die: at rest, every invariant holds."""

import os
from pathlib import Path

import pytest
from killing.crowds import Crowd, usual
from killing.family import Nursery
from killing.homes import Home
from killing.plans import Tally

SEEDS = int(os.environ.get("MINUTEBOOK_PROCESS_SEEDS", "3"))
FIRST = int(os.environ.get("MINUTEBOOK_PROCESS_FIRST_SEED", "1"))


@pytest.mark.timeout(300 + 20 * SEEDS)
def test_processes_at_once_lose_nothing(nursery: Nursery, home: Home, tmp_path: Path) -> None:
    calls = usual(nursery, tmp_path / "usual", home)
    tally = Tally(f"processes at once{home.told}")
    for seed in range(FIRST, FIRST + SEEDS):
        crowd = Crowd(nursery, tmp_path / str(seed), seed, tally, calls, home)
        crowd.live()
        crowd.settle()
        tally.rounds += 1
        broken = list(crowd.broken())
        assert not broken, f"seed {seed}: {broken}\n{crowd.members}"
    tally.done()

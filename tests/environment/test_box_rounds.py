"""kill -9 of worker, door, shippers and Redis while two laptops work; docs/reliability.md, "Killed processes".

MINUTEBOOK_BOX_ROUNDS: how many rounds; `make faults ROUNDS=200` plays them and says a line for each ten.
"""

import os
from pathlib import Path

import pytest
from conftest import needs_redis_server
from environment.box_rounds import play

ROUNDS = int(os.environ.get("MINUTEBOOK_BOX_ROUNDS", "3"))


@pytest.mark.timeout(240 + 30 * ROUNDS)
def test_box_and_laptops_agree_whatever_is_killed(tmp_path: Path) -> None:
    needs_redis_server()
    tally, wrong = play(ROUNDS, 0, tmp_path)
    assert wrong == []
    assert sum(count for what, count in tally.items() if what.startswith("kills of")) == ROUNDS
    assert tally["memory entries"] and tally["source entries"] > 150

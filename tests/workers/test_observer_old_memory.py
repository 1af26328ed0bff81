"""The bounded share of old memory in an observer request."""

from itertools import pairwise

import pytest
from builders import concluded, deliver, observed, remember, say
from observing import chunk_of

from minutebook.records import Reflection, reflection_line
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens
from minutebook.workers.observer import old_memory, old_memory_cap
from minutebook.workers.showing import NONE_YET, lines_or_none

# -- old memory ----------------------------------------------------------------------------------------------------


def test_the_first_request_has_no_old_memory_and_the_local_time_003_017(store: Store) -> None:
    branch = deliver(store, [say("hello")], zone="Europe/Berlin")
    batch = chunk_of(store, branch).batch
    assert (batch.observations, batch.reflections, batch.left_out) == ((), (), 0)
    assert (batch.now, batch.zone) == ("2026-05-02 14:00", "Europe/Berlin")
    assert lines_or_none(map(reflection_line, batch.reflections)) == NONE_YET


def test_old_memory_is_current_and_active_only_003_017(store: Store) -> None:
    branch = deliver(store, [say("hello")])
    kept, gone = observed("kept"), observed("gone")
    current, retired = concluded("current", kept), concluded("retired", kept)
    remember(store, branch, observations=[kept, gone], reflections=[current, retired])
    remember(store, branch, dropped=[gone], retired=[retired])
    deliver(store, [say("more")])
    batch = chunk_of(store, branch).batch
    shown = [each.id for each in (*batch.observations, *batch.reflections)]
    assert (shown, batch.left_out) == ([kept.id, current.id], 0)


def test_old_memory_stays_within_its_bound_003_017(store: Store) -> None:
    branch = deliver(store, [say("hello")])
    seen = [observed(f"event {n}") for n in range(50)]
    remember(store, branch, observations=seen, reflections=[concluded(f"conclusion {n}") for n in range(5_000)])
    deliver(store, [say("more")])
    batch = chunk_of(store, branch, settings=Settings(old_memory_max_tokens=400)).batch
    lines = [reflection_line(each) for each in batch.reflections]
    assert 150 <= estimate_tokens("\n".join(lines)) <= 200
    assert sum(each.tokens for each in (*batch.reflections, *batch.observations)) <= 400
    assert batch.reflections[-1].content == "conclusion 4999"
    assert batch.observations[-1].content == "event 49"
    assert batch.left_out == 5_050 - len(batch.reflections) - len(batch.observations)


@pytest.mark.parametrize(
    ("window", "cap"), [(None, 8_000), (0, 8_000), (1_000_000, 8_000), (64_000, 8_000), (32_000, 4_000), (7, 0)]
)
def test_old_memory_shares_a_small_window_003_017(window: int | None, cap: int) -> None:
    assert old_memory_cap(8_000, window) == cap


def test_what_weighs_most_is_shown_first_then_the_newest_in_ledger_order_003_017() -> None:
    seen = [observed(f"{n}", level) for n, level in enumerate(["critical", "low", "medium", "medium", "high", "low"])]
    price = seen[0].tokens + 2
    assert old_memory([], seen, 100 * price)[1] == tuple(seen)
    assert [each.content for each in old_memory([], seen, 3 * price)[1]] == ["0", "3", "4"]


def test_room_that_reflections_leave_is_for_observations_003_017() -> None:
    reflections: list[Reflection] = [concluded("short")]
    seen = [observed(f"event {n}") for n in range(20)]
    room = sum(each.tokens + 1 for each in (*reflections, *seen))
    assert old_memory(reflections, seen, room) == (tuple(reflections), tuple(seen))


def test_old_memory_begins_as_the_request_before_did_for_a_quarter_of_its_share_003_017() -> None:
    """What is left out grows in steps, whether of reflections or of the least relevant observations with room."""
    seen = [observed(f"event {n:03}", "high" if n % 10 == 0 else "low") for n in range(100)]
    price = seen[0].tokens + 1
    shares = [old_memory([], seen[:count], 40 * price)[1] for count in range(1, 101)]
    lows = [next(each for each in share if each.relevance == "low" or len(share) == 1) for share in shares]
    moves = [at for at in range(1, 100) if lows[at] != lows[at - 1]]
    assert 5 <= len(moves) <= 8 and min(b - a for a, b in pairwise(moves[1:])) >= 9
    assert all(29 <= len(share) <= 40 for share in shares[39:])
    assert [each for each in shares[-1] if each.relevance == "high"] == seen[::10]
    told = [concluded(f"conclusion {n:03}") for n in range(100)]
    begun = [old_memory(told[:count], [], 80 * (told[0].tokens + 1))[0][0] for count in range(1, 101)]
    assert 2 <= sum(a != b for a, b in pairwise(begun)) <= 4

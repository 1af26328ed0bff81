"""What reported usage teaches about the estimate (003-054)."""

import json

import pytest
from builders import reply, say
from ledgers import take

from minutebook.pipeline.calibration import Calibration, factor_of, from_data, learn, shrunk, to_data
from minutebook.pipeline.deliveries import HostCompaction
from minutebook.pipeline.sessions import load_session
from minutebook.records import Usage
from minutebook.store.kernel import Store


def taught(*replies: tuple[int | None, int], model: str = "m", state: Calibration | None = None) -> Calibration:
    """After replies of (reported tokens, estimate of the path)."""
    state = state or Calibration()
    for at, (reported, estimated) in enumerate(replies):
        usage = Usage(reply_id=f"{model}{estimated}.{at}", model=model, context_tokens=reported)
        state = learn(state, usage, estimated)
    return state


def test_nothing_known_is_1_003_054() -> None:
    assert factor_of(Calibration()) == factor_of(taught((500, 100))) == 1.0


def test_the_factor_is_reported_growth_over_estimated_growth_003_054() -> None:
    assert factor_of(taught((5000, 100), (5200, 200))) == 2.0
    assert factor_of(taught((5000, 100), (5200, 200), (5300, 400))) == 1.0


@pytest.mark.parametrize(("growth", "factor"), [(1000, 3.0), (301, 3.0), (299, 2.99), (51, 0.51), (10, 0.5), (0, 0.5)])
def test_the_factor_is_clamped_003_054(growth: int, factor: float) -> None:
    assert factor_of(taught((5000, 100), (5000 + growth, 200))) == factor


def test_a_shrink_teaches_nothing_003_054() -> None:
    assert factor_of(taught((5000, 100), (5200, 200), (900, 300))) == 2.0
    assert factor_of(taught((5000, 100), (900, 300))) == 1.0


def test_a_compaction_between_teaches_nothing_even_if_the_next_reply_is_larger_003_054() -> None:
    known = taught((5000, 100), (5200, 200))
    assert factor_of(taught((9000, 300), state=shrunk(known))) == 2.0
    assert factor_of(taught((9000, 300), (9100, 400), state=shrunk(known))) == 1.5


def test_a_change_of_model_teaches_nothing_and_each_has_its_own_003_054() -> None:
    first = taught((5000, 100), (5200, 200))
    other = taught((9000, 300), model="n", state=first)
    assert factor_of(other) == 1.0
    assert factor_of(taught((9100, 400), model="n", state=other)) == 1.0
    assert factor_of(taught((9500, 500), state=other)) == 2.0


def test_replies_without_usable_usage_are_passed_over_003_055() -> None:
    assert factor_of(taught((5000, 100), (None, 150), (5200, 200))) == 2.0


def test_rows_of_one_reply_are_one_reading() -> None:
    """The last row completes the estimate."""
    state = taught((5000, 100))
    for estimated in (150, 180, 200):
        state = learn(state, Usage(reply_id="r", model="m", context_tokens=5300), estimated)
    assert factor_of(state) == 3.0


def test_replies_without_an_id_are_told_apart() -> None:
    state = Calibration()
    for reported, estimated in ((5000, 100), (5200, 200)):
        state = learn(state, Usage(reply_id="", model="m", context_tokens=reported), estimated)
    assert factor_of(state) == 2.0


def test_it_survives_being_stored() -> None:
    for state in (Calibration(), taught((5000, 100), (5200, 200)), taught((1, 2), model="n")):
        assert from_data(json.loads(json.dumps(to_data(state)))) == state
    assert from_data({}) == Calibration()


def test_intake_learns_once_whatever_comes_twice_003_054(store: Store) -> None:
    """400 characters are 100 tokens; the provider counts 200."""

    def turn(at: int, reported: int) -> list[object]:
        usage = Usage(reply_id=f"r{at}", model="m", context_tokens=reported)
        return [say("x" * 200, id=f"p{at}"), reply("y" * 200, id=f"a{at}", usage=usage)]

    events = [*turn(0, 1000), *turn(1, 1200), *turn(2, 1400)]
    for piece in (events[:3], events, events[2:]):
        take(store, piece)
    session = load_session(store, "neutral:s1")
    assert factor_of(from_data(session.calibration)) == 2.0
    assert session.model == "m"
    take(store, [HostCompaction(id="c", after="a2"), *turn(3, 9000)])
    assert factor_of(from_data(load_session(store, "neutral:s1").calibration)) == 2.0

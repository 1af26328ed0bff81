"""Records <-> the content of memory entries: what is refused on the way in (003-148, 003-149, 003-150)."""

from dataclasses import fields
from typing import Any

import pytest
from builders import concluded, observed

from minutebook.pipeline.outcomes import Entry, memory_entry
from minutebook.pipeline.shapes import (
    cut_content,
    ids_of,
    observation_data,
    observation_of,
    observations_of,
    one_line,
    reflection_data,
    reflection_of,
    reflections_of,
)
from minutebook.records import MEMORY_KINDS, observation_id, observation_line, reflection_id, reflection_line
from minutebook.store import codec
from minutebook.store.kernel import Stored
from minutebook.tokens import estimate_tokens

OBSERVATION = observation_data(observed("seen", sources=("e1", "e2")))
REFLECTION = reflection_data(concluded("a fact", "0123456789ab"))


def test_a_record_counts_with_its_id_and_all_that_its_line_says_003_085() -> None:
    """Twelve characters and two brackets, a space, then its content; an observation's time and relevance too."""
    assert concluded("abcd").tokens == (14 + 1 + 4 + 3) // 4
    assert observed("abcd", "low").tokens == (14 + 1 + 16 + 1 + 5 + 1 + 4 + 3) // 4


def test_names_are_those_of_the_pi_ledger_003_148() -> None:
    assert set(OBSERVATION) == {"id", "content", "timestamp", "relevance", "sourceEntryIds", "tokenCount"}
    assert set(REFLECTION) == {"id", "content", "supportingObservationIds", "tokenCount"}
    assert MEMORY_KINDS == (
        "om.observations.recorded",
        "om.reflections.recorded",
        "om.reflection_digest.recorded",
        "om.observations.dropped",
        "om.reflections.retired",
        "om.gap",
        "om.folded",
    )


def test_records_come_back_as_they_were_003_148() -> None:
    seen, fact = observed("seen", "critical", sources=("e1", "e2")), concluded("a fact", "0123456789ab")
    assert observation_of(observation_data(seen)) == seen
    assert reflection_of(reflection_data(fact)) == fact


@pytest.mark.parametrize("kind", MEMORY_KINDS)
def test_each_kind_survives_the_codec_003_148(kind: str) -> None:
    data = {"observations": [OBSERVATION], "reflections": [REFLECTION], "content": "ü\ud800", "observationIds": ["x"]}
    entry = memory_entry(Entry(kind=kind, covers=4, since=2, data=data, covers_id="e3", time="T"))
    item = codec.memory_item(entry)
    assert (item.weight, item.kind, item.body.isascii()) == (0, kind, True)
    back = codec.memory_entry("b", Stored(7, item.id, item.kind, item.weight, 0, item.body))
    same = [each.name for each in fields(entry) if each.name not in ("branch", "index")]
    assert [getattr(back, name) for name in same] == [getattr(entry, name) for name in same]
    assert (back.branch, back.index) == ("b", 7)


WRONG_OBSERVATIONS: list[dict[str, Any]] = [
    {"id": ""},
    {"id": 7},
    {"content": " \n "},
    {"content": None},
    {"timestamp": "2026-5-02 10:30"},
    {"timestamp": "2026-05-02T10:30"},
    {"timestamp": "2026-05-02 10:30:00"},
    {"timestamp": "２０２６-05-02 10:30"},
    {"relevance": "urgent"},
    {"relevance": ["high"]},
    {"sourceEntryIds": []},
    {"sourceEntryIds": "e1"},
    {"sourceEntryIds": ["e1", ""]},
    {"tokenCount": -1},
    {"tokenCount": True},
    {"tokenCount": 1.5},
]


@pytest.mark.parametrize("wrong", WRONG_OBSERVATIONS, ids=str)
def test_an_observation_with_a_wrong_field_is_refused_003_149(wrong: dict[str, Any]) -> None:
    assert observation_of({**OBSERVATION, **wrong}) is None


@pytest.mark.parametrize("missing", OBSERVATION)
def test_an_observation_without_a_field_is_refused_003_149(missing: str) -> None:
    assert observation_of({name: value for name, value in OBSERVATION.items() if name != missing}) is None


@pytest.mark.parametrize("missing", REFLECTION)
def test_a_reflection_without_a_field_is_refused_003_149(missing: str) -> None:
    assert reflection_of({name: value for name, value in REFLECTION.items() if name != missing}) is None


@pytest.mark.parametrize("wrong", [{"id": ""}, {"content": "\n"}, {"supportingObservationIds": []}, {"tokenCount": -1}])
def test_a_reflection_with_a_wrong_field_is_refused_003_149(wrong: dict[str, Any]) -> None:
    assert reflection_of({**REFLECTION, **wrong}) is None


def test_tokens_are_computed_whatever_is_offered_003_149() -> None:
    seen = observation_of({**OBSERVATION, "tokenCount": 5000})
    fact = reflection_of({**REFLECTION, "tokenCount": 0})
    assert seen is not None and seen.tokens == estimate_tokens(observation_line(seen))
    assert fact is not None and fact.tokens == estimate_tokens(reflection_line(fact))


def test_ids_are_fixed_vectors_003_150() -> None:
    assert reflection_id("The user works in Vienna.") == "929c9e32214a"
    assert observation_id("Tests pass.", "2026-05-02 10:30", ("e1", "e2")) == "4348188e2f2d"


def test_equal_words_about_two_events_stay_two_003_150() -> None:
    ids = {
        observation_id("Tests pass.", "2026-05-02 10:30", ("e1",)),
        observation_id("Tests pass.", "2026-05-02 10:31", ("e1",)),
        observation_id("Tests pass.", "2026-05-02 10:30", ("e2",)),
    }
    assert len(ids) == 3


def test_the_valid_records_beside_a_malformed_one_are_kept_003_155() -> None:
    found, malformed = observations_of({"observations": [OBSERVATION, 5, {**OBSERVATION, "id": None}]})
    assert (len(found), malformed) == (1, 2)
    assert reflections_of({"reflections": "none"}) == ([], 1)
    assert ids_of({"observationIds": ["a", "", None]}, "observationIds") == (["a"], 2)
    assert observations_of({}) == ([], 1)


@pytest.mark.parametrize("broken", ["a\rb", "a\nb", "a\r\nb", "a\u2028b", " a \n\n b "])
def test_line_breaks_become_one_space_003_015(broken: str) -> None:
    assert one_line(broken) == "a b"


def test_content_is_cut_at_10000_characters_with_a_mark_003_015() -> None:
    assert cut_content("x" * 10_000) == "x" * 10_000
    assert cut_content("x" * 11_234) == "x" * 10_000 + " […1,234 characters cut]"

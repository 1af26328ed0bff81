"""Answers that a model of 135 million parameters really gave, shortened: each ends the run, and keeps nothing."""

import pytest
from conversing import answer
from test_toolloop import converse

from minutebook.errors import SpanFailed
from minutebook.settings import ModelChoice
from minutebook.workers import models_facts

TINY = ModelChoice(provider="openai", id="smollm2")


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize(
    ("window", "limit"), [(None, 32_000), (1_000_000, 32_000), (128_000, 32_000), (4_096, 1_024), (3, 1)]
)
def test_a_model_without_a_known_maximum_has_a_quarter_of_its_window_003_130(window: int | None, limit: int) -> None:
    assert models_facts.output_limit(TINY, window) == limit
    assert models_facts.output_limit(ModelChoice(provider="openai", id="gpt-4o"), window) == 16_384

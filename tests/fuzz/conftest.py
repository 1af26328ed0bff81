"""The minds of these tests fail on purpose; what the product logs of that is no news."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quiet_minds() -> Iterator[None]:
    """No log of the product."""
    logger = logging.getLogger("minutebook")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)

"""Checkpoints that hold next to nothing, so that what they leave out matters within a dozen records."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from minutebook.pipeline import checkpoints, reducing

SIZES = {"ROW_BYTES": 2_200, "REFLECTION_BYTES": 700, "SERVED_BYTES": 400, "THIN_BYTES": 1_000, "DIGESTS_KEPT": 1}


@contextmanager
def made_small(how: int) -> Iterator[None]:
    """The limits of a checkpoint are small inside; at 2 so small that many are too large to be written at all."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in SIZES.items():
            patch.setattr(reducing, name, size)
        if how > 1:
            patch.setattr(checkpoints, "CHECKPOINT_BYTES", 2_000)
        yield

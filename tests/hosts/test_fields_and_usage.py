"""Times, images and usage as hosts report them."""

import math
from typing import Any

import pytest

from minutebook.hosts.fields import image_at, image_part, iso_time
from minutebook.hosts.usage import context_tokens


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-01-06T14:55:01.5Z", "2026-01-06T14:55:01.500Z"),
        ("2026-01-06T14:55:01Z", "2026-01-06T14:55:01.000Z"),
        ("2026-01-06T14:55:01.123456789Z", "2026-01-06T14:55:01.123Z"),
        ("2026-01-06T16:55:01+02:00", "2026-01-06T14:55:01.000Z"),
        ("2026-01-06T14:55:01", "2026-01-06T14:55:01.000Z"),
        (1784376958047, "2026-07-18T12:15:58.047Z"),
        (1784376958, "2026-07-18T12:15:58.000Z"),
        (1784376958.5, "2026-07-18T12:15:58.500Z"),
        ("yesterday", ""),
        ("", ""),
        (None, ""),
        (True, ""),
        ([], ""),
        (math.inf, ""),
        (math.nan, ""),
        (10**30, ""),
        ("0001-01-01T00:00:00+14:00", ""),
    ],
)
def test_iso_time(given: Any, expected: str):
    assert iso_time(given) == expected


def test_images_are_described_by_type_and_size():
    assert image_part("image/png", "AAAA").text == "[image image/png, 3 bytes]"
    assert image_part(None, "AA==").text == "[image of unknown type, 1 bytes]"
    assert image_at("data:image/jpeg;base64,AAAAAAA=").text == "[image image/jpeg, 5 bytes]"
    assert image_at("https://example.org/a.png").text == "[image at https://example.org/a.png]"
    assert image_at(None).text == "[image]"


@pytest.mark.parametrize(
    ("counts", "failed", "expected"),
    [
        ((500, 1, 2, 3, 4), False, 500),
        ((0, 1, 2, 3, 4), False, 10),
        ((-5, 1, 2, 3, 4), False, 10),
        ((None, 1, 2, 3, 4), False, 10),
        ((None, 1, 2, 0, 0), False, 3),
        ((None, 1, 2, None, 4), False, None),
        ((None, 1, 2, 3, "4"), False, None),
        ((None, 1, 2, 3, True), False, None),
        ((None, 1, 2, 3, -4), False, None),
        ((None, 0, 0, 0, 0), False, None),
        ((None, None, None, None, None), False, None),
        ((math.inf, None, None, None, None), False, None),
        ((500, 1, 2, 3, 4), True, None),
        ((500.0, None, None, None, None), False, 500),
    ],
)
def test_reported_usage_003_055(counts: tuple[Any, ...], failed: bool, expected: int | None):
    total, sent, answered, cache_read, cache_write = counts
    found = context_tokens(
        total=total, input=sent, output=answered, cache_read=cache_read, cache_write=cache_write, failed=failed
    )
    assert found == expected

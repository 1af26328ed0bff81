"""How much may be asked in a minute, and under which names."""

import pytest
from memories import Clock

from minutebook.server import limits
from minutebook.server.limits import HostNames, RateLimit
from minutebook.server.strictjson import BadJson, loads


def test_so_many_requests_in_a_minute_and_then_none_until_it_is_over() -> None:
    clock = Clock(0.0)
    limit = RateLimit(3, clock=clock)
    assert [limit.wait_seconds("a") for _ in range(3)] == [0, 0, 0]
    clock.now = 20.0
    assert limit.wait_seconds("a") == 40.0
    assert limit.wait_seconds("b") == 0
    clock.now = 60.0
    assert limit.wait_seconds("a") == 0


def test_the_memory_of_a_rate_limit_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KEYS_MAX", 10)
    limit = RateLimit(1, clock=Clock(0.0))
    for at in range(100):
        limit.wait_seconds(str(at))
    assert len(limit._windows) <= 10
    assert limit.wait_seconds("99") > 0  # the latest are remembered


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("127.0.0.1:8765", True),
        ("localhost", True),
        ("LocalHost:1", True),
        ("[::1]:8765", True),
        ("box.example", True),
        ("BOX.example:443", True),
        ("10.0.0.7:8765", True),
        ("10.0.0.8", False),
        ("evil.example", False),
        ("box.example.evil.example", False),
        ("box.example@evil.example", False),
        ("box.example/x", False),
        ("", False),
        ("box.example:port", False),
        ("box.example:123456", False),
        ("box example", False),
        ("127.0.0.1.evil.example", False),
    ],
)
def test_names_of_the_host(header: str, allowed: bool) -> None:
    assert HostNames(["10.0.0.7", "box.example"]).allows(header) is allowed


def test_a_door_on_every_address_answers_to_any_address_but_to_no_name() -> None:
    names = HostNames(["0.0.0.0"])
    assert names.allows("192.168.1.5:8765") and names.allows("[fe80::1]")
    assert not names.allows("evil.example")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"NaN",
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b"1e999",
        b"-1e999",
        b"9" * 5_000,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff",
        b'"\xed\xa0\x80"',
        b"1 2",
        b"\xef\xbb\xbf{}",
        b"'a'",
        b'"\x00"',
    ],
)
def test_json_that_is_none(body: bytes) -> None:
    with pytest.raises(BadJson) as raised:
        loads(body)
    assert len(str(raised.value)) < 200


def test_json_with_lone_surrogates_and_nul_is_taken() -> None:
    assert loads(b'["\\ud800", "\\u0000", 1.5, 12345678901234567890]') == ["\ud800", "\0", 1.5, 12345678901234567890]

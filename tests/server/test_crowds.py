"""Many clients at once: nothing is lost, doubled or out of order."""

import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from doors import RunningDoor, laptop_session, some_entries, sources_body

from minutebook.pipeline.boxkeys import box_key
from minutebook.pipeline.branches import source_stream
from minutebook.settings import Settings
from minutebook.store.opening import open_store

CLIENTS = int(os.environ.get("MINUTEBOOK_HTTP_CLIENTS", "8"))
EVENTS = int(os.environ.get("MINUTEBOOK_HTTP_EVENTS", "30"))
AT_ONCE = 7


@pytest.fixture(params=["sqlite", "redis"])
def crowded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningDoor]:
    url = request.getfixturevalue("redis_url") if request.param == "redis" else str(tmp_path / "box.sqlite")
    settings = Settings(audit_file=str(tmp_path / "audit"), serve_requests_per_minute=1_000_000)
    with closing(open_store(url)) as store, RunningDoor(store, tmp_path / "audit", settings) as door:
        yield door


def test_clients_that_push_at_once_lose_and_double_nothing(crowded: RunningDoor) -> None:
    """Each has a session of its own, and sends some of it twice or from further back; two users have the same names."""
    tokens = {user: crowded.token(user) for user in ("alice", "bob")}

    def client(number: int) -> None:
        rng, user = random.Random(number), ("alice", "bob")[number % 2]
        session, entries, at = laptop_session(f"s{number // 2}"), some_entries(EVENTS), 0
        while at < EVENTS:
            start = max(0, at - rng.randrange(3))
            chunk = entries[start : start + rng.randrange(1, AT_ONCE) + 2]
            before = entries[start - 1].id if start else ""
            got = crowded.post("/v1/sources", tokens[user], sources_body(session, chunk, at=start, before=before))
            assert got.status == 200, got.content
            at = got.data["sources"]

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(client, range(CLIENTS)))
    for number in range(CLIENTS):
        key = box_key(("alice", "bob")[number % 2], f"claude_code:s{number // 2}")
        stored = crowded.store.read(source_stream(key))
        assert [each.id for each in stored] == [f"e{at}" for at in range(EVENTS)]


def test_clients_that_push_the_same_session_at_once_agree(crowded: RunningDoor) -> None:
    """Two machines with one session, or one that sends again while its first request is still under way."""
    token, session, entries = crowded.token(), laptop_session("same"), some_entries(EVENTS)

    def client(number: int) -> set[int]:
        statuses = set()
        for end in range(1 + number % 3, EVENTS + 1, 3):
            statuses.add(crowded.post("/v1/sources", token, sources_body(session, entries[:end])).status)
        return statuses | {crowded.post("/v1/sources", token, sources_body(session, entries)).status}

    with ThreadPoolExecutor(CLIENTS) as pool:
        statuses = set().union(*pool.map(client, range(CLIENTS)))
    assert statuses == {200}
    stored = crowded.store.read(source_stream(box_key("alice", session.key)))
    assert [each.id for each in stored] == [f"e{at}" for at in range(EVENTS)]

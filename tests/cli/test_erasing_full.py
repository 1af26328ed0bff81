"""Purging and revoking on a real Redis that is over its maxmemory, and so refuses all other writes."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from boxes import BOXED, Line, send_all, stores
from commands import Om
from everything import server_client
from ledgers import take, turns
from redis_server import RedisServer

from minutebook.errors import NotFound, StoreFull
from minutebook.pipeline.erasing import is_purged
from minutebook.pipeline.exporting import list_exports, note_export, select
from minutebook.pipeline.notices import read_notices, tell
from minutebook.pipeline.purged import unfinished
from minutebook.pipeline.sessions import find_session
from minutebook.server.tokens import create_token, list_tokens, token_of
from minutebook.store.kernel import Put, Store
from minutebook.store.opening import open_store


@pytest.fixture
def server(new_redis_server: Callable[..., RedisServer]) -> RedisServer:
    return new_redis_server(["--maxmemory-policy", "noeviction"])


@pytest.fixture
def box(server: RedisServer) -> Iterator[Store]:
    with closing(open_store(server.url)) as store:
        yield store


@contextmanager
def full(server: RedisServer) -> Iterator[None]:
    with server_client(server.url) as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] // 2)
        try:
            yield
        finally:
            client.config_set("maxmemory", "0")


def test_a_purge_on_a_full_server_is_whole_and_the_session_stays_away(om: Om, server: RedisServer, box: Store) -> None:
    with stores(1) as (laptop,):
        take(laptop, turns(4))
        line = Line(laptop, box)
        line.sync()
        take(box, turns(4), "left")
        tell(box, "a", "it said so", about=BOXED)
        note_export(box, "/all.jsonl", select(box))
        with full(server):
            with pytest.raises(StoreFull):
                box.put(Put("c", "k", "1"))
            assert "Removed" in om("purge", "--session", BOXED, "--yes", "--store", server.url, code=0).stdout
            check_gone(box)
            with pytest.raises(NotFound, match="purged"):
                send_all(line)
            again = om("purge", "--session", BOXED, "--yes", "--store", server.url, code=1)
            assert "no session" in again.stderr
        with pytest.raises(NotFound, match="purged"):
            send_all(line)
        check_gone(box)


def check_gone(box: Store) -> None:
    """With its tombstone, and with what named it beside others."""
    assert is_purged(box, BOXED) and unfinished(box) == [] and find_session(box, BOXED) is None
    assert find_session(box, "neutral:left")
    assert [each.sessions for each in list_exports(box)] == [("neutral:left",)]
    assert [each.text for each in read_notices(box)] == ["about something that was purged since"]


def test_a_token_is_revoked_on_a_full_server(om: Om, server: RedisServer, box: Store) -> None:
    made, text = create_token(box, "alice", [])
    kept, kept_text = create_token(box, "bob", [])
    with full(server):
        said = om("token", "revoke", made.id, "--store", server.url, code=0).stderr
        assert f"Token {made.id} of alice is revoked. The store is full: it was deleted" in said
        assert token_of(box, text) is None and token_of(box, kept_text) == kept
        om("token", "revoke", made.id, "--store", server.url, code=1)
    assert list_tokens(box) == [kept]

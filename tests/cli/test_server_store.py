"""Commands on a store on a real Redis server: what doctor tells, and that no password is ever shown."""

from collections.abc import Callable
from contextlib import closing

import pytest
from builders import deliver, say
from commands import Om, data_of
from redis_server import RedisServer

from minutebook.cli.check import Check
from minutebook.cli.place import shown_url
from minutebook.store.opening import open_store

SECRET = "s3cr3t-w0rd"
NewServer = Callable[..., RedisServer]


def checks_of(om: Om, url: str, *, code: int) -> dict[str, Check]:
    return {
        each["name"]: Check(**each) for each in data_of(om("doctor", "--json", "--store", url, code=code))["checks"]
    }


@pytest.fixture(autouse=True)
def needs_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from pathlib import Path

    pytest.importorskip("redis")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))


def test_a_server_that_is_well(om: Om, redis_url: str) -> None:
    with closing(open_store(redis_url)) as store:
        deliver(store, [say("one", id="e1")])
    found = checks_of(om, redis_url, code=0)
    well = ("store", "server", "replication", "memory policy", "append-only file", "clock of the server", "sessions")
    assert {name: found[name].verdict for name in well} == dict.fromkeys(well, "ok")
    assert found["server"].said.startswith("Redis 7.") or found["server"].said.startswith("Redis 8.")
    assert found["worker"].verdict == "info" and "ms for question and answer" in found["latency"].said
    assert not {"disk", "access", "journal"} & set(found), "it is no file"


def test_a_worker_that_listens_is_seen(om: Om, redis_url: str) -> None:
    with closing(open_store(redis_url)) as store, closing(store.listen()):  # type: ignore[attr-defined]
        assert checks_of(om, redis_url, code=0)["worker"].verdict == "ok"


def test_each_fault_of_a_server_has_a_fix(om: Om, new_redis_server: NewServer) -> None:
    server = new_redis_server(["--appendonly", "no", "--maxmemory-policy", "allkeys-lru"])
    found = checks_of(om, server.url, code=1)
    failed = {name: check for name, check in found.items() if check.verdict == "fail"}
    assert set(failed) == {"memory policy", "append-only file"}
    assert "noeviction" in failed["memory policy"].fix and "appendonly yes" in failed["append-only file"].fix


def test_a_server_that_may_do_half_of_a_torn_write_is_told_of(om: Om, new_redis_server: NewServer) -> None:
    """Redis' own default, which docker-compose.yml does not leave as it is."""
    torn = checks_of(om, new_redis_server().url, code=0)["torn writes"]
    assert torn.verdict == "info" and "aof-load-truncated is yes" in torn.said and "set it to no" in torn.fix
    safe = new_redis_server(["--aof-load-truncated", "no"])
    assert "torn writes" not in checks_of(om, safe.url, code=0)


def test_a_replica_is_told_from_the_server_that_it_copies(om: Om, new_redis_server: NewServer) -> None:
    main = new_redis_server()
    open_store(main.url).close()
    copy = new_redis_server(["--replicaof", "127.0.0.1", str(main.port)])
    with closing(open_store(main.url)) as store:
        deliver(store, [say("one", id="e1")])
        store.ask("WAIT", 1, 10_000)  # type: ignore[attr-defined]
    found = checks_of(om, copy.url, code=1)
    assert found["store"].verdict == "fail" and "replica" in found["store"].said + found["store"].fix


def test_a_server_that_is_away_is_one_line(om: Om, new_redis_server: NewServer) -> None:
    server = new_redis_server(password=SECRET)
    server.stop()
    found = checks_of(om, server.url, code=1)
    assert [name for name, check in found.items() if check.verdict == "fail"] == ["store"]
    assert SECRET not in str(found)


@pytest.mark.parametrize(
    "words",
    [("doctor",), ("status",), ("sessions",), ("jobs",), ("worker", "--until-idle"), ("search", "one"), ("view",)],
)
@pytest.mark.parametrize("right", [True, False])
def test_no_command_shows_a_password(om: Om, new_redis_server: NewServer, words: tuple[str, ...], right: bool) -> None:
    server = new_redis_server(password=SECRET)
    with closing(open_store(server.url)) as store:
        deliver(store, [say("one", id="e1")])
    url = server.url if right else server.url.replace(SECRET, wrong := "wr0ng-w0rd")
    result = om(*words, "--store", url)
    assert SECRET not in result.output and SECRET not in result.stderr
    assert right or (result.exit_code == 1 and wrong not in result.output + result.stderr)


def test_the_password_may_come_from_the_environment(
    om: Om, new_redis_server: NewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = new_redis_server(password=SECRET)
    open_store(server.url).close()
    bare = server.url.replace(f":{SECRET}@", "")
    om("sessions", "--store", bare, code=1)
    monkeypatch.setenv("MINUTEBOOK_REDIS_PASSWORD", SECRET)
    om("sessions", "--store", bare, code=0)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("/some/store.sqlite", "/some/store.sqlite"),
        ("sqlite:////some/p@th?x", "sqlite:////some/p@th?x"),
        ("redis://box:6379/0", "redis://box:6379/0"),
        ("redis://:secret@box:6379/0?prefix=team", "redis://box:6379/0?prefix=team"),
        ("rediss://user:se/cr@t@box/1?ssl_certfile=x&db=2", "rediss://box/1?db=2"),
        ("redis+sentinel://:secret@a:1,b:2/main/0?sentinel_password=other", "redis+sentinel://a:1,b:2/main/0"),
        ("unix:///run/re@dis.sock?db=3", "unix:///run/re@dis.sock?db=3"),
        ("unix://:secret@/run/redis.sock?db=3", "unix:///run/redis.sock?db=3"),
    ],
)
def test_a_store_s_name_is_shown_without_what_is_secret(url: str, shown: str) -> None:
    assert shown_url(url) == shown

"""What every test has: a clean environment and home, no network by accident, a store in a temporary folder."""

import importlib
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from redis_server import BINARY, RedisPair, RedisServer, watched_pair

if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # a run under nohup: what tests start would ignore it, too
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = Path(__file__).resolve().parent.parent
OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "LITELLM_OFFLINE_MODE")
"""litellm fetches its price list and a list of headers from the net unless these are set."""

SECOND_TRIES = 3


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run in which more than a few tests needed a second try (`--reruns`, CI's only) has failed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and len(reporter.stats.get("rerun", ())) > SECOND_TRIES and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What a first try said: each is a fault to be found, though its second try passed."""
    for report in terminalreporter.stats.get("rerun", ()):
        terminalreporter.write_sep("=", f"first try of {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No MINUTEBOOK_ variable, no API key and no file of the person who runs the tests reaches a test."""
    folders = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
    for name in list(os.environ):
        if name.startswith(("MINUTEBOOK_", "PI_", "XDG_", *folders)) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    for name in OFFLINE:
        monkeypatch.setenv(name, "True")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture(scope="session")
def sessions_dir() -> Path:
    """Real session files, which are not part of the project; the tests that want them skip without."""
    folder = Path(os.environ.get("MINUTEBOOK_SESSIONS", ROOT.parent / "shared" / "sessions"))
    if not folder.is_dir():
        pytest.skip("no folder of real session files: set MINUTEBOOK_SESSIONS")
    return folder


@pytest.fixture(scope="session")
def litellm() -> ModuleType:
    """The real litellm, silent and off the net; an extra, so its tests skip without it, but not in CI (CI is set).

    It takes seconds to import: once in each test process.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in OFFLINE:
            patch.setenv(name, "True")
        if not os.environ.get("CI"):
            pytest.importorskip("litellm", reason="no litellm: pip install 'minutebook[models]'")
        module = importlib.import_module("litellm")
    module.telemetry = False
    module.suppress_debug_info = True
    return module


def needs_redis_server() -> None:
    """Skip without the program redis-server, but not in CI (CI is set)."""
    if BINARY is None and not os.environ.get("CI"):
        pytest.skip("no redis-server: apt-get install redis-server")


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A real redis-server for this test process."""
    needs_redis_server()
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def new_redis_server(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Starts a server of the test's own, to be stopped or killed; takes what RedisServer takes after the folder."""
    needs_redis_server()
    servers: list[RedisServer] = []

    def new(*arguments: Any, **named: Any) -> RedisServer:
        servers.append(RedisServer(tmp_path / f"redis-{len(servers)}", *arguments, **named))
        return servers[-1]

    yield new
    for server in servers:
        server.kill()


@pytest.fixture
def redis_pair(new_redis_server: Callable[..., RedisServer], tmp_path: Path) -> Iterator[RedisPair]:
    """A server, its replica, and a Sentinel that puts the replica in its place when it is gone."""
    pytest.importorskip("redis")
    first = new_redis_server(["--repl-diskless-sync-delay", "0"])
    second = new_redis_server(["--replicaof", f"127.0.0.1 {first.port}"])
    sentinel = watched_pair(first, second, tmp_path / "sentinel")
    yield first, second, sentinel
    sentinel.kill()


DATABASE_NUMBERS = count(1)


@pytest.fixture
def redis_url(redis_server: RedisServer) -> Iterator[str]:
    """The URL of an empty database on the server, for one test."""
    redis = pytest.importorskip("redis")
    url = redis_server.database_url(next(DATABASE_NUMBERS))
    yield url
    with closing(redis.Redis.from_url(url)) as client:
        client.flushdb()

"""The socket between workers and a Pi session (003-127, 003-138), with both real ends and a scripted extension."""

import json
import os
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from relays import FAKE, WAIT, Extension, relay_of

from minutebook.hosts.relay import CONNECTIONS_MOST, PATH_MAX_BYTES, Relay, is_private, read_line, relay_path
from minutebook.workers.relaying import ask, model_of, notify

KEY = "pi:s1"


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder whose name is short: a socket's path must be."""
    with tempfile.TemporaryDirectory(prefix="om-", dir="/tmp") as folder:
        yield Path(folder)


def echo(line: dict[str, Any]) -> dict[str, Any]:
    return {"text": line["system"].upper()}


def test_a_question_reaches_the_extension_and_its_answer_the_worker_003_127(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, echo) as extension:
        assert ask(relay_path(store, KEY), {"system": "you observe", "messages": []}, 30) == {
            "type": "answer",
            "text": "YOU OBSERVE",
        }
        (line,) = extension.lines
        assert line["type"] == "ask" and line["id"] and line["messages"] == [] and line["timeout_seconds"] == 30


def test_it_says_who_would_think_without_asking_003_127(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, echo) as extension:
        assert model_of(relay_path(store, KEY)) == FAKE
        assert extension.relay is not None
        for none in (None, {}, {"provider": "fake", "id": ""}):
            extension.relay.model_is(none)
            assert model_of(relay_path(store, KEY)) is None
        assert extension.lines == []
    assert model_of(relay_path(store, KEY)) is None


def test_notices_and_steers_are_handed_on_and_dropped_when_nobody_is_there_003_138(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    path = relay_path(store, KEY)
    assert not notify(path, "info", "nobody")
    with relay_of(store, KEY, echo) as extension:
        assert notify(path, "info", "observer starts")
        assert extension.wait_for("notice") == [{"type": "notice", "level": "info", "text": "observer starts"}]
        assert not notify(relay_path(store, "pi:other"), "info", "of another session")
    assert not notify(path, "info", "gone")
    assert len(extension.lines) == 1


def test_one_question_at_a_time(tmp_path: Path) -> None:
    store, at_once, most = str(tmp_path / "s.db"), [0], [0]
    lock = threading.Lock()

    def slowly(line: dict[str, Any]) -> dict[str, Any]:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        time.sleep(0.02)
        with lock:
            at_once[0] -= 1
        return {"text": line["system"]}

    with relay_of(store, KEY, slowly):
        said: list[str] = []
        threads = [
            threading.Thread(
                target=lambda n=n: said.append(ask(relay_path(store, KEY), {"system": str(n)}, 30)["text"])
            )
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
    assert sorted(said) == sorted(map(str, range(8))) and most == [1]


def test_who_waits_too_long_is_told_and_the_request_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minutebook.hosts.relay.GRACE_SECONDS", 0.1)
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, lambda line: None) as extension:
        error = ask(relay_path(store, KEY), {"system": ""}, 0.2)["error"]
        assert error["kind"] == "timeout"
        assert [line["id"] for line in extension.wait_for("cancel")] == [line["id"] for line in extension.of("ask")]


def test_one_that_is_busy_all_the_time_says_so(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, lambda line: None) as extension:
        first = threading.Thread(target=ask, args=(relay_path(store, KEY), {"system": ""}, 30))
        first.start()
        extension.wait_for("ask")
        assert ask(relay_path(store, KEY), {"system": ""}, 0.05, 0.1)["error"]["kind"] == "busy"
        assert extension.relay is not None
        extension.relay.answered({"type": "answer", "id": extension.of("ask")[0]["id"]})
        first.join(WAIT)
        assert not first.is_alive() and len(extension.of("ask")) == 1


def test_the_time_in_which_others_are_asked_is_not_its_own(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, lambda line: None) as extension:
        given: list[dict[str, Any]] = []
        threads = [
            threading.Thread(target=lambda: given.append(ask(relay_path(store, KEY), {"system": ""}, 20, 60)))
            for _ in range(2)
        ]
        threads[0].start()
        extension.wait_for("ask")
        threads[1].start()
        for number in (1, 2):
            line = extension.wait_for("ask", number)[-1]
            assert line["timeout_seconds"] == 20 and "within_seconds" not in line
            assert extension.relay is not None
            extension.relay.answered({"type": "answer", "id": line["id"], "text": str(number)})
            threads[number - 1].join(WAIT)
    assert [answer["text"] for answer in given] == ["1", "2"]


def test_a_worker_that_dies_takes_its_question_back(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, lambda line: None) as extension:
        with socket.socket(socket.AF_UNIX) as worker:
            worker.connect(relay_path(store, KEY))
            worker.sendall(b'{"type":"ask","system":""}\n')
            extension.wait_for("ask")
        assert extension.wait_for("cancel")
        assert extension.relay is not None
        extension.relay.answered({"type": "answer", "id": extension.of("ask")[0]["id"], "text": "too late"})
        extension.relay.answered({"type": "answer", "id": "never asked"})


def test_a_session_that_ends_tells_those_that_wait(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, lambda line: None) as extension:
        answers: list[dict[str, Any]] = []
        worker = threading.Thread(target=lambda: answers.append(ask(relay_path(store, KEY), {"system": ""}, 30)))
        worker.start()
        extension.wait_for("ask")
    worker.join(WAIT)
    assert answers[0]["error"]["kind"] == "gone"
    with pytest.raises(FileNotFoundError):
        ask(relay_path(store, KEY), {"system": ""}, 30)


def test_a_child_that_was_killed_is_a_lost_connection(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        tmp_path.chmod(0o700)

        def take_one_and_go() -> None:
            listener.accept()[0].close()

        killed = threading.Thread(target=take_one_and_go)
        killed.start()
        with pytest.raises((ConnectionError, BrokenPipeError)):
            ask(path, {"system": ""}, 30)
        killed.join(WAIT)
    with pytest.raises(ConnectionRefusedError):
        ask(path, {"system": ""}, 30)


@pytest.mark.parametrize(
    "said", [b"", b"\n", b"[]\n", b"{}\n", b"not json\n", b'{"type":"cancel","id":"a1"}\n', b"\xff\n"]
)
def test_nonsense_is_dropped_and_the_next_one_is_served(tmp_path: Path, said: bytes) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, echo) as extension:
        with socket.socket(socket.AF_UNIX) as odd:
            odd.connect(relay_path(store, KEY))
            odd.sendall(said)
            odd.shutdown(socket.SHUT_WR)
            assert odd.recv(10) == b""
        assert ask(relay_path(store, KEY), {"system": "x"}, 30)["text"] == "X"
        assert len(extension.lines) == 1


def test_a_line_without_an_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minutebook.hosts.relay.LINE_MAX_BYTES", 1_000)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"x" * 2_000)
        with pytest.raises(ValueError, match="too long"):
            read_line(ours)


def test_too_many_connections_are_turned_away(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, echo):
        many = [socket.socket(socket.AF_UNIX) for _ in range(CONNECTIONS_MOST + 1)]
        for one in many:
            one.settimeout(WAIT)
            one.connect(relay_path(store, KEY))
        assert many[-1].recv(1) == b""
        for one in many:
            one.close()


# -- the socket's file ---------------------------------------------------------------------------------------------


def test_only_its_user_reaches_it(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, echo):
        path = Path(relay_path(store, KEY))
        assert path.parent == tmp_path / "s.db.asks" and stat.S_ISSOCK(path.stat().st_mode)
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        assert list(path.parent.iterdir()) == [path]
    assert list(path.parent.iterdir()) == []


def test_a_folder_that_others_may_use_is_not_used(tmp_path: Path) -> None:
    store, folder = str(tmp_path / "s.db"), tmp_path / "s.db.asks"
    folder.mkdir()
    folder.chmod(0o755)
    assert "others may use" in Relay(store, KEY, print).start()
    assert not notify(relay_path(store, KEY), "info", "x")
    folder.rmdir()
    folder.symlink_to(tmp_path)
    assert not is_private(str(folder)) and "others may use" in Relay(store, KEY, print).start()


@pytest.mark.parametrize("key", ["pi:../../etc/passwd", "pi:" + "x" * 500, "pi:\udcff", "pi:a/b"])
def test_any_name_of_a_session_is_a_short_one_here(tmp_path: Path, key: str) -> None:
    path = relay_path(str(tmp_path / "s.db"), key)
    assert Path(path).parent == tmp_path / "s.db.asks" and len(Path(path).name) == 16
    assert path != relay_path(str(tmp_path / "s.db"), KEY)


def test_a_long_path_moves_to_a_private_folder(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    store = str(deep / "s.db")
    path = relay_path(store, KEY)
    assert len(path) <= PATH_MAX_BYTES and path != relay_path(str(deep / "other.db"), KEY)
    with relay_of(store, KEY, echo):
        assert is_private(str(Path(path).parent))
        assert ask(path, {"system": "x"}, 30)["text"] == "X"
    assert not os.path.lexists(path)


def test_a_link_to_the_store_leads_to_the_same_socket(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "s.db")
    assert relay_path(str(tmp_path / "link.db"), KEY) == relay_path(str(tmp_path / "s.db"), KEY)


def test_the_newest_child_of_a_session_is_the_one_that_is_reached(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with relay_of(store, KEY, lambda line: {"text": "new"}) as later:
        first = Extension(echo)
        relay = Relay(store, KEY, first.send)
        later_relay, later.relay = later.relay, None
        assert later_relay is not None and relay.start() == ""
        relay.model_is({**FAKE, "id": "newer"})
        model = model_of(relay_path(store, KEY))
        assert model is not None and model["id"] == "newer"
        later_relay.close()
        model = model_of(relay_path(store, KEY))
        assert model is not None and model["id"] == "newer", "the older one does not take the newer one's socket away"
        relay.close()
        relay.close()


def test_what_dead_children_left_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "s.db.asks"
    folder.mkdir(mode=0o700)
    for name, age in (("dead", 100), ("fresh", 0), ("alive", 100)):
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(folder / name))
        if name == "alive":
            left.listen()
            alive = left
        else:
            left.close()
        os.utime(folder / name, (time.time() - age,) * 2)
    with alive, relay_of(str(tmp_path / "s.db"), KEY, echo):
        names = {path.name for path in folder.iterdir()}
    assert "dead" not in names and {"fresh", "alive"} <= names


def test_lines_are_plain_json(tmp_path: Path) -> None:
    """Half a surrogate pair and a line break inside a text stay on one line."""
    store = str(tmp_path / "s.db")
    odd = "a\nb\u2028c\ud800"
    with relay_of(store, KEY, lambda line: {"text": line["system"]}) as extension:
        assert ask(relay_path(store, KEY), {"system": odd}, 30)["text"] == odd
        assert "\n" not in json.dumps(extension.lines[0])

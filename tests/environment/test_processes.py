"""What a process may find around it: few files, no home, no folder for temporary files, closed streams, signals."""

import os
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from surroundings import OM, is_one_line, om, om_running, talk, until

from minutebook.hosts.bell import wake


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return talk(tmp_path / "s1.jsonl", 60)


@pytest.fixture
def store(tmp_path: Path, file: Path) -> Path:
    path = tmp_path / "s.sqlite"
    assert om("ingest", "--wait", "--store", path, file).returncode == 0
    return path


def at_most(files: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def test_few_open_files_are_enough_or_one_line(store: Path, tmp_path: Path) -> None:
    new = talk(tmp_path / "s2.jsonl", 60)
    for files in (6, 7, 8, 16):
        done = om("status", "--store", store, preexec_fn=at_most(files))
        assert done.returncode == 0 or is_one_line(done, "limit of open files"), (files, done.stderr)
    done = om("ingest", "--wait", new, "--store", store, preexec_fn=at_most(64))
    assert done.returncode == 0, done.stderr


def test_without_a_home_the_system_tells_it(tmp_path: Path, store: Path) -> None:
    for command in (["status"], ["settings"], ["worker", "--until-idle"]):
        done = om(*command, env={"HOME": None, "MINUTEBOOK_STORE": str(store)})
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("home", ["", "/dev/null", "/nowhere/at/all"])
def test_a_home_that_is_none_is_one_line_or_no_matter(store: Path, home: str) -> None:
    assert om("status", "--store", store, env={"HOME": home}).returncode == 0


def test_a_replay_without_a_folder_for_temporary_files(file: Path, tmp_path: Path) -> None:
    """Python finds another one; where there is none, --store names a place."""
    env = {"TMPDIR": str(tmp_path / "missing")}
    assert om("replay", file, env=env).returncode == 0
    assert om("replay", "--store", tmp_path / "kept.sqlite", file, env=env).returncode == 0


def test_odd_text_on_an_ascii_terminal(tmp_path: Path) -> None:
    odd = "Decision: “naïve” \\u0000 \\ud800 \\u202e 日本 is the name. "
    (tmp_path / "s1.jsonl").write_text(f'{{"id":"e1","role":"user","text":"{odd * 8}"}}\n')
    store, env = tmp_path / "s.sqlite", {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for command in (
        ["ingest", "--wait", tmp_path / "s1.jsonl"],
        ["status"],
        ["view", "--full"],
        ["compact"],
        ["sessions"],
    ):
        done = om(*command, "--store", store, env=env)
        assert done.returncode == 0 and done.stdout.isascii() and "\0" not in done.stdout, (command, done.stderr)


@pytest.mark.parametrize("words", ["view --full", "search Decision --limit 1000", "replay {file}", "jobs", "doctor"])
def test_a_reader_that_leaves_after_a_line(store: Path, file: Path, words: str) -> None:
    where = "" if "replay" in words else f"--store {store}"
    command = f"{' '.join(OM)} {words.format(file=file)} {where} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode in (0, 1, 141) and "Traceback" not in done.stderr and "unexpected" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(store: Path, file: Path, closed: str) -> None:
    for words in (f"worker --until-idle --store {store}", f"replay {file}", f"view --store {store}"):
        assert subprocess.run(["sh", "-c", f"{' '.join(OM)} {words} {closed}"], capture_output=True).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_worker_ends_in_order_on_a_signal(store: Path, number: int) -> None:
    with om_running("worker", "--store", store, preexec_fn=default_signals) as working:
        until(lambda: wake(str(store)))
        working.send_signal(number)
        assert working.communicate(timeout=60) == ("", "")
    assert working.returncode == 0 and not wake(str(store))


def test_a_worker_under_nohup_outlives_its_terminal(store: Path) -> None:
    with om_running("worker", "--store", store, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as it:
        until(lambda: wake(str(store)))
        it.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            it.wait(1.0)
        it.terminate()
        assert it.wait(60) == 0


def default_signals() -> None:
    """Whoever started the tests in the background made them, and so their children, deaf to Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_replay_leaves_nothing_behind_on_a_signal(tmp_path: Path, number: int) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    env = {**os.environ, "TMPDIR": str(temporary)}
    long = talk(tmp_path / "long.jsonl", 4_000)
    with om_running("replay", "--scale", "0.05", long, env=env, preexec_fn=default_signals) as running:
        until(lambda: list(temporary.glob("*/replay.sqlite.queue")))
        running.send_signal(number)
        stdout, stderr = running.communicate(timeout=60)
    assert (running.returncode, stdout) == (128 + number, ""), stderr
    assert "stopped" in stderr and "Traceback" not in stderr and list(temporary.iterdir()) == []


def test_a_replay_that_was_killed_is_gone_on_with_at_once(tmp_path: Path) -> None:
    """The dead process' claims are free: nobody waits for their leases."""
    store, long = tmp_path / "s.sqlite", talk(tmp_path / "long.jsonl", 300)
    with om_running("replay", "--scale", "0.1", "--store", store, long) as running:
        until(lambda: '"running"' in om("jobs", "--json", "--store", store).stdout or running.poll() is not None)
        running.kill()
        running.communicate()
    done = om("replay", "--scale", "0.1", "--store", store, long)
    assert done.returncode == 0 and om("jobs", "--json", "--store", store).stdout.count('"running"') == 0

"""`om doctor` on the way from an agent's files to its memory, with real faults."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import deliver, say
from commands import Om, data_of
from surroundings import open_folder, without_rights

from minutebook.cli import checks_chain, checks_hosts
from minutebook.cli.check import Check
from minutebook.hosts import starting
from minutebook.hosts.bell import bells_folder, ring
from minutebook.hosts.beside import complain, lock_path
from minutebook.hosts.installing_record import RECORD
from minutebook.store.kernel import Store


@pytest.fixture
def home(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    return tmp_path / "home"


def doctor(om: Om, *args: str) -> dict[str, Check]:
    """By name; of several with one name the worst."""
    found: dict[str, Check] = {}
    for each in data_of(om("doctor", "--json", *args))["checks"]:
        check = Check(**each)
        if check.name not in found or check.verdict == "fail":
            found[check.name] = check
    return found


def test_an_agent_that_is_there_without_us_is_told_of(om: Om, home: Path) -> None:
    assert "codex" not in doctor(om)
    (home / ".codex").mkdir()
    check = doctor(om)["codex"]
    assert (check.verdict, check.said) == (
        "info",
        "Minutebook is not in Codex; `om install codex` puts it there",
    )


def test_all_is_well_after_an_install(om: Om, home: Path) -> None:
    om("install", "claude-code", code=0)
    om("install", "pi", code=0)
    found = doctor(om)
    assert found["pi"].said.endswith("/extensions/minutebook/")
    assert {found[name].verdict for name in ("claude-code", "pi", "om-hook", "data folder", "bells", "hook log")} == {
        "ok"
    }
    assert found["claude-code"].said.endswith("for every project, in ~/.claude/settings.json")
    assert found["hooks' worker"].verdict == "info"


def replaced(file: str, old: str, new: str) -> Callable[[Path], None]:
    def spoil(home: Path) -> None:
        path = home / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return spoil


def without(home: Path, *keys: str) -> None:
    path = home / ".claude" / "settings.json"
    data = json.loads(path.read_text())
    del data["hooks"][keys[0]]
    path.write_text(json.dumps(data))


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "an event is missing": (lambda home: without(home, "Stop"), "not as this version wants it"),
    "the file is gone": (lambda home: (home / ".claude/settings.json").unlink(), "is not there any more"),
    "it calls what is gone": (
        replaced(".claude/settings.json", str(Path(os.sys.executable).parent), "/old/bin"),  # type: ignore[attr-defined]
        "its hooks call /old/bin/om-hook, which is not there",
    ),
    "the server is gone": (lambda home: (home / ".claude.json").write_text("{}"), ".claude.json"),
    "the file is broken": (lambda home: (home / ".claude/settings.json").write_text("{"), "settings.json:1: no valid"),
    "a command is gone": (lambda home: (home / ".claude/commands/om/view.md").unlink(), "view.md"),
    "an older version": (
        lambda home: (
            replaced(f"../data/{RECORD}", '"version": "0.1.0"', '"version": "0.0.9"')(home) or without(home, "Stop")
        ),
        "put there by Minutebook 0.0.9",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_with_the_agent_s_files_is_named_and_the_fix_mends_it(om: Om, home: Path, name: str) -> None:
    om("install", "claude-code", code=0)
    spoil, said = FAULTS[name]
    spoil(home)
    check = doctor(om)["claude-code"]
    assert check.verdict == "fail" and said in check.said and check.fix
    if name != "the file is broken":
        assert check.fix == "om install claude-code"
        om("install", "claude-code", code=0)
        assert doctor(om)["claude-code"].verdict == "ok"


def test_a_table_that_a_person_changed_is_still_there(om: Om, home: Path) -> None:
    om("install", "codex", code=0)
    replaced(".codex/config.toml", '"approve"', '"prompt"')(home)
    assert doctor(om)["codex"].said.endswith("config.toml: not as this version wants it")


def test_by_two_ways_at_once(om: Om, home: Path) -> None:
    om("install", "claude-code", code=0)
    settings = home / ".claude" / "settings.json"
    data = json.loads(settings.read_text())
    settings.write_text(json.dumps({**data, "enabledPlugins": {"om@minutebook": True}}))
    check = doctor(om)["claude-code"]
    assert (check.verdict, check.said) == ("fail", "as a plugin, and by its settings too")
    for host in ("pi", "codex"):
        om("install", host, code=0)
        om("install", host, "--project", code=0)
        assert doctor(om)[host].fix == f"om uninstall {host} --project"


def test_an_agent_that_runs_no_hooks(om: Om, home: Path) -> None:
    om("install", "claude-code", code=0)
    settings = home / ".claude" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "disableAllHooks": True}))
    assert "disableAllHooks" in doctor(om)["claude-code"].said


def test_an_agent_in_which_nothing_is_noted_is_found_by_its_files(om: Om, home: Path, tmp_path: Path) -> None:
    om("install", "claude-code", code=0)
    (tmp_path / "data" / RECORD).unlink()
    assert doctor(om)["claude-code"].verdict == "ok"


def test_om_hook_that_does_not_run(tmp_path: Path) -> None:
    broken = tmp_path / "om-hook"
    assert checks_hosts.hook_runs(str(broken)).verdict == "fail"
    broken.write_text("#!/nowhere/python\n")
    broken.chmod(0o755)
    assert "does not run" in checks_hosts.hook_runs(str(broken)).said
    broken.write_text("#!/bin/sh\necho ModuleNotFoundError: minutebook >&2; exit 1\n")
    assert "ended with 1: ModuleNotFoundError" in checks_hosts.hook_runs(str(broken)).said


# -- the way to the memory -----------------------------------------------------------------------------------------


@pytest.fixture
def installed(om: Om, home: Path) -> None:
    om("install", "pi", code=0)


def test_variables_under_which_hooks_do_nothing(om: Om, installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_OFF", "1")
    assert doctor(om)["hooks"].fix == "unset MINUTEBOOK_OFF"
    monkeypatch.setenv("MINUTEBOOK_OFF", "0")
    monkeypatch.setenv("MINUTEBOOK_STORE", "redis://127.0.0.1:1/0")
    assert "MINUTEBOOK_STORE names a server" in doctor(om)["hooks"].said


def test_bells_that_wait_too_long(om: Om, installed: None, store_path: Path) -> None:
    ring(str(store_path), host="pi", session="s1", path="/w/s1.jsonl")
    assert doctor(om)["bells"].verdict == "info"
    bell = next(Path(bells_folder(str(store_path))).iterdir())
    data = json.loads(bell.read_text())
    bell.write_text(json.dumps({**data, "since": time.time() - 600}))
    check = doctor(om)["bells"]
    assert check.verdict == "fail" and check.fix.startswith("om worker --until-idle")
    assert check.said == "1 session to be taken in, the first for 10 minutes: pi:s1"


def test_the_worker_that_hooks_start(store_path: Path) -> None:
    assert checks_chain.lock(str(store_path)).verdict == "info"
    handle = starting.open_lock(str(store_path))
    try:
        assert "none is running" in checks_chain.lock(str(store_path)).said
        assert starting.hold(handle)
        assert checks_chain.lock(str(store_path)).verdict == "ok"
    finally:
        os.close(handle)
    assert "none is running" in checks_chain.lock(str(store_path)).said
    Path(lock_path(str(store_path))).unlink()


def test_what_a_hook_complained_of(om: Om, installed: None, tmp_path: Path) -> None:
    complain("om-hook pi Stop: the disk is full")
    check = doctor(om)["hook log"]
    assert check.verdict == "fail" and "the disk is full" in check.said
    (tmp_path / "data" / "hook.log").write_text("2020-01-01T00:00:00Z om-hook pi Stop: long ago\n")
    check = doctor(om)["hook log"]
    assert check.verdict == "info" and check.said.endswith("days ago: om-hook pi Stop: long ago")


def test_a_home_that_cannot_be_written() -> None:
    with open_folder() as folder:
        data = folder / "data"
        data.mkdir(mode=0o755)
        data.chmod(0o555)
        with without_rights():
            check = checks_chain.writable(data)
            inside = checks_chain.writable(data / "deep")
    assert check.verdict == inside.verdict == "fail"
    assert "Permission denied" in check.said and check.fix.startswith(f"make {data} writable")


def test_what_is_paused_and_ignored_is_said(om: Om, home: Path, project: Path) -> None:
    om("pause", code=0)
    assert doctor(om)["paused"].said.startswith(f"project {project}, since ")
    assert doctor(om, "--set", f"ignore={project}")["ignored"].verdict == "info"
    assert "ignored" not in doctor(om, "--set", "ignore=/elsewhere")


def test_what_came_last(om: Om, store: Store) -> None:
    deliver(store, [say("one", id="e1")])
    found = doctor(om)
    assert found["last turn"].said.endswith("ago, of neutral:s1") and found["last record"].said == "none yet"
    om("note", "ship on Friday", code=0)
    assert doctor(om)["last record"].said.endswith("ago")


def test_mcp_is_needed_where_an_agent_calls_it(om: Om, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minutebook.cli.checks.find_spec", lambda name: None)
    assert doctor(om)["extra mcp"].verdict == "info"
    om("install", "claude-code", code=0)
    assert doctor(om)["extra mcp"].fix == "pip install 'minutebook[mcp]'"


@pytest.mark.parametrize(("model", "verdict"), [("host:codex", "info"), ("openai/gpt-5-mini", "fail")])
def test_the_library_of_models_is_needed_for_a_provider_alone(
    om: Om, home: Path, monkeypatch: pytest.MonkeyPatch, model: str, verdict: str
) -> None:
    monkeypatch.setattr("minutebook.cli.checks.find_spec", lambda name: None)
    assert doctor(om, "--set", f"model={model}")["extra models"].verdict == verdict


def test_who_thinks(om: Om, home: Path) -> None:
    assert doctor(om)["mind"].said.startswith("the extractive mind, which asks no model")
    check = doctor(om, "--set", "model=host:claude")["mind"]
    assert check.verdict == "fail" and "claude cannot be asked" in check.said and check.fix


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 seconds"), (1, "1 second"), (119, "119 seconds"), (120, "2 minutes"), (7200, "2 hours")],
)
def test_durations(seconds: float, said: str) -> None:
    assert checks_chain.duration(seconds) == said

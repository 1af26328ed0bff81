"""`om doctor`, and stores that cannot be used."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from builders import deliver, say
from commands import Om, data_of

from minutebook.cli import checks
from minutebook.cli.check import Check
from minutebook.pipeline import sessions
from minutebook.pipeline.workbook import note_error
from minutebook.store.kernel import Job, Store

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def checks_of(om: Om, *args: str, code: int) -> dict[str, Check]:
    return {each["name"]: Check(**each) for each in data_of(om("doctor", "--json", *args, code=code))["checks"]}


@pytest.fixture(autouse=True)
def only_ours_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))


def test_a_bare_home_is_well_003_111(om: Om) -> None:
    result = om("doctor", code=0)
    assert result.stderr == "Nothing is wrong.\n"
    assert "not there yet; the first `om ingest` makes it" in result.stdout
    assert "✗" not in result.stdout


def test_a_store_in_use_is_well(om: Om, store: Store) -> None:
    deliver(store, [say("one", id="e1")])
    found = checks_of(om, code=0)
    assert {found[name].verdict for name in ("python", "sqlite", "`om`", "settings", "disk", "clock", "store")} == {
        "ok"
    }
    assert {found[name].verdict for name in ("access", "sessions", "roles")} == {"ok"}


def test_pi_s_settings_have_a_line_where_there_is_our_section_003_126_160(
    om: Om, project: Path, tmp_path: Path
) -> None:
    assert "settings of Pi" not in checks_of(om, code=0)
    file = project / ".pi" / "settings.json"
    file.parent.mkdir()
    for section, code, verdict, said in (
        ('{"observeAfterTokens": 5}', 0, "ok", "every value of observational-memory is allowed"),
        ('{"thinkingLevel": "low", "model": "p/m"}', 0, "info", "its new name is model.thinking"),
        ('{"observeAfterTokens": 0}', 1, "fail", f"{file}, line 1: observeAfterTokens = 0 is not allowed"),
        ("5", 1, "fail", "no table"),
    ):
        file.write_text(f'{{"observational-memory": {section}}}')
        check = checks_of(om, code=code)["settings of Pi"]
        assert check.verdict == verdict and said in check.said and bool(check.fix) == (verdict == "fail")


def test_every_failing_line_has_one_fix(om: Om, store: Store, store_path: Path, project: Path) -> None:
    deliver(store, [say("one", id="e1")])
    store_path.chmod(0o644)
    (project / ".minutebook.toml").write_text("observe_after_tokens = 0\n")
    note_error(store, Job("observer", "neutral:s1", "neutral:s1"), ValueError("quota"), "provider")
    late = sessions.load_session(store, "neutral:s1")
    late.touched += 10_000
    late.broken, late.broken_count = [3, 9], 2
    store.put(sessions.session_put(late))
    found = checks_of(om, code=1)
    failed = {name: check for name, check in found.items() if check.verdict == "fail"}
    assert set(failed) == {"settings", "access", "roles", "clock of sessions"}
    assert all(check.fix for check in failed.values())
    assert failed["access"].fix == f"chmod 600 {store_path}"
    assert "line 3, 9" in found["broken lines"].said and found["broken lines"].verdict == "info"
    result = om("doctor", code=1)
    assert result.stdout.count("✗") == result.stdout.count(" fix: ") == 4
    assert result.stderr == "4 checks failed\n"


def test_another_programs_om(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder, text in ((ours, "#!/bin/sh\n# minutebook.cli\n"), (theirs, "#!/bin/sh\necho other\n")):
        folder.mkdir()
        (folder / "om").write_text(text)
        (folder / "om").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{theirs}:{ours}")
    check = checks.script("om", ours / "om")
    assert (check.verdict, check.said) == ("fail", f"another program comes first on PATH: {theirs}/om")
    assert check.fix == f"put {ours} first on PATH, or type `minutebook`"
    (theirs / "om").write_text("#!/bin/sh\n# minutebook.cli\n")
    assert checks.script("om", ours / "om").said.startswith("another installation of Minutebook")
    monkeypatch.setenv("PATH", f"{ours}:{theirs}")
    assert checks.script("om", ours / "om").verdict == "ok"
    assert checks.script("minutebook", ours / "om").verdict == "info"


def test_old_versions_and_a_wrong_clock_fail() -> None:
    assert checks.python_version((3, 10, 4)).verdict == "fail"
    assert checks.python_version((3, 11, 0)).verdict == "ok"
    assert checks.sqlite_version("3.34.1").verdict == "fail"
    assert checks.sqlite_version("3.35.0").verdict == "ok"
    assert checks.clock(0.0).verdict == "fail"


def test_a_model_without_litellm_fails_and_without_a_model_nothing_is_missing(
    om: Om, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    assert checks_of(om, code=0)["extra models"].verdict == "info"
    check = checks_of(om, "--set", "dropper_model=openai/gpt-5-mini", code=1)["extra models"]
    assert (check.verdict, check.fix) == ("fail", "pip install 'minutebook[models]'")


def test_a_worker_that_listens_is_seen(om: Om, store: Store, store_path: Path) -> None:
    from minutebook.hosts.bell import wake_path

    assert checks_of(om, code=0)["worker"].verdict == "info"
    os.mkfifo(wake_path(str(store_path)))
    handle = os.open(wake_path(str(store_path)), os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert checks_of(om, code=0)["worker"].verdict == "ok"
    finally:
        os.close(handle)


# -- stores that cannot be used ------------------------------------------------------------------------------------


def newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()


def corrupt(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)


def foreign(path: Path) -> None:
    path.write_text("Dear diary")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [(newer, "upgrade minutebook"), (corrupt, "move it away or restore"), (foreign, "no readable Minutebook store")],
)
def test_a_store_that_cannot_be_used_is_one_line(om: Om, store: Store, store_path: Path, spoil, said: str) -> None:  # type: ignore[no-untyped-def]
    store.close()
    for file in store_path.parent.glob("store.sqlite-*"):
        file.unlink()
    spoil(store_path)
    for command in (["sessions"], ["status"], ["view"], ["jobs"], ["search", "x"], ["note", "x"]):
        result = om(*command, code=1)
        assert result.stderr.startswith("om: ") and said in result.stderr and result.stderr.count("\n") == 1
    check = checks_of(om, code=1)["store"]
    assert check.verdict == "fail" and check.fix


def test_a_locked_store_is_named(om: Om, store: Store, store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver(store, [say("one", id="e1")])
    monkeypatch.setattr(checks, "BUSY_SECONDS", 0.05)
    holder = sqlite3.connect(store_path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        check = checks_of(om, code=1)["store"]
        assert check.verdict == "fail" and "another process holds the file" in check.fix
        om("status", code=0)
    finally:
        holder.execute("ROLLBACK")
        holder.close()


@pytest.mark.skipif(ROOT, reason="root may write everywhere")
def test_a_read_only_store_is_named(om: Om, store: Store, store_path: Path) -> None:
    deliver(store, [say("one", id="e1")])
    store.close()
    store_path.chmod(0o400)
    store_path.parent.chmod(0o500)
    try:
        assert "writable" in om("note", "x", code=1).stderr
    finally:
        store_path.parent.chmod(0o700)


def test_a_folder_for_a_store(om: Om, tmp_path: Path) -> None:
    assert "a folder, not a store" in om("sessions", "--store", str(tmp_path), code=1).stderr


def test_json_is_for_programs(om: Om) -> None:
    assert json.loads(om("doctor", "--json", code=0).stdout)["ok"] is True


WITHOUT_LITELLM = """
import sys
from minutebook.cli import main
try:
    main()
finally:
    assert "litellm" not in sys.modules, "it takes seconds to load"
"""


@pytest.mark.parametrize("key", ["", "k"])
def test_a_usual_provider_is_checked_without_its_library(key: str, tmp_path: Path) -> None:
    """What is said is the same: what is missing, or that it can be asked."""
    environment = {**os.environ, "MINUTEBOOK_HOME": str(tmp_path), "ANTHROPIC_API_KEY": key}
    command = ["doctor", "--json", "--set", "model=anthropic/claude-haiku-4-5", "--store", str(tmp_path / "m.sqlite")]
    done = subprocess.run([sys.executable, "-c", WITHOUT_LITELLM, *command], capture_output=True, env=environment)
    assert b"takes seconds" not in done.stderr
    (mind,) = [each for each in json.loads(done.stdout)["checks"] if each["name"] == "mind"]
    wanted = "(key); `om doctor --call` asks it" if key else "cannot be asked: no key"
    assert mind["said"] == f"anthropic/claude-haiku-4-5 {wanted}"

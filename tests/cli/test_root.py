"""The group itself: what it loads, and how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import Om

from minutebook.cli.lazy import Lazy, LazyGroup
from minutebook.cli.root import SECTIONS, om
from minutebook.errors import NotFound, StoreBusy

SCRIPT = Path(sys.executable).with_name("om")
SLOW = ("huey", "pydantic", "rich", "redis", "litellm", "numpy", "minutebook.workers", "minutebook.store", "sqlite3")
COMMANDS = [name for commands in SECTIONS.values() for name in commands]


def test_help_loads_nothing_slow(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom minutebook.cli.root import om\n"
        "try: om(['--help'])\nexcept SystemExit: pass\n"
        "sys.stderr.write('\\n'.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "what is recorded, visible, due or failing" in done.stdout
    assert "click" in done.stderr.split()
    assert [name for name in done.stderr.split() if name.startswith(SLOW)] == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "replay"])
def test_each_command_has_a_help_with_an_example(om: Om, name: str) -> None:
    shown = om(name, "--help", code=0).stdout
    assert f"  om {name}" in shown
    assert "Traceback" not in shown


def test_an_unknown_command_names_the_nearest(om: Om) -> None:
    result = om("statsu", code=2)
    assert "There is no command 'statsu'. Did you mean `om status`?" in result.stderr


def test_version(om: Om) -> None:
    assert om("--version", code=0).stdout.startswith("Minutebook 0.")


def raising(error: BaseException) -> LazyGroup:
    """A group with one command that raises."""

    @click.command()
    def fail() -> None:
        raise error

    sections = {"": {"fail": Lazy(f"{__name__}:fail", "")}}
    group = LazyGroup(name="om", sections=sections)
    globals()["fail"] = fail
    return group


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (NotFound("no session 'x'"), 1, "om: no session 'x'\n"),
        (StoreBusy("held\nby two"), 1, "om: held\nom: by two\n"),
        (NotFound("esc\x1b[31m \u202e"), 1, "om: esc\\u001b[31m \\u202e\n"),
        (KeyboardInterrupt(), 130, "\n"),
    ],
)
def test_an_error_is_a_line_and_an_exit_code(error: BaseException, code: int, said: str) -> None:
    result = CliRunner().invoke(raising(error), ["fail"])
    assert (result.exit_code, result.stderr, result.stdout) == (code, said, "")


def test_an_unexpected_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(raising(ZeroDivisionError("by\nzero")), ["fail"])
    assert result.exit_code == 70
    assert result.stderr.startswith("om: unexpected ZeroDivisionError: by zero: this is a fault of Minutebook")
    assert result.stderr.count("\n") == 1


def test_an_unexpected_error_shows_its_traceback_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_DEBUG", "1")
    result = CliRunner().invoke(raising(ZeroDivisionError("zero")), ["fail"])
    assert result.exit_code == 70
    assert "Traceback" in result.stderr


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    """The reader has gone before anything is written."""
    lines = [json.dumps({"role": "user", "text": f"line {number}"}) for number in range(2000)]
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n")
    subprocess.run([SCRIPT, "ingest", "s.jsonl", "--store", "s.sqlite"], capture_output=True, check=True, cwd=tmp_path)
    command = f"{SCRIPT} search line --limit 1000 --store s.sqlite | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert "Traceback" not in done.stderr and "Broken" not in done.stderr
    assert done.returncode == 141


def test_both_console_scripts_are_the_same(tmp_path: Path) -> None:
    shown = [
        subprocess.run([str(SCRIPT.with_name(name)), "--help"], capture_output=True, text=True, check=True).stdout
        for name in ("om", "minutebook")
    ]
    module = subprocess.run([sys.executable, "-m", "minutebook", "--help"], capture_output=True, text=True, check=True)
    assert shown[0] == shown[1] == module.stdout


def test_a_narrow_encoding_and_surrogates_do_not_crash(tmp_path: Path) -> None:
    env = {"PYTHONIOENCODING": "ascii", "HOME": str(tmp_path), "PATH": ""}
    (tmp_path / "s.jsonl").write_text(json.dumps({"role": "user", "text": "grüße"}) + "\n")
    for args in (["ingest", "s.jsonl"], ["note", "a\udcffü"], ["view", "--full"], ["sessions"], ["sessions", "--json"]):
        done = subprocess.run(
            [str(SCRIPT).encode(), *(arg.encode("utf-8", "surrogateescape") for arg in args)],
            capture_output=True,
            cwd=tmp_path,
            env=env,
        )
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["title"] == "grüße"


def test_all_commands_are_listed() -> None:
    shown = CliRunner().invoke(om, ["--help"]).stdout
    assert all(f"  {name} " in shown for name in COMMANDS)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("command", [["--help"], ["settings", "--json"], ["doctor"]], ids=" ".join)
def test_output_that_cannot_be_written_is_one_line_and_no_fault_of_ours(command: list[str], tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([SCRIPT, *command], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (74, "om: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(closed: str, tmp_path: Path) -> None:
    """The store's file must not become the standard output either: it would be written over."""
    store = tmp_path / "s.sqlite"
    rows = tmp_path / "talk.jsonl"
    rows.write_text('{"role": "user", "text": "hi"}\n')
    for command in (f"ingest --store {store} {rows}", f"sessions --store {store}"):
        done = subprocess.run(["sh", "-c", f"{SCRIPT} {command} {closed}"], capture_output=True, text=True)
        assert done.returncode == 0 and "unexpected" not in done.stderr
    assert store.read_bytes().startswith(b"SQLite format 3\0")


def test_a_reader_that_went_away_is_told_apart_from_a_failed_check(tmp_path: Path) -> None:
    """Lines of rich, too: 141, not the 1 of a check that failed."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([SCRIPT, "doctor"], stdout=write, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")

"""`om install` and `om uninstall`, as a person runs them in a home of their own."""

import json
import os
import sys
from pathlib import Path

import pytest
from commands import Om, data_of

from minutebook.hosts.installing_targets import HOSTS


@pytest.fixture
def home(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bare home folder, no agent on PATH, and this installation's own programs."""
    folder = tmp_path / "home"
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("host", HOSTS)
def test_in_twice_and_out_again_leaves_a_bare_home_bare(om: Om, home: Path, host: str) -> None:
    result = om("install", host, code=0)
    assert result.stdout.startswith("Minutebook is in ")
    assert "is not on PATH here; the files are ready for it." in result.stderr
    there = files_in(home)
    hook = str(Path(sys.executable).with_name("om-hook")).encode()
    assert any(hook in content for content in there.values())
    again = om("install", host, code=0)
    assert again.stdout.startswith("Minutebook was in ") and files_in(home) == there
    out = om("uninstall", host, code=0)
    assert "What was recorded stays" in out.stderr and list(home.iterdir()) == []
    assert "Minutebook was not in " in om("uninstall", host, code=0).stderr


@pytest.mark.parametrize("host", HOSTS)
def test_a_project_alone(om: Om, home: Path, project: Path, host: str) -> None:
    before = files_in(project)
    om("install", host, "--project", code=0)
    assert files_in(project) != before
    om("uninstall", host, "--project", code=0)
    assert files_in(project) == before and list(project.iterdir()) == []


def test_a_dry_run_shows_and_writes_nothing(om: Om, home: Path, tmp_path: Path) -> None:
    (home / ".claude").mkdir()
    secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    (home / ".claude.json").write_text(json.dumps({"key": secret, "mcpServers": {"x": {"command": "y"}}}, indent=2))
    before = files_in(tmp_path)
    result = om("install", "claude-code", "--dry-run", code=0)
    assert f"+++ {home}/.claude/settings.json" in result.stdout and '+            "command": "' in result.stdout
    assert secret not in result.stdout and result.stderr == "Nothing was written.\n"
    assert files_in(tmp_path) == before
    om("install", "claude-code", code=0)
    there = files_in(home)
    assert om("install", "claude-code", "--dry-run", code=0).stderr == "Nothing would be changed.\n"
    assert f"--- {home}/.claude/settings.json" in om("uninstall", "claude-code", "--dry-run", code=0).stdout
    assert files_in(home) == there
    assert "then: trust of these hooks" in om("install", "codex", "--dry-run", code=0).stdout
    assert "then: " not in om("install", "codex", "--dry-run", "--no-trust", code=0).stdout


@pytest.mark.parametrize(
    ("host", "variable", "file"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("pi", "PI_CODING_AGENT_DIR", "extensions/minutebook/index.ts"),
    ],
)
def test_the_host_s_own_variable_counts(
    om: Om, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, variable: str, file: str
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    om("install", host, code=0)
    assert (tmp_path / "elsewhere" / file).exists() and list(home.iterdir()) == []


def test_a_broken_file_is_named_and_nothing_is_written(om: Om, home: Path) -> None:
    (home / ".claude.json").write_text('{\n "a": 1,\n}')
    before = files_in(home)
    result = om("install", "claude-code", code=2)
    assert result.stderr.startswith(f"om: {home}/.claude.json:3: no valid JSON") and result.stderr.count("\n") == 1
    assert files_in(home) == before


def test_a_plugin_whose_program_is_missing_says_what_is_left(om: Om, home: Path) -> None:
    result = om("install", "codex", "--plugin", code=0)
    assert "codex is not on PATH; what is left to do: codex plugin marketplace add " in result.stderr


def test_a_plugin_is_put_in_and_taken_out_by_the_host_s_own_program(
    om: Om, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in notes how it is called; that the real ones take these command lines is tested with them."""
    log = tmp_path / "log"
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$MINUTEBOOK_OFF $*" >> {log}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    om("install", "claude-code", "--plugin", code=0)
    om("install", "claude-code", code=0)
    om("install", "claude-code", "--plugin", code=0)
    om("uninstall", "claude-code", code=0)
    called = [line.replace(str(Path(__file__).parents[2]), "") for line in log.read_text().splitlines()]
    one = ["1 plugin marketplace add /minutebook/hosts/plugin", "1 plugin install om@minutebook"]
    out = ["1 plugin uninstall om@minutebook", "1 plugin marketplace remove minutebook"]
    assert called == [*one, *out, *one, *out]
    assert list(home.iterdir()) == []


CODEX = """\
#!{python}
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        hook = {{"key": "K", "command": "/bin/om-hook codex Stop", "currentHash": "sha256:a", "sourcePath": "/h"}}
        print(json.dumps({{"id": asked["id"], "result": {{"data": [{{"hooks": [hook]}}]}}}}), flush=True)
"""


def test_what_cannot_be_written_afterwards_is_said(
    om: Om, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hooks are in by then, so that it does not say that nothing was changed, and out they come whole."""
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text("hooks = { state = {} }\n")
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(CODEX.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    done = om("install", "codex", code=0)
    assert "hooks at 8 events" in done.stdout and "nothing was changed" not in done.stderr
    assert "Not all is done" in done.stderr and "config.toml" in done.stderr and "write what is above it" in done.stderr
    om("uninstall", "codex", code=0)
    assert files_in(home) == {".codex/config.toml": b"hooks = { state = {} }\n"}


def test_what_is_missing_is_said(om: Om, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minutebook.cli.showing_install.find_spec", lambda name: None)
    said = om("install", "claude-code", code=0).stderr
    assert "pip install 'minutebook[mcp]'" in said and "the extractive mind records" in said
    assert "MINUTEBOOK_HOME is set here" in said
    monkeypatch.setenv("MINUTEBOOK_MODEL", "openai/gpt-5-mini")
    assert "extractive" not in om("install", "claude-code", code=0).stderr
    monkeypatch.setenv("MINUTEBOOK_MODEL", "rubbish")
    assert "The settings cannot be used" in om("install", "claude-code", code=0).stderr


def test_for_programs(om: Om, home: Path) -> None:
    said = data_of(om("install", "pi", "--json", code=0))
    assert {each["changed"] for each in said["files"]} == {True} and said["notes"]
    assert {each["changed"] for each in data_of(om("uninstall", "pi", "--json", code=0))["files"]} == {True}


def test_a_wrong_command_line(om: Om, home: Path) -> None:
    assert "give one of --user and --project" in om("install", "pi", "--user", "--project", code=2).stderr
    assert "'vim' is not one of 'claude-code', 'codex', 'pi'" in om("install", "vim", code=2).stderr

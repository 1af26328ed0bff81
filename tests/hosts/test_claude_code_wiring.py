"""What is written into Claude Code's files, and the plugin as it lies in the package."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import minutebook
from minutebook import __version__
from minutebook.hosts.claude_code import wiring
from minutebook.hosts.claude_code.hooks import PARTS
from minutebook.hosts.edits import JsonItems, JsonValue, OwnFile, Target
from minutebook.hosts.hook import ACTIONS, command

PACKAGE = Path(minutebook.__file__).parent / "hosts"
PLUGINS = PACKAGE / "plugin" / "plugins"


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(
        host="claude-code",
        om="/opt/my tools/om",
        om_hook="/opt/my tools/om-hook",
        folder=tmp_path / ".claude",
        home=tmp_path,
        state_file=tmp_path / ".claude.json",
        package=PACKAGE,
    )


def groups(*words: str) -> list[dict[str, Any]]:
    found = wiring.hook_groups(lambda *given: " ".join((*words, *given)))
    return [hook for event in found.values() for group in event for hook in group["hooks"]]


def test_every_hook_is_one_that_om_hook_knows_and_states_its_time() -> None:
    commands = [command(hook["command"].split()) for hook in groups()]
    assert {event for _, event, _ in commands} == set(wiring.EVENTS) == set(ACTIONS["claude_code"])
    assert [part for _, event, part in commands if event == "SessionStart"] == list(range(1, PARTS + 1))
    assert {hook["timeout"] for hook in groups()} == {5}, "SessionEnd without one has 1.5 seconds"


def test_whole_user(target: Target, tmp_path: Path) -> None:
    edits = wiring.wiring(target).edits
    items = [edit for edit in edits if isinstance(edit, JsonItems)]
    assert {edit.file for edit in items} == {tmp_path / ".claude/settings.json"}
    assert [edit.path for edit in items] == [*(("hooks", event) for event in wiring.EVENTS), ("permissions", "allow")]
    assert items[0].items[0]["hooks"][0]["command"] == (
        "'/opt/my tools/om-hook' claude-code SessionStart 2>/dev/null || true"
    )
    (server,) = [edit for edit in edits if isinstance(edit, JsonValue)]
    assert (server.file, server.path) == (tmp_path / ".claude.json", ("mcpServers", "om"))
    assert server.value["command"] == "/opt/my tools/om" and server.value["alwaysLoad"] is True
    files = [edit.file.relative_to(tmp_path).as_posix() for edit in edits if isinstance(edit, OwnFile)]
    assert files == [f".claude/commands/om/{name}.md" for name in ("status", "view", "recall")]


def test_one_project_is_this_persons_alone(target: Target, tmp_path: Path) -> None:
    edits = wiring.wiring(replace(target, project=tmp_path / "work")).edits
    assert {edit.file for edit in edits if isinstance(edit, JsonItems)} == {
        tmp_path / "work/.claude/settings.local.json"
    }
    (server,) = [edit for edit in edits if isinstance(edit, JsonValue)]
    assert server.path == ("projects", str(tmp_path / "work"), "mcpServers", "om")


def test_plugin(target: Target, tmp_path: Path) -> None:
    found = wiring.wiring(replace(target, plugin=True))
    noted = next(edit for edit in found.edits if isinstance(edit, OwnFile))
    assert (noted.file, noted.content) == (tmp_path / ".claude/om-programs", b"/opt/my tools\n")
    assert [program.argv[1:4] for program in found.programs] == [
        ("plugin", "marketplace", "add"),
        ("plugin", "install", "om@minutebook"),
    ]
    assert all(program.undo for program in found.programs)


def test_what_is_shipped_is_what_the_wiring_says() -> None:
    for name, text in wiring.shipped().items():
        assert (PLUGINS / "om" / name).read_text() == text, name
    market = json.loads((PACKAGE / "plugin/.claude-plugin/marketplace.json").read_text())
    assert market["name"] == wiring.MARKETPLACE
    for plugin in market["plugins"]:
        folder = PACKAGE / "plugin" / plugin["source"]
        manifest = json.loads((folder / ".claude-plugin/plugin.json").read_text())
        assert (manifest["name"], manifest["version"]) == (plugin["name"], __version__)
    assert (PLUGINS / "om-compact/run.sh").read_bytes() == (PLUGINS / "om/run.sh").read_bytes()


def program(folder: Path, says: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "om-hook").write_text(f'#!/bin/sh\necho {says} "$@"\ncat\n')
    (folder / "om-hook").chmod(0o755)


def run(home: Path, *path: Path) -> str:
    done = subprocess.run(
        ["/bin/sh", PLUGINS / "om/run.sh", "om-hook", "claude-code", "a b"],
        env={"HOME": str(home), "PATH": os.pathsep.join(map(str, (*path, "/nowhere")))},
        input="stdin",
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.removesuffix("stdin").strip()


def test_the_plugin_finds_the_program_wherever_it_is_and_else_says_nothing(tmp_path: Path) -> None:
    assert run(tmp_path) == ""
    program(tmp_path / ".local/bin", "local")
    assert run(tmp_path, Path("/bin"), Path("/usr/bin")) == "local claude-code a b"
    program(tmp_path / "on path", "path")
    assert run(tmp_path, tmp_path / "on path", Path("/bin")) == "path claude-code a b"
    program(tmp_path / "the noted one", "noted")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / wiring.PROGRAMS_FILE).write_text(f"{tmp_path / 'the noted one'}\n")
    assert run(tmp_path, tmp_path / "on path", Path("/bin")) == "noted claude-code a b"
    (tmp_path / "the noted one" / "om-hook").unlink()
    assert run(tmp_path, tmp_path / "on path", Path("/bin")) == "path claude-code a b"

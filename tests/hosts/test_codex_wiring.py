"""What is written into Codex's files, and how its program is asked whether it trusts that."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import minutebook
from minutebook.errors import HostFailed
from minutebook.hosts.codex import wiring
from minutebook.hosts.codex.app_server import ListedHook, listed_hooks
from minutebook.hosts.edits import JsonItems, OwnFile, Target, TomlTable
from minutebook.hosts.hook import ACTIONS

PLUGIN = Path(minutebook.__file__).parent / "hosts" / "plugin" / "plugins" / "om"
HOOK = ListedHook(
    key="/h/hooks.json:stop:0:0", event="stop", command="/x/om-hook codex Stop", hash="sha256:a", trust="untrusted"
)


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(
        host="codex",
        om="/opt/my tools/om",
        om_hook="/opt/my tools/om-hook",
        folder=tmp_path / ".codex",
        home=tmp_path,
        state_file=tmp_path / "none",
        package=PLUGIN.parent.parent.parent,
    )


def test_every_event_that_is_wired_is_one_that_the_hook_knows():
    assert set(wiring.EVENTS) <= set(ACTIONS["codex"])


def test_whole_user(target: Target):
    edits = wiring.wiring(target).edits
    hooks = [edit for edit in edits if isinstance(edit, JsonItems)]
    assert {edit.file for edit in hooks} == {target.folder / "hooks.json"}
    assert [edit.path for edit in hooks] == [("hooks", event) for event in wiring.EVENTS]
    (start,) = hooks[0].items[0]["hooks"]
    assert start == {
        "type": "command",
        "command": "'/opt/my tools/om-hook' codex SessionStart 2>/dev/null || true",
        "timeout": 5,
        "additionalContextLimit": 200_000,
    }
    (server,) = [edit for edit in edits if isinstance(edit, TomlTable)]
    assert (server.file, server.path) == (target.folder / "config.toml", ("mcp_servers", "om"))
    assert server.values["command"] == "/opt/my tools/om"


def test_one_project(target: Target, tmp_path: Path):
    edits = wiring.wiring(replace(target, project=tmp_path / "work")).edits
    assert {edit.file for edit in edits} == {tmp_path / "work/.codex/hooks.json", tmp_path / "work/.codex/config.toml"}


def test_as_a_plugin(target: Target):
    made = wiring.wiring(replace(target, plugin=True))
    assert made.edits == (OwnFile(file=target.folder / "om-programs", content=b"/opt/my tools\n"),)
    assert [program.argv[1:] for program in made.programs] == [
        ("plugin", "marketplace", "add", str(target.package / "plugin")),
        ("plugin", "add", "om@minutebook"),
    ]


@pytest.mark.parametrize("name", wiring.shipped())
def test_the_plugin_ships_what_the_wiring_says(name: str):
    assert (PLUGIN / name).read_text() == wiring.shipped()[name]


def test_the_plugins_description_names_its_parts():
    described = json.loads((PLUGIN / ".codex-plugin" / "plugin.json").read_text())
    assert (described["name"], described["version"]) == ("om", minutebook.__version__)
    assert all((PLUGIN / described[part]).is_file() for part in ("hooks", "mcpServers"))


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("/x/om-hook codex Stop 2>/dev/null || true", True),
        ("'/my tools/om-hook' codex Stop", True),
        ("om-hook codex Stop", True),
        ('sh "${CLAUDE_PLUGIN_ROOT}/run.sh" om-hook codex Stop 2>/dev/null || true', True),
        ("sh /x/run.sh om-hook claude-code Stop", False),
        ("sh", False),
        ("om-hook claude-code Stop", False),
        ("echo om-hook codex", False),
        ("om-hook", False),
        ("'unclosed om-hook codex", False),
        ("", False),
    ],
)
def test_which_commands_are_ours(command: str, ours: bool):
    assert wiring.is_our_command(command) is ours


def test_trust_is_of_a_hook_as_it_is_and_of_a_plugin_as_a_whole():
    plugins = replace(HOOK, key="om@minutebook:hooks/codex.json:stop:0:0", hash="sha256:a/sha256:b")
    foreign = replace(HOOK, command="lint")
    assert wiring.trust_tables([HOOK, plugins, foreign]) == {
        ("hooks", "state", "/h/hooks.json:stop:0:0"): {"trusted_hash": "sha256:a"},
        ("hooks", "state", plugins.key): {"trusted_hash": "sha256:a", "trusted_content_hash": "sha256:b"},
    }


def test_what_does_not_run_is_told():
    hooks = [HOOK, replace(HOOK, trust="modified"), replace(HOOK, trust="trusted", enabled=False)]
    fine = [replace(HOOK, trust="trusted"), replace(HOOK, trust="managed"), replace(HOOK, command="lint")]
    assert wiring.untrusted([*hooks, *fine]) == hooks


# -- asking the program --------------------------------------------------------------------------------------------

ANSWERS = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "hooks/list":
        print("no JSON at all")
        print(json.dumps({"method": "something/told", "params": {}}))
        hook = {"key": "K", "eventName": "stop", "command": "/x/om-hook codex Stop", "currentHash": "sha256:a",
                "trustStatus": "untrusted", "enabled": True, "sourcePath": "/h/hooks.json", "pluginId": None}
        said = {"errors": [{"message": "bad file"}], "warnings": ["w"]}
        entry = {"cwd": asked["params"]["cwds"][0], "hooks": [hook], **said}
        print(json.dumps({"id": asked["id"], "result": {"data": [entry]}}), flush=True)
    elif "id" in asked:
        print(json.dumps({"id": asked["id"], "result": {}}), flush=True)
"""


@pytest.fixture
def program(tmp_path: Path):
    def write(text: str) -> str:
        path = tmp_path / "bin" / "codex"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o700)
        return str(path)

    return write


def test_what_codex_says_of_its_hooks(program, tmp_path: Path):
    hooks, complaints = listed_hooks(program(ANSWERS), str(tmp_path), os.environ)
    assert hooks == [replace(HOOK, key="K", source="/h/hooks.json")]
    assert complaints == ["bad file", "w"]


@pytest.mark.parametrize("text", ["import time; time.sleep(30)", "import sys; sys.exit(1)", "print('{}')"])
def test_a_program_that_does_not_answer(program, tmp_path: Path, text: str):
    with pytest.raises(HostFailed, match="no list of hooks"):
        listed_hooks(program(text), str(tmp_path), os.environ, seconds=0.5)


def test_a_program_that_is_none(tmp_path: Path):
    with pytest.raises(HostFailed, match="cannot be started"):
        listed_hooks(str(tmp_path / "codex"), str(tmp_path), os.environ)


def test_trusting_afterwards(program, target: Target, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(Path(program(ANSWERS)).parent))
    afterwards = wiring.wiring(target).afterwards
    assert afterwards is not None
    (table,) = afterwards()
    assert table == TomlTable(
        file=target.folder / "config.toml", path=("hooks", "state", "K"), values={"trusted_hash": "sha256:a"}
    )


def test_a_project_s_install_trusts_its_own_hooks_alone(program, target: Target, monkeypatch: pytest.MonkeyPatch):
    """Those of the whole user stay trusted when it is taken out again."""
    project = target.home / "project"
    project.mkdir()
    file = str(project / ".codex" / "hooks.json")
    monkeypatch.setenv("PATH", str(Path(program(ANSWERS)).parent))
    with pytest.raises(HostFailed, match="does not see"):
        wiring.trust_edits(replace(target, project=project))
    program(ANSWERS.replace("/h/hooks.json", file))
    assert len(wiring.trust_edits(replace(target, project=project))) == 1


@pytest.mark.parametrize("text", ["", ANSWERS.replace("om-hook", "lint")])
def test_where_it_cannot_be_trusted_afterwards(program, target, monkeypatch: pytest.MonkeyPatch, tmp_path, text: str):
    if text:
        program(text)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(HostFailed, match=r"/hooks|bad file"):
        wiring.trust_edits(target)

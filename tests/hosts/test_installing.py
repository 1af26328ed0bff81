"""Minutebook into the files of a host and out again, on real files."""

import json
import stat
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from installkit import CONFIG, SETTINGS, Host

from minutebook.errors import BadInput
from minutebook.hosts.edits import JsonItems, JsonValue, OwnFile, TomlTable
from minutebook.hosts.installing_record import RECORD, read_records


@pytest.fixture
def host(tmp_path: Path) -> Host:
    host = Host(tmp_path)
    host.write(SETTINGS, CONFIG)
    return host


def test_ours_is_in_and_the_rest_is_as_it_was(host: Host) -> None:
    host.install()
    after = json.loads(host.settings.read_bytes())
    assert host.hooks("Stop") == ["say done", "/opt/mb/bin/om-hook host Stop 2>/dev/null || true"]
    assert after["servers"] == {"om": {"command": "/opt/mb/bin/om", "args": ["mcp"]}}
    assert {key: after[key] for key in ("model", "permissions")} == {
        "model": "opus",
        "permissions": {"allow": ["Bash(ls:*)"]},
    }
    assert '"permissions": {"allow": ["Bash(ls:*)"]}' in host.settings.read_text()
    assert host.config.read_text().startswith(CONFIG)
    assert tomllib.loads(host.config.read_text())["mcp_servers"]["om"]["args"] == ["mcp"]
    assert host.command.read_text() == "Status of Minutebook: !/opt/mb/bin/om status\n"


def test_uninstall_restores_byte_for_byte_and_leaves_no_folder(host: Host) -> None:
    before = host.files()
    host.install()
    assert host.uninstall().changed
    assert host.files() == before
    assert not host.command.parent.parent.exists()
    assert not (host.data / RECORD).exists()
    assert not host.uninstall().changed


def test_what_was_there_before_is_kept_beside_the_store(host: Host) -> None:
    host.install()
    kept = {file.read_bytes() for file in (host.data / "backups" / "codex").iterdir()}
    assert kept == {SETTINGS.encode(), CONFIG.encode()}
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in (host.data / "backups" / "codex").iterdir())


def test_twice_is_once(host: Host) -> None:
    host.install()
    before, times = host.files(), {path: path.stat().st_mtime_ns for path in host.folder.rglob("*")}
    record = (host.data / RECORD).read_bytes()
    assert host.install().changed == ()
    assert host.files() == before
    assert {path: path.stat().st_mtime_ns for path in host.folder.rglob("*")} == times
    assert (host.data / RECORD).read_bytes() == record


def test_a_newer_version_replaces_what_an_older_one_put_in(host: Host) -> None:
    """Another path of om-hook, an event less, an event more, another command file."""
    before = host.files()
    host.install()
    host.om, host.events = "/new/bin/om", ("Stop", "PreCompact")
    host.install(version="2")
    assert host.hooks("Stop") == ["say done", "/new/bin/om-hook host Stop 2>/dev/null || true"]
    assert host.hooks("SessionStart") == [] and len(host.hooks("PreCompact")) == 1
    assert b"/opt/mb" not in b"".join(host.files().values())
    assert read_records(host.data)["codex"].version == "2"
    host.uninstall()
    assert host.files() == before


def test_what_was_changed_since_is_kept_and_only_ours_goes(host: Host) -> None:
    host.install()
    changed = host.settings.read_text().replace('"opus"', '"sonnet"').replace("say done", "say finished")
    host.settings.write_text(changed)
    host.config.write_text(host.config.read_text() + '\n[profiles.fast]\nmodel = "y"\n')
    host.uninstall()
    assert host.settings.read_text() == SETTINGS.replace('"opus"', '"sonnet"').replace("say done", "say finished")
    assert host.config.read_text() == CONFIG + '\n[profiles.fast]\nmodel = "y"\n'


def test_a_hook_of_ones_own_behind_ours_stays_where_it_is(host: Host) -> None:
    host.install()
    data = json.loads(host.settings.read_bytes())
    data["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    data["hooks"]["SessionStart"][0]["hooks"].append({"type": "command", "command": "inside ours"})
    host.settings.write_text(json.dumps(data))
    host.om = "/new/bin/om"
    host.install()
    assert [word for word in host.hooks("Stop") if "om-hook" not in word] == ["say done", "later"]
    assert host.hooks("SessionStart") == ["inside ours", "/new/bin/om-hook host SessionStart 2>/dev/null || true"]
    host.uninstall()
    assert host.hooks("Stop") == ["say done", "later"] and host.hooks("SessionStart") == ["inside ours"]


def test_without_the_note_ours_is_known_by_its_looks(host: Host) -> None:
    before = host.files()
    host.install()
    (host.data / RECORD).unlink()
    assert host.install().changed == ()
    (host.data / RECORD).unlink()
    host.om = "/new/bin/om"
    host.install()
    assert b"/opt/mb" not in b"".join(host.files().values())
    (host.data / RECORD).unlink()
    host.uninstall()
    assert host.files() == before


def test_files_that_were_not_there_are_made_and_go_again(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.install()
    assert stat.S_IMODE(host.settings.stat().st_mode) == 0o600
    host.settings.write_text(host.settings.read_text() + "\n")
    host.uninstall()
    assert host.files() == {} and not host.folder.exists()


def test_mode_and_symbolic_links_are_kept(host: Host, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    host.settings.rename(real)
    real.chmod(0o640)
    host.settings.symlink_to(real)
    host.install()
    assert host.settings.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o640
    assert b"om-hook" in real.read_bytes()
    host.uninstall()
    assert host.settings.is_symlink() and real.read_text() == SETTINGS


def test_a_byte_order_mark_and_line_ends_are_kept(host: Host) -> None:
    text = "\ufeff" + SETTINGS.replace("\n", "\r\n")
    host.write(text)
    host.install()
    after = host.settings.read_bytes()
    assert after.startswith(b"\xef\xbb\xbf") and after.count(b"\n") == after.count(b"\r\n")
    host.uninstall()
    assert host.settings.read_bytes() == text.encode()


def test_a_file_of_ours_that_somebody_changed_is_left_and_said(host: Host) -> None:
    host.install()
    host.command.write_text("my own words")
    host.om = "/new/bin/om"
    with pytest.raises(BadInput, match="move it away"):
        host.install()
    assert [plan.file for plan in host.uninstall().plans if plan.left] == [str(host.command)]
    assert host.command.read_text() == "my own words"


def test_a_shared_key_is_set_only_where_it_is_not_there(host: Host) -> None:
    host.extra = [JsonValue(file=host.settings, path=("model",), value="ours", shared=True)]
    host.extra += [JsonValue(file=host.settings, path=("limit",), value=7, shared=True)]
    host.install()
    data = json.loads(host.settings.read_bytes())
    assert (data["model"], data["limit"]) == ("opus", 7)
    host.settings.write_text(host.settings.read_text() + "\n")
    host.uninstall()
    assert json.loads(host.settings.read_bytes()) == json.loads(SETTINGS)


def test_what_the_host_had_to_be_asked_for_stays_until_it_is_asked_again(host: Host) -> None:
    trust = TomlTable(file=host.config, path=("hooks", "state", "/a b:stop:0"), values={"trusted_hash": "1"})
    host.install(later=[trust])
    text = host.config.read_text()
    assert host.install().changed == () and host.config.read_text() == text
    host.install(later=[TomlTable(file=host.config, path=trust.path, values={"trusted_hash": "2"})])
    assert tomllib.loads(host.config.read_text())["hooks"]["state"]["/a b:stop:0"] == {"trusted_hash": "2"}
    host.uninstall()
    assert host.config.read_text() == CONFIG


def test_strings_in_a_list(host: Host) -> None:
    host.extra = [JsonItems(file=host.settings, path=("extensions",), items=("/x/minutebook/ext",), mark="minutebook")]
    host.install()
    assert json.loads(host.settings.read_bytes())["extensions"] == ["/x/minutebook/ext"]
    host.settings.write_text(host.settings.read_text().replace("opus", "sonnet"))
    host.uninstall()
    assert host.settings.read_text() == SETTINGS.replace("opus", "sonnet")


def test_what_the_host_only_wrote_in_another_layout_is_as_before_again(host: Host) -> None:
    host.install()
    data = json.loads(host.settings.read_bytes())
    host.settings.write_text(json.dumps({**data, "new": {}}, indent=1))
    assert [plan.exact for plan in host.uninstall().plans if plan.file == str(host.settings)] == [True]
    assert host.settings.read_text() == SETTINGS


def test_a_longer_name_is_not_taken_for_ours(host: Host) -> None:
    text = json.dumps({"permissions": {"allow": ["mcp__omelette", "mcp__om__x"], "deny": ["mcp__om"]}}, indent=2)
    host.write(text)
    host.extra = [JsonItems(file=host.settings, path=("permissions", "allow"), items=("mcp__om",), mark="mcp__om")]
    host.install()
    (host.data / RECORD).unlink()
    assert host.install().changed == ()
    (host.data / RECORD).unlink()
    host.uninstall()
    assert host.settings.read_text() == text


def test_two_hosts_are_noted_apart(host: Host, tmp_path: Path) -> None:
    other = Host(tmp_path / "other")
    other.write(SETTINGS)
    edit = OwnFile(file=tmp_path / "own.md", content=b"om-hook")
    from minutebook.hosts import installing

    project = host.target(project=tmp_path / "project")
    host.install()
    installing.install(host.data, project, [edit], version="1", time="2026-05-02T10:30:00Z")
    assert set(read_records(host.data)) == {"codex", f"codex {tmp_path}/project"}
    host.uninstall()
    assert set(read_records(host.data)) == {f"codex {tmp_path}/project"} and edit.file.exists()


def test_a_note_that_cannot_be_read_is_named(host: Host) -> None:
    host.install()
    (host.data / RECORD).write_text("{}")
    before = host.files()
    with pytest.raises(BadInput, match="move it away"):
        host.install()
    assert host.files() == before


# -- whatever the files look like ----------------------------------------------------------------------------------

COMMANDS = st.sampled_from(["say done", "om-hooked", "/x/om view", "minutebook-like"])
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": COMMANDS}), max_size=2)}))
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(st.sampled_from(["Stop", "SessionStart", "Other"]), GROUPS, max_size=3),
        "servers": st.dictionaries(st.sampled_from(["a", "b"]), st.just({"command": "om2"}), max_size=2),
        "model": st.text(max_size=3),
    },
)


@settings(max_examples=25, deadline=None)
@given(DOCUMENTS, st.sampled_from([2, 4, "\t", None]), st.booleans(), st.booleans())
def test_in_and_out_whatever_the_file_looks_like(
    document: dict[str, Any], indent: Any, known: bool, changed: bool
) -> None:
    document = json.loads(json.dumps(document).replace("om-hooked", "omhooked"))
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Path(folder))
        text = json.dumps(document, indent=indent)
        host.write(text)
        host.install()
        assert host.install().changed == ()
        if not known:
            (host.data / RECORD).unlink()
        if changed:
            host.settings.write_text(host.settings.read_text() + " ")
        host.uninstall()
        found = json.loads(host.settings.read_text())
        if known:
            assert found == document
            assert changed or host.settings.read_text() == text
        else:
            assert _full(found) == _full(document)


def _full(value: Any) -> Any:
    """Without empty objects and lists: without the note nobody knows who made them."""
    if isinstance(value, dict):
        return {key: inner for key, each in value.items() if (inner := _full(each)) not in ({}, [])}
    return [inner for each in value if (inner := _full(each)) not in ({}, [])] if isinstance(value, list) else value

"""A host's files that cannot be changed, and installs that break off: everything is as it was."""

import os
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from installkit import CONFIG, SETTINGS, Host
from surroundings import open_folder, without_rights

from minutebook.errors import BadInput, MinutebookError
from minutebook.hosts import installing_files
from minutebook.hosts.installing_record import RECORD


@pytest.fixture
def host(tmp_path: Path) -> Host:
    host = Host(tmp_path)
    host.write(SETTINGS, CONFIG)
    return host


BROKEN: dict[str, tuple[Callable[[Host], Any], str]] = {
    "json": (lambda host: host.write('{\n  "a": 1,\n}'), r"settings.json:3: no valid JSON"),
    "toml": (lambda host: host.write(config='a = 1\nb = "x\n'), r"config.toml:2: no valid TOML"),
    "bytes": (lambda host: host.settings.write_bytes(b'{\n"a": "\xff"}'), r"settings.json:2: no UTF-8"),
    "a list": (lambda host: host.write("[]"), r"settings.json:1: no JSON object"),
    "no list": (lambda host: host.write('{"hooks": {"Stop": {}}}'), r"hooks.Stop is no list"),
    "no object": (lambda host: host.write('{"hooks": 1}'), r"hooks is no object"),
    "a foreign server": (lambda host: host.write('{"servers": {"om": {"command": "x"}}}'), r"is not Minutebook's"),
    "a foreign table": (lambda host: host.write(config='[mcp_servers.om]\ncommand = "x"\n'), r"is not Minutebook's"),
    "a foreign command": (lambda host: _write(host.command, "my own"), r"status.md: is there"),
    "a folder": (lambda host: (host.settings.unlink(), host.settings.mkdir()), r"settings.json: not a regular file"),
    "a pipe": (lambda host: (host.config.unlink(), os.mkfifo(host.config)), r"config.toml: not a regular file"),
}


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_changed_is_named_and_nothing_is_written(host: Host, name: str) -> None:
    spoil, said = BROKEN[name]
    spoil(host)
    before = host.files()
    with pytest.raises(BadInput, match=said):
        host.install()
    assert host.files() == before
    assert not (host.data / RECORD).exists() and not (host.data / "backups").exists()


@pytest.mark.parametrize("failing", ["config.toml", "status.md", RECORD])
def test_a_failure_in_the_middle_takes_all_back(host: Host, failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full when this file is put in its place."""
    before, replace, left = host.files(), os.replace, [2 if failing == RECORD else 1]

    def replaced(source: str, name: str) -> None:
        if name.endswith(failing):
            left[0] -= 1
            if left[0] == 0:
                raise OSError(28, "No space left on device")
        replace(source, name)

    monkeypatch.setattr(installing_files.os, "replace", replaced)
    with pytest.raises(MinutebookError, match="No space left on device; everything is as it was"):
        host.install()
    assert host.files() == before
    assert not (host.data / RECORD).exists()
    monkeypatch.undo()
    host.install()
    host.uninstall()
    assert host.files() == before


class Killed(BaseException):
    """The process is gone: from here on nothing of it is done."""


def test_killed_at_any_write_it_is_taken_out_byte_for_byte(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """And installing again goes through, whatever was left."""
    before, died, at = host.files(), True, 0
    while died:
        with monkeypatch.context() as patch:
            died = _killed_at(at, host, patch)
        if at % 2:
            host.install()
        host.uninstall()
        assert host.files() == before, at
        shutil.rmtree(host.data)
        at += 1
    assert at > 6


def _killed_at(number: int, host: Host, patch: pytest.MonkeyPatch) -> bool:
    """An install that dies when it would put this file in place; False where it did not come so far."""
    replace, unlink, left = os.replace, os.unlink, [number]

    def replaced(source: str, name: str) -> None:
        if left[0] <= 0:
            left[0] = -1
            raise Killed
        left[0] -= 1
        replace(source, name)

    def unlinked(name: str) -> None:
        if left[0] < 0:
            raise Killed
        unlink(name)

    patch.setattr(installing_files.os, "replace", replaced)
    patch.setattr(installing_files.os, "unlink", unlinked)
    try:
        host.install()
    except Killed:
        return True
    return False


def test_a_host_that_writes_its_file_meanwhile_loses_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    write, once = installing_files.Writing.write, [True]

    def written(self: Any, path: str, *rest: Any) -> None:
        if once and path.endswith("config.toml"):
            once.pop()
            host.config.write_text(CONFIG + "[new]\na = 1\n")
        write(self, path, *rest)

    monkeypatch.setattr(installing_files.Writing, "write", written)
    host.install()
    assert tomllib.loads(host.config.read_text())["new"] == {"a": 1}
    host.uninstall()
    assert host.config.read_text() == CONFIG + "[new]\na = 1\n"


@pytest.mark.parametrize("closed", ["home", "data"])
def test_folders_that_cannot_be_written(closed: str) -> None:
    with open_folder() as folder:
        host = Host(folder)
        host.write(SETTINGS, CONFIG)
        host.data.mkdir()
        for each in (host.data, host.folder, host.settings, host.config):
            each.chmod(0o777)
        (host.data if closed == "data" else host.folder).chmod(0o555)
        before = host.files()
        with without_rights(), pytest.raises(MinutebookError, match="Permission denied; everything is as it was"):
            host.install()
        assert host.files() == before and not (host.data / RECORD).exists()


def test_a_file_that_cannot_be_read() -> None:
    with open_folder() as folder:
        host = Host(folder)
        host.write(SETTINGS)
        host.data.mkdir()
        host.data.chmod(0o777)
        host.settings.chmod(0o000)
        with without_rights(), pytest.raises(BadInput, match=r"settings.json: cannot be read: Permission denied"):
            host.install()

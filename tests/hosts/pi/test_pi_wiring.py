"""What an installer puts into Pi's folders."""

import json
from pathlib import Path

import pytest

from minutebook.hosts.edits import OwnFile, Target
from minutebook.hosts.pi import wiring

PACKAGE = Path(wiring.__file__).resolve().parents[1]


def target(project: Path | None = None) -> Target:
    return Target(
        host="pi",
        om="/opt/mb/bin/om",
        om_hook="/opt/mb/bin/om-hook",
        folder=Path("/home/u/.pi/agent"),
        home=Path("/home/u"),
        state_file=Path("/home/u/.claude.json"),
        package=PACKAGE,
        project=project,
    )


@pytest.mark.parametrize(
    ("project", "folder"),
    [(None, "/home/u/.pi/agent/extensions/minutebook"), (Path("/p"), "/p/.pi/extensions/minutebook")],
)
def test_the_extension_is_files_of_our_own_alone(project: Path | None, folder: str) -> None:
    edits = wiring.wiring(target(project)).edits
    assert all(isinstance(edit, OwnFile) for edit in edits)
    files = {edit.file: edit.content for edit in edits if isinstance(edit, OwnFile)}
    assert {str(file.parent) for file in files} == {folder}
    shipped = {file.name: file.read_bytes() for file in (PACKAGE / "pi" / "extension").iterdir()}
    assert {file.name: content for file, content in files.items() if file.suffix == ".ts"} == shipped
    assert "index.ts" in shipped
    assert json.loads(files[Path(folder) / "installed.json"]) == {"om_hook": "/opt/mb/bin/om-hook"}


def test_a_project_has_to_be_trusted_and_is_told_so() -> None:
    assert "trusted" in wiring.wiring(target(Path("/p"))).notes[0]

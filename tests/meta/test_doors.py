"""Five doors, one rare name each; their callers are listed here, so that a new one is a decision."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "minutebook"

DOORS = {
    "accept_turns": {"hosts/delivering.py", "hosts/python_api.py", "workers/replaying.py"},
    "due_roles": {"workers/engine.py", "workers/dispatching.py", "workers/runner.py", "pipeline/status.py"},
    "ask_model": {"workers/choosing.py"},
    "commit_outcome": {"workers/runner.py"},
    "compose_memory": {
        "hosts/answering.py",
        "hosts/pi/composing.py",
        "hosts/python_api.py",
        "workers/replaying.py",
    },
}


def callers_of(name: str, package: Path) -> set[str]:
    """Files of the package that name the door outside its own definition and imports."""
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if name in (getattr(node, "id", ""), getattr(node, "attr", "")):
                found.add(path.relative_to(package).as_posix())
    return found


@pytest.mark.parametrize("door", DOORS)
def test_only_the_listed_callers_pass_a_door(door: str) -> None:
    assert callers_of(door, PACKAGE) <= DOORS[door]


def test_a_caller_by_another_way_is_caught(tmp_path: Path) -> None:
    """A worker that commits by itself, by name or through its module, is found."""
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "observer.py").write_text("from x import outcomes\noutcomes.commit_outcome(1, 2, 3)\n")
    (tmp_path / "workers" / "judge.py").write_text("from x import commit_outcome as c\nf = commit_outcome\n")
    assert callers_of("commit_outcome", tmp_path) == {"workers/observer.py", "workers/judge.py"}

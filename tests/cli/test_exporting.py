"""`om export` and `om import`."""

from pathlib import Path
from stat import S_IMODE

import pytest
from builders import deliver, observed, remember, say
from click.testing import CliRunner
from commands import Om, data_of

from minutebook.cli.root import om as group
from minutebook.pipeline.branches import list_branches
from minutebook.pipeline.exporting import list_exports
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store


@pytest.fixture
def filled(store: Store) -> Store:
    """Two sessions, one with memory."""
    branch = deliver(store, [say("We decided to use uv.", id="e1"), say("And ruff.", id="e2")])
    remember(store, branch, observations=[observed("uv it is")])
    deliver(store, [say("something else", id="e1")], "s2")
    return store


def test_out_and_in_again(om: Om, filled: Store, project: Path) -> None:
    out = om("export", "--output", "all.jsonl", code=0)
    assert (out.stdout, out.stderr) == ("", "2 sessions written to all.jsonl\n")
    assert S_IMODE((project / "all.jsonl").stat().st_mode) == 0o600
    assert om("import", "all.jsonl", "--store", "other.db", "--dry-run", code=0).stdout == (
        "2 sessions would be taken in, 0 already here, 0 left out\n"
    )
    assert om("import", "all.jsonl", "--store", "other.db", code=0).stdout == (
        "2 sessions taken in, 0 already here, 0 left out\n"
    )
    again = data_of(om("import", "all.jsonl", "--store", "other.db", "--json", code=0))
    assert (again["taken"], again["sessions"], again["sources"], again["memory"]) == ([], 2, 0, 0)
    assert om("export", "--store", "other.db", code=0).stdout == (project / "all.jsonl").read_text()
    assert "uv it is" in om("view", "--full", "--session", "s1", "--store", "other.db", code=0).stdout


def test_one_session(om: Om, filled: Store, project: Path) -> None:
    assert om("export", "--session", "s2", code=0).stdout.count('"row":"session"') == 1
    both = om("export", "--session", "s2", "--session", "neutral:s1", code=0).stdout
    assert both.count('"row":"session"') == 2
    assert "om sessions" in om("export", "--session", "s9", code=1).stderr


def test_what_was_written_is_noted(om: Om, filled: Store, project: Path) -> None:
    om("export", "--session", "s2", "--output", "two.jsonl", code=0)
    om("export", code=0)
    found = {(each.path, each.sessions) for each in list_exports(filled)}
    assert found == {(str(project / "two.jsonl"), ("neutral:s2",)), ("standard output", ("neutral:s1", "neutral:s2"))}


def test_a_file_that_is_there_stays(om: Om, filled: Store, project: Path) -> None:
    (project / "all.jsonl").write_text("mine")
    assert "--force" in om("export", "--output", "all.jsonl", code=2).stderr
    assert (project / "all.jsonl").read_text() == "mine"
    om("export", "--output", "all.jsonl", "--force", code=0)
    assert (project / "all.jsonl").read_text().startswith('{"row":"export"')
    assert "No such file" in om("export", "--output", "no/where.jsonl", code=2).stderr
    assert sorted(path.name for path in project.iterdir()) == ["all.jsonl"]


def test_from_standard_input(filled: Store, project: Path) -> None:
    text = CliRunner().invoke(group, ["export"]).stdout
    done = CliRunner().invoke(group, ["import", "-", "--store", "other.db"], input=text)
    assert done.exit_code == 0 and done.stdout.startswith("2 sessions taken in")
    cut = CliRunner().invoke(group, ["import", "-", "--store", "third.db"], input=text[:-200])
    assert cut.exit_code == 2 and "standard input, line" in cut.stderr


def test_other_entries_in_the_same_place(om: Om, filled: Store, project: Path) -> None:
    om("export", "--output", "all.jsonl", code=0)
    with_others = open_store(str(project / "other.db"))
    deliver(with_others, [say("not the same", id="x1")])
    with_others.close()
    done = om("import", "all.jsonl", "--store", "other.db", code=1)
    assert done.stdout == "1 session taken in, 0 already here, 1 left out\n"
    assert done.stderr == "om: neutral:s1: entry 0 is 'x1' in this store and 'e1' in the file\n"


def test_a_file_that_is_none(om: Om, store: Store, project: Path) -> None:
    (project / "bad.jsonl").write_text('{"row":"export","version":1}\nrubbish\n')
    assert om("import", "bad.jsonl", code=2).stderr.startswith("om: bad.jsonl, line 2: no row of an export")
    assert "No such file" in om("import", "none.jsonl", code=2).stderr
    assert list_branches(store) == []


def test_the_redaction_key_only_when_asked(om: Om, filled: Store) -> None:
    assert "redaction_key" not in om("export", code=0).stdout
    assert '"row":"redaction_key"' in om("export", "--with-redaction-key", code=0).stdout

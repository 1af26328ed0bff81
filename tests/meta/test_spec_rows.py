"""Every row of the behaviour specification that is in scope has a test, and mutants that its tests have to kill."""

from pathlib import Path

import pytest

from tests.meta.mutants import copy_tree, judge, main
from tests.meta.spec_rows import LAST_ROW, PACKAGE, ROOT, Mutant, in_scope, named_tests, read_rows, without_test

ROWS = read_rows()


def test_the_list_holds_every_row_once() -> None:
    assert list(ROWS) == [f"003-{number:03}" for number in range(1, LAST_ROW + 1)]


def test_every_row_in_scope_is_named_by_a_test() -> None:
    """`python -m tests.meta.spec_rows` prints the same."""
    assert [f"{row.number} {row.says}" for row in without_test(ROWS, named_tests())] == []


def test_a_row_that_no_test_names_is_found(tmp_path: Path) -> None:
    """Named is what stands in a test's name or docstring, not in a comment or another function."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_one.py").write_text('def test_a_003_001_002():\n    """003-004."""\n\n\ndef b_003_005(): ...\n')
    (folder / "test_two.py").write_text("class TestIt:\n    def test_b_003_001(self): ...  # 003-006\n")
    found = named_tests(tmp_path)
    assert found["003-001"] == ["tests/test_one.py::test_a_003_001_002", "tests/test_two.py::TestIt::test_b_003_001"]
    assert set(found) == {"003-001", "003-002", "003-004"}
    assert "003-006" in {row.number for row in without_test(ROWS, found)}


def test_a_row_has_mutants_or_a_reason_to_wait() -> None:
    assert [row.number for row in in_scope(ROWS) if not row.mutants] == []
    assert [row.number for row in ROWS.values() if row.later and (row.mutants or row.part_later)] == []


@pytest.mark.parametrize("number", [row.number for row in in_scope(ROWS)])
def test_each_mutant_changes_one_place_of_the_product(number: str) -> None:
    """Its old text stands once in its file, and what takes its place is Python still."""
    for mutant in ROWS[number].mutants:
        path = ROOT / PACKAGE / mutant.file
        text = path.read_text()
        assert text.count(mutant.old) == 1, f"{mutant}: mend its old text in tests/meta/spec, then `make mutants`"
        changed = text.replace(mutant.old, mutant.new)
        assert changed != text
        if path.suffix == ".py":
            compile(changed, mutant.file, "exec")


def test_a_mutant_is_killed_only_by_a_test_that_fails(tmp_path: Path) -> None:
    """The whole list is judged by `make mutants`; here one mutant that a test sees, and two that none can see."""
    copy = copy_tree(tmp_path / "copy")
    tests = ["tests/test_settings.py::test_defaults_003_112_113_115_117"]
    seen = Mutant("003-112", 1, "settings.py", "        81_000, COUNT", "        81_001, COUNT")
    unseen = Mutant("003-112", 2, "settings.py", "# ruff: noqa: RUF009", "# noqa")
    gone = Mutant("003-112", 3, "settings.py", "no such text", "")
    assert [judge(mutant, copy, tests).verdict for mutant in (seen, unseen, gone)] == ["killed", "survived", "stale"]
    assert (copy / PACKAGE / "settings.py").read_text() == (ROOT / PACKAGE / "settings.py").read_text()
    assert judge(seen, copy, ["tests/test_settings.py::test_no_such"]).verdict == "broken"


def test_a_row_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["4", "9999"])
    assert "not in scope: 003-9999" in capsys.readouterr().err

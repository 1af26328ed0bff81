"""The rows of the behaviour specification as data, and which tests name them.

`python -m tests.meta.spec_rows` prints the rows without a test, and how many there are of each kind.

spec/*.toml has one table a row, in our words: `says`; for a row that is not built yet `later`, the reason; for a row
of which only a part is built `part_later`; and `mutants`, changes of the product that break the row's number or rule,
each as [file below minutebook/, text that occurs once in it, what takes its place].
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_name("spec")
PACKAGE = "minutebook"
LAST_ROW = 170
NAMED = re.compile(r"(?<!\d)003[-_](\d{3}(?:_\d{3})*)(?!\d)")
"""003-041 in a docstring; _003_041 in a name, and _003_041_042 for two rows."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of the product: `old`, which occurs once in the file below minutebook/, becomes `new`."""

    row: str
    number: int
    file: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.row} #{self.number} {self.file}: {_short(self.old)} → {_short(self.new)}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row. later: why it is not built yet, "" for a row in scope. part_later: what of it is not built yet."""

    number: str
    says: str
    later: str = ""
    part_later: str = ""
    mutants: tuple[Mutant, ...] = ()


def read_rows(folder: Path = DATA) -> dict[str, Row]:
    """Number → row, in order; raises ValueError for a row that stands twice, is not known, or has a wrong key."""
    rows: dict[str, Row] = {}
    for path in sorted(folder.glob("*.toml")):
        for number, table in tomllib.loads(path.read_text()).items():
            if number in rows or not re.fullmatch(r"003-\d{3}", number):
                raise ValueError(f"{path.name}: row {number} stands twice, or is no row")
            rows[number] = _row(number, dict(table))
    return dict(sorted(rows.items()))


def in_scope(rows: Mapping[str, Row]) -> list[Row]:
    """The rows that are built, in whole or in part."""
    return [row for row in rows.values() if not row.later]


def named_tests(root: Path = ROOT) -> dict[str, list[str]]:
    """Row number → node ids of the tests that carry it in their name or docstring."""
    found = defaultdict(list)
    for path in sorted((root / "tests").rglob("test_*.py")):
        for node_id, words in _tests_of(path.relative_to(root).as_posix(), ast.parse(path.read_text())):
            for number in {number for chain in NAMED.findall(words) for number in chain.split("_")}:
                found[f"003-{number}"].append(node_id)
    return dict(found)


def without_test(rows: Mapping[str, Row], tests: Mapping[str, list[str]]) -> list[Row]:
    """The rows in scope that no test names."""
    return [row for row in in_scope(rows) if not tests.get(row.number)]


def _tests_of(file: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Node id of each test of a file, with its name and docstring."""
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{file}::{node.name}" if isinstance(node, ast.ClassDef) else file
        for each in inner:
            if isinstance(each, ast.FunctionDef) and each.name.startswith("test"):
                yield f"{prefix}::{each.name}", f"{each.name} {ast.get_docstring(each) or ''}"


def _row(number: str, table: dict[str, object]) -> Row:
    mutants = table.pop("mutants", [])
    assert isinstance(mutants, list)
    made = tuple(Mutant(number, at, *parts) for at, parts in enumerate(mutants, start=1))
    return Row(number, mutants=made, **table)  # type: ignore[arg-type]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"


def main() -> int:
    """Print what is missing; 1 when a row in scope has no test."""
    rows, tests = read_rows(), named_tests()
    missing = without_test(rows, tests)
    for row in missing:
        print(f"{row.number}  no test names it: {row.says}")
    scope = in_scope(rows)
    mutants = sum(len(row.mutants) for row in scope)
    print(
        f"{len(scope)} rows in scope, {len(rows) - len(scope)} later; {len(missing)} without a test; {mutants} mutants"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

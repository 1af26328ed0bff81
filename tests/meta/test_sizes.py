"""Files stay readable: a module under 400 lines, a function under 60."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = [path for folder in ("minutebook", "tests", "benchmarks", "evals") for path in (ROOT / folder).rglob("*.py")]


def test_no_file_is_over_400_lines() -> None:
    assert {str(path.relative_to(ROOT)) for path in FILES if path.read_text().count("\n") > 400} == set()


def test_no_function_is_over_60_lines() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
    }
    assert long == set()

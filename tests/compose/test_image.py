"""What is wrong with an image is seen: files that are missing or too many, build tools, extras that were forgotten."""

import shutil
from pathlib import Path

import pytest
from compose.__main__ import ROOT
from compose.broken import Broken
from compose.ignoring import is_ignored, read_ignored
from compose.image import EXTRAS, PACKAGE, check_contents

IGNORED = read_ignored(ROOT / ".dockerignore")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Where an image has its packages, as pip would have filled it."""
    folder = tmp_path / "opt" / "minutebook" / "lib" / "python3.11" / "site-packages"
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    for name in EXTRAS:
        (folder / name).mkdir()
    record(folder).parent.mkdir()
    files = [path.relative_to(folder) for path in (folder / PACKAGE).rglob("*") if path.is_file()]
    lines = [f"{path},sha256=x,1" for path in files if not is_ignored(str(path), IGNORED)]
    record(folder).write_text("\n".join([*lines, "../../../bin/om,,", "minutebook-0.1.0.dist-info/RECORD,,"]) + "\n")
    return folder


def record(site: Path) -> Path:
    return site / f"{PACKAGE}-0.1.0.dist-info" / "RECORD"


def checked(tmp_path: Path) -> None:
    check_contents(tmp_path, ROOT, IGNORED)


def test_a_whole_image_passes(site: Path, tmp_path: Path) -> None:
    checked(tmp_path)


@pytest.mark.parametrize("extra", ["tests/conftest.py", "minutebook/left_over.py"])
def test_a_file_too_many_in_the_wheel_is_seen(site: Path, tmp_path: Path, extra: str) -> None:
    record(site).write_text(record(site).read_text() + f"{extra},,\n")
    with pytest.raises(Broken, match=f"differ in 1 files, such as {extra}"):
        checked(tmp_path)


@pytest.mark.parametrize("ending", [".lua", ".sql", ".md", ".py"])
def test_a_kind_of_files_that_the_wheel_lacks_is_seen(site: Path, tmp_path: Path, ending: str) -> None:
    lines = record(site).read_text().splitlines()
    record(site).write_text("\n".join(line for line in lines if not line.split(",")[0].endswith(ending)))
    with pytest.raises(Broken, match=r"the wheel and minutebook/ differ in \d+ files"):
        checked(tmp_path)


def test_data_that_is_not_where_it_is_looked_for_is_seen(site: Path, tmp_path: Path) -> None:
    for file in (site / PACKAGE / "store" / "lua").glob("*.lua"):
        file.unlink()
    with pytest.raises(Broken, match=r"the wheel has no store/lua/\*\.lua"):
        checked(tmp_path)


def test_a_build_tool_and_a_forgotten_extra_are_seen(site: Path, tmp_path: Path) -> None:
    (site / "litellm").rmdir()
    with pytest.raises(Broken, match="the image lacks litellm"):
        checked(tmp_path)
    (site / "pip").mkdir()
    with pytest.raises(Broken, match="build tool in it: pip"):
        checked(tmp_path)

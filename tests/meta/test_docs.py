"""The docs are held to the code: links lead somewhere, commands exist, generated pages are current."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from minutebook.cli.root import om
from minutebook.settings_reference import reference_markdown

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "examples" / "README.md",
    ROOT / "evals" / "README.md",
]
PYTHON = [path for folder in ("minutebook", "benchmarks", "evals") for path in (ROOT / folder).rglob("*.py")]
PROSE = [*PAGES, *PYTHON, ROOT / "Makefile"]
FOREIGN = re.compile(r"/work/|/tmp/venv|/root/|site-packages/")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    assert {link for link in links if "://" not in link and not (page.parent / link).exists()} == set()


def test_every_command_in_the_docs_exists() -> None:
    named = {name for page in PAGES for name in re.findall(r"(?:^|`)om ([a-z]+)\b", page.read_text(), re.MULTILINE)}
    assert named >= {"replay", "ingest", "status"}
    for name in sorted(named):
        done = CliRunner().invoke(om, [name, "--help"])
        assert done.exit_code == 0, name


def test_every_make_target_in_the_docs_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pattern = re.compile(r"^make ([a-z-]+)|`make ([a-z -]+)`", re.MULTILINE)
    pages = [page for page in PAGES if page.name != "extractive-mind.md"]  # quotes commands of other projects
    named = {name for page in pages for pair in pattern.findall(page.read_text()) for name in "".join(pair).split()}
    assert named >= {"demo", "test", "check"}
    assert named <= targets


def test_the_settings_reference_is_current() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == reference_markdown()


def test_no_output_block_was_left_empty() -> None:
    assert not re.search(r"```\n```", (ROOT / "README.md").read_text())


def test_no_machine_path_stands_in_the_product() -> None:
    assert {str(path.relative_to(ROOT)) for path in PROSE if FOREIGN.search(path.read_text())} == set()

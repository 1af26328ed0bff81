"""What every test has: a clean environment and home, no network by accident, a store in a temporary folder."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No MINUTEBOOK_ variable, no API key and no file of the person who runs the tests reaches a test."""
    for name in list(os.environ):
        if name.startswith(("MINUTEBOOK_", "PI_", "XDG_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture(scope="session")
def sessions_dir() -> Path:
    """Real session files, which are not part of the project; the tests that want them skip without."""
    folder = Path(os.environ.get("MINUTEBOOK_SESSIONS", ROOT.parent / "shared" / "sessions"))
    if not folder.is_dir():
        pytest.skip("no folder of real session files: set MINUTEBOOK_SESSIONS")
    return folder

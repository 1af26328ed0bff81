"""What every test has: a clean environment and home, no network by accident, a store in a temporary folder."""

import importlib
import os
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
OFFLINE = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "LITELLM_OFFLINE_MODE")
"""litellm fetches its price list and a list of headers from the net unless these are set."""


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No MINUTEBOOK_ variable, no API key and no file of the person who runs the tests reaches a test."""
    for name in list(os.environ):
        if name.startswith(("MINUTEBOOK_", "PI_", "XDG_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    for name in OFFLINE:
        monkeypatch.setenv(name, "True")
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


@pytest.fixture(scope="session")
def litellm() -> ModuleType:
    """The real litellm, silent and off the net; an extra, so its tests skip without it, but not in CI (CI is set).

    It takes seconds to import: once in each test process.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in OFFLINE:
            patch.setenv(name, "True")
        if not os.environ.get("CI"):
            pytest.importorskip("litellm", reason="no litellm: pip install 'minutebook[models]'")
        module = importlib.import_module("litellm")
    module.telemetry = False
    module.suppress_debug_info = True
    return module

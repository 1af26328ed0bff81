"""Trust in a project's settings file (003-123), and where files are."""

from pathlib import Path

import pytest

from minutebook.errors import BadSetting
from minutebook.places import config_dir, data_dir, default_store_path
from minutebook.settings_loading import load
from minutebook.trust import is_trusted, trust, untrust


def test_trust_ends_when_the_file_changes_003_123(tmp_path: Path) -> None:
    environ = {"MINUTEBOOK_HOME": str(tmp_path / "home")}
    project = tmp_path / "project"
    project.mkdir()
    path = project / ".minutebook.toml"
    path.write_text('model = "p/m"')
    folder = data_dir(environ)
    assert load(project, {}, environ).settings.model is None
    trust(project, folder)
    assert load(project, {}, environ).settings.model is not None
    path.write_text('model = "p/other"')
    assert load(project, {}, environ).settings.model is None
    path.write_text('model = "p/m"')
    assert untrust(project, folder) and not untrust(project, folder)
    assert load(project, {}, environ).settings.model is None


def test_the_list_of_trust_is_private_and_by_absolute_path_003_123(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, one, two = tmp_path / "data", tmp_path / "one", tmp_path / "two"
    for project in (one, two):
        project.mkdir()
        (project / ".minutebook.toml").write_text("passive = true")
    monkeypatch.chdir(one)
    trust(Path(), folder)
    assert is_trusted(one, folder) and not is_trusted(two, folder)
    trust(two, folder)
    assert is_trusted(one, folder) and is_trusted(two, folder)
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


def test_a_list_of_trust_that_cannot_be_read_trusts_nothing_003_123(tmp_path: Path) -> None:
    (tmp_path / ".minutebook.toml").write_text("passive = true")
    for broken in ("{", "[]", "\0"):
        (tmp_path / "trusted.json").write_text(broken)
        assert not is_trusted(tmp_path, tmp_path)
        with pytest.raises(BadSetting, match=r"trusted\.json"):
            trust(tmp_path, tmp_path)


def test_nothing_to_trust_is_said_003_123(tmp_path: Path) -> None:
    assert not is_trusted(tmp_path, tmp_path)
    with pytest.raises(BadSetting, match="nothing to trust"):
        trust(tmp_path, tmp_path)


def test_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    bare = {"HOME": "/h"}
    assert (data_dir(bare), config_dir(bare)) == (Path("/h/.local/share/minutebook"), Path("/h/.config/minutebook"))
    xdg = {**bare, "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "relative"}
    assert (data_dir(xdg), config_dir(xdg)) == (Path("/d/minutebook"), Path("/h/.config/minutebook"))
    home = {**xdg, "MINUTEBOOK_HOME": str(tmp_path)}
    assert data_dir(home) == config_dir(home) == tmp_path
    assert default_store_path(home) == tmp_path / "minutebook.sqlite"
    assert config_dir({**home, "MINUTEBOOK_CONFIG": "/c"}) == Path("/c")
    monkeypatch.setattr("sys.platform", "darwin")
    assert data_dir(bare) == config_dir(bare) == Path("/h/Library/Application Support/minutebook")


def test_places_agree_with_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs look where platformdirs says; so does a person who reads about it."""
    import platformdirs

    assert data_dir() == Path(platformdirs.user_data_dir("minutebook"))
    assert config_dir() == Path(platformdirs.user_config_dir("minutebook"))

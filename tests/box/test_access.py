"""The token: where it comes from, who may read it, and that nothing quotes it."""

from pathlib import Path

import pytest

from minutebook.box.access import access_to_box, read_token, warning_of
from minutebook.errors import BadInput, BadSetting
from minutebook.settings import Settings

TOKEN = "mb_0123abcd_secretsecretsecret"


def private(path: Path, content: str = TOKEN + "\n", mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)
    return path


def test_the_named_file_wins_over_the_environment_and_that_over_the_usual_file(tmp_path: Path) -> None:
    named = private(tmp_path / "named", "mb_named_token")
    private(tmp_path / "config" / "box.token", "mb_usual_token")
    environ = {"MINUTEBOOK_CONFIG": str(tmp_path / "config"), "MINUTEBOOK_BOX_TOKEN": "mb_environment"}
    assert read_token(Settings(box_token_file=str(named)), environ) == "mb_named_token"
    assert read_token(Settings(), environ) == "mb_environment"
    assert read_token(Settings(), {**environ, "MINUTEBOOK_BOX_TOKEN": " "}) == "mb_usual_token"


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (TOKEN, 0o644, "others may read your token .mode 644.: chmod 600"),
        (TOKEN + " and more", 0o600, "no token: it is one word"),
        (TOKEN + "\r\nX-Header: y", 0o600, "no token: it is one word"),
        ("", 0o600, "no token: it is one word"),
        (None, 0o600, "no such file; put the token"),
    ],
)
def test_a_token_that_cannot_be_used_is_said_without_quoting_it(
    tmp_path: Path, content: str | None, mode: int, said: str
) -> None:
    path = tmp_path / "box.token"
    if content is not None:
        private(path, content, mode)
    with pytest.raises(BadSetting, match=said) as error:
        read_token(Settings(box_token_file=str(path)), {})
    assert str(path) in str(error.value) and TOKEN not in str(error.value)


def test_without_a_box_it_is_said_how_to_name_one() -> None:
    with pytest.raises(BadInput, match="box_url"):
        access_to_box(Settings(), {"MINUTEBOOK_BOX_TOKEN": TOKEN})


def test_an_access_does_not_show_its_token() -> None:
    access = access_to_box(Settings(box_url="https://box.example"), {"MINUTEBOOK_BOX_TOKEN": TOKEN})
    assert access.token == TOKEN and TOKEN not in repr(access)


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("https://box.example", False),
        ("http://127.0.0.1:8765", False),
        ("http://[::1]:8765", False),
        ("http://localhost", False),
        ("http://box.example", True),
        ("http://127.0.0.1.example.org", True),
        ("http://localhost.example.org", True),
    ],
)
def test_a_token_in_the_clear_is_warned_of(url: str, warned: bool) -> None:
    assert bool(warning_of(url)) is warned

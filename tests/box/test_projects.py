"""What a project is called: by its remote, in every worktree and on every machine; never an error."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.projects import CONFIG_MAX_BYTES, NO_PROJECT, fitting, name_of_remote, project_name, remote_of

RULE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
ORDERS = "github.com/acme/orders"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Answers are kept for the life of the process."""
    project_name.cache_clear()
    yield
    project_name.cache_clear()


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, config: str = f'[remote "origin"]\n\turl = https://{ORDERS}.git\n') -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(config)
    return folder


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/acme/orders.git",
        "https://github.com/acme/orders",
        "https://GitHub.com/acme/orders.git/",
        "https://user:secret@github.com/acme/orders.git",
        "https://user:p@ss@github.com/acme/orders.git",
        "https://github.com:443/acme/orders?token=secret#frag",
        "ssh://git@github.com/acme/orders.git",
        "ssh://git@github.com:2222/acme/orders.git",
        "ssh://git@github.com/~/acme/orders.git",
        "git+ssh://git@github.com/acme/orders.git",
        "git@github.com:acme/orders.git",
        "github.com:acme/orders",
        "git@github.com:/acme/orders.git",
        "git://github.com//acme/orders.git",
    ],
)
def test_one_repository_has_one_name(address: str) -> None:
    assert name_of_remote(address) == ORDERS


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://[2001:db8::1]:8443/acme/orders.git", "2001-db8-1/acme/orders"),
        ("git@[::1]:acme/orders", "1/acme/orders"),
        ("https://git.sr.ht/~ines/orders", "git.sr.ht/-ines/orders"),
        ("https://github.com/acme/.github", "github.com/acme/.github"),
        ("https://github.com/acme/../../etc/passwd", "github.com/acme/etc/passwd"),
        ("https://github.com/acme/my%20orders", "github.com/acme/my-orders"),
        ("/srv/git/orders.git", ""),
        ("file:///srv/git/orders.git", ""),
        ("../orders", ""),
        ("C:\\git\\orders", ""),
        ("ext::ssh -i ~/.ssh/id_rsa %S foo", ""),
        ("https://user:se/cret@github.com/acme/orders", ""),
        ("https://github.com", ""),
        ("https://", ""),
        ("", ""),
    ],
)
def test_other_addresses(address: str, name: str) -> None:
    assert name_of_remote(address) == name


@pytest.mark.parametrize(
    ("config", "address"),
    [
        ('[remote "a"]\nurl=x:1\n[remote "origin"]\n url = y:2\n', "y:2"),
        ('[remote "fork"]\n\tfetch = +refs\n\tURL = x:1 ; a comment\n', "x:1"),
        ('[remote "a"]\nurl=x:1\n[remote "b"]\nurl=y:2\n', ""),
        ('[Remote "origin"] url = "x:a b" # why\n', "x:a b"),
        ('[remote "origin"]\nurl = x:\\\n1\n', "x:1"),
        ('[remote "origin"]\nurl = x:1\nurl = y:2\n', "x:1"),
        ('[branch "main"]\nremote = origin\nurl = no\n[url "x"]\ninsteadOf = y\n', ""),
        ('[remote "origin"\nurl = x:1\n', ""),
        ("\ufeff[core]\n\x00\n\\", ""),
    ],
)
def test_the_remote_of_a_configuration(config: str, address: str) -> None:
    assert remote_of(config) == address


def test_git_agrees(tmp_path: Path) -> None:
    """A real repository, a folder in it, a worktree, a bare repository's worktree and a submodule."""
    main = tmp_path / "orders-main"
    main.mkdir()
    git(main, "init")
    git(main, "commit", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", str(tmp_path / "wt"))
    (main / "src").mkdir()
    places = [main, main / "src", tmp_path / "wt"]
    assert {project_name(str(place)) for place in places} == {"orders-main"}
    git(main, "remote", "add", "origin", "git@github.com:acme/orders.git")
    project_name.cache_clear()
    assert {project_name(str(place)) for place in places} == {ORDERS}
    git(tmp_path, "clone", "--bare", str(main), "orders.git")
    git(tmp_path / "orders.git", "worktree", "add", str(tmp_path / "from-bare"), "main")
    git(tmp_path / "orders.git", "remote", "remove", "origin")
    assert project_name(str(tmp_path / "from-bare")) == "orders"
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", str(tmp_path / "orders.git"), "lib")
    git(main / "lib", "remote", "set-url", "origin", "https://example.org/acme/lib")
    assert project_name(str(main / "lib")) == "example.org/acme/lib"


def test_a_folder_without_a_repository_has_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "my orders").mkdir()
    assert project_name(str(tmp_path / "my orders")) == "my-orders"
    assert project_name(str(tmp_path / "gone" / "orders")) == "orders"
    assert project_name("/") == project_name("") == NO_PROJECT


def test_a_repository_in_the_home_folder_is_of_the_home_folder_alone() -> None:
    home = repository(Path(os.environ["HOME"]), '[remote "origin"]\nurl = x.org:me/dotfiles\n')
    (home / "orders").mkdir()
    assert project_name(str(home)) == "x.org/me/dotfiles"
    assert project_name(str(home / "orders")) == "orders"


def test_a_name_stays_a_name() -> None:
    assert project_name(ORDERS) == ORDERS


@pytest.mark.parametrize("odd", ["loop", "pipe", "folder", "huge", "binary", "pointer to itself", "forbidden"])
def test_what_is_odd_about_git_files_is_the_folder_s_name(tmp_path: Path, odd: str) -> None:
    folder = repository(tmp_path / "orders")
    config = folder / ".git" / "config"
    config.unlink()
    if odd == "loop":
        config.symlink_to(config)
    elif odd == "pipe":
        os.mkfifo(config)
    elif odd == "folder":
        config.mkdir()
    elif odd == "huge":
        config.write_text(f'[remote "origin"]\nurl = https://{ORDERS}\n'.ljust(CONFIG_MAX_BYTES + 1))
    elif odd == "binary":
        config.write_bytes(bytes(range(256)) * 40)
    elif odd == "forbidden":
        config.write_text("")
        config.chmod(0)
    else:
        config.parent.rmdir()
        (folder / ".git").write_text("gitdir: .git\n")
    assert project_name(str(folder)) == "orders"


def test_a_folder_that_is_a_loop_of_links_has_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert project_name(str(tmp_path / "loop")) == "loop"
    assert project_name("/nul\0byte") == "nul-byte"


@settings(deadline=None)
@given(st.text())
def test_every_name_fits_and_fitting_again_changes_nothing(text: str) -> None:
    name = fitting(text)
    assert RULE.fullmatch(name) and ".." not in name
    assert fitting(name) == name


@settings(deadline=None)
@given(st.text(alphabet=st.characters(min_codepoint=0x400, max_codepoint=0x4FF), min_size=1))
def test_names_in_other_letters_stay_apart(text: str) -> None:
    assert fitting(text) != fitting(text + "я")


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("[]\"\\#;=\n remotuglin:/x1'\0é")))
def test_any_configuration_can_be_read(config: str) -> None:
    name_of_remote(remote_of(config))
    name_of_remote(config)


def test_accents_are_dropped_and_long_names_cut() -> None:
    assert fitting("café") == "cafe"
    assert fitting("x" * 300) != fitting("x" * 301) and len(fitting("x" * 300)) == 200

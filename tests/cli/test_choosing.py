"""Which session and branch a command works on."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders import deliver, reply, say
from commands import Om, data_of

from minutebook.cli.choosing import choose_session
from minutebook.errors import BadInput, NotFound
from minutebook.pipeline.sessions import Session
from minutebook.projects import project_key
from minutebook.store.kernel import Store


def session(id_: str, project: str = "", agent: str = "", branch: str = "b") -> Session:
    return Session(key=f"pi:{id_}", host="pi", session=id_, project=project, agent=agent, branch=branch)


LATEST_FIRST = [
    session("aa11", agent="x"),
    session("aa22"),
    session("bb33", project="/work"),
    session("cc44", branch=""),
]


@pytest.mark.parametrize(
    ("name", "project", "chosen"),
    [
        (None, "/elsewhere", "aa22"),
        (None, "/work", "bb33"),
        ("bb", "/elsewhere", "bb33"),
        ("33", "/elsewhere", "bb33"),
        ("pi:aa1", "/work", "aa11"),
        ("cc44", "/work", "cc44"),
    ],
)
def test_the_session_that_is_meant(name: str | None, project: str, chosen: str) -> None:
    found = choose_session(LATEST_FIRST, name, Path(project))
    assert found is not None and found.session == chosen


def test_an_exact_id_wins_over_a_beginning() -> None:
    found = choose_session([session("ab"), session("a")], "a", Path("/"))
    assert found is not None and found.session == "a"


def test_an_ambiguous_name_lists_what_it_fits() -> None:
    with pytest.raises(BadInput, match=r"(?s)'aa' fits more than one session.*\n  pi:aa11\n  pi:aa22$"):
        choose_session(LATEST_FIRST, "aa", Path("/"))


@pytest.mark.parametrize("name", ["zz", ""])
def test_a_name_that_nothing_has(name: str) -> None:
    with pytest.raises(NotFound, match="`om sessions` lists"):
        choose_session(LATEST_FIRST, name, Path("/"))


def test_no_sessions_is_none() -> None:
    assert choose_session([], None, Path("/")) is None


def test_the_project_is_found_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = choose_session([session("a"), session("b", project=str(tmp_path / "real"))], None, tmp_path / "link")
    assert found is not None and found.session == "b"


def test_a_session_of_another_machine_is_found_by_the_project_s_name(tmp_path: Path) -> None:
    (tmp_path / "orders" / ".git").mkdir(parents=True)
    (tmp_path / "orders" / ".git" / "config").write_text('[remote "origin"]\nurl = git@github.com:acme/orders.git\n')
    other = session("b", project="github.com/acme/orders")
    assert choose_session([session("a"), other], None, tmp_path / "orders") is other
    assert choose_session([session("a"), other], None, tmp_path) is not other


def repository(folder: Path, remote: str = "") -> Path:
    """A repository as git makes it, as far as it is looked at."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\nurl = {remote}\n' if remote else "")
    return folder


def worktree(of: Path, folder: Path) -> Path:
    """Another worktree of a repository."""
    own = of / ".git" / "worktrees" / folder.name
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    folder.mkdir(parents=True)
    (folder / ".git").write_text(f"gitdir: {own}\n")
    return folder


@pytest.mark.parametrize("remote", ["", "git@github.com:acme/orders.git"])
def test_worktrees_of_a_repository_are_one_project(tmp_path: Path, remote: str) -> None:
    """The latest of the project, wherever it was; but of this very folder before any other."""
    main = repository(tmp_path / "orders", remote)
    other = worktree(main, tmp_path / "trees" / "fix")
    (main / "src").mkdir()
    assert project_key(str(main)) == project_key(str(other)) == project_key(str(main / "src"))
    in_main, in_other = session("m", project=str(main)), session("o", project=str(other))
    elsewhere = session("e", project=str(tmp_path))
    assert choose_session([elsewhere, in_other, in_main], None, main) is in_main
    assert choose_session([elsewhere, in_main, in_other], None, other) is in_other
    assert choose_session([elsewhere, in_other], None, main / "src") is in_other
    assert choose_session([elsewhere, in_other], None, tmp_path) is elsewhere


def test_two_folders_of_one_name_are_two_projects(tmp_path: Path) -> None:
    """Without a remote, a repository is known by where it is; without a repository, so is a folder."""
    one, other = repository(tmp_path / "a" / "app"), repository(tmp_path / "b" / "app")
    for folder in ("c", "d"):
        (tmp_path / folder / "app").mkdir(parents=True)
    keys = [project_key(str(tmp_path / folder / "app")) for folder in "abcd"]
    assert len({*keys}) == 4
    assert choose_session([session("x"), session("o", project=str(other))], None, one).session == "x"  # type: ignore[union-attr]


def test_clones_of_one_remote_are_one_project_and_odd_folders_raise_nothing(tmp_path: Path) -> None:
    url = "https://github.com/acme/orders"
    one, other = repository(tmp_path / "one", url), repository(tmp_path / "other", url + ".git")
    assert project_key(str(one)) == project_key(str(other)) == "github.com/acme/orders"
    assert [project_key(odd) for odd in ("", "github.com/acme/orders", "/no/such/folder")] == [
        "",
        "github.com/acme/orders",
        "/no/such/folder",
    ]
    assert project_key("/a\0b") == "/a\0b"


def test_one_s_own_session_comes_before_the_team_s() -> None:
    team = replace(session("a", project="/work"), host="bob~pi", key="bob~pi:a")
    own = session("b", project="/work")
    assert choose_session([team, own], None, Path("/work")) is own
    assert choose_session([team, session("b")], None, Path("/work")) is team
    assert choose_session([team, session("b")], None, Path("/elsewhere")) is not team
    assert choose_session([team, own], "bob~pi:a", Path("/work")) is team


def test_commands_take_session_and_branch(om: Om, store: Store) -> None:
    deliver(store, [say("one", id="e1"), reply("two", id="e2"), say("three", id="e3", parent="e2")], "first")
    fork = deliver(store, [say("other", id="e4", parent="e1")], "first")
    deliver(store, [say("hello", id="x1")], "second")
    assert fork.parent
    assert data_of(om("status", "--json", code=0))["session"] == "neutral:second"
    assert data_of(om("status", "--json", "--session", "fir", code=0))["branch"] == fork.key
    chosen = om("status", "--json", "--session", "first", "--branch", "neutral:first", code=0)
    assert data_of(chosen)["branch"] == "neutral:first"
    by_branch = data_of(om("status", "--json", "--branch", "e4", code=0))
    assert (by_branch["session"], by_branch["entries"]) == ("neutral:first", 2)
    assert "no session 'nope'" in om("status", "--session", "nope", code=1).stderr
    assert "fits more than one session" in om("status", "--session", "neutral:", code=2).stderr
    assert "no branch 'nope'" in om("view", "--branch", "nope", code=1).stderr

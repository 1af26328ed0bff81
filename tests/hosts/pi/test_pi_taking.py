"""What the child of a Pi session takes in, from the file and by the pipe."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pi_sessions import PiSession, Talk, branch_of, ids_in

from minutebook.hosts import bell
from minutebook.hosts.delivering import deliver
from minutebook.pipeline.branches import list_branches
from minutebook.pipeline.sessions import find_session, list_sessions
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store


def test_turns_are_in_the_ledger_with_their_place_in_the_file(talk: Talk, store: Store, started: list[str]) -> None:
    made = talk.session.turns(2)
    assert talk.turn() == {**talk.turn(), "id": 2, "cursor": made[-1], "moved": True}
    assert ids_in(store, branch_of(store)) == made
    session = find_session(store, "pi:s1")
    assert session is not None
    assert (session.path, session.cursor["offset"]) == (str(talk.session.file), talk.session.file.stat().st_size)
    assert started == [str(talk.store_path)]


def test_turns_that_ended_while_it_started_wake_a_worker(
    new_talk: Callable[..., Talk], tmp_path: Path, started: list[str]
) -> None:
    """The file holds them when it is opened, so that nothing is new when they are handed over."""
    session = PiSession(tmp_path)
    session.turns(1)
    talk = new_talk(session)
    assert started == [str(talk.store_path)] and talk.turn()["moved"] is False
    talk.open()
    assert len(started) == 1, "nothing is new to a child that is started again"


@pytest.mark.parametrize("writes", [True, False])
def test_entries_by_the_pipe_are_those_of_the_file(new_talk: Callable[..., Talk], tmp_path: Path, writes: bool) -> None:
    """Whatever comes, a tree move among it: with and without a file the ledger is the same, but for the place."""
    session = PiSession(tmp_path)
    session.writes = writes
    if not writes:
        session.file.unlink()
    talk = new_talk(session)
    session.add("model_change", provider="p", modelId="m")
    session.say("", "system")
    first = session.turns(2)
    talk.turn()
    session.leaf = first[1]
    session.add("custom", customType="other", data={"n": 1})
    session.add("branch_summary", fromId=first[3], summary="what was tried")
    session.turns(1)
    talk.turn()
    with closing(talk.store()) as store:
        branches = list_branches(store)
        shown = [(branch.fork, ids_in(store, branch)) for branch in branches]
    assert shown == [
        (0, ["s1-0002", "s1-0003", "s1-0004", "s1-0005"]),
        (2, ["s1-0002", "s1-0003", "s1-0007", "s1-0008", "s1-0009"]),
    ]


def test_what_came_by_the_pipe_and_then_stands_in_the_file_comes_once(talk: Talk, store: Store) -> None:
    talk.session.writes = False
    made = talk.session.turns(1)
    talk.turn()
    for row in talk.session.rows:
        with talk.session.file.open("a") as out:
            out.write(json.dumps(row) + "\n")
    talk.session.writes = True
    made += talk.session.turns(1)
    talk.turn()
    assert ids_in(store, branch_of(store)) == made
    session = find_session(store, "pi:s1")
    assert session is not None
    assert (session.versions, session.replaced) == (0, 0)


def test_a_new_child_goes_on_where_the_old_one_was_killed(new_talk: Callable[..., Talk], tmp_path: Path) -> None:
    session = PiSession(tmp_path)
    first = new_talk(session)
    made = session.turns(1)
    first.turn()
    made += session.turns(1)  # of this nobody was told
    second = new_talk(session)
    assert second.cursor == len(session.rows)
    made += session.turns(1)
    second.turn()
    with closing(second.store()) as store:
        assert ids_in(store, branch_of(store)) == made


def test_a_clone_parts_where_it_goes_on_by_itself(new_talk: Callable[..., Talk], tmp_path: Path) -> None:
    session = PiSession(tmp_path)
    talk = new_talk(session)
    made = session.turns(2)
    talk.turn()
    clone = session.branched(tmp_path, "s2")
    other = new_talk(clone)
    more = clone.turns(1)
    other.turn()
    with closing(talk.store()) as store:
        assert ids_in(store, branch_of(store, "s2")) == [*made, *more]
        assert branch_of(store, "s2").fork == 4
        assert ids_in(store, branch_of(store)) == made


def test_a_long_file_is_left_to_the_worker_and_a_bell_says_where(
    new_talk: Callable[..., Talk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[str]
) -> None:
    session = PiSession(tmp_path)
    session.turns(400, words=300)
    monkeypatch.setattr("minutebook.hosts.pi.taking.BUDGET_SECONDS", 0.0)
    talk = new_talk(session)
    with closing(talk.store()) as store:
        assert 0 < len(ids_in(store, branch_of(store))) < 800
    bells = list(Path(bell.bells_folder(str(talk.store_path))).iterdir())
    assert [json.loads(each.read_text())["path"] for each in bells] == [str(session.file)]
    assert started


def test_the_end_of_a_session_is_noted(talk: Talk, store: Store) -> None:
    made = talk.session.turns(1)
    talk.ask("end", ended=True)
    session = find_session(store, "pi:s1")
    assert session is not None
    assert session.ended
    assert ids_in(store, branch_of(store)) == made


def test_what_nobody_told_it_of_is_taken_in_when_its_input_ends(new_talk: Callable[..., Talk], tmp_path: Path) -> None:
    talk = new_talk()
    made = talk.session.turns(1)
    talk.child.close()
    with closing(talk.store()) as store:
        assert ids_in(store, branch_of(store)) == made


def test_sessions_that_came_both_ways_are_one(new_talk: Callable[..., Talk]) -> None:
    talk = new_talk()
    made = talk.session.turns(2)
    talk.turn()
    with closing(open_store(str(talk.store_path))) as store:
        assert deliver(store, "pi", talk.session.file).new == 0
        assert [session.key for session in list_sessions(store)] == ["pi:s1"]
        assert ids_in(store, branch_of(store)) == made

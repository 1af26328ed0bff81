"""Codex's forks and undone turns: a file that goes on from another one, and copies nothing of it."""

import json
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest

from minutebook.hosts.codex import reader
from minutebook.hosts.delivering import deliver
from minutebook.pipeline.branches import Path, load_branch
from minutebook.pipeline.intake import own_branch
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore
from tests.hosts.test_codex_reader import row, sources, turn


@pytest.fixture
def store(tmp_path: File) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db", busy_seconds=5, create=True)
    yield opened
    opened.close()


def numbered(rows: list[dict[str, Any]], first: int) -> str:
    return "".join(json.dumps({**each, "ordinal": first + at}) + "\n" for at, each in enumerate(rows))


@pytest.fixture
def grown(tmp_path: File):
    """Rollouts as Codex 0.171 lays them: `write(thread, rows, base)`, base = (thread, rows that are shared)."""
    day = tmp_path / "sessions" / "2026" / "01" / "01"
    day.mkdir(parents=True)
    made: dict[str, list[dict[str, Any]]] = {}
    begins: dict[str, int] = {}

    def write(thread: str, rows: list[dict[str, Any]], base: tuple[str, int] | None = None, part: str = "") -> File:
        meta: dict[str, Any] = {"id": thread, "history_mode": "paginated", "cwd": "/w"}
        first = 0
        if base is not None:
            first = begins[base[0]] + base[1]
            shared = len(numbered(made[base[0]][: base[1]], begins[base[0]]).encode())
            meta["forked_from_id"] = base[0] if base[0] != thread else None
            meta["history_base"] = {"thread_id": base[0], "end_ordinal_exclusive": first, "end_byte_offset": shared}
        begins[thread + part] = first
        made[thread + part] = [row("session_meta", meta), *rows]
        path = day / f"rollout-2026-01-01T10-00-0{len(made)}-{thread}{part}.jsonl"
        path.write_text(numbered(made[thread + part], first), encoding="utf-8")
        return path

    return write


def test_a_fork_goes_on_from_the_last_entry_that_it_shares(grown):
    grown("aaaa-1", [*turn(1), *turn(2)])
    fork = sources(reader.read(grown("bbbb-2", turn(3), base=("aaaa-1", 3))))
    assert [(e.id, e.parent, e.moved) for e in fork] == [("u3", "a1", True), ("a3", None, False)]


def test_a_fork_of_a_fork_that_said_nothing_yet(grown):
    grown("aaaa-1", [*turn(1), *turn(2)])
    grown("bbbb-2", [], base=("aaaa-1", 3))
    (prompt, _) = sources(reader.read(grown("cccc-3", turn(4), base=("bbbb-2", 1))))
    assert (prompt.parent, prompt.moved) == ("a1", True)


def test_a_session_goes_on_in_another_file_when_turns_were_undone(grown):
    grown("aaaa-1", [*turn(1), *turn(2)])
    (prompt, _) = sources(reader.read(grown("aaaa-1", turn(3), base=("aaaa-1", 3), part="_bbbb")))
    assert (prompt.id, prompt.parent, prompt.moved) == ("u3", "a1", True)


def test_a_large_base_is_read_from_its_end(grown):
    filler = [row("turn_context", {"model": "x" * 5_000})] * 300
    grown("aaaa-1", [*turn(1), *filler])
    (prompt, _) = sources(reader.read(grown("bbbb-2", turn(2), base=("aaaa-1", 303))))
    assert prompt.parent == "a1"


@pytest.mark.parametrize(
    "base",
    [
        {"thread_id": "aaaa-1", "end_ordinal_exclusive": 3, "end_byte_offset": 100},
        {"thread_id": "aaaa-1", "end_ordinal_exclusive": "3", "end_byte_offset": 0},
        {"thread_id": "../../aaaa-1", "end_ordinal_exclusive": 3, "end_byte_offset": 100},
        {"thread_id": "*", "end_ordinal_exclusive": 3, "end_byte_offset": 100},
        {"thread_id": "gone", "end_ordinal_exclusive": 3, "end_byte_offset": 100},
    ],
)
def test_a_base_that_cannot_be_found_or_does_not_fit_is_none(grown, base):
    grown("aaaa-1", [*turn(1), *turn(2)])
    path = grown("bbbb-2", [])
    path.write_text(numbered([row("session_meta", {"id": "bbbb-2", "history_base": base}), *turn(3)], 3))
    assert not [e for e in sources(reader.read(path)) if e.moved]


def path_of(store, key: str) -> list[str]:
    path = Path(store, own_branch(store, key))
    return [placed.entry.id for placed in path.read(0, path.length())]


def test_a_forks_path_begins_with_what_it_shares(store, grown):
    first = grown("aaaa-1", [*turn(1), *turn(2)])
    fork = grown("bbbb-2", turn(3), base=("aaaa-1", 3))
    deliver(store, "codex", first)
    deliver(store, "codex", fork)
    assert path_of(store, "codex:bbbb-2") == ["u1", "a1", "u3", "a3"]
    assert path_of(store, "codex:aaaa-1") == ["u1", "a1", "u2", "a2"]
    branch = load_branch(store, "codex:bbbb-2")
    assert (branch.lineage, branch.parent, branch.kind) == ("codex:aaaa-1", "codex:aaaa-1", "fork")
    again = deliver(store, "codex", fork)
    assert (again.new, path_of(store, "codex:bbbb-2")) == (0, ["u1", "a1", "u3", "a3"])


@pytest.mark.parametrize("seconds", [None, 0.0])
def test_what_a_fork_goes_on_from_is_taken_in_before_it(store, grown, seconds: float | None):
    grown("aaaa-1", [*turn(1), *turn(2)])
    grown("bbbb-2", [], base=("aaaa-1", 3))
    fork = grown("cccc-3", turn(3), base=("bbbb-2", 1))
    while not (done := deliver(store, "codex", fork, seconds=seconds, step_bytes=200)).whole:
        assert seconds is not None and done.recognised
    assert path_of(store, "codex:cccc-3") == ["u1", "a1", "u3", "a3"]
    assert path_of(store, "codex:aaaa-1")[:2] == ["u1", "a1"]


def test_a_fork_of_a_session_that_is_gone_begins_by_itself(store, grown):
    first = grown("aaaa-1", turn(1))
    fork = grown("bbbb-2", turn(3), base=("aaaa-1", 3))
    first.unlink()
    deliver(store, "codex", fork)
    assert path_of(store, "codex:bbbb-2") == ["u3", "a3"]


def test_files_that_name_each_other_are_taken_in(store, grown):
    """Nobody writes such; whoever does harms nothing."""
    base = {"thread_id": "bbbb-2", "end_ordinal_exclusive": 3, "end_byte_offset": 0}
    first, second = grown("aaaa-1", turn(1)), grown("bbbb-2", turn(2))
    for file, other, rows in ((first, "bbbb-2", turn(1)), (second, "aaaa-1", turn(2))):
        size = second.stat().st_size if other == "bbbb-2" else first.stat().st_size
        meta = {
            "id": file.stem[-6:],
            "cwd": "/w" * 200,
            "history_base": {**base, "thread_id": other, "end_byte_offset": size},
        }
        file.write_text(numbered([row("session_meta", meta), *rows], 0))
    deliver(store, "codex", first)
    deliver(store, "codex", second)
    assert {"u1", "a1"} <= set(path_of(store, "codex:aaaa-1"))


def test_undone_turns_leave_the_path_and_stay_in_the_ledger(store, grown):
    deliver(store, "codex", grown("aaaa-1", [*turn(1), *turn(2)]))
    deliver(store, "codex", grown("aaaa-1", turn(3), base=("aaaa-1", 3), part="_bbbb"))
    assert path_of(store, "codex:aaaa-1") == ["u1", "a1", "u3", "a3"]
    before = Path(store, load_branch(store, "codex:aaaa-1"))
    assert [placed.entry.id for placed in before.read(0, before.length())] == ["u1", "a1", "u2", "a2"]

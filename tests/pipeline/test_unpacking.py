"""An export and its import: the same store again, byte for byte; what does not fit fails whole, and says where."""

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from boxes import Line, stores
from builders import observed, say
from ledgers import Breaking, Broken, dump, ids_of, take, turns

from minutebook.errors import BadInput, NotFound
from minutebook.pipeline import exportfile, exporting, ledger
from minutebook.pipeline.branches import list_branches, load_branch, memory_stream
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.deliveries import HostCompaction, Reading, SessionHead
from minutebook.pipeline.exporting import as_lines, export_rows, list_exports, note_export, select
from minutebook.pipeline.following import ORIGINS
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.outbox import outbox
from minutebook.pipeline.outcomes import Entry, Outcome, commit_outcome, memory_entry
from minutebook.pipeline.purged import is_purged, tombstone
from minutebook.pipeline.sessions import find_session, load_session
from minutebook.pipeline.shapes import observation_data
from minutebook.pipeline.unpacking import Unpacked, unpack
from minutebook.records import OBSERVATIONS
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

KEY = "neutral:s1"
MakeStore = Callable[[], Store]


@pytest.fixture(params=["sqlite", "redis"])
def another(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each backend."""
    url = str(tmp_path / "another.db") if request.param == "sqlite" else request.getfixturevalue("redis_url")
    opened = open_store(url, create=True)
    yield opened
    opened.close()


def exported(store: Store, *keys: str, **more: Any) -> list[bytes]:
    return [line.encode() for line in as_lines(export_rows(store, select(store, keys), **more))]


def taken(store: Store, lines: list[bytes], **more: Any) -> Unpacked:
    return unpack(store, lambda: iter(lines), "all.jsonl", **more)


def full(store: Store) -> Store:
    """A store with everything that an export may hold."""
    story = [*turns(6), say("again", id="f", parent="e1"), say("more", id="g", parent="f")]
    head = SessionHead(host="neutral", session="s1", project="/srv/app", zone="Europe/Zurich", started="2026-05-02")
    accept_turns(store, Reading(head=head, events=story, cursor={"offset": 9}, broken=[3]), path="/srv/s1.jsonl")
    take(store, turns(3), agent="helper")
    take(store, [*turns(2), say("x", id="x", parent="e1")], "copy")
    take(store, turns(2), "follows")
    take(store, [replace(turns(2)[1], parts=say("rewritten").parts)])
    for key, covers in ((KEY, 4), (f"{KEY}@f", 3), ("neutral:copy", 2)):
        observe(store, key, covers)
    observe(store, KEY, 5, nothing=True)
    take(store, [HostCompaction(id="c1", first_kept="e4", after="e5")])
    noted = note(store, load_branch(store, KEY), "a note \ud800", timestamp="2026-05-02 10:30", time="T")
    retire(store, load_branch(store, KEY), noted.id, time="T")
    return store


def observe(store: Store, key: str, covers: int, *, nothing: bool = False) -> None:
    branch = load_branch(store, key)
    read = store.tip(memory_stream(key)).marks.get(ledger.OBSERVER, 0)
    data = {"observations": [observation_data(observed(f"seen on {key}"))], "mind": "test"}
    made = memory_entry(Entry(kind=OBSERVATIONS, covers=covers, since=read, data=data))
    outcome = Outcome(
        role="observer", branch=key, read=read, advance={"observer": covers}, entries=() if nothing else (made,)
    )
    commit_outcome(store, branch, outcome)


def test_the_same_bytes_again(store: Store, another: Store) -> None:
    lines = exported(full(store))
    done = taken(another, lines)
    assert exported(another) == lines
    assert done.failed() == {} and len(done.taken()) == 4
    assert comparable(another) == comparable(store)
    assert origins(another) == origins(store)


def comparable(store: Store) -> Any:
    """The ledger, without what only this store could say."""
    found = dump(store)
    for branch in found["branches"].values():
        branch["marks"] = {name: value for name, value in branch["marks"].items() if value}
    return found


def origins(store: Store) -> list[tuple[str, str]]:
    return [(document.key, document.body) for document in store.documents(ORIGINS)]


def test_the_same_compaction(store: Store, another: Store) -> None:
    taken(another, exported(full(store)))
    for branch in list_branches(store):
        for boundary in range(8):
            here, there = (
                look_at_memory(s, load_branch(s, branch.key), boundary, Settings()) for s in (store, another)
            )
            assert (here and here.text) == (there and there.text)


def test_twice_is_once(store: Store, another: Store) -> None:
    lines = exported(full(store))
    taken(another, lines)
    versions = [load_session(another, key).version for key in (KEY, "neutral:copy")]
    again = taken(another, lines)
    assert (again.taken(), again.sources, again.memory) == ([], 0, 0)
    assert [load_session(another, key).version for key in (KEY, "neutral:copy")] == versions


def test_a_dry_run_writes_nothing(store: Store, another: Store) -> None:
    done = taken(another, exported(full(store)), dry_run=True)
    assert len(done.taken()) == 4 and done.sources > 10 and done.memory > 3
    assert list_branches(another) == []


def test_a_store_goes_on_from_it(store: Store, another: Store) -> None:
    """Its cursor and path are there, the next turns continue the branch, and a copy finds its beginning."""
    taken(another, exported(full(store)))
    session = load_session(another, KEY)
    assert (session.cursor, session.path, session.broken) == ({"offset": 9}, "/srv/s1.jsonl", [3])
    for each in (store, another):
        take(each, [say("next", id="n", parent="g")])
        take(each, [*turns(6), say("y", id="y", parent="e5")], "copy2")
    assert ids_of(another, f"{KEY}@f") == ids_of(store, f"{KEY}@f")
    assert load_branch(another, "neutral:copy2") == load_branch(store, "neutral:copy2")


def test_a_later_export_brings_what_came_since(store: Store, another: Store) -> None:
    taken(another, exported(full(store)))
    take(store, [say("next", id="n", parent="g")], cursor={"offset": 12})
    observe(store, f"{KEY}@f", 4)
    done = taken(another, exported(store))
    assert done.taken() == [KEY] and (done.sources, done.memory) == (1, 1)
    assert comparable(another) == comparable(store)


def test_an_older_export_changes_nothing(store: Store, another: Store) -> None:
    old = exported(full(store))
    take(store, [say("next", id="n", parent="g")], cursor={"offset": 12})
    taken(another, exported(store))
    before = comparable(another)
    assert taken(another, old).taken() == []
    assert comparable(another) == before


def test_what_has_other_entries_fails_whole(store: Store, another: Store) -> None:
    """With the sessions that share some of it; the others are taken."""
    take(full(store), [say("its own", id="z", moved=True)], "other")
    take(another, [*turns(3), say("else", id="else", parent="e2")])
    before = dump(another)
    done = taken(another, exported(store))
    assert set(done.failed()) == {KEY, "neutral:copy"}
    assert "entry 3 is 'else' in this store and 'e3' in the file" in done.failed()[KEY]
    assert dump(another)["branches"][KEY] == before["branches"][KEY]
    assert find_session(another, "neutral:copy") is None
    assert ids_of(another, "neutral:other") == ["z"]


def test_other_memory_fails_too(store: Store, another: Store) -> None:
    for each, covers in ((store, 3), (another, 2)):
        take(each, turns(4))
        observe(each, KEY, covers)
    assert KEY in taken(another, exported(store)).failed()


def test_what_was_purged_stays_so(store: Store, another: Store) -> None:
    lines = exported(full(store))
    another.put(tombstone(KEY, time="2026-05-02T10:30:00Z", reason="purge"))
    assert "purged" in taken(another, lines).failed()[KEY]
    assert find_session(another, KEY) is None
    store.put(tombstone("neutral:gone", time="2026-05-02T10:30:00Z", reason="purge"))
    taken(another, exported(store))
    assert is_purged(another, "neutral:gone")


def test_one_session_with_all_that_it_rests_on(store: Store, another: Store) -> None:
    take(full(store), [say("its own", id="z")], "other")
    lines = exported(store, "neutral:copy")
    done = taken(another, lines)
    assert set(done.sessions) == {"neutral:copy", KEY}
    assert exported(another, "neutral:copy") == lines
    assert {session["key"] for session in rows(exported(store, KEY), "session")} == {KEY, f"{KEY}/helper"}
    with pytest.raises(NotFound):
        exported(store, "neutral:none")


def rows(lines: list[bytes], kind: str) -> list[dict[str, Any]]:
    return [row for row in map(json.loads, lines) if row["row"] == kind]


def test_what_waits_for_a_box_goes_along(another: Store) -> None:
    with stores(2) as (laptop, box):
        take(laptop, turns(3))
        Line(laptop, box).sync()
        note(laptop, load_branch(laptop, KEY), "waits", timestamp="2026-05-02 10:30", time="T")
        lines = exported(laptop)
        taken(another, lines)
        assert exported(another) == lines
        branch = load_branch(another, KEY)
        assert [entry.id for entry in outbox(another, branch)] == [entry.id for entry in outbox(laptop, branch)]
        assert Line(another, box).sync() == []
        assert outbox(another, branch) == []


def test_the_redaction_key_goes_along_only_when_asked(store: Store, another: Store) -> None:
    full(store)
    assert rows(exported(store), "redaction_key") == []
    lines = exported(store, with_redaction_key=True)
    assert taken(another, lines).own_key is False
    assert exported(another, with_redaction_key=True) == lines


def test_secrets_are_redacted_on_the_way_in(store: Store, another: Store) -> None:
    secret = "ghp_" + "a1B2" * 9
    take(store, turns(1))
    lines = exported(store)
    body = [line.replace(b"words of turn 0", secret.encode()) for line in lines[:-1]]
    taken(another, [*body, ending(body)])
    assert secret.encode() not in b"".join(line for line in exported(another) if b'"row":"source"' in line)


def ending(lines: list[bytes]) -> bytes:
    """The last row of these."""
    digest = sha256(b"".join(lines)).hexdigest()
    return json.dumps({"row": "end", "rows": len(lines), "sha256": digest}).encode() + b"\n"


def test_each_place_of_a_cut_is_told(store: Store, another: Store) -> None:
    lines = exported(full(store))
    for at in range(len(lines)):
        with pytest.raises(BadInput, match=rf"^all.jsonl, line {at + 1}: .*cut"):
            taken(another, lines[:at])
        with pytest.raises(BadInput, match=rf"^all.jsonl, line {at + 1}: .*cut"):
            taken(another, [*lines[:at], lines[at][: len(lines[at]) // 2]])
    assert list_branches(another) == []


RUBBISH: list[tuple[int, bytes, str]] = [
    (0, b"[1]\n", "no row of an export"),
    (0, b'{"row":"export","version":2}\n', "version 2"),
    (0, b'{"row":"session"}\n', "begins with"),
    (3, b"\xff\xfe\n", "no row of an export"),
    (3, b'{"row":"what"}\n', "unknown row 'what'"),
    (3, b'{"row":"source","branch":"neutral:s1","position":0,"id":"q","role":"user"}\n', "not the one here"),
    (-2, b'{"row":"session","key":"a:b","host":"a","session":"b"}\n', "may not stand here"),
    (3, b"[" * 100_000 + b"\n", "no row of an export"),
    (3, b'{"row":"marks","branch":"","marks":{"observer":-1}}\n', "whole number"),
]


@pytest.mark.parametrize(("at", "line", "words"), RUBBISH)
def test_rubbish_names_its_line(store: Store, another: Store, at: int, line: bytes, words: str) -> None:
    lines = exported(full(store))
    at %= len(lines)
    with pytest.raises(BadInput, match=rf"^all.jsonl, line {at + 1}: .*{words}"):
        taken(another, [*lines[:at], line, *lines[at + 1 :]])
    assert list_branches(another) == []


def test_a_changed_word_is_noticed(store: Store, another: Store) -> None:
    lines = exported(full(store))
    changed = [line.replace(b"turn 2", b"turn 9") for line in lines]
    with pytest.raises(BadInput, match=rf"line {len(lines)}: the file is not as it was written"):
        taken(another, changed)
    with pytest.raises(BadInput, match="behind the last row"):
        taken(another, [*lines, *lines])
    assert list_branches(another) == []


def test_a_death_at_any_call_is_ended_by_the_same_import(store: Store, tmp_path: Path) -> None:
    lines = exported(full(store))
    for after in (False, True):
        for at in range(0, 1_000, 11):
            target = open_store(str(tmp_path / f"{after}{at}.db"), create=True)
            try:
                taken(Breaking(target, at, after=after), lines)  # type: ignore[arg-type]
            except Broken:
                taken(target, lines)
            else:
                break
            finally:
                assert exported(target) == lines
                target.close()


def test_exports_are_noted(store: Store) -> None:
    full(store)
    note_export(store, "/srv/all.jsonl", select(store, ["neutral:copy"]))
    (found,) = list_exports(store)
    assert found.path == "/srv/all.jsonl" and set(found.sessions) == {KEY, "neutral:copy"} and found.time.endswith("Z")


def test_what_is_held_does_not_grow_with_the_store(
    store: Store, another: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page at a time, on the way out and in."""
    for module in (exporting, exportfile):
        monkeypatch.setattr(module, "READ_CHUNK", 20)
    text = "x" * 4_000
    take(store, [say(f"{n} {text}", id=f"n{n}") for n in range(800)])
    file = b"".join(exported(store))
    assert len(file) > 3_000_000
    tracemalloc.start()
    try:
        assert sum(map(len, as_lines(export_rows(store, select(store))))) > 3_000_000
        unpack(another, lambda: io.BytesIO(file), "all.jsonl")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()

"""What a box refuses of a laptop, and a laptop of its box."""

from dataclasses import replace
from typing import Any

import pytest
from boxes import (
    ALICE,
    BOB,
    BOXED,
    KEY,
    Line,
    branch_path,
    contents,
    send_all,
    stores,
    thought,
    wired_branch,
    wired_memory,
)
from builders import memory_of, say
from ledgers import ids_of, take, turns

from minutebook.errors import BadInput, BoxDiverged, NotFound
from minutebook.pipeline.boxing import (
    receive_memory,
    receive_sources,
    take_sources,
)
from minutebook.pipeline.branches import list_branches, load_branch
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.offers import BY_ROLES
from minutebook.pipeline.outcomes import Entry, Refused, memory_entry
from minutebook.pipeline.purged import tombstone
from minutebook.pipeline.sessions import load_session
from minutebook.records import DIGEST, OBSERVATIONS, MemoryEntry


def test_other_entries_in_the_same_places_are_refused(pair: Line) -> None:
    take(pair.laptop, turns(4))
    pair.sync()
    with stores(1) as (other,):
        take(other, [*turns(3), say("else", id="x", parent="e2"), say("more", id="y", parent="x")])
        second = Line(other, pair.box)
        assert second.sync() == [KEY]
        assert ids_of(pair.box, BOXED) == ["e0", "e1", "e2", "e3"]
        assert ids_of(other) == ["e0", "e1", "e2", "x", "y"]
        assert any("alone" in notice.text for notice in read_notices(other))
        assert not isinstance(thought(other, KEY, "on its own", 3), Refused)
        assert second.sync() == []


def test_a_hole_is_refused(pair: Line) -> None:
    take(pair.laptop, turns(4))
    session, branch = load_session(pair.laptop, KEY), load_branch(pair.laptop, KEY)
    with pytest.raises(BoxDiverged, match="missing between"):
        receive_sources(pair.box, ALICE, session, branch, 2, "e1", turns(2, first=2))
    receive_sources(pair.box, ALICE, session, branch, 0, "", turns(2))
    with pytest.raises(BoxDiverged):
        receive_sources(pair.box, ALICE, session, branch, 2, "e0", turns(2, first=2))


def test_an_entry_in_two_places_is_refused(pair: Line) -> None:
    take(pair.laptop, turns(4))
    session, branch = load_session(pair.laptop, KEY), load_branch(pair.laptop, KEY)
    receive_sources(pair.box, ALICE, session, branch, 0, "", turns(2))
    with pytest.raises(BoxDiverged):
        receive_sources(pair.box, ALICE, session, branch, 2, "e1", [*turns(1, first=2), *turns(1)])
    with pytest.raises(BadInput):
        receive_sources(pair.box, ALICE, session, branch, 2, "e1", [*turns(1, first=2), *turns(1, first=2)])


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "other"},
        {"session": "s2"},
        {"key": "neutral:s2"},
        {"project": "../../etc"},
        {"project": "/abs"},
        {"project": "a..b"},
        {"agent": "x"},
    ],
)
def test_a_session_that_contradicts_itself_is_refused(pair: Line, changes: dict[str, str]) -> None:
    take(pair.laptop, turns(2))
    session = replace(load_session(pair.laptop, KEY), **changes)  # type: ignore[arg-type]
    with pytest.raises(BadInput):
        receive_sources(pair.box, ALICE, session, load_branch(pair.laptop, KEY), 0, "", turns(2))
    assert list_branches(pair.box) == []


@pytest.mark.parametrize("field", ["key", "host", "lineage", "parent"])
def test_keys_of_others_are_refused(pair: Line, field: str) -> None:
    take(pair.laptop, turns(2))
    branch = load_branch(pair.laptop, KEY)
    foreign = replace(branch, **{field: f"{BOB}~{getattr(branch, field)}"})
    with pytest.raises(NotFound):
        receive_sources(pair.box, ALICE, load_session(pair.laptop, KEY), foreign, 0, "", turns(2))


def test_secrets_are_redacted_again_and_the_hash_stays(pair: Line) -> None:
    secret = "ghp_" + "a1B2" * 9
    take(pair.laptop, turns(2))
    entry = replace(say(f"token {secret}", id="x"), text_sha256="a" * 64)
    session, branch = load_session(pair.laptop, KEY), load_branch(pair.laptop, KEY)
    receive_sources(pair.box, ALICE, replace(session, title=secret), branch, 0, "", [entry])
    stored = branch_path(pair.box, load_branch(pair.box, BOXED))[0].entry
    assert secret not in stored.parts[0].text and stored.text_sha256 == "a" * 64
    assert secret not in load_session(pair.box, BOXED).title


def made(kind: str, covers: int, data: dict[str, Any]) -> MemoryEntry:
    return memory_entry(Entry(kind=kind, covers=covers, since=0, data=data))


def test_memory_that_only_workers_make_is_not_taken_from_a_laptop(pair: Line) -> None:
    take(pair.laptop, turns(4))
    pair.sync()
    digest = {"content": "c", "coversThroughReflectionId": "0123456789ab", "tokenCount": 1, "mind": "model"}
    with pytest.raises(BadInput, match="box alone"):
        receive_memory(pair.box, BOXED, None, "", wired_memory([made(DIGEST, 2, digest)]))
    with pytest.raises(NotFound, match="send them first"):
        receive_memory(pair.box, BOXED, None, "", [made(OBSERVATIONS, 9, {"observations": []})])


@pytest.mark.parametrize("kind", BY_ROLES)
def test_what_a_role_recorded_is_taken_back_once_and_no_further_than_the_branch(pair: Line, kind: str) -> None:
    take(pair.laptop, turns(4))
    pair.sync()
    entry = made(kind, 2, {"mind": "model"})
    for _ in range(2):
        assert receive_memory(pair.box, BOXED, None, "", wired_memory([entry])).memory == 1
    with pytest.raises(NotFound, match="send them first"):
        receive_memory(pair.box, BOXED, None, "", wired_memory([made(kind, 5, {"mind": "model"})]))


def test_purged_sessions_are_not_taken_in_again(pair: Line) -> None:
    take(pair.laptop, turns(2))
    pair.sync()
    pair.box.put(tombstone(BOXED, time="2026-05-02T10:30:00Z", reason="purge"))
    with pytest.raises(NotFound, match="purged"):
        send_all(pair)
    with pytest.raises(NotFound, match="purged"):
        receive_memory(pair.box, BOXED, None, "", [])


def test_notes_are_written_where_the_session_is_recorded(pair: Line) -> None:
    """The box orders no sources, and a colleague's copy of a session orders nothing."""
    take(pair.laptop, turns(3))
    pair.sync()
    thought(pair.box, BOXED, "seen", 2)
    there = load_branch(pair.box, BOXED)
    with pytest.raises(BadInput, match="alice's"):
        note(pair.box, there, "from the box", timestamp="2026-05-02 10:30", time="T")
    record = next(iter(memory_of(pair.box, there).observations))
    with stores(1) as (colleague,):
        bob = Line(colleague, pair.box, BOB)
        take_sources(colleague, wired_branch(there), 0, turns(3))
        bob.pull(BOXED)
        assert contents(colleague, BOXED) == ["seen"]
        with pytest.raises(BadInput, match="alice's"):
            retire(colleague, load_branch(colleague, BOXED), record, time="T")
    retire(pair.box, there, record, time="T")
    pair.sync()
    assert record in memory_of(pair.laptop, load_branch(pair.laptop, KEY)).drops

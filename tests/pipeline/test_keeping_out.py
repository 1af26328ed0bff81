"""What must not enter the ledger does not: no byte of it is in the store's files."""

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from builders import call, deliver, entry, reply, result, say
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.hosts.delivering import deliver as deliver_file
from minutebook.hosts.delivering import deliver_reading
from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.deliveries import HostCompaction, Reading, SessionHead
from minutebook.pipeline.ignoring import LINE_PLACEHOLDER, Globs
from minutebook.pipeline.keeping_out import CALL_PLACEHOLDER, RESULT_PLACEHOLDER, Rules, is_ignored_project, kept_out
from minutebook.pipeline.pauses import Pause, begin_pause, end_pauses
from minutebook.pipeline.sessions import list_sessions, load_session
from minutebook.private_spans import PRIVATE_PLACEHOLDER
from minutebook.records import Part, SourceEntry
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

SECRET = "qzxjv"
HEAD = SessionHead(host="neutral", session="s1", project="/w/app")
KEY = "neutral:s1"
AT = "2026-05-02T10:{:02}:00.000Z"
IGNORE = ("secrets/*.env",)


def take(store: Store, events: Iterable[SourceEntry | HostCompaction], ignore: Sequence[str] = (), **head: str) -> None:
    deliver_reading(store, Reading(head=replace(HEAD, **head), events=list(events)), ignore=ignore)


def texts(store: Store, key: str = KEY) -> list[str]:
    path = BranchPath(store, load_branch(store, load_session(store, key).branch))
    return [part.text for placed in path.read() for part in placed.entry.parts]


def store_file(store: Store) -> Path:
    """The file of a store."""
    return Path(store.url.removeprefix("sqlite:///"))


def bytes_of(file: Path) -> bytes:
    """Of the store's file and of all beside it."""
    return b"".join(each.read_bytes() for each in file.parent.iterdir() if each.name.startswith(file.name))


# -- pauses --------------------------------------------------------------------------------------------------------


def test_a_paused_turn_never_enters_also_when_it_is_read_later(store: Store) -> None:
    begin_pause(store, Pause(scope="project", name="/w", since=AT.format(10)))
    end_pauses(store, [Pause(scope="project", name="/w", since=AT.format(10))], AT.format(20))
    take(store, [say("before", time=AT.format(5)), say(SECRET, time=AT.format(15)), reply("after", time=AT.format(25))])
    assert texts(store) == ["before", "after"]
    assert load_session(store, KEY).skipped == {"paused": 1}
    assert SECRET.encode() not in bytes_of(store_file(store))


def test_what_a_pause_is_not_about_is_taken_in(store: Store) -> None:
    for scope, name in (("session", "neutral:other"), ("project", "/w/apple")):
        begin_pause(store, Pause(scope=scope, name=name, since=AT.format(0)))  # type: ignore[arg-type]
    take(store, [say("one")])
    assert texts(store) == ["one"]


def test_of_a_session_that_was_paused_all_along_it_is_known_that_there_was_one(store: Store) -> None:
    begin_pause(store, Pause(scope="all", since=AT.format(0)))
    take(store, [say(SECRET, time=AT.format(1)), say("without a time", time="")])
    (session,) = list_sessions(store)
    assert (session.branch, session.title, session.skipped) == ("", "", {"paused": 2})


def test_what_comes_after_a_long_pause_at_the_beginning_is_taken_in(store: Store, tmp_path: Path) -> None:
    """However small the steps in which the file is read, and however often it begins again."""
    begin_pause(store, Pause(scope="all", since=AT.format(0)))
    end_pauses(store, [Pause(scope="all", since=AT.format(0))], AT.format(30))
    rows = [{"type": "minutebook.session", "version": 1, "session": "s1", "zone": "UTC", "project": "/w/app"}]
    rows += [{"id": f"e{at}", "role": "user", "text": "x" * 999, "time": AT.format(at)} for at in range(1, 40)]
    file = tmp_path / "s1.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for _ in range(60):
        deliver_file(store, "neutral", file, seconds=0, step_bytes=2_000)
    assert len(texts(store)) == 10


def test_a_compaction_of_the_paused_time_is_noted(store: Store) -> None:
    take(store, [say("one", id="e1", time=AT.format(1))])
    begin_pause(store, Pause(scope="session", name=KEY, since=AT.format(10)))
    take(store, [HostCompaction(id="c1", after="e1", time=AT.format(12)), say(SECRET, time=AT.format(13))])
    assert load_session(store, KEY).compactions == ["c1"]


def test_a_project_is_found_by_its_real_folder(store: Store, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    begin_pause(store, Pause(scope="project", name=str(real), since=AT.format(0)))
    take(store, [say("one")], project=str(link))
    assert [session.branch for session in list_sessions(store)] == [""]


# -- ignored projects and paths ------------------------------------------------------------------------------------


def test_an_ignored_project_leaves_no_trace(store: Store) -> None:
    take(store, [say(SECRET)], ignore=["/w/*"])
    assert list_sessions(store) == [] and SECRET.encode() not in bytes_of(store_file(store))
    assert is_ignored_project("/w/app", ["/w/*"]) and not is_ignored_project("/v/app", ["/w/*"])
    assert not is_ignored_project("", ["*"])


def test_a_call_that_names_an_ignored_path_keeps_neither_arguments_nor_result(store: Store) -> None:
    read = call("Read", '{"file_path": "/w/app/secrets/prod.env"}', call_id="c1", id="e1")
    other = call("Read", '{"file_path": "/w/app/README"}', call_id="c2", id="e2")
    take(store, [read, other, result(SECRET, call_id="c1", id="e3"), result("hello", call_id="c2", id="e4")], IGNORE)
    take(store, [result(f"a.py:1:x\nsecrets/prod.env:1:{SECRET}", call_id="c3", id="e5")], IGNORE)
    assert texts(store)[:4] == [CALL_PLACEHOLDER, '{"file_path": "/w/app/README"}', RESULT_PLACEHOLDER, "hello"]
    assert texts(store)[4:] == [f"a.py:1:x\n{LINE_PLACEHOLDER}"]
    assert load_session(store, KEY).skipped == {"ignored": 3}
    assert b"prod.env" not in bytes_of(store_file(store))


def test_a_result_is_known_when_it_comes_in_another_delivery(store: Store) -> None:
    take(store, [call("Read", '{"path": "secrets/prod.env"}', call_id="c1", id="e1")], IGNORE)
    take(store, [result(SECRET, call_id="c1", id="e2")], IGNORE)
    take(store, [result("of another session", call_id="c1", id="e2")], IGNORE, session="s2")
    assert texts(store) == [CALL_PLACEHOLDER, RESULT_PLACEHOLDER]
    assert texts(store, "neutral:s2") == ["of another session"]


def test_what_a_person_ran_in_the_agent(store: Store) -> None:
    def ran(text: str, id_: str, **more: str) -> SourceEntry:
        return entry("custom", Part(kind="text", text=text), id=id_, **more)

    pi = ran(f"Ran `cat secrets/prod.env`\n{SECRET}", "e1", custom_type="bash_execution")
    claude = ran("<bash-input>cat ./secrets/prod.env</bash-input>", "e2", custom_type="local_command")
    output = ran(f"<bash-stdout>{SECRET}</bash-stdout>", "e3", parent="e2", custom_type="local_command")
    other = ran("<bash-input>ls</bash-input>", "e4", custom_type="local_command")
    take(store, [pi, claude], IGNORE)
    take(store, [output, other], IGNORE)
    assert texts(store) == [RESULT_PLACEHOLDER] * 3 + ["<bash-input>ls</bash-input>"]


def test_what_is_left_out_keeps_the_chain_whole(store: Store) -> None:
    """A result's entry stays, with its call, so that cuts at tool calls and parents are what they were."""
    read = call("Read", '{"path": "secrets/prod.env"}', call_id="c1", id="e1")
    take(store, [read, result(SECRET, call_id="c1", id="e2")], IGNORE)
    path = BranchPath(store, load_branch(store, load_session(store, KEY).branch))
    assert [(placed.entry.role, placed.entry.id) for placed in path.read()] == [
        ("assistant", "e1"),
        ("tool_result", "e2"),
    ]


def test_a_file_is_taken_in_with_its_rules(store: Store, tmp_path: Path) -> None:
    rows = [
        {"type": "minutebook.session", "version": 1, "session": "s1", "zone": "UTC", "project": "/w/app"},
        {"id": "e1", "role": "user", "text": "before", "time": AT.format(1)},
        {"id": "e2", "role": "user", "text": SECRET, "time": AT.format(11)},
        {"id": "e3", "role": "user", "text": f"a <private>{SECRET}</private> b", "time": AT.format(21)},
    ]
    file = tmp_path / "s1.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    begin_pause(store, Pause(scope="all", since=AT.format(10)))
    end_pauses(store, [Pause(scope="all", since=AT.format(10))], AT.format(20))
    assert deliver_file(store, "neutral", file).new == 2
    assert texts(store) == ["before", f"a {PRIVATE_PLACEHOLDER} b"]
    assert SECRET.encode() not in bytes_of(store_file(store))
    assert deliver_file(store, "neutral", file, ignore=["/w"]).new == 0


# -- hashes --------------------------------------------------------------------------------------------------------


def test_no_hash_and_no_id_depends_on_private_text(tmp_path: Path) -> None:
    """Who has the store cannot try what was said: two stores that differ in private text alone hold the same."""
    found = []
    for said in ("1234", "5678"):
        store = open_store(str(tmp_path / f"{said}.sqlite"))
        rows = [
            {"type": "minutebook.session", "version": 1, "session": "s1", "zone": "UTC"},
            {"role": "user", "text": f"pin <private>{said}</private> ok", "time": AT.format(1)},
        ]
        file = tmp_path / said / "s1.jsonl"
        file.parent.mkdir()
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        deliver_file(store, "neutral", file)
        path = BranchPath(store, load_branch(store, load_session(store, KEY).branch))
        found.append([(p.entry.id, p.entry.text_sha256, p.entry.parts) for p in path.read()])
        store.close()
    assert found[0] == found[1]


# -- whatever comes ------------------------------------------------------------------------------------------------

PLAIN = st.sampled_from(["fix the tests", "<b>", "a < b", "tool output\nline"])
PRIVATE = st.sampled_from(
    [f"<private>{SECRET}</private>", f"x <PRIVATE a='b'>{SECRET} <private>{SECRET}</private> {SECRET}"]
)
NAMED = st.sampled_from(['{"path": "secrets/prod.env"}', '{"command": "cat /w/app/secrets/prod.env | head"}'])


@st.composite
def sessions(draw: st.DrawFn) -> list[SourceEntry]:
    """Entries of which those with the secret are paused, ignored or private in one way or another."""
    events: list[SourceEntry] = []
    for at in range(draw(st.integers(1, 8))):
        id_, time = f"e{at}", AT.format(at)
        paused = AT.format(at)[:14] + f"{at + 30:02}:00.000Z"
        match draw(st.sampled_from(["plain", "private", "paused", "ignored", "parts"])):
            case "plain":
                events.append(say(draw(PLAIN), id=id_, time=time))
            case "private":
                make = draw(st.sampled_from([say, reply, result]))
                events.append(make(f"{draw(PLAIN)} {draw(PRIVATE)}", id=id_, time=time))
            case "paused":
                events.append(draw(st.sampled_from([say, reply, result]))(SECRET, id=id_, time=paused))
            case "ignored":
                events.append(call("Bash", draw(NAMED), call_id=id_, id=id_, time=time))
                events.append(result(f"KEY={SECRET}", call_id=id_, id=f"{id_}r", time=time))
            case _:
                parts = [Part(kind="text", text="<private>x"), Part(kind="text", text=SECRET)]
                events.append(entry("user", *parts, id=id_, time=time))
    return events


PAUSED = Pause(scope="all", since=AT.format(30), until=AT.format(50))


@settings(max_examples=30, deadline=None)
@given(sessions(), st.integers(1, 3))
def test_no_byte_of_it_is_in_the_store_whatever_comes_in_whatever_pieces(events: list[SourceEntry], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "store.sqlite"
        store = open_store(str(file))
        try:
            begin_pause(store, replace(PAUSED, until=""))
            end_pauses(store, [PAUSED], PAUSED.until)
            for start in range(0, len(events), size):
                take(store, events[start : start + size], IGNORE)
            take(store, events, IGNORE)
            assert SECRET.encode() not in bytes_of(file)
        finally:
            store.close()
        assert SECRET.encode() not in bytes_of(file)


@settings(max_examples=60, deadline=None)
@given(sessions(), st.integers(1, 3))
def test_the_same_in_pieces_as_at_once(events: list[SourceEntry], size: int) -> None:
    rules = Rules(pauses=(PAUSED,), globs=Globs.of(IGNORE, home="/h"), folders=("/w/app",))
    whole = kept_out(Reading(head=HEAD, events=list(events)), rules)
    pieces: list[object] = []
    for start in range(0, len(events), size):
        kept = kept_out(Reading(head=HEAD, events=list(events[start : start + size])), rules)
        rules = replace(rules, calls=frozenset(kept.calls))
        pieces += kept.reading.events
    assert pieces == whole.reading.events and rules.calls == set(whole.calls)


@pytest.mark.parametrize("door", ["a note", "a turn"])
def test_other_doors_take_private_text_out_too(store: Store, door: str) -> None:
    from minutebook.pipeline.corrections import note

    branch = deliver(store, [say(f"one <private>{SECRET}</private>" if door == "a turn" else "one")])
    note(store, branch, f"two <private>{SECRET}", timestamp="2026-05-02 10:30", time=AT.format(1))
    assert SECRET.encode() not in bytes_of(store_file(store))

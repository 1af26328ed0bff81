"""minutebook.Session: what a program records, gets back and asks, on a real store."""

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hookkit import Agent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs_lists import (
    NUMBERS,
    SHAPES,
    SMALL,
    Program,
    entries_of,
    learn,
    opened,
    programs,
    prompts_of,
    said_in,
)

import minutebook
from minutebook.errors import BadInput, BadRecordId, BadSetting
from minutebook.pipeline.pauses import Pause, begin_pause, end_pauses
from minutebook.pipeline.quoting import OPENING
from minutebook.pipeline.sessions import load_session
from minutebook.pipeline.sourcetext import entry_text


@pytest.fixture
def session(tmp_path: Path) -> Iterator[minutebook.Session]:
    with opened(tmp_path, settings=SMALL) as made:
        yield made


# -- recording ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_program_says_is_in_the_ledger(session: minutebook.Session, shape: str) -> None:
    program = Program(shape, [{"role": "system", "content": "You are an agent."}])
    program.says("list the files")
    program.works("a.txt", "")
    program.answers("There is one.")
    assert session.record(program.messages) == said_in(program.messages) == len(entries_of(session))
    roles = [entry.role for entry in entries_of(session)]
    assert roles[0] == "user" and roles[-1] == "assistant" and roles.count("tool_result") == 2
    results = [entry for entry in entries_of(session) if entry.role == "tool_result"]
    assert [(each.tool_name, entry_text(each)) for each in results] == [("run", "a.txt"), ("run", "[no output]")]
    assert [entry.typed for entry in entries_of(session)] == [True] + [False] * (len(roles) - 1)


def test_it_is_redacted_like_everything_else(session: minutebook.Session) -> None:
    session.record([{"role": "user", "content": "my key is ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"}])
    assert "ghp_" not in entry_text(entries_of(session)[0])


@given(program=programs(), at=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_whole_list_each_turn_is_recorded_once(tmp_path: Path, program: Program, at: st.DataObject) -> None:
    """Whenever it is recorded, twice or from another process: each entry once, in order, no prompt lost."""
    name = f"whole-{next(NUMBERS)}"
    with opened(tmp_path, name) as one, opened(tmp_path, name) as other:
        end = 0
        while end < len(program.messages):
            end = at.draw(st.integers(end + 1, len(program.messages)))
            at.draw(st.sampled_from([one, other])).record(program.messages[:end])
            assert other.record(program.messages[:end]) == one.record(program.messages[:end]) == 0
        assert len(entries_of(one)) == said_in(program.messages)
        assert [entry_text(entry) for entry in entries_of(one) if entry.typed] == program.prompts


@given(program=programs(), at=st.data())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_appended_messages_are_all_new(tmp_path: Path, program: Program, at: st.DataObject) -> None:
    with opened(tmp_path, f"new-{next(NUMBERS)}") as session:
        start = 0
        while start < len(program.messages):
            end = at.draw(st.integers(start + 1, len(program.messages)))
            assert session.append(program.messages[start:end]) == said_in(program.messages[start:end])
            start = end
        assert len(entries_of(session)) == said_in(program.messages)


@given(program=programs(distinct=True), cut=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_list_that_goes_back_and_on_otherwise_loses_no_prompt(
    tmp_path: Path, program: Program, cut: st.DataObject
) -> None:
    """Both ways are in the ledger, each on its branch; the session stands on the new one."""
    with opened(tmp_path, f"back-{next(NUMBERS)}") as session:
        first = [{"role": "system", "content": "You are an agent."}, *program.messages]
        session.record(first)
        end = cut.draw(st.integers(1, len(first)).filter(lambda end: said_in(first[:end]) > 0))
        other = [*first[:end], {"role": "user", "content": "no, otherwise"}, {"role": "assistant", "content": "so"}]
        session.record(other)
        session.record(other)
        assert sorted(prompts_of(session)) == sorted([*program.prompts, "no, otherwise"])
        assert len(entries_of(session)) == said_in(other)
        assert [entry_text(entry) for entry in entries_of(session)[-2:]] == ["no, otherwise", "so"]


def test_going_back_twice_to_the_same_goes_on_where_that_was(session: minutebook.Session) -> None:
    start = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    left = [*start, {"role": "user", "content": "left"}]
    right = [*start, {"role": "user", "content": "right"}]
    assert (session.record(left), session.record(right), session.record(left)) == (3, 1, 0)
    assert session.record([*left, {"role": "assistant", "content": "on the left"}]) == 1
    assert [entry_text(entry) for entry in entries_of(session)] == ["a", "b", "left", "on the left"]


def test_sessions_that_begin_alike_are_no_copies_of_each_other(tmp_path: Path) -> None:
    """In the same second, with the same words."""
    for name in ("s1", "s2", "s3"):
        with opened(tmp_path, name) as session:
            assert session.record([{"role": "user", "content": "go on"}]) == 1
            assert len(entries_of(session)) == 1


def test_a_sliding_window_is_the_end_of_what_is_known(session: minutebook.Session) -> None:
    messages = [{"role": role, "content": f"{role} {at}"} for at in range(20) for role in ("user", "assistant")]
    for end in range(4, 41, 2):
        session.record(messages[max(0, end - 10) : end])
    assert [entry_text(entry) for entry in entries_of(session)] == [each["content"] for each in messages]


def test_results_that_a_program_cleared_change_nothing(session: minutebook.Session) -> None:
    program = Program()
    for at in range(6):
        program.says(f"step {at}")
        program.works(f"output {at} " + "x" * 100)
        session.record(program.messages)
    before = [entry_text(entry) for entry in entries_of(session)]
    for message in program.messages[:-4]:
        if message["role"] == "tool":
            message["content"] = "[cleared]"
    program.says("go on")
    assert session.record(program.messages) == 1
    assert [entry_text(entry) for entry in entries_of(session)] == [*before, "go on"]


@pytest.mark.parametrize("compacting", [False, True])
def test_what_is_said_in_a_pause_is_never_recorded(session: minutebook.Session, compacting: bool) -> None:
    """Also when the pause is over and the whole list, with what was said meanwhile, comes again."""
    messages: list[Any] = [{"role": "user", "content": f"step {at} " + "x" * 100} for at in range(6)]
    session.record(messages)
    learn(session, "six steps")
    pause = Pause(scope="session", name=session.key, since=iso_now(session))
    begin_pause(session.store, pause)
    time.sleep(0.01)
    for text in ("secret plan", "step 0 " + "x" * 100, "more of it"):
        messages.append({"role": "user", "content": text})
        assert session.record(messages) == 0
    if compacting:
        messages = session.compact(messages)
        assert messages[0]["content"].startswith(OPENING) and messages[-1]["content"] == "more of it"
    time.sleep(0.01)
    end_pauses(session.store, [pause], iso_now(session))
    time.sleep(0.01)
    messages += [{"role": "assistant", "content": "on we go"}, {"role": "user", "content": "what now?"}]
    assert (session.record(messages), session.record(messages)) == (2, 0)
    texts = [entry_text(entry) for entry in entries_of(session)]
    assert len(texts) == 8 and texts[-2:] == ["on we go", "what now?"] and "secret plan" not in texts


def iso_now(session: minutebook.Session) -> str:
    return datetime.fromtimestamp(session.store.now(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize("name", ["", " ", "a b", "../x", "a/b", "a@b", "~", "x" * 201, None, 7, "é"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: Any) -> None:
    with pytest.raises(BadInput, match=r"session .*: a letter or digit"):
        opened(tmp_path, name)


def test_a_wrong_setting_and_a_closed_session_are_said(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="keep_recent_tokens"):
        opened(tmp_path, settings={"keep_recent_tokens": -1})
    with opened(tmp_path) as session:
        session.close()
        with pytest.raises(BadInput, match="closed"):
            session.record([{"role": "user", "content": "x"}])


def test_a_session_that_has_nothing_yet(session: minutebook.Session) -> None:
    assert session.record([]) == 0 and session.status() == {} and session.due() == {} and session.search("x") == []
    assert not session.compaction_due and session.compact([]) == [] and session.wait(0)
    assert "Nothing of this session" in session.call("memory_status", {})


def test_threads_that_record_the_same_list_record_it_once(session: minutebook.Session) -> None:
    messages = [{"role": "user", "content": f"m{at}"} for at in range(30)]
    threads = [threading.Thread(target=session.record, args=(messages[:end],)) for end in range(1, 31)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.record(messages)
    assert [entry_text(entry) for entry in entries_of(session)] == [each["content"] for each in messages]


def test_messages_of_litellm_as_they_are(session: minutebook.Session, litellm: ModuleType) -> None:
    """Its own objects in the list, as a program puts the model's answer there; and they stay what they are."""
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"cmd": "ls"}'}}
    answer = litellm.Message(role="assistant", content=None, tool_calls=[call], reasoning_content="look first")
    result = {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}
    messages: list[Any] = [{"role": "user", "content": "list " + "x" * 400}, answer, result]
    assert (session.record(messages), session.record(messages)) == (3, 0)
    texts = [entry_text(entry) for entry in entries_of(session)]
    assert texts[1:] == ['[thinking]\nlook first\n[call run {"cmd":"ls"}]', "a.txt"]
    assert entries_of(session)[2].tool_name == "run"
    learn(session, "files were listed")
    new = session.compact(messages, keep_recent_tokens=5)
    assert new[0]["content"].startswith(OPENING) and new[1] is answer and new[2] is result


def test_a_worker_starts_by_itself_and_makes_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the hooks of agents start it; it reads the project's file."""
    agent = Agent(tmp_path)
    monkeypatch.setenv("MINUTEBOOK_HOME", str(agent.home))
    (tmp_path / ".minutebook.toml").write_text("observe_after_tokens = 50\n")
    try:
        with minutebook.Session("s1", project=tmp_path) as session:
            session.record([{"role": "user", "content": "Please keep the retry budget at 7. " + "words " * 100}])
            assert session.wait(60)
            assert session.status()["observations"]["recorded"] > 0
    finally:
        agent.end_workers()


def test_a_store_on_a_server(tmp_path: Path, redis_url: str) -> None:
    """As several machines share one: another process goes on where this one was."""
    messages = [{"role": "user", "content": f"step {at} " + "x" * 100} for at in range(6)]
    with minutebook.Session("s1", project=tmp_path, store=redis_url) as one:
        assert one.record(messages[:4]) == 4
        with minutebook.Session("s1", project=tmp_path, store=redis_url) as other:
            assert other.record(messages) == 2
            learn(other, "six steps")
            assert other.compact(messages, keep_recent_tokens=60)[0]["content"].startswith(OPENING)
        assert one.record(messages) == 0


# -- asking ------------------------------------------------------------------------------------------------------------


def test_recall_view_search_note_and_tools(session: minutebook.Session) -> None:
    session.record([{"role": "user", "content": "the port is 8443\n"}])
    (seen,) = learn(session, "the gateway listens on 8443")
    assert "\nthe port is 8443\n" in session.recall(seen)
    assert f"[{seen}]" in session.view(full=True) and "Nothing was compacted yet" in session.view()
    assert session.search("gateway")[0].id == seen
    line = session.note("deploys go through staging")
    assert line[1:13] in session.view(full=True) and "[critical] deploys" in line
    with pytest.raises(BadRecordId):
        session.recall("x")
    assert [each["function"]["name"] for each in session.tools()] == [
        each["name"] for each in session.tools("anthropic")
    ]
    assert session.call("recall", json.dumps({"id": seen})) == session.recall(seen)
    for wrong in ("{", "[1]", '{"id": "x"}', {"id": 7}, None):
        assert session.call("recall", wrong).startswith("Error: ")
    assert session.call("no_such", {}).startswith("Error: ")
    with pytest.raises(BadInput):
        session.tools("cohere")


@pytest.mark.parametrize("wrong", [("hm", "huge"), ("hm", None), ("hm", ["high"]), (5, "high"), (None, "low")])
def test_a_note_that_could_not_be_read_again_is_refused(session: minutebook.Session, wrong: tuple[Any, Any]) -> None:
    session.record([{"role": "user", "content": "the port is 8443"}])
    with pytest.raises(BadInput, match="one of low, medium, high, critical"):
        session.note(wrong[0], relevance=wrong[1])
    assert session.status()["observations"]["recorded"] == 0
    assert session.note("hm", relevance="low")[1:13] in session.view(full=True)


@pytest.mark.parametrize("wrong", [5, None, ["port"], b"port"])
def test_words_that_are_no_text_are_refused(session: minutebook.Session, wrong: Any) -> None:
    with pytest.raises(BadInput, match="words"):
        session.search(wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"zone": zone} for zone in ("Mars/X", 5, "", "../etc", "UTC\0", "\ud800")]
    + [{"window": window} for window in ("x", -1, 0, 1.5, True)]
    + [{"settings": settings} for settings in (5, "x", [("observe_after_tokens", 1)])],
)
def test_what_a_session_is_opened_with_is_looked_at_first(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """One that was stored would come up much later, and in a listing of all sessions."""
    with pytest.raises(BadInput, match=next(iter(wrong))):
        minutebook.Session("s1", project=tmp_path, store=tmp_path / "s.sqlite", **wrong)
    assert not (tmp_path / "s.sqlite").exists()


def test_a_call_that_is_no_json_says_so(session: minutebook.Session) -> None:
    assert session.call("recall", "id = 5").startswith("Error: the arguments of recall are no valid JSON: ")


def test_end_marks_the_session_and_more_opens_it_again(session: minutebook.Session) -> None:
    session.record([{"role": "user", "content": "x"}])
    session.end()
    assert load_session(session.store, session.key).ended
    session.record([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}])
    assert not load_session(session.store, session.key).ended


def test_due_is_what_status_says(tmp_path: Path) -> None:
    with opened(tmp_path, settings={"observe_after_tokens": 50}) as session:
        session.record([{"role": "user", "content": "x" * 400}])
        assert list(session.due()) == ["observer"] == list(session.status()["due"])
        assert not session.wait(0)


def test_import_minutebook_loads_none_of_it() -> None:
    import subprocess
    import sys

    code = "import sys, minutebook; print([m for m in sys.modules if m.startswith('minutebook.')])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError):
        _ = minutebook.Nothing  # type: ignore[attr-defined]

"""Kinds of fault around what is sent to a mind and what is covered, which no other test drives end to end."""

import base64
import json
import random
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
import scripted_faults as faults
from builders import ScriptedMind, call, concluded, deliver, memory_of, observed, remember, result, say
from jobs import WAIT, Gate, contents, engine, session_of_entries
from modelbench import PERFECT, Bench, aliases, bench, observe, task_of
from scripted_server import Asked

from minutebook.hosts import neutral
from minutebook.pipeline.branches import Path as Entries
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.ledger import read_memory
from minutebook.pipeline.quoting import OPENING
from minutebook.settings import Settings
from minutebook.store.opening import HOOK_BUSY_SECONDS
from minutebook.store.sqlite import SqliteStore
from minutebook.tokens import estimate_tokens

WINDOW_TOKENS = 8_000
CHUNK_TOKENS = 2_000
PROMPT_TOKENS = 3_000
"""More than the fixed part of an observer's request."""
LONG = "".join(f"line {number} of a log that goes on and on\n" for number in range(20_000))


@pytest.fixture
def made(tmp_path: Path, litellm: ModuleType) -> Iterator[Bench]:
    with bench(tmp_path) as opened:
        yield opened


def test_fault_backlog_outgrows_the_window(tmp_path: Path, litellm: ModuleType) -> None:
    """Memory is switched on late: what waits is several windows long. It goes in chunks, and no call is refused."""

    def fits(asked: Asked) -> bool:
        return len(asked.text) // 4 <= WINDOW_TOKENS

    with bench(tmp_path, model_context_tokens=WINDOW_TOKENS) as made:
        branch = made.session(600)
        assert Entries(made.store, branch).tokens() > 2 * WINDOW_TOKENS
        made.server.defaults["observer"] = faults.unless(fits, faults.context_too_long(), observe)
        made.work()
        assert made.memory(branch).observed == 600 and made.errors(branch) == {}
        assert all(map(fits, made.server.requests)) and len(made.sent()) > 5


def test_fault_one_entry_larger_than_threshold_and_chunk(tmp_path: Path, litellm: ModuleType) -> None:
    """A tool result of 200,000 tokens is observed, as an excerpt that says how much is missing."""
    with bench(tmp_path, observer_chunk_max_tokens=CHUNK_TOKENS) as made:
        branch = deliver(made.store, [say("Show the log", id="e0"), call("Bash"), result(LONG, id="e2")], "s1")
        made.server.defaults["observer"] = observe
        made.work()
        assert made.memory(branch).observed == 3 and made.errors(branch) == {}
        assert not made.memory(branch).open_gaps()
        (sent,) = [asked for asked in made.server.requests if "line 0 of a log" in task_of(asked)][:1]
        assert "line 19999 of a log" in task_of(sent) and "line 10000 of a log" not in task_of(sent)


def test_fault_counted_at_a_cap_but_sent_whole_or_the_reverse(tmp_path: Path, litellm: ModuleType) -> None:
    """The ledger weighs all of a long result, and what is sent of it stays within the chunk."""
    with bench(tmp_path, observer_chunk_max_tokens=CHUNK_TOKENS) as made:
        branch = deliver(made.store, [result(LONG, id="e0")], "s1")
        assert Entries(made.store, branch).tokens() == pytest.approx(estimate_tokens(LONG), rel=0.01)
        made.server.defaults["observer"] = observe
        made.work()
        sent = [estimate_tokens(asked.text) for asked in made.server.requests]
        assert made.memory(branch).observed == 1 and max(sent) <= CHUNK_TOKENS + PROMPT_TOKENS


TEXTS = {
    "prose": "The parser fails on nested lists, so the second pass was left out. " * 60,
    "Japanese": "日本語の文章をここに書きます。設定を変更しました。" * 60,
    "base64": base64.b64encode(random.Random(1).randbytes(3_000)).decode(),
    "minified": "function(a,b){return a.map(c=>c*b).filter(Boolean)};var x=1,y=2;" * 60,
}


@pytest.mark.parametrize("name", TEXTS)
def test_fault_token_estimates_are_off_by_four(name: str, litellm: ModuleType) -> None:
    """Against a real tokenizer no kind of text is off by more than the factor that usage can teach, which is 3."""
    real = litellm.token_counter(model="gpt-3.5-turbo", text=TEXTS[name])
    assert 1 / 3 <= real / estimate_tokens(TEXTS[name]) <= 3


def test_fault_observer_never_fires_without_a_compaction_or_a_prompt(made: Bench) -> None:
    """A session that was never compacted, and holds nothing but tool calls and their results."""
    events = []
    for n in range(4):
        events += [call("Bash", call_id=f"c{n}", id=f"a{n}"), result("ok " * 60, call_id=f"c{n}", id=f"r{n}")]
    branch = deliver(made.store, events, "s1")
    made.server.defaults["observer"] = observe
    made.work()
    assert made.memory(branch).observed == 8 and made.memory(branch).folds == []


def test_fault_dropper_runs_for_ever_and_drops_nothing(tmp_path: Path, litellm: ModuleType) -> None:
    """The pool is over its target and the model finds nothing safe: it is asked once for each new reflection."""
    settings = {"reflect_after_tokens": 60, "observations_pool_target_tokens": 50, "observations_pool_max_tokens": 100}
    with bench(tmp_path, **settings) as made:
        branch = made.session(4)
        made.server.defaults = {role: PERFECT[role] for role in ("observer", "reflector")}
        made.work(rounds=50, pause_seconds=300)
        assert made.memory(branch).reflections and not made.memory(branch).drops
        assert len(made.server.asked("dropper")) == 1


def test_fault_coverage_moves_on_an_answer_that_was_all_reasoning(made: Bench) -> None:
    """Thinking used up the output limit and nothing was said: the span fails, and is observed later."""
    branch = made.session(4)
    made.server.defaults["observer"] = faults.thought_only()
    made.work()
    assert made.memory(branch).observed == 0 and made.sent()[:3] == [4, 2, 1]
    made.server.defaults = dict(PERFECT)
    made.work(rounds=4, pause_seconds=300)
    assert made.memory(branch).observed == len(made.contents(branch)) == 4 and not made.memory(branch).open_gaps()


def test_fault_coverage_jumps_over_what_arrived_meanwhile(tmp_path: Path) -> None:
    """Turns that arrive while a mind thinks are not covered by its outcome; the next run reads them."""
    gate = Gate()
    with closing(SqliteStore(tmp_path / "store.db")) as store:
        session_of_entries(store, 4)
        with engine(store, ScriptedMind(gate)) as working:
            assert gate.entered.wait(WAIT)
            branch = session_of_entries(store, 8, start=4)
            gate.open.set()
            assert working.run_until_idle(WAIT)
        assert [entry.covers for entry in read_memory(store, branch)] == [4, 8]
        assert contents(memory_of(store, branch)) == [f"saw s1-e{n}" for n in range(8)]


def test_fault_own_text_is_observed_again_and_grows(made: Bench, tmp_path: Path) -> None:
    """What a compaction gave comes back in the transcript: it weighs nothing, and no model reads it."""
    branch = made.session(2)
    fact = observed("The gateway listens on port 8443", sources=["e0"])
    remember(made.store, branch, observations=[fact], reflections=[concluded("Port 8443 stays", fact)], covers=2)
    given = look_at_memory(made.store, branch, 2, Settings())
    assert given is not None and OPENING in given.text
    file = tmp_path / "chat.jsonl"
    rows = [("user", "Go on. " * 40, True), ("user", given.text, False), ("custom", given.text, False)]
    file.write_text("".join(json.dumps({"role": role, "text": text, "typed": t}) + "\n" for role, text, t in rows))
    events = neutral.read(file).events
    weight = Entries(made.store, branch).tokens()
    branch = deliver(made.store, events, "s1")
    assert Entries(made.store, branch).tokens() == weight + estimate_tokens("Go on. " * 40)
    made.server.defaults["observer"] = observe
    made.work()
    assert made.memory(branch).observed == 5 and made.server.requests
    assert not any(OPENING in asked.text for asked in made.server.requests)


def test_fault_a_denied_tool_call_is_invisible(made: Bench) -> None:
    """The observer sees that the call was refused, so that memory does not tell it as done."""
    denied = "Permission to use Bash with command rm -rf build has been denied."
    events = [say("Clean up " * 20, id="e0"), call("Bash", '{"command":"rm -rf build"}', id="e1")]
    deliver(made.store, [*events, result(denied, is_error=True, id="e2")], "s1")
    made.server.defaults["observer"] = observe
    made.work()
    task = task_of(made.server.requests[0])
    assert aliases(made.server.requests[0]) == ["s1", "s2", "s3"] and denied in task
    assert re.search(r"^\[s3\] .*(error|failed)", task, re.MULTILINE | re.IGNORECASE)


def test_fault_a_transaction_is_held_across_a_model_call(tmp_path: Path) -> None:
    """While a mind thinks, another process' hook writes at once: nothing is locked."""
    gate, path = Gate(), tmp_path / "store.db"
    with closing(SqliteStore(path)) as store, closing(SqliteStore(path, busy_seconds=HOOK_BUSY_SECONDS)) as hook:
        session_of_entries(store, 4)
        with engine(store, ScriptedMind(gate)) as working:
            assert gate.entered.wait(WAIT)
            branch = session_of_entries(hook, 8, start=4)
            thread = threading.Thread(target=hook.mark_dirty, args=(branch.key,))
            thread.start()
            thread.join(WAIT)
            assert not thread.is_alive() and store.tip(memory_stream(branch.key)).length == 0
            gate.open.set()
            assert working.run_until_idle(WAIT)
        assert memory_of(store, branch).observed == 8

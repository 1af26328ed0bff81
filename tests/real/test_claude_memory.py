"""Real Claude Code: a long session keeps its memory over compactions, by settings files and by the plugin."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath

import pytest
from scripted_server import Answer, Asked

from minutebook.pipeline.branches import Path, find_branch, memory_stream
from minutebook.pipeline.intake import own_branch
from minutebook.pipeline.ledger import OBSERVER, read_memory
from minutebook.pipeline.quoting import CLOSING, OPENING
from minutebook.pipeline.recall import recall
from minutebook.pipeline.sessions import find_session, list_sessions
from minutebook.pipeline.sourcetext import entry_text
from minutebook.pipeline.viewing import viewed
from minutebook.records import FOLD, HOST_SUMMARY, INJECTED, Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from tests.real.claude_lab import WINDOW, ClaudeLab, Talk, claude_lab, said, shell, words

BLOCK = re.compile(re.escape(OPENING) + r"\n(.*?)\n" + re.escape(CLOSING), re.DOTALL)
PART = re.compile(r"\(part (\d+) of (\d+)\)\n")
RECORD = re.compile(r"^\[([0-9a-f]{12})\] ", re.MULTILINE)
FULL = 85_000
"""Tokens at which Claude Code compacts before the next request, in the smallest window."""


@pytest.fixture
def lab(tmp_path: FilePath) -> Iterator[ClaudeLab]:
    with claude_lab(tmp_path) as found:
        yield found


@pytest.fixture(params=["settings", "plugin"])
def either_way(lab: ClaudeLab, request: pytest.FixtureRequest) -> ClaudeLab:
    """Installed by settings files, and by the plugin."""
    lab.install("--plugin" if request.param == "plugin" else "--user")
    return lab


@pytest.fixture
def wired(lab: ClaudeLab) -> ClaudeLab:
    lab.install("--user")
    return lab


def work(number: int, *, tokens: int = 1_000) -> list[Answer | Callable[[Asked], Answer]]:
    """A turn with a tool call, in which something is decided."""
    reasons = "\n".join(f"{reason(number, at)}" for at in range(4))
    return [shell(f"echo result-{number}", text=reason(number, 9)), said(reasons, tokens=tokens)]


def reason(number: int, at: int) -> str:
    return (
        f"I decided to keep the retry limit of queue {number}-{at} at {number + at} because the consumers of region "
        f"{number} drop jobs when more than {number * 10 + at} of them wait behind the lock of table {at}, which "
        f"showed in trace {number:04}{at} of the load test."
    )


def prompt(number: int) -> str:
    return f"Please do part {number} and look at trace {number:04} for it."


def memory_in(asked: Asked) -> str:
    """The text of the memory in a request, put together from its parts; each part is there once, in its place."""
    blocks: list[str] = BLOCK.findall(words(asked))
    if len(blocks) < 2:
        return "".join(blocks)
    parts = [PART.match(block) for block in blocks]
    assert [part and (int(part[1]), int(part[2])) for part in parts] == [
        (at, len(blocks)) for at in range(1, len(blocks) + 1)
    ]
    return "\n".join(PART.sub("", block, count=1) for block in blocks)


def visible_ids(store: Store, branch: Branch) -> list[str]:
    """Of what the last confirmed compaction shows, as the ledger says."""
    shown = viewed(store, branch, Settings(), full=False)
    return RECORD.findall("\n".join([*shown.recent_lines(), *shown.observation_lines()]))


def branch_of(store: Store, session: str) -> Branch:
    return own_branch(store, f"claude_code:{session}")


def caught_up(session: str) -> Callable[[Store], bool]:
    """Whether next to nothing of the session is left to observe."""

    def enough(store: Store) -> bool:
        if find_session(store, f"claude_code:{session}") is None:
            return False
        branch = branch_of(store, session)
        observed = store.tip(memory_stream(branch.key)).marks.get(OBSERVER, 0)
        return observed > 0 and Path(store, branch).length() - observed < 10

    return enough


def folds(store: Store, branch: Branch) -> int:
    return sum(entry.kind == FOLD for entry in read_memory(store, branch))


def long_talk(lab: ClaudeLab, turns: int) -> str:
    """A session of so many turns, whose memory is as far as it can be; its id."""
    with lab.talk() as talk:
        for number in range(1, turns + 1):
            lab.script = work(number)
            talk.say(prompt(number))
        lab.wait_for(caught_up(talk.session))
        return talk.session


def test_forty_turns_and_three_compactions(either_way: ClaudeLab) -> None:
    lab = either_way
    with lab.talk(**WINDOW) as talk:
        for number in range(1, 41):
            lab.script = work(number, tokens=FULL if number in (14, 27) else 1_000)
            before = len(lab.summaries_asked)
            talk.say(prompt(number))
            if len(lab.summaries_asked) > before:  # compacted before this turn's first request
                assert number in (15, 28) and RECORD.findall(memory_in(lab.asked[-2]))
            if number in (14, 27, 40):
                lab.wait_for(caught_up(talk.session))
        talk.say("/compact")
        lab.script = [call_recall, said("after")]
        talk.say("go on")
        session = talk.session
    text = memory_in(lab.asked[-2])
    assert len(text) > 30_000 and len(lab.summaries_asked) == 3
    assert "puts its own record of this session behind your summary" in words(lab.summaries_asked[-1])
    lab.wait_for(lambda store: folds(store, branch_of(store, session)) == 3)
    with lab.opened() as store:
        branch = branch_of(store, session)
        ids = visible_ids(store, branch)
        assert RECORD.findall(text) == ids
        (source,) = recall(store, branch, ids[-1]).sources
        assert entry_text(source.entry) in words(lab.asked[-1])
        kinds = [placed.entry.custom_type for placed in Path(store, branch).walk()]
    assert kinds.count(HOST_SUMMARY) == 3 and kinds.count(INJECTED) >= 3
    assert lab.hook_log() == ""


def call_recall(asked: Asked) -> Answer:
    """The model looks up the last record of the memory that it was given, with the tool that it was offered."""
    (tool,) = [name for name in asked.tools if name.endswith("__recall")]
    return Answer(calls=[(tool, {"id": RECORD.findall(memory_in(asked))[-1]})])


def test_resumed_and_forked_sessions_are_given_nothing_twice(wired: ClaudeLab) -> None:
    """003-157: what a fork adds is its own."""
    lab = wired
    session = long_talk(lab, 3)
    lab.prompt("/compact", session=session)
    lab.prompt("and on", session=session)
    given = memory_in(lab.asked[-1])
    assert given
    lab.prompt("once more", session=session)
    assert memory_in(lab.asked[-1]) == given
    fork = lab.prompt("another way", "--fork-session", session=session).session
    assert memory_in(lab.asked[-1]) == given and fork != session
    lab.wait_for(lambda store: find_session(store, f"claude_code:{fork}") is not None)
    lab.wait_for(lambda store: "another way" in texts(store, branch_of(store, fork)))
    with lab.opened() as store:
        assert "once more" in texts(store, branch_of(store, session))
        assert "another way" not in texts(store, branch_of(store, session))
        assert branch_of(store, fork).parent == branch_of(store, session).key


def texts(store: Store, branch: Branch) -> list[str]:
    return [entry_text(placed.entry) for placed in Path(store, branch).walk()]


def test_memory_that_a_compaction_lost_is_back_at_the_next_start(wired: ClaudeLab) -> None:
    lab = wired
    session = long_talk(lab, 3)
    lab.prompt("/compact", "--settings", '{"disableAllHooks": true}', session=session)
    lab.prompt("and on", session=session)
    assert RECORD.findall(memory_in(lab.asked[-1]))


@pytest.mark.parametrize("other", ["--project", "--plugin"])
def test_installed_by_two_ways_at_once(wired: ClaudeLab, other: str) -> None:
    """Claude Code runs equal commands once, and not those of a plugin: each part is there once (see memory_in)."""
    lab = wired
    lab.install(other)
    session = long_talk(lab, 3)
    with lab.talk("--resume", session) as talk:
        for _ in range(2):
            talk.say("/compact")
            goes_on_until_it_has_memory(lab, talk)


def goes_on_until_it_has_memory(lab: ClaudeLab, talk: Talk) -> None:
    """With the first prompt, unless the machine is too busy for a hook that answers within a second."""
    for _ in range(8):
        talk.say("and on")
        if RECORD.findall(memory := memory_in(lab.asked[-1])):
            assert "command-name" not in memory and "local-command" not in memory, "what /compact itself wrote down"
            return
        assert "not done within a second" in lab.hook_log()
    pytest.skip("no hook of this machine answered within a second")


def test_a_cleared_session_begins_without_memory(wired: ClaudeLab) -> None:
    lab = wired
    with lab.talk() as talk:
        lab.script = work(1)
        talk.say(prompt(1))
        first = talk.session
        lab.wait_for(lambda store: find_session(store, f"claude_code:{first}") is not None)
        talk.say("/clear")
        lab.script = [said("hello")]
        talk.say("something else")
        assert talk.session != first
    assert memory_in(lab.asked[-1]) == "" and prompt(1) not in words(lab.asked[-1])


def test_a_sub_agent_has_a_branch_of_its_own_that_nobody_observes(wired: ClaudeLab) -> None:
    lab = wired
    task = {"description": "look", "prompt": "SUBTASK: look at it", "subagent_type": "general-purpose"}
    lab.script = [Answer(calls=[("Agent", {**task, "run_in_background": False})]), said("seen " * 900), said("done")]
    session = lab.prompt("have it looked at").session
    lab.prompt("/compact", session=session)
    agents = lambda store: [each for each in list_sessions(store) if each.agent]  # noqa: E731
    lab.wait_for(lambda store: len(agents(store)) == 1)
    lab.wait_for(caught_up(session))
    with lab.opened() as store:
        (agent,) = agents(store)
        branch = find_branch(store, agent.branch)
        assert agent.session == session and branch is not None and branch.kind == "subagent"
        assert "SUBTASK: look at it" in "".join(texts(store, branch))
        assert read_memory(store, branch) == []
        assert [each.key for each in list_sessions(store) if not each.agent] == [f"claude_code:{session}"]


def test_commands_ask_no_model_and_leave_nothing_in_the_context(either_way: ClaudeLab) -> None:
    """003-110: what a command does not know is answered with its usage."""
    lab = either_way
    session = long_talk(lab, 3)
    asked = len(lab.model.requests)
    with lab.talk("--resume", session) as talk:
        status = talk.say("/om:status")["result"]
        assert f"claude_code:{session}" in status and "Observations" in status
        view = talk.say("/om:view full")["result"]
        ids = RECORD.findall(view)
        assert ids and "I decided to keep the retry limit" in view
        with lab.opened() as store:
            (source,) = recall(store, branch_of(store, session), ids[-1]).sources
        assert entry_text(source.entry) in talk.say(f"/om:recall {ids[-1]}")["result"]
        for wrong in ("/om:status now", "/om:view all", "/om:recall", "/om:recall nothing"):
            assert f"Usage: {wrong.split()[0]}" in talk.say(wrong)["result"]
        assert len(lab.model.requests) == asked
        talk.say("go on")
    assert "Usage:" not in words(lab.asked[-1]) and "/om:" not in words(lab.asked[-1])
    assert f"claude_code:{session}" in lab.prompt("/om:status", session=session).text


@pytest.mark.parametrize("trigger", ["manual", "auto"])
def test_the_optional_plugin_compacts_without_a_model_call(lab: ClaudeLab, trigger: str) -> None:
    lab.install("--plugin")
    assert lab.run("plugin", "install", "om-compact@minutebook").code == 0
    session = long_talk(lab, 3)
    before = length_of(lab, session)
    if trigger == "auto":
        lab.script = [shell("echo one", tokens=FULL), said("two")]
        lab.prompt("go on", session=session, **WINDOW)
    else:
        lab.prompt("/compact", session=session)
        lab.prompt("go on", session=session)
    assert lab.summaries_asked == [] and lab.summary not in words(lab.asked[-1])
    assert RECORD.findall(memory_in(lab.asked[-1]))
    if trigger == "auto":  # a resumed session reads nothing again that a plugin said
        assert "taken out of the context" in words(lab.asked[-1])
    lab.wait_for(lambda store: folds(store, branch_of(store, session)) > 0)
    lab.wait_for(lambda store: "go on" in texts(store, branch_of(store, session)))
    with lab.opened() as store:
        later = [placed.entry for placed in Path(store, branch_of(store, session)).walk(before)]
    assert [entry_text(each) for each in later if each.typed] == ["go on"], "what was kept is in the ledger once"


def length_of(lab: ClaudeLab, session: str) -> int:
    with lab.opened() as store:
        return Path(store, branch_of(store, session)).length()


def test_a_compaction_without_memory_is_the_hosts_own(lab: ClaudeLab) -> None:
    """003-066: also where the plugin could answer it."""
    lab.install("--plugin")
    assert lab.run("plugin", "install", "om-compact@minutebook").code == 0
    lab.script = [said("hello")]
    session = lab.prompt("hi").session
    lab.prompt("/compact", session=session)
    lab.prompt("go on", session=session)
    assert len(lab.summaries_asked) == 1 and "SUMMARY OF THE HOST" in words(lab.asked[-1])
    assert memory_in(lab.asked[-1]) == ""

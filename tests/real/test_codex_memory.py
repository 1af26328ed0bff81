"""Real Codex: what a session's next request holds after each compaction, through exec, resume and the app-server."""

import json
import random
import re

import pytest

from minutebook.hosts.codex import wiring
from minutebook.pipeline.quoting import CLOSING, OPENING
from tests.real.codex_api import Asked, Call, Reply, ScriptedResponses
from tests.real.codex_lab import AppServer, CodexLab, app_server, shell, wait_until

COMPACT_AT = 50_000
FULL = COMPACT_AT + 10_000
ID = re.compile(r"^\[([0-9a-f]{12})\]", re.MULTILINE)
RULES = 8
"""In each prompt of a long session, so that its memory is long, too."""


@pytest.fixture
def api(codex_api: ScriptedResponses) -> ScriptedResponses:
    return codex_api


@pytest.fixture
def lab(codex_lab: CodexLab) -> CodexLab:
    return codex_lab


def prompt(number: int, rules: int = 3) -> str:
    """What a person asks for, with rules of which no two have a word in common that says what they are about."""
    draw = random.Random(number)

    def word() -> str:
        return "".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(4))

    said = (
        f"Never touch src/{word()}/{word()}.py, because {' '.join(word() for _ in range(14))} depends on it."
        for _ in range(rules)
    )
    return f"Turn {number}: look at ledger {number}. {' '.join(said)}"


def rule_of(number: int) -> str:
    """The path that the first rule of a prompt is about."""
    return prompt(number).split("Never touch ")[1].split(",")[0]


def replies(number: int, *, tokens: tuple[int, int] = (1_000, 1_000)) -> list[Reply]:
    """The model runs a command, and says what came of it."""
    return [
        Reply(f"I look at ledger {number}.", [shell(f"echo rows of ledger {number}: $((number * 7))")], tokens[0]),
        Reply(f"Ledger {number} keeps its {number} rows in order.", tokens=tokens[1]),
    ]


def memory_in(asked: Asked) -> str:
    """The one memory of a request: whole, and the last thing there but for what Codex tells of tools that came."""
    assert asked.text.count(OPENING) == 1
    memory = [text for text in asked.of("developer") if not text.startswith("<tools>")][-1]
    assert memory.startswith(OPENING) and memory.rstrip().endswith(CLOSING)
    return memory


def first_after(api: ScriptedResponses, compaction: int) -> Asked:
    """The first request after that compaction, counted from 0."""
    asked = [each.number for each in api.requests if each.compacts]
    return next(each for each in api.turns if each.number > asked[compaction])


def check_ids(lab: CodexLab, memory: str) -> list[str]:
    """The ids of a memory, of which the first and the last lead to their sources."""
    ids = ID.findall(memory)
    for each in (ids[0], ids[-1]):
        assert "source" in lab.om("recall", each)
    return ids


@pytest.mark.timeout(600)
def test_forty_turns(lab: CodexLab, api: ScriptedResponses):
    """Through exec and resume, compacted in the middle of a turn and before one; then by hand, in the app-server."""
    lab.configure(compact_at=COMPACT_AT)
    lab.install()
    thread = typed(lab, api, range(1, 41), full=(4,), full_after=(24,))
    wait_until(lambda: lab.has_recorded(thread, 40))
    with app_server(lab) as server:
        server.resume(thread)
        server.compact(thread)
        server.turn(thread, "What do you know?")
    assert sum(asked.compacts for asked in api.requests) == 3
    memories = [memory_in(first_after(api, each)) for each in range(3)]
    ids = [check_ids(lab, memory) for memory in memories]
    assert len(ids[0]) < len(ids[1]) < len(ids[2])
    assert len(memories[2]) > 30_000
    assert api.summary in first_after(api, 2).text
    assert lab.hook_log() == []


def test_by_plugin(lab: CodexLab, api: ScriptedResponses):
    lab.configure(compact_at=COMPACT_AT, plugins=True)
    lab.install("--plugin")
    thread = typed(lab, api, range(1, 4), full=(3,))
    check_ids(lab, memory_in(first_after(api, 0)))
    with app_server(lab) as server:
        server.resume(thread)
        server.compact(thread)
        server.turn(thread, "What do you know?")
        check_ids(lab, memory_in(first_after(api, 1)))
    assert lab.hook_log() == []


def typed(
    lab: CodexLab, api: ScriptedResponses, numbers: range, *, full: tuple[int, ...], full_after: tuple[int, ...] = ()
) -> str:
    """Turns through exec and resume. full: the context is so after the first command; full_after: at the end."""
    thread = ""
    for number in numbers:
        if number in full:
            wait_until(lambda key=thread, so_far=number - 1: lab.has_recorded(key, so_far))
        tokens = (FULL if number in full else 1_000, FULL if number in full_after else 1_000)
        api.script.extend(replies(number, tokens=tokens))
        run = lab.exec(prompt(number, RULES), resume=thread)
        assert (run.code, run.said[-1]) == (0, f"Ledger {number} keeps its {number} rows in order."), run.errors
        thread = run.thread
    return thread


def test_a_resumed_session_keeps_it_and_a_new_one_has_none(lab: CodexLab, api: ScriptedResponses):
    lab.configure(compact_at=COMPACT_AT)
    lab.install()
    api.script.extend(replies(1))
    thread = lab.exec(prompt(1)).thread
    wait_until(lambda: lab.has_recorded(thread, 1))
    api.script.extend([*replies(2, tokens=(FULL, 1_000)), Reply("Still there.")])
    lab.exec(prompt(2), resume=thread)
    memory = memory_in(first_after(api, 0))
    lab.exec("And now?", resume=thread)
    assert memory_in(api.turns[-1]) == memory
    lab.exec("A new session.")
    assert OPENING not in api.turns[-1].text


def test_a_resumed_session_that_lost_it_is_given_it_back(lab: CodexLab, api: ScriptedResponses):
    """Compacted by hand, and closed before the next turn asked for the memory."""
    lab.configure()
    lab.install()
    with app_server(lab) as server:
        thread = asked_twice(server, api)
        wait_until(lambda: lab.has_recorded(thread, 2))
        server.compact(thread)
    lab.exec("Where were we?", resume=thread)
    memory_in(api.turns[-1])
    lab.exec("And now?", resume=thread)
    memory_in(api.turns[-1])


def test_installed_for_the_user_and_for_the_project_at_once(lab: CodexLab, api: ScriptedResponses):
    """All hooks run twice. The memory is there once: after a compaction of its own, after two by hand, and regained."""
    lab.configure(compact_at=COMPACT_AT)
    lab.install()
    lab.install("--project")
    assert len(lab.hooks()) == 2 * len(wiring.EVENTS) and wiring.untrusted(lab.hooks()) == []
    with app_server(lab) as server:
        thread = asked_twice(server, api)
        wait_until(lambda: lab.has_recorded(thread, 2))
        api.script.extend(replies(3, tokens=(FULL, 1_000)))
        server.turn(thread, prompt(3))
        check_ids(lab, memory_in(first_after(api, 0)))
        for _ in range(2):
            server.compact(thread)
            server.turn(thread, "Go on.")
            memory_in(api.turns[-1])
        server.compact(thread)
    lab.exec("Where were we?", resume=thread)
    memory_in(api.turns[-1])
    assert lab.hook_log() == []


def test_a_start_hook_that_came_to_nothing(lab: CodexLab, api: ScriptedResponses):
    """On a machine that was too busy for it: the next hook that can print gives the memory back."""
    lab.configure(compact_at=COMPACT_AT)
    lab.install("--no-trust")
    lab.hooks_file.write_text(lab.hooks_file.read_text().replace("codex SessionStart", "codex Nothing"))
    lab.trust()
    api.script.extend(replies(1))
    thread = lab.exec(prompt(1)).thread
    wait_until(lambda: lab.has_recorded(thread, 1))
    api.script.extend([replies(2, tokens=(FULL, 1_000))[0], *replies(3), Reply("And one more.")])
    lab.exec(prompt(2), resume=thread)
    assert OPENING not in first_after(api, 0).text
    memory_in(api.turns[-1])


def asked_twice(server: AppServer, api: ScriptedResponses) -> str:
    thread = server.start()
    for number in (1, 2):
        api.script.extend(replies(number))
        server.turn(thread, prompt(number))
    return thread


def test_recall_gives_the_exact_source(lab: CodexLab, api: ScriptedResponses):
    lab.configure(compact_at=COMPACT_AT)
    lab.install()

    def recall(asked: Asked) -> Reply:
        line = next(line for line in memory_in(asked).splitlines() if ID.match(line) and rule_of(1) in line)
        return Reply("I look it up.", [Call("recall", {"id": line[1:13]}, "mcp__om")])

    with app_server(lab) as server:
        thread = asked_twice(server, api)
        wait_until(lambda: lab.has_recorded(thread, 2))
        while "- mcp__om:" not in api.turns[-1].text:  # a server of tools may come up in the middle of a turn
            server.turn(thread, "Are your tools there?")
        api.script.extend([replies(3, tokens=(FULL, 1_000))[0], recall, Reply("I know it again.")])
        server.turn(thread, prompt(3))
    assert prompt(1) in json.loads(api.turns[-1].of("function_call_output")[-1])[-1]["text"]

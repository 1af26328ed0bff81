"""Session files of any size in the forms of Claude Code, Codex and Pi, the same bytes each time.

What is said in them is alike: a prompt, then some rounds of thought, a call of a tool and its output (from a line to
some hundred lines of code, listings and test runs), then an answer.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.writing import VOCABULARY

Rows = Iterator[dict[str, Any]]
BEGIN = datetime(2026, 5, 1, 8, tzinfo=UTC)
FOLDER = "/home/dev/shop"
LINES = (
    "def {a}_{b}(self, {c}: int, *, limit: int = {n}) -> dict[str, Any]:",
    '    """The {a} of a {b}, at most {n} of them."""',
    '    raise ValueError(f"{a} {{{c}!r}} is no {b}: see docs/{c}.md")',
    "    for {a} in sorted(self._{b}, key=lambda each: each.{c})[:{n}]:",
    "src/{a}/{b}.py:{n}:        {c} = self.{a}.get({b!r}, {n})  # keeps the {c}",
    "tests/{a}/test_{b}.py::test_{c}_is_kept[{n}] PASSED                    [ 42%]",
    '  "{a}": {{"version": "{n}.2.1", "integrity": "sha512-{h}{h}", "{b}": ["{c}"]}},',
    "-rw-r--r-- 1 dev dev {n:>6} May  1 08:{m:02} {a}_{b}.{c}.json",
    "commit {h}{h}  {a}: the {b} no longer waits for a {c} (#{n})",
    "{a} = os.environ['{b}_TOKEN'] if {c} else settings.{a}_key  # {n}",
    "",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A call of a tool. prompt, answer: "" within a turn."""

    number: int
    time: str
    prompt: str
    thought: str
    command: str
    output: str
    answer: str


def rounds() -> Iterator[Round]:
    """Without end; the same each time."""
    dice = random.Random(4)
    for number in count():
        opens, closes = number % 6 == 0, number % 6 == 5
        yield Round(
            number=number,
            time=f"{BEGIN + timedelta(seconds=20 * number):%Y-%m-%dT%H:%M:%S}.{number % 1000:03}Z",
            prompt=_prose(dice, 60) if opens else "",
            thought=_prose(dice, 40),
            command=f'cd {FOLDER} && rg -n "{dice.choice(VOCABULARY)}" src | head -{number} && cat src/{number}.py',
            output=_listing(dice, min(400, int(dice.paretovariate(0.9) * 10))),
            answer=_prose(dice, 90) if closes else "",
        )


def _prose(dice: random.Random, most: int) -> str:
    words = [dice.choice(VOCABULARY) for _ in range(dice.randint(8, most))]
    return f'The {" ".join(words)} - it doesn\'t; "{words[0]}" is in `src/{words[1]}.py`.\nShall I go on?'


def _listing(dice: random.Random, lines: int) -> str:
    return "\n".join(
        dice.choice(LINES).format(
            a=dice.choice(VOCABULARY),
            b=dice.choice(VOCABULARY),
            c=dice.choice(VOCABULARY),
            n=dice.randint(1, 9999),
            m=dice.randint(0, 59),
            h=f"{dice.getrandbits(80):020x}",
        )
        for _ in range(lines)
    )


def claude_code() -> Rows:
    """A session of Claude Code."""
    parent, session = None, _uuid(10**9)

    def row(kind: str, content: list[dict[str, Any]], each: Round, place: int, **more: Any) -> dict[str, Any]:
        nonlocal parent
        key, before = _uuid(each.number * 8 + place), parent
        parent = key
        about = {
            "isSidechain": False,
            "userType": "external",
            "cwd": FOLDER,
            "sessionId": session,
            "version": "2.1.300",
        }
        message = {"role": kind, "content": content, **more}
        return {
            "parentUuid": before,
            **about,
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": key,
            "timestamp": each.time,
        }

    def reply(block: dict[str, Any], each: Round, place: int) -> dict[str, Any]:
        usage = {"input_tokens": 4, "cache_creation_input_tokens": 800, "cache_read_input_tokens": 9_000 + each.number}
        usage = usage | {"output_tokens": 120}
        model = "claude-sonnet-4-5-20250929"
        return row("assistant", [block], each, place, id=f"msg_{each.number}_{place}", model=model, usage=usage)

    for each in rounds():
        call = f"toolu_{each.number:024}"
        if each.prompt:
            yield row("user", [{"type": "text", "text": each.prompt}], each, 0)
        yield reply({"type": "thinking", "thinking": each.thought, "signature": "c2lnbmF0dXJl" * 20}, each, 1)
        yield reply({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": each.command}}, each, 2)
        result = {"tool_use_id": call, "type": "tool_result", "content": each.output, "is_error": False}
        done = row("user", [result], each, 3)
        yield {**done, "toolUseResult": {"stdout": each.output[:2000], "stderr": "", "interrupted": False}}
        if each.answer:
            yield reply({"type": "text", "text": each.answer}, each, 4)


def codex() -> Rows:
    """A rollout of Codex."""
    meta = {"id": _uuid(1), "timestamp": f"{BEGIN:%FT%TZ}", "cwd": FOLDER, "originator": "codex_cli_rs"}
    yield {"timestamp": f"{BEGIN:%FT%TZ}", "type": "session_meta", "payload": {**meta, "cli_version": "0.146.0"}}
    for each in rounds():
        for kind, payload in _codex_payloads(each):
            yield {"timestamp": each.time, "type": kind, "payload": payload}


def _codex_payloads(each: Round) -> Iterator[tuple[str, dict[str, Any]]]:
    call = f"call_{each.number:024}"
    if each.prompt:
        content = [{"type": "input_text", "text": each.prompt}]
        yield "response_item", {"type": "message", "role": "user", "content": content}
        yield "event_msg", {"type": "user_message", "message": each.prompt, "images": []}
    yield "response_item", {"type": "reasoning", "summary": [], "encrypted_content": "Z2l2ZW4gdG8gbm9ib2R5" * 80}
    arguments = json.dumps({"command": ["bash", "-lc", each.command], "workdir": FOLDER})
    yield (
        "response_item",
        {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call, "id": f"fc_{each.number}"},
    )
    yield "response_item", {"type": "function_call_output", "call_id": call, "output": each.output}
    usage = {"input_tokens": 9_000 + each.number, "cached_input_tokens": 8_000, "output_tokens": 120}
    usage = usage | {"reasoning_output_tokens": 40, "total_tokens": 9_120 + each.number}
    info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}
    yield "event_msg", {"type": "token_count", "info": info}
    if each.answer:
        content = [{"type": "output_text", "text": each.answer}]
        yield "response_item", {"type": "message", "role": "assistant", "content": content}
        yield "event_msg", {"type": "agent_message", "message": each.answer}


def pi() -> Rows:
    """A session of Pi."""
    yield {"type": "session", "version": 3, "id": _uuid(2), "timestamp": f"{BEGIN:%FT%TZ}", "cwd": FOLDER}
    parent = None
    for each in rounds():
        for place, message in enumerate(_pi_messages(each)):
            key = f"{each.number * 4 + place:08x}"
            yield {"type": "message", "id": key, "parentId": parent, "timestamp": each.time, "message": message}
            parent = key


def _pi_messages(each: Round) -> Iterator[dict[str, Any]]:
    call = f"call_{each.number}"
    usage = {"input": 900, "output": 120, "cacheRead": 8_000, "cacheWrite": 0, "totalTokens": 9_020}
    about = {"api": "openai-completions", "provider": "bench", "model": "bench-1", "usage": usage}
    if each.prompt:
        yield {"role": "user", "content": [{"type": "text", "text": each.prompt}]}
    thought = {"type": "thinking", "thinking": each.thought}
    called = {"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": each.command}}
    yield {"role": "assistant", "content": [thought, called], **about, "stopReason": "toolUse"}
    content = [{"type": "text", "text": each.output}]
    yield {"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": content, "isError": False}
    if each.answer:
        yield {"role": "assistant", "content": [{"type": "text", "text": each.answer}], **about, "stopReason": "stop"}


HOSTS: dict[str, Callable[[], Rows]] = {"Claude Code": claude_code, "Codex": codex, "Pi": pi}


def written(folder: Path, host: str, size_bytes: int) -> Path:
    """A session file of a host, at least so large."""
    path = folder / f"{host.replace(' ', '-').lower()}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for row in HOSTS[host]():
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
            if file.tell() >= size_bytes:
                return path
    raise AssertionError("the rows have no end")


def _uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"

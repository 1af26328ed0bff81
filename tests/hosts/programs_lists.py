"""Conversations as a program keeps them, in three shapes, and sessions for them: for tests of minutebook.Session."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from builders import concluded, observed, remember
from hypothesis import strategies as st

import minutebook
from minutebook.hosts.python_messages import read_messages
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.sessions import load_session
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import SourceEntry

SHAPES = ("openai", "anthropic", "responses")


@dataclass
class Program:
    """A program's list. shape: of which library. prompts: what a person typed, in order."""

    shape: str = "openai"
    messages: list[Any] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    calls: int = 0

    def says(self, text: str) -> None:
        """A person types."""
        self.messages.append({"role": "user", "content": text})
        self.prompts.append(text)

    def answers(self, text: str) -> None:
        """The model says something."""
        content: Any = text if self.shape == "openai" else [{"type": "text", "text": text}]
        if self.shape == "responses":
            content = [{"type": "output_text", "text": text}]
        self.messages.append({"role": "assistant", "content": content})

    def works(self, *outputs: str) -> None:
        """The model calls so many tools at once, and gets their outputs."""
        ids = [f"call-{self.calls + at}" for at in range(len(outputs))]
        self.calls += len(outputs)
        {"openai": self._openai, "anthropic": self._anthropic, "responses": self._responses}[self.shape](ids, outputs)

    def _openai(self, ids: Sequence[str], outputs: Sequence[str]) -> None:
        called = [
            {"id": id_, "type": "function", "function": {"name": "run", "arguments": json.dumps({"n": id_})}}
            for id_ in ids
        ]
        self.messages.append({"role": "assistant", "content": None, "tool_calls": called})
        for id_, output in zip(ids, outputs, strict=True):
            self.messages.append({"role": "tool", "tool_call_id": id_, "content": output})

    def _anthropic(self, ids: Sequence[str], outputs: Sequence[str]) -> None:
        called = [{"type": "tool_use", "id": id_, "name": "run", "input": {"n": id_}} for id_ in ids]
        self.messages.append({"role": "assistant", "content": called})
        given = [
            {"type": "tool_result", "tool_use_id": id_, "content": [{"type": "text", "text": output}] if output else []}
            for id_, output in zip(ids, outputs, strict=True)
        ]
        self.messages.append({"role": "user", "content": given})

    def _responses(self, ids: Sequence[str], outputs: Sequence[str]) -> None:
        self.messages.append({"type": "reasoning", "id": f"rs-{ids[0]}", "summary": []})
        for id_ in ids:
            self.messages.append({"type": "function_call", "call_id": id_, "name": "run", "arguments": "{}"})
        for id_, output in zip(ids, outputs, strict=True):
            self.messages.append({"type": "function_call_output", "call_id": id_, "output": output})


def calls_and_answers(messages: Iterable[Any]) -> tuple[set[str], set[str]]:
    """Ids of the calls in a list, and of those that were answered in it."""
    calls: set[str] = set()
    answers: set[str] = set()
    for message in messages:
        blocks = message["content"] if isinstance(message.get("content"), list) else []
        calls |= {each["id"] for each in message.get("tool_calls") or ()}
        calls |= {each["id"] for each in blocks if each.get("type") == "tool_use"}
        answers |= {each["tool_use_id"] for each in blocks if each.get("type") == "tool_result"}
        if message.get("role") == "tool":
            answers.add(message["tool_call_id"])
        if message.get("type") == "function_call":
            calls.add(message["call_id"])
        if message.get("type") == "function_call_output":
            answers.add(message["call_id"])
    return calls, answers


TEXTS = st.sampled_from(["go on", "yes", "fix the tests", "ok", "what now?", "done", "x" * 300])


@st.composite
def programs(draw: st.DrawFn, most: int = 8, *, distinct: bool = False) -> Program:
    """A conversation of some rounds, with many words that come again, or (distinct) none."""
    program = Program(draw(st.sampled_from(SHAPES)))
    if draw(st.booleans()):
        program.messages.append({"role": "system", "content": "You are an agent."})
    for number in range(draw(st.integers(1, most))):
        more = f" {number}" if distinct else ""
        program.says(draw(TEXTS) + more)
        for _ in range(draw(st.integers(0, 2))):
            program.works(*draw(st.lists(st.sampled_from(["", "ok", "y" * 500]), min_size=1, max_size=3)))
        if draw(st.booleans()):
            program.answers(f"{draw(TEXTS)}{more}")
    return program


# -- sessions ----------------------------------------------------------------------------------------------------------

NUMBERS = count()
SMALL = {"compact_after_tokens": 200, "keep_recent_tokens": 60}


def opened(folder: Path, name: str = "s1", **more: Any) -> minutebook.Session:
    given = {"project": folder, "store": folder / "store.sqlite", "worker": False, "zone": "UTC", **more}
    return minutebook.Session(name, **given)


def entries_of(session: minutebook.Session) -> list[SourceEntry]:
    """What the ledger has on the branch on which the session stands."""
    branch = load_branch(session.store, load_session(session.store, session.key).branch)
    return [placed.entry for placed in SourcePath(session.store, branch).walk()]


def prompts_of(session: minutebook.Session) -> list[str]:
    """Typed prompts on all branches of the session, each delivered one once."""
    seen: dict[str, str] = {}
    for key in load_session(session.store, session.key).branches:
        for placed in SourcePath(session.store, load_branch(session.store, key)).walk():
            if placed.entry.typed:
                seen[placed.entry.id] = entry_text(placed.entry)
    return list(seen.values())


def said_in(messages: list[Any]) -> int:
    return sum(len(message.said) for message in read_messages(messages))


def learn(session: minutebook.Session, *words: str) -> list[str]:
    """Memory as a worker would record it, of everything that is there; ids of the observations."""
    entries = entries_of(session)
    branch = load_branch(session.store, load_session(session.store, session.key).branch)
    seen = [observed(each, sources=[entries[0].id]) for each in words]
    remember(session.store, branch, observations=seen, reflections=[concluded("all is well", *seen)])
    return [each.id for each in seen]

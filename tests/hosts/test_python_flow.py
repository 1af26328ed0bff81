"""Programs that do everything with their list, one thing after the other: what was typed is in the ledger, once."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from programs_lists import SHAPES, SMALL, Program, entries_of, learn, opened, prompts_of

import minutebook
from minutebook.pipeline.quoting import OPENING
from minutebook.pipeline.sourcetext import entry_text

STEPS = 25
ACTS = ("say", "say", "say", "compact", "clear", "cut", "slide", "reopen", "again")


class Flow:
    """A program with a session, which it records after each thing that it does."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.folder = folder
        self.program = Program(self.dice.choice(SHAPES))
        if self.dice.random() < 0.5:
            self.messages.append({"role": "system", "content": "You are an agent."})
        self.session = self.open()

    def open(self) -> minutebook.Session:
        return opened(self.folder, settings=SMALL)

    @property
    def messages(self) -> list[Any]:
        return self.program.messages

    def prompts_at(self) -> list[int]:
        """Where in the list something is that a person typed."""
        return [
            at
            for at, each in enumerate(self.messages)
            if each.get("role") == "user" and isinstance(each["content"], str) and OPENING not in each["content"]
        ]

    # -- what it does

    def say(self) -> None:
        number = len(self.program.prompts) + 1
        self.program.says(f"prompt {number}")
        for _ in range(self.dice.randint(0, 2)):
            self.program.works(*(f"output {number} {self.program.calls + at}" for at in range(self.dice.randint(1, 3))))
        if self.dice.random() < 0.9:
            self.program.answers(f"answer {number}")

    def compact(self) -> None:
        if self.program.prompts:
            self.session.record(self.messages)
            learn(self.session, f"memory {len(self.messages)}")
            self.program.messages = self.session.compact(
                self.messages, keep_recent_tokens=self.dice.choice([0, 30, 100])
            )

    def clear(self) -> None:
        """Old results of tools make room."""
        old = len(self.messages) - 6
        self.program.messages = [
            {**each, "content": "[cleared]"} if each.get("role") == "tool" and at < old else each
            for at, each in enumerate(self.messages)
        ]

    def cut(self) -> None:
        """Back to a prompt, and on otherwise."""
        if len(at := self.prompts_at()) >= 3:
            del self.messages[self.dice.choice(at[2:]) :]
            self.say()

    def slide(self) -> None:
        """The oldest messages go, without a memory in their place."""
        if len(at := self.prompts_at()) >= 4:
            lead = [each for each in self.messages[:1] if each.get("role") == "system"]
            self.program.messages = lead + self.messages[self.dice.choice(at[1:-2]) :]

    def reopen(self) -> None:
        self.session.close()
        self.session = self.open()

    def again(self) -> None:
        """Nothing."""

    def step(self) -> None:
        getattr(self, self.dice.choice(ACTS))()
        self.session.record(self.messages)
        assert self.session.record(self.messages) == 0

    def check(self) -> None:
        if not self.program.prompts:
            return
        assert set(self.program.prompts) <= set(prompts_of(self.session))
        here = [entry_text(entry) for entry in entries_of(self.session) if entry.typed]
        assert [text for text, count in Counter(here).items() if count > 1] == []
        if at := self.prompts_at():
            assert here[-1] == self.messages[at[-1]]["content"]


@pytest.mark.parametrize("seed", range(6))
def test_whatever_a_program_does_with_its_list(tmp_path: Path, seed: int) -> None:
    """No prompt lost, none twice on the branch on which it stands, and the newest at its end."""
    flow = Flow(tmp_path, seed)
    for _ in range(STEPS):
        flow.step()
        flow.check()
    flow.session.close()

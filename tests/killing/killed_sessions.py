"""Small sessions from a seed, as rows of the neutral format: every role has work in them, and some go back and fork."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from minutebook.settings import Settings

Row = dict[str, Any]
SETTINGS = Settings(
    observe_after_tokens=250,
    reflect_after_tokens=400,
    reflection_context_max_tokens=200,
    compact_after_tokens=1_200,
    keep_recent_tokens=300,
    observations_pool_max_tokens=500,
    observations_pool_target_tokens=150,
    old_memory_max_tokens=300,
    flush_min_tokens=40,
    flush_idle_seconds=10**6,
    lease_seconds=1,
    job_deadline_seconds=120,
    sweep_seconds=1,
    retry_first_seconds=1,
)
"""Thresholds at which a session of a hundred entries keeps all roles busy and is compacted a few times.

Its time stands still as far as idleness goes: what a killed run makes must not depend on when it goes on.
"""
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
NAMES = ("orders", "ledger", "billing", "search", "parser", "invoices", "uploads", "sessions")
FILES = ("app/orders.py", "app/money.py", "tests/test_orders.py", "deploy/values.yaml", "docs/api.md")


class _Writer:
    """Rows with ids, times and parents, one after the other."""

    def __init__(self, rng: random.Random, session: str) -> None:
        self.rng = rng
        self.session = session
        self.rows: list[Row] = []
        self.last: str | None = None

    def add(self, role: str, text: str, **more: Any) -> str:
        number = len(self.rows)
        id_ = f"{self.session}-{number}"
        time = START + timedelta(seconds=37 * number)
        row = {"id": id_, "parent": self.last, "role": role, "time": time.isoformat(), "text": text, **more}
        self.rows.append({key: value for key, value in row.items() if value is not None})
        self.last = id_
        return id_

    def turn(self, number: int) -> None:
        self.add("user", self._said(number))
        for call in range(self.rng.randrange(1, 4)):
            self._called(f"{number}.{call}")
        self.add("assistant", f"Done with the {self.rng.choice(NAMES)} of step {number}: " + "it is as you asked. " * 3)

    def aside(self) -> None:
        """What comes late for where the session was before, and an old answer that now reads otherwise."""
        here, self.last = self.last, self.rng.choice(self.rows)["id"]
        self.add("assistant", f"A late word on {self.rng.choice(NAMES)}: it runs.")
        self.last = here
        answers = [row for row in self.rows if row["role"] == "assistant"]
        self.rows.append({**self.rng.choice(answers), "text": "I looked again, and it was otherwise."})
        self.add("assistant", "Now on with it.")

    def _said(self, number: int) -> str:
        name, other = self.rng.sample(NAMES, 2)
        return self.rng.choice(
            [
                f"Rule {number}: never change the {name} table without asking me first, the {other} team reads it.",
                f"Decision: the {name} service keeps its own schema, number {number}, and {other} follows it.",
                f"No, that was wrong: the limit of {name} is {number * 7}, not {number}. Please change it in {other}.",
                f"Please look at {self.rng.choice(FILES)} and tell me why {name} fails in case {number}.",
                f"Always run the {name} tests before you commit step {number}; {other} broke twice.",
            ]
        )

    def _called(self, step: str) -> None:
        call_id, file = f"{self.session}-c{step}", self.rng.choice(FILES)
        command = self.rng.choice([f"pytest {file}", f"git commit -am 'Step {step}'", f"cat {file}", "make check"])
        part = {"kind": "tool_call", "name": "Bash", "call_id": call_id, "arguments": {"command": command}}
        self.add("assistant", "I look.", parts=[part])
        failed = self.rng.random() < 0.3
        said = (
            f"E AssertionError: case {step} of {file}"
            if failed
            else f"[main {self.rng.getrandbits(24):06x}] Step {step}"
        )
        self.add(
            "tool_result",
            said + "\n" + f"line of {file} " * self.rng.randrange(4, 40),
            call_id=call_id,
            is_error=failed,
        )


def session_rows(seed: int, *, turns: int = 24, session: str = "", forks: int = 2) -> list[Row]:
    """A session of that many turns; `forks` of its prompts go back to an earlier place."""
    rng = random.Random(seed)
    writer = _Writer(rng, session or f"s{seed}")
    going_back = set(rng.sample(range(2, turns), min(forks, turns - 2)))
    for number in range(turns):
        if number in going_back:
            back = rng.randrange(1, len(writer.rows))
            writer.last = writer.rows[-back]["id"]
        writer.turn(number)
        if number in going_back:
            writer.aside()
    return writer.rows


def header(session: str) -> Row:
    return {"type": "minutebook.session", "version": 1, "session": session, "project": "/srv/app", "zone": "UTC"}


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row) + "\n"


def write_session(path: Path, rows: Sequence[Row]) -> Path:
    """The session as a file, named after it; beside it what is planted in it, for evals.planted.PerfectModel."""
    path.write_text("".join(lines_of([header(path.stem), *rows])))
    facts = [
        {"kind": "said", "query": row["id"], "must_match": [row["text"][:40]], "stated_in": row["id"]}
        for row in rows
        if row["role"] == "user"
    ]
    path.with_suffix(".facts.json").write_text(json.dumps({"facts": facts}))
    return path


def assignments(settings: Settings) -> list[str]:
    """The settings that are not the defaults, as words of a command line."""
    plain = Settings()
    changed = {each.name: getattr(settings, each.name) for each in fields(Settings)}
    return [
        word
        for name, value in changed.items()
        if value != getattr(plain, name)
        for word in ("--set", f"{name}={value}")
    ]

"""The example sessions: their scripts write what is committed, and their facts are where they are said to be."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from minutebook.tokens import estimate_tokens

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@dataclass(frozen=True)
class Example:
    """A session, its facts file beside it, and the script that writes both."""

    session: Path
    script: Path

    @property
    def facts_file(self) -> Path:
        return self.session.with_suffix(".facts.json")

    @property
    def listed(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.facts_file.read_text(encoding="utf-8"))
        return loaded


BOTH = (
    Example(EXAMPLES / "orders-service.jsonl", EXAMPLES / "make_example.py"),
    Example(EXAMPLES / "second" / "grajo.jsonl", EXAMPLES / "second" / "make_second.py"),
)


def each(kind: str, *, only_with: str = "id") -> list[Any]:
    """(example, fact or decoy) of both sessions, named by session and id."""
    return [
        pytest.param(one, value, id=f"{one.session.stem}-{value['id']}")
        for one in BOTH
        for value in one.listed[kind]
        if only_with in value
    ]


def read_rows(example: Example) -> list[dict[str, Any]]:
    """Every line is one JSON value."""
    return [json.loads(line) for line in example.session.read_text(encoding="utf-8").splitlines()]


def read_texts(example: Example) -> dict[str, str]:
    """uuid → what the agent saw or said there, in file order."""
    return {row["uuid"]: seen_text(row["message"]["content"]) for row in read_rows(example) if "message" in row}


@pytest.fixture(params=BOTH, ids=lambda one: one.session.stem)
def example(request: pytest.FixtureRequest) -> Example:
    chosen: Example = request.param
    return chosen


@pytest.fixture
def rows(example: Example) -> list[dict[str, Any]]:
    return read_rows(example)


@pytest.fixture(scope="module")
def texts_of() -> dict[Example, dict[str, str]]:
    return {one: read_texts(one) for one in BOTH}


def seen_text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block_text(block) for block in content)


def block_text(block: dict[str, Any]) -> str:
    kind = block["type"]
    if kind == "tool_use":
        return json.dumps(block["input"], ensure_ascii=False)
    return str(block["content" if kind == "tool_result" else kind])


def line_with(text: str, strings: list[str]) -> str | None:
    lines = (line for line in text.splitlines() if all(s.casefold() in line.casefold() for s in strings))
    return next(lines, None)


def test_the_script_reproduces_the_committed_files(example: Example, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-B", example.script, "--out", tmp_path], check=True, capture_output=True, timeout=60
    )
    for path in (example.session, example.facts_file):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), f"run python {example.script.name}"


def test_long_enough_for_two_compactions(example: Example, texts_of: dict[Example, dict[str, str]]) -> None:
    assert sum(estimate_tokens(text) for text in texts_of[example].values()) >= 150_000


def test_parent_chain_is_unbroken(rows: list[dict[str, Any]]) -> None:
    seen: set[str | None] = set()
    for number, row in enumerate(row for row in rows if "uuid" in row):
        assert row["uuid"] not in seen
        assert row["parentUuid"] is None if number == 0 else row["parentUuid"] in seen
        seen.add(row["uuid"])


def test_times_never_run_back(rows: list[dict[str, Any]]) -> None:
    times = [row["timestamp"] for row in rows if "uuid" in row]
    assert times == sorted(times)


def test_one_usage_a_reply_and_a_context_that_grows(rows: list[dict[str, Any]]) -> None:
    usages: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["type"] == "assistant":
            message = row["message"]
            assert usages.setdefault(message["id"], message["usage"]) == message["usage"]
    context = [u["cache_read_input_tokens"] + u["cache_creation_input_tokens"] for u in usages.values()]
    assert context == sorted(context)


def test_every_tool_call_has_its_result(rows: list[dict[str, Any]]) -> None:
    blocks = [
        b
        for row in rows
        if "message" in row and isinstance(row["message"]["content"], list)
        for b in row["message"]["content"]
    ]
    called = [b["id"] for b in blocks if b["type"] == "tool_use"]
    assert called == [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]


def test_twenty_facts_five_corrections_five_decoys(example: Example) -> None:
    facts, decoys = example.listed["facts"], example.listed["decoys"]
    assert (len(facts), sum("supersedes" in fact for fact in facts), len(decoys)) == (20, 5, 5)


@pytest.mark.parametrize(("of", "fact"), each("facts"))
def test_fact_is_stated_in_one_line(of: Example, fact: dict[str, Any], texts_of: dict[Example, dict[str, str]]) -> None:
    assert line_with(texts_of[of][fact["stated_in"]], fact["must_match"])


@pytest.mark.parametrize(("of", "decoy"), each("decoys"))
def test_decoy_is_there(of: Example, decoy: dict[str, Any], texts_of: dict[Example, dict[str, str]]) -> None:
    line = line_with(texts_of[of][decoy["stated_in"]], decoy["must_not_match"])
    assert line
    assert "unless" not in decoy or any(word in line for word in decoy["unless"])


@pytest.mark.parametrize(("of", "fact"), each("facts", only_with="supersedes"))
def test_old_statement_stands_many_turns_before(
    of: Example, fact: dict[str, Any], texts_of: dict[Example, dict[str, str]]
) -> None:
    texts, old = texts_of[of], fact["supersedes"]
    line = line_with(texts[old["stated_in"]], old["must_match"])
    assert line and line_with(line, old["must_not_stand"])
    assert not line_with(line, fact["must_match"])
    order = list(texts)
    assert order.index(fact["stated_in"]) - order.index(old["stated_in"]) > 100

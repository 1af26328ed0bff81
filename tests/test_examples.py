"""The example session: what its script writes is what is committed, and its facts are where they are said to be."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minutebook.tokens import estimate_tokens

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SESSION = EXAMPLES / "orders-service.jsonl"
FACTS = json.loads((EXAMPLES / "orders-service.facts.json").read_text(encoding="utf-8"))
CORRECTIONS = [fact for fact in FACTS["facts"] if "supersedes" in fact]


def by_id(values: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(value, id=value["id"]) for value in values]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """Every line is one JSON value."""
    return [json.loads(line) for line in SESSION.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def texts(rows: list[dict[str, Any]]) -> dict[str, str]:
    """uuid → what the agent saw or said there, in file order."""
    return {row["uuid"]: seen_text(row["message"]["content"]) for row in rows if "message" in row}


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


def test_the_script_reproduces_the_committed_files(tmp_path: Path) -> None:
    script = EXAMPLES / "make_example.py"
    subprocess.run([sys.executable, "-B", script, "--out", tmp_path], check=True, capture_output=True, timeout=60)
    for path in (SESSION, EXAMPLES / "orders-service.facts.json"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), "run python examples/make_example.py"


def test_long_enough_for_two_compactions(texts: dict[str, str]) -> None:
    assert sum(estimate_tokens(text) for text in texts.values()) >= 150_000


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


def test_twenty_facts_five_corrections_five_decoys() -> None:
    assert (len(FACTS["facts"]), len(CORRECTIONS), len(FACTS["decoys"])) == (20, 5, 5)


@pytest.mark.parametrize("fact", by_id(FACTS["facts"]))
def test_fact_is_stated_in_one_line(fact: dict[str, Any], texts: dict[str, str]) -> None:
    assert line_with(texts[fact["stated_in"]], fact["must_match"])


@pytest.mark.parametrize("decoy", by_id(FACTS["decoys"]))
def test_decoy_is_there(decoy: dict[str, Any], texts: dict[str, str]) -> None:
    line = line_with(texts[decoy["stated_in"]], decoy["must_not_match"])
    assert line
    assert "unless" not in decoy or any(word in line for word in decoy["unless"])


@pytest.mark.parametrize("fact", by_id(CORRECTIONS))
def test_old_statement_stands_many_turns_before(fact: dict[str, Any], texts: dict[str, str]) -> None:
    old = fact["supersedes"]
    line = line_with(texts[old["stated_in"]], old["must_match"])
    assert line and line_with(line, old["must_not_stand"])
    assert not line_with(line, fact["must_match"])
    order = list(texts)
    assert order.index(fact["stated_in"]) - order.index(old["stated_in"]) > 100

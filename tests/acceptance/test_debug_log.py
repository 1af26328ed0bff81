"""The debug log of a whole cycle with a model: what each row tells, and what none does."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import reply
from modelbench import PERFECT, bench
from test_model_cycle import LENGTH, WHOLE

from minutebook.debuglog import RUN_ENDED, DebugLog
from minutebook.pipeline.deliveries import Reading, SessionHead
from minutebook.pipeline.intake import accept_turns
from minutebook.workers.models_call import MODEL_CALL

pytestmark = pytest.mark.usefixtures("litellm")

SECRET = "the cat sat on purple glass"


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """A session with the phrase in every text, worked off in four parts by all four roles."""
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path))
    head = SessionHead(host="neutral", session="s1", project="/home/u/shop")
    events = [reply(f"entry {n}: {SECRET} {n} " * 4, id=f"e{n}") for n in range(LENGTH)]
    with bench(tmp_path, **WHOLE, debug_log=True) as made:
        made.server.defaults = dict(PERFECT)
        for part in range(4):
            accept_turns(made.store, Reading(head=head, events=events[: LENGTH * (part + 1) // 4]), path="/s/one.jsonl")
            made.work(log=DebugLog(True, tmp_path))
        requests = len(made.server.requests)
    (file,) = (tmp_path / "debug").iterdir()
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert sum(row["event"] == MODEL_CALL for row in found) == requests > 0
    return found


def test_all_rows_of_a_job_have_its_run_and_its_session_003_144(rows: list[dict[str, Any]]) -> None:
    """003-142, 003-144: those of the models that it asked among them, in the session's one file."""
    events: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        assert (row["session"], row["session_file"], row["cwd"]) == ("s1", "/s/one.jsonl", "/home/u/shop")
        assert row["branch"] == "neutral:s1"
        events[row["run_id"]].append(row["event"])
    assert all(each.count(RUN_ENDED) == 1 and each[-1] == RUN_ENDED for each in events.values())
    assert {row["data"]["role"] for row in rows if row["event"] == MODEL_CALL} == set(PERFECT)


def test_no_row_holds_a_content_003_145(rows: list[dict[str, Any]]) -> None:
    """003-145: nor a prompt, an answer, or an id that a model proposed."""
    text = json.dumps(rows)
    assert not any(word in text for word in ("purple", "glass", "entry ", "conclusion", "Conclusion", "Role:"))
    assert {len(row["data"].get("reason", "x").split()) for row in rows} == {1}

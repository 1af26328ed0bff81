"""`om ingest`, and `om worker`."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from builders import memory_of
from commands import Om, data_of

from minutebook.cli import ingesting
from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.sessions import load_session
from minutebook.store.kernel import Store


def rows(count: int, start: int = 0, text: str = "We decided to use port 8443.") -> str:
    said = [
        {"role": "user", "id": f"e{n}", "text": f"{text} {n}", "time": "2026-05-02T10:30:00Z"}
        for n in range(start, count)
    ]
    return "".join(json.dumps(row) + "\n" for row in said)


@pytest.fixture
def file(project: Path) -> Path:
    path = project / "talk.jsonl"
    path.write_text(rows(3))
    return path


def test_a_file_is_taken_in_once(om: Om, store: Store, file: Path) -> None:
    shown = om("ingest", "talk.jsonl", code=0)
    assert shown.stdout == f"{file}: neutral neutral:talk\n  3 new entries, 3 prompts, ~24 tokens\n"
    assert "om worker --until-idle" in shown.stderr
    again = om("ingest", str(file), code=0)
    assert "0 new entries" in again.stdout and again.stderr == ""
    assert BranchPath(store, load_branch(store, "neutral:talk")).length() == 3


def pi_session(file: Path, project: Path) -> Path:
    """Of another project than the one that it is taken in from: a tool call on a secret."""
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "secrets/prod.env"}}
    head = {"type": "session", "version": 3, "id": file.stem, "timestamp": "2026-05-02T10:30:00Z", "cwd": str(project)}
    message = {"role": "assistant", "content": [call]}
    rows = [head, {"type": "message", "id": "1", "parentId": None, "message": message}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_what_the_session_s_own_project_ignores_is_left_out(
    om: Om, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is taken in from; a project's globs when it is trusted, those of Pi's settings for its sessions."""
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    om("ingest", str(pi_session(tmp_path / "s1.jsonl", other)), code=0)
    assert "prod.env" in om("search", "--session", "pi:s1", "prod.env", code=0).stdout
    (other / ".minutebook.toml").write_text('ignore = ["secrets"]\n')
    om("trust", str(other), code=0)
    om("ingest", str(pi_session(tmp_path / "s2.jsonl", other)), code=0)
    assert "prod.env" not in om("search", "--session", "pi:s2", "prod.env", code=0).stdout
    (other / ".minutebook.toml").unlink()
    (tmp_path / "settings.json").write_text('{"observational-memory": {"ignore": ["secrets"]}}')
    om("ingest", str(pi_session(tmp_path / "s3.jsonl", other)), code=0)
    assert "prod.env" not in om("search", "--session", "pi:s3", "prod.env", code=0).stdout
    (tmp_path / "settings.json").write_text('{"observational-memory": {"ignore": 5}}')
    result = om("ingest", str(pi_session(tmp_path / "s4.jsonl", other)), code=2)
    assert "ignore = 5 is not allowed" in result.stdout + result.stderr


def test_a_file_that_grew_is_read_on(om: Om, store: Store, file: Path) -> None:
    om("ingest", str(file), code=0)
    file.write_text(rows(5))
    report = data_of(om("ingest", str(file), "--json", code=0))["files"][0]
    assert (report["new"], report["duplicates"], report["entries"], report["replaced"]) == (2, 0, 2, False)


def test_a_file_that_was_replaced_is_read_again(om: Om, store: Store, file: Path) -> None:
    om("ingest", str(file), code=0)
    file.write_text(rows(2, text="Something else") + rows(4, start=2))
    result = om("ingest", str(file), code=0)
    assert "the file was replaced" in result.stdout
    assert "2 entries with another text than before, kept as versions" in result.stdout
    assert load_session(store, "neutral:talk").versions == 2


def test_an_unchanged_file_does_not_become_the_latest(om: Om, store: Store, file: Path, project: Path) -> None:
    om("ingest", str(file), code=0)
    (project / "other.jsonl").write_text(rows(1))
    om("ingest", "other.jsonl", code=0)
    om("ingest", str(file), code=0)
    assert data_of(om("sessions", "--json"))[0]["key"] == "neutral:other"


def test_reading_in_steps_gives_the_same(om: Om, store: Store, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one row is longer than a step."""
    monkeypatch.setattr(ingesting, "STEP_BYTES", 50)
    file.write_text(rows(4) + json.dumps({"role": "assistant", "text": "x" * 500}) + "\nnot json\n" + rows(7, start=5))
    report = data_of(om("ingest", str(file), "--json", code=0))["files"][0]
    assert (report["new"], report["duplicates"], report["broken_lines"]) == (7, 0, [6])
    assert (report["entries"], report["prompts"]) == (7, 6)


def test_what_is_left_out_is_shown(om: Om, store: Store, file: Path) -> None:
    file.write_text(
        '{"type": "minutebook.session", "session": "s"}\n' + rows(1) + '{"type": "odd"}\n{"broken\n{}x\n' + rows(2, 1)
    )
    shown = om("ingest", str(file), code=0).stdout
    assert "  left aside, known kinds: minutebook.session 1\n" in shown
    assert "  not taken in, unknown kinds: " in shown and "odd 1" in shown
    assert "  could not be decoded, line 4, 5\n" in shown


def test_folders_are_searched(om: Om, store: Store, file: Path, project: Path) -> None:
    (project / "deep" / "er").mkdir(parents=True)
    (project / "deep" / "er" / "more.jsonl").write_text(rows(1))
    (project / "notes.txt").write_text("no session")
    files = data_of(om("ingest", ".", str(file), "--json", code=0))["files"]
    assert [Path(each["path"]).name for each in files] == ["more.jsonl", "talk.jsonl"]


def test_bad_files_are_a_line_each_and_the_others_go_on(om: Om, store: Store, file: Path, project: Path) -> None:
    (project / "empty").mkdir()
    (project / "nothing.jsonl").write_text("")
    (project / "prose.jsonl").write_text("Dear diary\n")
    result = om("ingest", "gone.jsonl", "empty", "nothing.jsonl", "prose.jsonl", str(file), code=2)
    assert "3 new entries" in result.stdout
    said = [line for line in result.stderr.splitlines() if line.startswith("om: ")]
    assert [Path(line.split(": ")[1]).name for line in said] == ["empty", "gone.jsonl", "nothing.jsonl", "prose.jsonl"]
    assert "no .jsonl file in this folder" in said[0] and "there is no such file" in said[1]
    assert "no known session format (known:" in said[3]


def test_secrets_are_not_stored(om: Om, store_path: Path, file: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    file.write_text(json.dumps({"role": "user", "text": f"token {secret}"}) + "\n")
    om("ingest", str(file), code=0)
    stored = b"".join(path.read_bytes() for path in store_path.parent.glob("store.sqlite*"))
    assert b"github-token" in stored and secret.encode() not in stored


def test_an_estimate_writes_nothing(om: Om, store_path: Path, file: Path) -> None:
    file.write_text(rows(3, text="x" * 60_000))
    shown = om("ingest", "--estimate", str(file), code=0).stdout
    assert shown.splitlines() == [
        f"{file}: neutral, 3 entries, ~45,003 tokens, 5 spans",
        "1 session, 3 entries, ~45,003 tokens to read: 5 spans to observe",
        "No model is configured: the extractive mind works, 0 calls, 0 USD. Nothing was written.",
    ]
    assert not store_path.exists()
    smaller = data_of(om("ingest", "--estimate", "--json", str(file), "--set", "observe_after_tokens=45003"))
    assert (smaller["estimate"]["spans"], smaller["estimate"]["cost_usd"]) == (1, 0.0)
    model = data_of(om("ingest", "--estimate", "--json", str(file), "--set", "model=p/m"))["estimate"]
    assert (model["calls"], model["cost_usd"], model["mind"]) == (5, None, "p/m")


def test_an_estimate_counts_no_span_of_a_sub_agent_that_is_not_observed(om: Om, project: Path, file: Path) -> None:
    head = {"type": "minutebook.session", "session": "talk", "agent": "a1"}
    (project / "agent.jsonl").write_text(json.dumps(head) + "\n" + rows(3))
    files = ["ingest", "--estimate", "talk.jsonl", "agent.jsonl"]
    shown = om(*files, code=0).stdout
    assert "agent.jsonl: neutral, 3 entries, ~24 tokens, a sub-agent's, not observed" in shown
    assert "2 sessions, 6 entries, ~48 tokens to read: 1 span to observe" in shown
    assert "2 spans to observe" in om(*files, "--set", "observe_subagents=true", code=0).stdout


def test_what_was_known_is_not_told_as_new_prompts_and_tokens(om: Om, store: Store, file: Path, project: Path) -> None:
    om("ingest", str(file), code=0)
    (project / "elsewhere").mkdir()
    moved = file.rename(project / "elsewhere" / file.name)
    assert om("ingest", str(moved), code=0).stdout.splitlines()[1] == "  0 new entries, 3 known already"


def test_a_path_that_the_system_refuses_is_one_line(om: Om, store: Store, file: Path) -> None:
    """Too long a name stands for all of them; a folder that may not be entered does not stop the superuser."""
    name = "x" * 300
    assert f"{name}: cannot be read (" in om("ingest", name, code=2).stderr
    for args in (("sessions",), ("ingest", "--estimate", str(file)), ("ingest", "--wait", str(file))):
        assert "File name too long: check the path" in om(*args, "--store", name, code=1).stderr
    assert "File name too long" in om("doctor", "--store", name, code=1).stdout


def test_an_estimate_counts_only_what_is_new(om: Om, store: Store, file: Path) -> None:
    om("ingest", str(file), code=0)
    file.write_text(rows(5))
    assert data_of(om("ingest", "--estimate", "--json", str(file)))["estimate"]["entries"] == 2


def test_wait_makes_the_memory(om: Om, store: Store, file: Path) -> None:
    om("ingest", str(file), "--wait", "--set", "observe_after_tokens=10", code=0)
    memory = memory_of(store, load_branch(store, "neutral:talk"))
    assert memory.observed == 3 and memory.observations


def test_a_worker_works_until_idle(om: Om, store: Store, store_path: Path, file: Path) -> None:
    """The real console script, and only the roles that are named."""
    om("ingest", str(file), code=0)
    script = Path(sys.executable).with_name("om")
    args = ["worker", "--until-idle", "--store", str(store_path), "--set", "observe_after_tokens=10"]
    for role, observed in (("dropper", 0), ("observer", 3)):
        done = subprocess.run([script, *args, "--role", role], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert memory_of(store, load_branch(store, "neutral:talk")).observed == observed
    assert om("worker", "--role", "janitor", code=2).stdout == ""


def test_a_wrong_project_file_ends_the_worker_with_1(om: Om, store: Store, file: Path, project: Path) -> None:
    """The message names the file once, without the class of the error; nothing of the session is lost."""
    file.write_text(json.dumps({"type": "minutebook.session", "project": str(project)}) + "\n" + rows(600))
    om("ingest", "talk.jsonl", code=0)
    (project / ".minutebook.toml").write_text('observe_after_tokens = "many"\n')
    om("worker", "--until-idle", code=1)
    (project / ".minutebook.toml").unlink()
    om("worker", "--until-idle", code=0)
    assert memory_of(store, load_branch(store, "neutral:talk")).observations


@pytest.mark.parametrize(
    ("last_time", "over"),
    [("2026-05-02T10:30:00.000Z", True), ("", False), ("no time", False), ("2026-05-02T10:40:00Z", False)],
)
def test_a_session_whose_last_turn_is_long_past_is_over(last_time: str, over: bool) -> None:
    now = datetime(2026, 5, 2, 10, 40, tzinfo=UTC).timestamp()
    assert ingesting.is_over(last_time, now, 300) is over


def test_wait_tells_what_was_made_and_why_some_have_none(om: Om, store: Store, project: Path) -> None:
    (project / "short.jsonl").write_text(rows(2))
    (project / "long.jsonl").write_text(rows(200))
    shown = om("ingest", "--wait", "short.jsonl", "long.jsonl", code=0)
    assert memory_of(store, load_branch(store, "neutral:long")).observations
    assert "in 2 sessions" in shown.stderr and "1 session without memory" in shown.stderr


def test_wait_tells_that_work_failed_instead_of_guessing_why_there_is_none(
    om: Om, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_MODEL", "openai/scripted")  # no key is set
    (project / "long.jsonl").write_text(rows(2000))
    shown = om("ingest", "--wait", "long.jsonl", code=1)
    assert "Work is left that failed: `om jobs`" in shown.stderr and "without memory" not in shown.stderr

"""What tool calls and answers of the assistant leave behind."""

import pytest
from extractive_kit import Memory, assistant, call, contents, observed, result, user


def bash(command: str, output: str, *, error: bool = False, at: int = 1) -> tuple[object, object]:
    return assistant("", call("Bash", f"c{at}", command=command)), result(f"c{at}", output, error=error)


def test_files_are_grouped_with_counts() -> None:
    entries = (
        assistant("", call("Edit", "c1", file_path="src/a.py"), call("Edit", "c2", file_path="src/a.py")),
        assistant("", call("MultiEdit", "c3", file_path="src/b.py"), call("Write", "c4", file_path="tests/test_a.py")),
        assistant("", call("Read", "c5", file_path="src/c.py")),
    )
    found = observed(*entries)
    assert [(one["content"], one["relevance"], one["sources"]) for one in found] == [
        ("Edited src/a.py (2×), src/b.py; wrote tests/test_a.py", "medium", ["s0", "s1"])
    ]


def test_a_shared_folder_is_named_once() -> None:
    entries = assistant(
        "", call("write", "c1", path="/home/u/app/src/a.py"), call("edit", "c2", path="/home/u/app/tests/b.py")
    )
    assert contents(entries) == ["Edited tests/b.py; wrote src/a.py (in /home/u/app)"]


def test_files_of_a_patch_and_of_a_script() -> None:
    """Codex sends a patch as text, or as text inside a script."""
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n@@\n*** Delete File: c.py\n*** End Patch"
    raw = assistant("", call("apply_patch", "c1", input=patch))
    script = assistant(
        "", call("exec", "c2", code='const r = await tools.apply_patch("*** Begin Patch\\n*** Update File: d.py\\n@@")')
    )
    assert contents(raw) == ["Edited b.py; wrote a.py; deleted c.py"]
    assert contents(script) == ["Edited d.py"]


def test_a_failed_edit_changed_nothing() -> None:
    entries = (assistant("", call("Edit", "c1", file_path="a.py")), result("c1", "String not found", error=True))
    assert contents(*entries) == []


FAILURES = [
    ("pytest", "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'region'", "KeyError: 'region'"),
    ("pytest", ">   assert 1 == 2\nE   AssertionError: 1 != 2\nFAILED tests/test_a.py", "E   AssertionError: 1 != 2"),
    ("npx tsc", "Exit code 2\nsrc/a.ts(3,1): error TS2304: No x.", "src/a.ts(3,1): error TS2304: No x."),
    ("cargo build", "   Compiling a\nerror[E0382]: moved `x`\n --> a.rs", "error[E0382]: moved `x`"),
    ("git push", "Exit code 128\nfatal: Authentication failed", "fatal: Authentication failed"),
    ("foo", "Exit code 127\n/bin/bash: foo: command not found", "/bin/bash: foo: command not found"),
    ("mise run lint", "Exit code 1\n[lint] ERROR task failed\na.go:8:15: `x` twice", "a.go:8:15: `x` twice"),
    ("make deploy", "Exit code 1\nuploading\nquota of region eu is used up", "quota of region eu is used up"),
]


@pytest.mark.parametrize(("command", "output", "line"), FAILURES)
def test_a_failed_command_keeps_its_exact_error_line(command: str, output: str, line: str) -> None:
    found = [one for one in observed(*bash(command, output, error=True)) if one["content"].startswith("Command")]
    shown_line = " ".join(line.split())
    assert [(one["content"], one["relevance"]) for one in found] == [
        (f'Command failed: `{command}` → "{shown_line}"', "high")
    ]
    assert found[0]["sources"] == ["s0", "s1"]


@pytest.mark.parametrize(
    "output",
    [
        "Process exited with code 1\nOutput:\nfatal: no",
        '{"output":"fatal: no","metadata":{"exit_code":1}}',
        "fatal: no\n\n\nCommand exited with code 1",
    ],
)
def test_exit_codes_of_every_host_count_as_failure(output: str) -> None:
    assert any(one.startswith("Command failed: `make x`") for one in contents(*bash("make x", output)))


def test_a_search_that_finds_nothing_is_no_failure() -> None:
    assert contents(*bash("grep -rn foo src", "Exit code 1", error=True)) == []


def test_an_error_read_from_a_log_is_no_failure() -> None:
    assert contents(*bash("cat app.log", "Traceback (most recent call last):\nValueError: x")) == []


def test_a_failure_that_passed_later_is_routine_003_019() -> None:
    found = observed(*bash("make x", "fatal: no", error=True, at=1), *bash("make x", "ok", at=2))
    assert [(one["content"], one["relevance"]) for one in found] == [
        ('Command failed: `make x` → "fatal: no"; the same command passed later', "low")
    ]


def test_repeated_failures_are_counted() -> None:
    entries = [entry for at in range(3) for entry in bash("make x", "fatal: no", error=True, at=at)]
    assert contents(*entries) == ['Command failed (3×): `make x` → "fatal: no"']


SUMMARIES = [
    ("pytest -q", "12 passed, 1 failed in 0.31s", "failing"),
    ("pytest", "======= 70 passed in 1.74s =======", "passing"),
    ("npx jest", "Tests:       1 failed, 8 passed, 9 total", "failing"),
    ("npx vitest run", "      Tests  3 passed (3)", "passing"),
    ("cargo test", "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured", "passing"),
    ("cargo test", "test result: FAILED. 11 passed; 1 failed; 0 ignored", "failing"),
    ("go test ./...", "ok  \texample.com/a\t0.30s", "passing"),
    ("go test ./...", "--- FAIL: TestX (0.00s)", "failing"),
    ("npx mocha", "  2 failing", "failing"),
    ("bundle exec rspec", "12 examples, 0 failures", "passing"),
    ("python -m unittest", "FAILED (failures=1)", "failing"),
    ("bun test", " 12 pass", "passing"),
]


@pytest.mark.parametrize(("command", "summary", "state"), SUMMARIES)
def test_a_test_run_keeps_its_summary_line(command: str, summary: str, state: str) -> None:
    found = [one for one in observed(*bash(command, f"running\n{summary}\n")) if one["content"].startswith("Tests")]
    line = " ".join(summary.split())
    assert [one["content"] for one in found] == [f'Tests {state}: `{command}` → "{line}"']
    assert found[0]["relevance"] == ("high" if state == "failing" else "medium")


def test_the_last_outcome_of_a_test_command_stands() -> None:
    memory = Memory()
    memory.take(*bash("cd /app && pytest -q", "1 failed in 0.1s", at=1))
    memory.take(*bash("ruff check && pytest -q", "5 passed in 0.1s", at=2))
    assert [one.content for one in memory.active] == ['Tests passing: `pytest -q` → "5 passed in 0.1s"']


def test_commits_pushes_branches_and_pull_requests() -> None:
    entries = (
        *bash("git switch -c feat/x", "Switched to a new branch 'feat/x'", at=1),
        *bash('git commit -m "Add x"', "[feat/x 1a2b3c4] Add x\n 2 files changed", at=2),
        *bash("git push -u origin feat/x", "To github.com:o/r.git\n * [new branch]      feat/x -> feat/x", at=3),
        *bash("gh pr create --fill", "https://github.com/o/r/pull/12", at=4),
    )
    assert [(one["content"], one["relevance"]) for one in observed(*entries)] == [
        ("Created branch feat/x", "medium"),
        ("Committed 1a2b3c4 on feat/x: Add x", "critical"),
        ("Pushed feat/x -> feat/x", "medium"),
        ("Opened pull request https://github.com/o/r/pull/12", "critical"),
    ]


def test_a_fetch_is_no_push() -> None:
    output = "From github.com:o/r\n   6fd4f25..6571c9b  main       -> origin/main"
    assert contents(*bash("git config remote.pushDefault origin && git fetch", output)) == []


def test_what_the_user_rejected_did_not_happen() -> None:
    text = "The user doesn't want to proceed with this tool use. The user said:\nuse the v2 API"
    entries = (assistant("", call("Edit", "c1", file_path="a.py")), result("c1", text, error=True))
    assert contents(*entries) == ['User rejected `Edit a.py`, saying: "use the v2 API"']


def test_a_result_whose_call_is_not_in_the_batch() -> None:
    found = contents(result("gone", "[main 1a2b3c4] Add x"), result("gone2", "Exit code 1\nfatal: no", error=True))
    assert found == ["Committed 1a2b3c4 on main: Add x", 'Command failed: `Bash` → "fatal: no"']


ANSWERS = [
    ("I've implemented the retry in upload.py.", "high"),
    ("Done. All tests pass now.", "high"),
    ("I'll use SQLite because it needs no server.", "high"),
    ("The root cause is a missing lock around the cache.", "high"),
    ("I couldn't run the migration: no database is reachable.", "medium"),
]


@pytest.mark.parametrize(("text", "relevance"), ANSWERS)
def test_final_answers_are_quoted(text: str, relevance: str) -> None:
    assert relevance in [one["relevance"] for one in observed(assistant(text))]


def test_commentary_leaves_nothing() -> None:
    entries = (
        assistant("Let me look at the logging package.", call("Read", "c1", file_path="a.go")),
        result("c1", "package a", tool="Read"),
        assistant("Now I'll add the tests.", call("Read", "c2", file_path="b.go")),
        result("c2", "package b", tool="Read"),
        assistant("Perfect! I can see that this works.", call("Read", "c3", file_path="c.go")),
        user("continue"),
    )
    assert contents(*entries) == []


def test_a_plain_answer_gives_its_first_statement_as_low() -> None:
    found = observed(
        user("where is it?"), assistant("Good question! The handler sits in hooks.go. It has two callers.")
    )
    assert [(one["content"], one["relevance"]) for one in found[1:]] == [
        ('Assistant: "The handler sits in hooks.go."', "low")
    ]


def test_nothing_to_record_is_said_explicitly() -> None:
    from extractive_kit import AcceptingDesk, batch_of

    from minutebook.workers.extractive import ExtractiveMind

    desk = AcceptingDesk()
    ExtractiveMind().observe(batch_of([user("ok"), assistant("", call("Read", "c1", file_path="a"))]), desk)
    assert (desk.calls, desk.nothings) == ([], 1)

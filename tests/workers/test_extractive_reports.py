"""What sub-agents, findings and outputs leave behind: tasks, results, root causes, printed errors."""

import pytest
from extractive_kit import Memory, assistant, call, contents, observed, result, user

from minutebook.records import Observation
from minutebook.workers.contract import ReflectBatch, Weighed
from minutebook.workers.extractive.reflecting import conclusions_of

REPORT = (
    "# Result\n\nThe importer reads every file twice, once for its hash.\n\n"
    "- Root cause: the cache key holds the absolute path.\n"
    "- The second read costs 40 ms for each file of the nightly dump.\n"
    "- Other callers of the cache are not affected by the change of key.\n"
)


def test_a_task_that_nobody_typed_and_its_result_are_recorded() -> None:
    found = observed(user("Find out why the importer is slow.", typed=False), assistant(REPORT))
    kept = {one["content"]: one["relevance"] for one in found}
    assert kept['Task given: "Find out why the importer is slow."'] == "medium"
    assert kept['Assistant: "The importer reads every file twice, once for its hash."'] == "high"
    assert kept['Assistant: "Root cause: the cache key holds the absolute path."'] == "high"
    assert kept['Assistant: "The second read costs 40 ms for each file of the nightly dump."'] == "medium"


def test_a_task_is_no_rule_of_the_user() -> None:
    memory = Memory()
    memory.take(user("Never touch main. Always use tabs.", typed=False))
    assert memory.text == 'Task given: "Never touch main. Always use tabs."'


def test_a_later_batch_of_a_sub_agent_gives_its_result_too() -> None:
    memory = Memory()
    memory.take(user("Find out why the importer is slow.", typed=False), assistant("", call("Read", "c1", path="a.py")))
    memory.take(result("c1", "x = 1", tool="Read"), assistant(REPORT))
    assert "Other callers of the cache" in memory.text


def test_a_long_result_is_bounded() -> None:
    lines = "\n".join(f"- Module number {at} of the service holds its own copy of the table." for at in range(90))
    found = [one for one in contents(user("Look at all modules.", typed=False), assistant(lines)) if "Module" in one]
    assert 5 <= len(found) <= 12


def test_host_text_is_no_task() -> None:
    for text in ("<command-name>/compact</command-name>", "[Request interrupted by user]", "Caveat: local commands"):
        assert contents(user(text, typed=False)) == [], text


FINDINGS = [
    "Root cause: the retry loop never resets its counter.",
    "The bug is in the date parser, which drops the offset.",
    "Found: two workers share one connection.",
    "It turns out the index was never built on staging.",
    "The import fails because the header has a BOM.",
    "The regression was introduced in 4f9c2ab.",
]


@pytest.mark.parametrize("text", FINDINGS)
def test_a_finding_is_kept(text: str) -> None:
    found = {one["content"]: one["relevance"] for one in observed(user("why?"), assistant(text))}
    assert found[f'Assistant: "{text}"'] == "high"


def bash(output: str, *, error: bool = False, command: str = "./load.sh") -> list[str]:
    return contents(assistant("", call("Bash", "c1", command=command)), result("c1", output, error=error))


def test_the_exception_below_a_traceback_needs_no_telling_name() -> None:
    output = (
        "  20 done, p95 871 ms\nworker 11 died:\nTraceback (most recent call last):\n"
        '  File "a.py", line 78, in move\n    await session.execute(MOVE)\n'
        "psycopg.errors.LockNotAvailable: canceling statement due to lock timeout\n"
        "CONTEXT:  while updating tuple (41,17)\nexit status 1"
    )
    line = "psycopg.errors.LockNotAvailable: canceling statement due to lock timeout"
    assert bash(output, error=True) == [f'Command failed: `./load.sh` → "{line}"']


PRINTED = [
    ("ERROR:  canceling statement due to lock timeout", "(3×)"),
    ("2026-03-01 10:00:01 UTC [71] ERROR: deadlock detected", "(3×)"),
    ("FATAL: too many connections", "(3×)"),
    ("app.errors.StockError: not enough of 4711", "(3×)"),
]


@pytest.mark.parametrize(("line", "count"), PRINTED)
def test_an_error_in_the_output_of_a_command_that_ended_well(line: str, count: str) -> None:
    output = "\n".join(f"{at} done\n{line}" for at in range(3)) + "\nall done"
    shown = " ".join(line.split())
    assert bash(output) == [f'Command printed an error {count}: `./load.sh` → "{shown}"']


def test_errors_that_are_only_read_or_counted_are_none() -> None:
    assert bash("ERROR: deadlock detected", command="cat app.log") == []
    assert bash("ERROR: deadlock detected", command="kubectl logs x | grep ERROR") == []
    assert bash("build ok, 0 errors\nerrors: 0") == []


OPENED = [
    ("While we are in there: the page size cap is 200.", "the page size cap is 200."),
    ("One more thing - the API port is 8443.", "the API port is 8443."),
    ("By the way, never commit to main.", "never commit to main."),
]


@pytest.mark.parametrize(("prompt", "kept"), OPENED)
def test_an_opener_is_left_out_of_the_quotation(prompt: str, kept: str) -> None:
    assert contents(user(prompt)) == [f'User: "{kept}"']


REMARKS = ["60s is ok.", "I'll ask platform to suspend it tonight.", "log is in /tmp/ci-5512.txt right now"]


@pytest.mark.parametrize("text", REMARKS)
def test_a_remark_of_the_day_is_no_durable_fact(text: str) -> None:
    one = Observation(
        id="a" * 12, content=f'User: "{text}"', timestamp="2026-03-01 10:00", relevance="high", source_ids=("e0",)
    )
    assert conclusions_of(ReflectBatch(reflections=(), observations=(Weighed(observation=one, tier="none"),))) == []


def test_an_announcing_line_states_nothing() -> None:
    found = observed(user("I just got this from Payrail support:\n\n> Keep records three days."))
    assert [one["relevance"] for one in found] in ([], ["low"])

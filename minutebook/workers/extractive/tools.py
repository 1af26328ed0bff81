"""What tools did: files changed, commands that failed, test outcomes, commits. Routine calls leave nothing."""

import re
from collections.abc import Iterator, Sequence

from minutebook.records import Relevance
from minutebook.workers.contract import Shown
from minutebook.workers.extractive.calls import FileAction, Result, calls_of, results_of
from minutebook.workers.extractive.drafts import Draft, in_ledger_order
from minutebook.workers.extractive.errorlines import (
    error_line,
    has_traceback,
    is_failing,
    last_line,
    passed_packages,
    printed_error,
    test_summary,
)
from minutebook.workers.extractive.sentences import one_line, quoted

COMMAND_MAX_CHARACTERS = 120
FILES_PER_LINE = 12
FILE_LINES_MAX = 3
COMMITS_MAX = 20
FAILURES_MAX = 8
OUTCOMES_MAX = 4
PRINTED_MAX = 4

_COMMIT = re.compile(r"^\s*\[([\w./+-]{1,120}|detached HEAD)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.{1,300})$")
_PUSH = re.compile(
    r"^\s*(?:([0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40})|\* \[new (?:branch|tag)\]|"
    r"\+ [0-9a-f]{7,40}\.{3}[0-9a-f]{7,40})\s+(\S{1,120})\s+->\s+(\S{1,120})"
)
_PUSHES = re.compile(r"\b(?:git|gh|jj)\b[^;&|\n]{0,120}?\b(?:push|submit)\b(?!\.)")
_LEADING_CD = re.compile(r"^(?:cd [^;&|]{1,300}(?:&&|;) ?)+")
_RUNS_TESTS = re.compile(
    r"\b(?:py\.?test|jest|vitest|mocha|tox|nox|rspec|phpunit|unittest|playwright|cypress|ctest|e2e)\b|\btests?\b|"
    r"(?<!-)\bcheck\b"
)
_NEW_BRANCH = re.compile(r"^\s*Switched to a new branch '([^']{1,120})'")
_PULL_REQUEST = re.compile(r"https://[\w.-]{1,80}/[\w./-]{1,160}/(?:pull|merge_requests)/\d{1,8}")
_READS_ONLY = re.compile(
    r"^\s*(?:cd [^;&|]{1,300}(?:&&|;)\s*)*(?:cat|grep|rg|sed -n|head|tail|less|ls|find|tree|wc|jq|awk|echo|which|"
    r"pwd|diff|test|\[|git (?:log|diff|show|status|blame|grep|branch))\b"
)
_PIPED = re.compile(r"\b(?:grep|rg|cat|sed|awk|less|jq|curl|git (?:log|diff|show|grep))\b")
_SILENT_NO = re.compile(r"\b(?:grep|rg|diff|test|which|pgrep|cmp|ag)\b|\[ ")
_REJECTED = re.compile(
    r"^(?:The user doesn't want to (?:proceed|take this action)|User (?:rejected|denied)|The user (?:rejected|"
    r"denied|declined))",
    re.IGNORECASE,
)
_REJECTION_WORDS = re.compile(r"the user said:\s*\n?(.{1,600})", re.DOTALL | re.IGNORECASE)
_VERBS: tuple[tuple[FileAction, str], ...] = (("edited", "Edited"), ("wrote", "wrote"), ("deleted", "deleted"))


def tool_drafts(sources: Sequence[Shown]) -> list[Draft]:
    """Observations about tool calls and their results, in no particular order."""
    results = results_of(sources)
    return [
        *_file_drafts(sources, results),
        *_rejections(results),
        *_tests(results),
        *_failures(results),
        *_printed(results),
        *_git_drafts(results),
    ]


def _draft(content: str, relevance: Relevance, *sources: Shown | None) -> Draft:
    placed = in_ledger_order(*sources)
    return Draft(content=content, relevance=relevance, sources=placed, order=(placed[-1].placed.position, 50))


def _from(result: Result, content: str, relevance: Relevance) -> Draft:
    return _draft(content, relevance, result.call.shown if result.call else None, result.shown)


def _command(result: Result) -> str:
    """The command in back-quotes; a longer one is cut, with the ellipsis outside."""
    return _in_backquotes(result.command) or f"`{_tool(result)}`"


def _tool(result: Result) -> str:
    """The tool of a call that is no command, with the file that it was about."""
    name = result.call.name if result.call else result.shown.placed.entry.tool_name
    return f"{name} {result.call.files[0][1]}" if result.call and result.call.files else name


def _in_backquotes(command: str) -> str:
    """Without the leading change of folder; "" for none."""
    command = _LEADING_CD.sub("", command)
    if not command:
        return ""
    cut = command[:COMMAND_MAX_CHARACTERS].rstrip()
    return f"`{cut}`" + (" …" if len(cut) < len(command) else "")


# Files


def _file_drafts(sources: Sequence[Shown], results: Sequence[Result]) -> Iterator[Draft]:
    """One line for all files of the batch, a few if they are many; calls whose result is an error changed nothing."""
    failed = {result.call.call_id for result in results if result.call and result.failed}
    touched: dict[tuple[FileAction, str], list[Shown]] = {}
    for shown in sources:
        for call in calls_of(shown):
            if call.call_id not in failed or not call.call_id:
                for action, path in call.files:
                    touched.setdefault((action, one_line(path)), []).append(shown)
    names = list(touched)
    for start in range(0, min(len(names), FILES_PER_LINE * FILE_LINES_MAX), FILES_PER_LINE):
        some = names[start : start + FILES_PER_LINE]
        left = (
            len(names) - FILES_PER_LINE * FILE_LINES_MAX
            if start + FILES_PER_LINE >= FILES_PER_LINE * FILE_LINES_MAX
            else 0
        )
        yield _draft(_file_line(some, touched, left), "medium", *(one for name in some for one in touched[name]))


def _file_line(
    names: list[tuple[FileAction, str]], touched: dict[tuple[FileAction, str], list[Shown]], left: int
) -> str:
    folder = _common_folder([path for _, path in names])
    clauses = []
    for action, verb in _VERBS:
        files = [
            path.removeprefix(folder) + (f" ({count}×)" if (count := len(touched[action, path])) > 1 else "")
            for done, path in names
            if done == action
        ]
        if files:
            clauses.append(f"{verb} {', '.join(files)}")
    line = "; ".join(clauses)
    line = line[:1].upper() + line[1:] + (f" and {left} more files" if left > 0 else "")
    return f"{line} (in {folder.rstrip('/')})" if folder else line


def _common_folder(paths: list[str]) -> str:
    """The folder that all the absolute paths share, if naming it once saves room; "" otherwise."""
    folders = [path.split("/")[:-1] for path in paths]
    if len(paths) < 2 or not all(path.startswith("/") for path in paths):
        return ""
    shared: list[str] = []
    for level in zip(*folders, strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return "/".join(shared) + "/" if len(shared) >= 3 else ""


# Commands


def _rejections(results: Sequence[Result]) -> Iterator[Draft]:
    """A call that the user refused did not happen; their words are theirs."""
    for result in results:
        text = result.pieces[0][:4_000]
        if result.failed and _REJECTED.match(text):
            said = _REJECTION_WORDS.search(text)
            words = f", saying: {quoted(said[1])}" if said and said[1].strip() else ""
            yield _from(result, f"User rejected {_command(result)}{words}", "high")


def _tests(results: Sequence[Result]) -> Iterator[Draft]:
    """The last outcome of each test command."""
    last: dict[str, tuple[Result, str]] = {}
    for result in results:
        if result.command and not _READS_ONLY.match(result.command) and (summary := test_summary(result.lines)):
            command = _test_command(result.command)
            last.pop(command, None)
            last[command] = (result, summary)
    failing = [command for command, (_, summary) in last.items() if is_failing(summary)][-OUTCOMES_MAX:]
    passing = [command for command, (_, summary) in last.items() if not is_failing(summary)][-OUTCOMES_MAX:]
    for command in (*failing, *passing):
        (result, summary), bad = last[command], command in failing
        more = 0 if bad else max(0, passed_packages(result.lines) - 1)
        content = f"Tests {'failing' if bad else 'passing'}: {_in_backquotes(command)} → {quoted(summary)}"
        yield _from(result, content + (f" and {more} more packages" if more else ""), "high" if bad else "medium")


def _test_command(command: str) -> str:
    """Of a chain of commands the part that runs the tests, by which later runs of the same tests are known."""
    parts = [part.strip() for part in re.split(r"&&|;|\|\|", command)]
    return next((part for part in reversed(parts) if _RUNS_TESTS.search(part)), command)


def _failures(results: Sequence[Result]) -> Iterator[Draft]:
    """Commands that failed, by their error line; high while nothing shows that the same command passed later."""
    passed_at = {_key(result): at for at, result in enumerate(results) if result.command and not result.failed}
    seen: dict[str, list[int]] = {}
    for at, result in enumerate(results):
        if line := _failure_line(result):
            seen.setdefault(line, []).append(at)
    for line, places in list(seen.items())[-FAILURES_MAX:]:
        result = results[places[-1]]
        resolved = passed_at.get(_key(result), -1) > places[-1]
        times = f" ({len(places)}×)" if len(places) > 1 else ""
        note = "; the same command passed later" if resolved else ""
        routine = resolved or _READS_ONLY.match(result.command)
        content = f"Command failed{times}: {_command(result)} → {quoted(line)}{note}"
        yield _from(result, content, "low" if routine else "high")


def _failure_line(result: Result) -> str:
    """The error line of a failed command; "" for a search that found nothing, a refusal, or a failed edit."""
    if not result.command and not (
        result.call is None
        and result.failed
        and result.shown.placed.entry.tool_name.lower() in ("bash", "shell", "exec_command")
    ):
        return ""
    if _REJECTED.match(result.pieces[0][:200]):
        return ""
    reads = bool(_READS_ONLY.match(result.command))
    if not result.failed:
        return error_line(result.lines) if has_traceback(result.lines) and not reads else ""
    line = error_line(result.lines)
    return line if line or reads or _SILENT_NO.search(result.command) else last_line(result.lines)


def _printed(results: Sequence[Result]) -> Iterator[Draft]:
    """Errors that a command printed although it ended well, the newest ones; what only reads a file is not meant."""
    seen: dict[str, tuple[Result, int]] = {}
    for result in results:
        quiet = (
            result.failed
            or not result.command
            or bool(_READS_ONLY.match(result.command))
            or _PIPED.search(result.command)
        )
        if quiet or has_traceback(result.lines) or test_summary(result.lines):
            continue
        line, count = printed_error(result.lines)
        if line:
            seen.pop(line, None)
            seen[line] = (result, count)
    for line, (result, count) in list(seen.items())[-PRINTED_MAX:]:
        times = f" ({count}×)" if count > 1 else ""
        yield _from(result, f"Command printed an error{times}: {_command(result)} → {quoted(line)}", "medium")


def _key(result: Result) -> str:
    return result.command


# Git


def _git_drafts(results: Sequence[Result]) -> Iterator[Draft]:
    commits = [
        (result, found)
        for result in results
        if _runs_git(result)
        for line in result.lines
        if (found := _COMMIT.match(line[:500]))
    ]
    for result, found in commits[-COMMITS_MAX:]:
        yield _from(result, f"Committed {found[2]} on {found[1]}: {one_line(found[3])}", "critical")
    for result in results:
        if _runs_git(result):
            yield from _git_moves(result)


def _runs_git(result: Result) -> bool:
    return "git" in result.command or "gh " in result.command or (not result.command and result.call is None)


def _git_moves(result: Result) -> Iterator[Draft]:
    if _PUSHES.search(result.command):
        for line in result.lines:
            if (found := _PUSH.match(line[:400])) and not found[3].startswith("origin/"):
                yield _from(
                    result, f"Pushed {found[2]} -> {found[3]}" + (f" ({found[1]})" if found[1] else ""), "medium"
                )
                break
    for line in result.lines[:400]:
        if found := _NEW_BRANCH.match(line[:300]):
            yield _from(result, f"Created branch {found[1]}", "medium")
            break
    if "pr create" in result.command or "mr create" in result.command:
        for line in result.lines:
            if found := _PULL_REQUEST.search(line[:500]):
                yield _from(result, f"Opened pull request {found[0]}", "critical")
                break

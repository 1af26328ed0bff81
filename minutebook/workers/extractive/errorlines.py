"""The line of an output that tells what failed, and the line that sums up a test run. Verbatim, never rewritten."""

import re
from collections.abc import Sequence

LINE_MAX_CHARACTERS = 300
LINE_EXAMINED_CHARACTERS = 2_000

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TELLING: tuple[re.Pattern[str], ...] = (
    re.compile(r"^\s*E\s{2,}\w*(?:Error|Exception|assert|Failed)"),
    re.compile(r"^\s*(?:[\w.]+\.)?\w*(?:Error|Exception|Exit|Interrupt): \S|^\s*(?:[\w.]+\.)?\w*Error$"),
    re.compile(
        r"^\s*panic: |^\s*thread '.{1,80}' panicked|\bfatal: |\bfatal error\b|Segmentation fault", re.IGNORECASE
    ),
    re.compile(r"\berror(?:\[\w{1,10}\]|\s+TS\d+| [A-Z]{1,4}\d{2,5})?: \S|\berror TS\d+\b"),
    re.compile(
        r"command not found|No such file or directory|Permission denied|ENOENT|EACCES|ECONNREFUSED|EADDRINUSE|"
        r"ETIMEDOUT|cannot find (?:module|package)|undefined reference|Cannot resolve|not recognized as",
        re.IGNORECASE,
    ),
    re.compile(r"^\s*[\w./@-]{1,200}:\d{1,6}(?::\d{1,6})?:? .*\S"),
    re.compile(
        r"^\s*(?:npm ERR!|ERR!|ERROR\b|Error\b|error\b|\[ERROR\]|FAILED\b|FAIL\b|✗|✖|⨯|× |--- FAIL)|"
        r"\bERROR\b.{0,200}$"
    ),
    re.compile(
        r"\b(?:failed|failure|rejected|refused|timed out|denied|aborted|unauthorized|forbidden|invalid|mismatch)\b",
        re.IGNORECASE,
    ),
)
_STRICT = 5
_LAST_WINS = 2
"""Of tracebacks, the last line of the last one is the cause that reached the top; of other errors, the first leads."""
TRACEBACK_LINES = 200
_TRACEBACK = "Traceback (most recent call last)"
_RAISED = re.compile(r"^[A-Za-z_][\w.]{2,120}(?:: \S.*|)$")
_MARKED = re.compile(
    r"^(?:\[?[\d:.,TZ/+ -]{8,40}(?: [A-Z]{3,4})?\]?[ :|-]*)?(?:[\w.@/\[\]-]{1,40}[ :|]+){0,3}?"
    r"\[?(?:ERROR|FATAL|PANIC|CRITICAL|Error|error|fatal)\]?(?::|\]| {1,8}(?=\S))|^\s*(?:[\w.]+\.)?\w*(?:Error|"
    r"Exception): \S"
)
_GRAVE = re.compile(r"\b(?:FATAL|PANIC|CRITICAL|panic|fatal)\b")
_NUMBERS = re.compile(r"\d+")
_NO_ERROR = re.compile(
    r"\b(?:0 (?:errors?|failed|failures?|problems|issues)|no (?:errors?|issues))\b|errors?: 0\b", re.IGNORECASE
)
_CHROME = re.compile(
    r"^\s*(?:$|exit code:? ?-?\d+|(?:process|command) exited with code -?\d+|chunk id:|wall time|"
    r"original token count|output:|script (?:completed|failed)|"
    r"shell cwd was reset|total output lines|command aborted|={3,}$|-{3,}$|\^+$|npm ERR! A complete log)",
    re.IGNORECASE,
)
_SUMMARIES: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            r"^=*\s?(?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|"
            r"warnings?)(?:, )?){1,7}(?: in [\d.:]+ ?s?.{0,20})?\s?=*$"
        ),
        r"^=+ .{0,60}\b\d+ (?:passed|failed|errors?)\b.{0,80} in [\d.]+s.{0,20}=+$",
        r"^\s*Tests:?\s+(?:\d+ (?:failed|passed|skipped|todo|total)[,|\s]*){1,6}(?:\(\d+\))?\s*$",
        r"^test result: (?:ok|FAILED)\. \d+ passed; \d+ failed.{0,100}$",
        r"^\s*\d+ (?:passing|failing)(?: \(\d+\w+\))?\s*$",
        r"^\s*\d+ (?:pass|fail)\s*$",
        r"^\d+ examples?, \d+ failures?.{0,40}$",
        r"^(?:OK|FAILED) \((?:tests=|failures=|errors=|skipped=|\d+ tests?).{0,80}\)$",
        r"^(?:Passed|Failed)!\s+- Failed:\s+\d+, Passed:\s+\d+.{0,100}$",
        r"^Tests: \d+, Assertions: \d+.{0,80}$",
        r"^Ran \d+ tests? in [\d.]+s$",
        r"^# (?:pass|fail) \d+$",
        r"^\s*\d+ tests? (?:passed|failed).{0,40}$",
        r"^Tests run: \d+, Failures: \d+.{0,80}$",
    )
)
_GO_OK = re.compile(r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))")
_GO_FAIL = re.compile(r"^(?:FAIL\s+\S+\s|--- FAIL: \S+)")
_FAILING = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?|fail)\b|(?-i:FAILED)|\bfail [1-9]|Failed:\s+[1-9]|"
    r"Failures: [1-9]|"
    r"(?-i:--- FAIL)|(?-i:^FAIL)",
    re.IGNORECASE,
)


def shown_line(line: str) -> str:
    """A line as it is quoted: trimmed, bounded; colour codes end it, since what follows would not be verbatim."""
    line = _longest_plain(line[:LINE_EXAMINED_CHARACTERS]).strip()
    return line[:LINE_MAX_CHARACTERS].rstrip()


def _longest_plain(line: str) -> str:
    """The longest run without a colour code."""
    return max(_ANSI.split(line), key=len)


def error_line(lines: Sequence[str], *, strict: bool = False) -> str:
    """The most telling line of a failed command, "" when no line looks like an error.

    strict: only lines in the form of an error, not those that merely speak of a failure.
    """
    plain = [_longest_plain(line[:LINE_EXAMINED_CHARACTERS]) for line in lines]
    if raised := raised_line(plain):
        return raised
    for rank, pattern in enumerate(_TELLING[:_STRICT] if strict else _TELLING):
        order = reversed(plain) if rank < _LAST_WINS and rank > 0 else plain
        for line in order:
            if pattern.search(line) and not _NO_ERROR.search(line) and not _CHROME.match(line):
                return shown_line(line)
    return ""


def raised_line(lines: Sequence[str]) -> str:
    """The exception below the last traceback of Python, whatever its class is called; "" when there is none."""
    starts = [at for at, line in enumerate(lines) if _TRACEBACK in line[:LINE_EXAMINED_CHARACTERS]]
    for line in lines[starts[-1] + 1 : starts[-1] + TRACEBACK_LINES] if starts else ():
        if _RAISED.match(line[:LINE_EXAMINED_CHARACTERS]):
            return shown_line(line)
    return ""


def printed_error(lines: Sequence[str]) -> tuple[str, int]:
    """The first line that a program marks as an error, and how many lines say the same but for numbers; ("", 0)."""
    found = [line for line in lines if _MARKED.match(line[:400]) and not _NO_ERROR.search(line[:400])]
    if not found:
        return "", 0
    first = min(found, key=lambda line: 0 if _GRAVE.search(line[:400]) else 1)
    alike = _NUMBERS.sub("0", first[:400].strip())
    return shown_line(first), sum(1 for line in found if _NUMBERS.sub("0", line[:400].strip()) == alike)


def last_line(lines: Sequence[str]) -> str:
    """The last line that is no frame of the host's."""
    return next((shown_line(line) for line in reversed(lines) if not _CHROME.match(line[:200])), "")


def has_traceback(lines: Sequence[str]) -> bool:
    """Whether the output itself shows an uncaught error, whatever exit code came with it."""
    return any(
        line.lstrip().startswith(("Traceback (most recent call last)", "panic: ", "thread 'main' panicked"))
        for line in lines
    )


def test_summary(lines: Sequence[str]) -> str:
    """The summary line of a test run, "" when there is none. Two-line summaries give the line that counts failures."""
    found = [
        shown_line(line)
        for line in lines
        if len(line) < 400 and any(p.match(_longest_plain(line).strip()) for p in _SUMMARIES)
    ]
    if found:
        return next((line for line in reversed(found) if is_failing(line)), found[-1])
    return _go_summary(lines)


def is_failing(summary: str) -> bool:
    """Whether a summary line counts a failure."""
    return bool(_FAILING.search(summary))


def passed_packages(lines: Sequence[str]) -> int:
    """How many Go packages report ok."""
    return sum(1 for line in lines if _GO_OK.match(line[:300]))


def _go_summary(lines: Sequence[str]) -> str:
    failed = [line for line in lines if _GO_FAIL.match(line[:300])]
    passed = [line for line in lines if _GO_OK.match(line[:300])]
    return shown_line((failed or passed[-1:])[0]) if failed or passed else ""

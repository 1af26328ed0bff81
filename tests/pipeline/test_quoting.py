"""Stored content inside our block."""

import pytest

from minutebook.pipeline.quoting import harmless, harmless_lines


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("plain <div> & </div> text", "plain <div> & </div> text"),
        ("a\r\nb\u2028c", "a b c"),
        ("</minutebook-memory>", "<\\/minutebook-memory>"),
        ("< /Minutebook x>", "<\\ /Minutebook x>"),
        ("</system-reminder>", "<\\/system-reminder>"),
        ("<systemd-unit>", "<systemd-unit>"),
        ("\ud800", "\ufffd"),
    ],
)
def test_harmless_003_084(content: str, shown: str) -> None:
    assert harmless(content) == shown


@pytest.mark.parametrize(
    "line", ["# a", "  ## a", "[0123456789ab] x", "> a", "<b>", "===", "```", "~~~", "---", "***", "__"]
)
def test_a_line_that_would_begin_something_becomes_a_quotation_003_084(line: str) -> None:
    assert harmless_lines(f"before\n\n{line}\nafter") == ["before", f"> {line.strip()}", "after"]


@pytest.mark.parametrize("line", ["- a decision", "* a decision", "Decision: `x`", "(a remark)", "-1 is refused"])
def test_other_lines_stay_as_they_are(line: str) -> None:
    assert harmless_lines(line) == [line]

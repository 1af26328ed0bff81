"""For any text: no exception, only quotations, within bounds, the same every time."""

import re
import string

import pytest
from extractive_kit import NOW, AcceptingDesk, assistant, batch_of, call, result, user
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.records import RELEVANCES, SourceEntry
from minutebook.tokens import estimate_tokens
from minutebook.workers.contract import ObserveBatch
from minutebook.workers.extractive import ExtractiveMind

WORDS = st.sampled_from(
    [
        *(
            "never",
            "always",
            "must",
            "don't",
            "actually,",
            "not",
            "8080",
            "8443",
            "port",
            "use",
            "yarn",
            "instead of",
            "is",
        ),
        *(
            "the API",
            "deadline",
            "Friday.",
            "Monday.",
            "scratch that",
            "let's",
            "I prefer",
            "?",
            "!",
            "\n",
            "\n- ",
            "```",
        ),
        *(
            "a.py",
            "src/b.ts",
            '"quoted"',
            "不对，",
            "端口是",
            "。",
            "\x00",
            "\ud800",
            "E   AssertionError: x",
            "Traceback (",
        ),
        *(
            "<tag>",
            "</tag>",
            "> ",
            "1 failed, 2 passed in 0.1s",
            "[main 1a2b3c4] msg",
            "Exit code 1",
            ";",
            "…",
            "\u2028",
        ),
    ]
)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=40).map(" ".join),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=200),
    st.text(alphabet=string.printable, max_size=200),
)
ENTRIES = st.lists(
    st.one_of(
        TEXTS.map(user),
        TEXTS.map(assistant),
        TEXTS.map(lambda text: assistant(text, call("Bash", "c1", command=text[:60]))),
        TEXTS.map(lambda text: assistant("", call("Edit", "c2", file_path=text[:60]))),
        TEXTS.map(lambda text: result("c1", text)),
        TEXTS.map(lambda text: result("c1", text, error=True)),
    ),
    max_size=8,
)
TEMPLATES = re.compile(
    r"^(?:User(?: corrected| asked| considered| declined|'s question)?|Assistant|Task given|User showed an error|"
    r"Branch summary): "
    r'"(?P<a>.*?)"(?: …)?'
    r'(?: \(was: "(?P<b>.*)"(?: …)?\))?$'
    r'|^User answered: "(?P<c>.*)" to the assistant\'s "(?P<d>.*)"(?: …)?$'
    r'|^User rejected `(?P<e>.*)`(?: …)?(?:, saying: "(?P<f>.*)"(?: …)?)?$'
    r'|^(?:Command failed(?: \(\d+×\))?|Tests \w+): `(?P<g>.*)`(?: …)? → "(?P<h>.*)"(?: …)?'
    r"(?:; the same command passed later| and \d+ more packages)?$"
    r"|^Committed (?P<i>[0-9a-f]+) on (?P<j>.*?): (?P<k>.*)$|^(?:Edited|Wrote) (?P<l>.*)$",
    re.DOTALL,
)


def observe(entries: list[SourceEntry]) -> tuple[AcceptingDesk, ObserveBatch]:
    desk, batch = AcceptingDesk(), batch_of(entries)
    ExtractiveMind().observe(batch, desk)
    return desk, batch


def spaced(text: str) -> str:
    return " ".join(text.split())


@settings(max_examples=300, deadline=None)
@given(ENTRIES)
def test_every_quotation_occurs_in_the_batch(entries: list[SourceEntry]) -> None:
    """Nothing is invented: what stands in a record stands in a source, but for white space."""
    desk, batch = observe(entries)
    parts = [part for one in batch.sources for part in one.placed.entry.parts]
    said = spaced(" ".join(f"{part.name} {_plain(part.text)} {part.text}" for part in parts))
    said += spaced(" ".join(one.placed.entry.tool_name for one in batch.sources))
    for proposal in desk.proposals:
        found = TEMPLATES.match(proposal["content"])
        assert found, proposal["content"]
        for name, span in found.groupdict().items():
            if span and name != "l":
                assert spaced(span) in said, (span, proposal["content"])


def _plain(arguments: str) -> str:
    import json

    try:
        return " ".join(json.loads(arguments).values())
    except (ValueError, AttributeError, TypeError):
        return ""


@settings(max_examples=150, deadline=None)
@given(ENTRIES)
def test_every_proposal_is_well_formed_and_every_run_the_same(entries: list[SourceEntry]) -> None:
    desk, batch = observe(entries)
    assert (desk.nothings == 1) == (not desk.proposals)
    aliases = {one.alias for one in batch.sources}
    for proposal in desk.proposals:
        assert proposal["relevance"] in RELEVANCES
        assert proposal["sources"] and set(proposal["sources"]) <= aliases
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", proposal["timestamp"])
        assert proposal["content"].strip() and "\n" not in proposal["content"]
        assert len(proposal["content"]) < 2_000
    again, _ = observe(entries)
    assert again.calls == desk.calls


def test_an_unreadable_time_becomes_now() -> None:
    desk = AcceptingDesk()
    ExtractiveMind().observe(batch_of([user("Never push.")], time="????-??-?? ??:??"), desk)
    assert [one["timestamp"] for one in desk.proposals] == [NOW]


def test_a_huge_entry_is_examined_at_its_ends_only() -> None:
    """Ten megabytes on one line and on many: the statements at both ends are found, and it ends soon."""
    middle = "lorem ipsum (dolor; sit) " * 400_000
    prompt = f"Never commit to main.\n{middle}\nI prefer tabs."
    log = "x = {a: [1, 2]}\n" * 600_000 + "ValueError: the end"
    desk, _ = observe([user(prompt), assistant("", call("Bash", "c1", command="make")), result("c1", log, error=True)])
    found = [one["content"] for one in desk.proposals]
    assert 'User: "Never commit to main."' in found
    assert 'User: "I prefer tabs."' in found
    assert 'Command failed: `make` → "ValueError: the end"' in found


@pytest.mark.timeout(120)
def test_adversarial_repetition_ends_soon() -> None:
    """Inputs that make a careless pattern backtrack."""
    units = (
        "no ",
        "ok",
        "a",
        "not ",
        "use x ",
        "the ",
        "<a>",
        '"',
        "never, ",
        "1",
        "a/",
        "a-1",
        "`",
        "from x to ",
        "(",
    )
    more = (
        "please ",
        "was ",
        "is:",
        ". ",
        "- ",
        "。",
        "\n",
        "# ",
        "12 passed ",
        "E   ",
        "[main ",
        "(was: ",
        "; ",
        "it's ",
    )
    for text in (unit * (16_000 // len(unit)) for unit in units + more):
        observe([user(text), assistant(text), result("c1", text, error=True)])


def ordinary_session(turns: int) -> list[SourceEntry]:
    entries: list[SourceEntry] = []
    for turn in range(turns):
        entries += [
            user(f"Please fix the layout of page {turn}, the header overlaps the menu."),
            assistant("Let me look at it.", call("Read", f"r{turn}", file_path=f"src/page{turn}.py")),
            result(f"r{turn}", "def page():\n    return None\n" * 60, tool="Read"),
            assistant("", call("Edit", f"w{turn}", file_path=f"src/page{turn}.py")),
            result(f"w{turn}", "ok", tool="Edit"),
            assistant("", call("Bash", f"t{turn}", command=f"pytest tests/test_page{turn}.py")),
            result(f"t{turn}", f"{'.' * 500}\n{turn + 1} passed in 0.1s"),
            assistant(f"I've fixed the layout of page {turn}. The header no longer overlaps the menu."),
        ]
    return entries


def test_volume_of_an_ordinary_chunk_is_bounded() -> None:
    """About 10,000 tokens of session give 300 to 1,500 tokens of observations."""
    desk, batch = observe(ordinary_session(17))
    chunk = sum(one.placed.tokens for one in batch.sources)
    volume = sum(estimate_tokens(one["content"]) + 12 for one in desk.proposals)
    assert 9_000 < chunk < 11_500
    assert 300 <= volume <= 1_500


def test_the_weightiest_stay_when_there_is_too_much() -> None:
    entries = [user(f"I wonder whether widget {at} matters, maybe it could be green.") for at in range(200)]
    entries.insert(100, user("Never commit directly to main."))
    desk, _ = observe(entries)
    assert 'User: "Never commit directly to main."' in [one["content"] for one in desk.proposals]
    assert len(desk.proposals) < 60


def test_real_sessions_are_read_without_an_exception(sessions_dir) -> None:  # type: ignore[no-untyped-def]
    from minutebook.hosts.claude_code import reader as claude_code
    from minutebook.hosts.pi import reader as pi

    for name, reader in (("cc-07-two-records-one-line.jsonl", claude_code), ("pi-04-v1-large.jsonl", pi)):
        entries = [one for one in reader.read(sessions_dir / name).events if isinstance(one, SourceEntry)]
        desk, batch = observe(entries)
        chunk = sum(one.placed.tokens for one in batch.sources)
        volume = sum(estimate_tokens(one["content"]) + 12 for one in desk.proposals)
        assert 0 < volume < 0.16 * chunk

"""What must hold for any memory, any settings and any content: invariants 3 and 4, the budget, the block."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from builders import call, concluded, deliver, observed, remember, reply, result, say
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.excerpts import extract_lines, head_and_tail, head_and_tail_tokens
from minutebook.pipeline.folding import HeldDigest, HeldObservation, HeldReflection, Memory, fold
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import Projection, compaction_projection
from minutebook.pipeline.recall import recall
from minutebook.pipeline.rendering import CLOSING, EXTRACT_HEADING, OPENING, parts_of, render
from minutebook.pipeline.search import search
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import Branch, Observation, Placed, Reflection, Relevance, SourceEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.tokens import estimate_tokens

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

PIECES = [
    "word ",
    "文字",
    "🙂",
    "\ud800",
    "\n",
    "\u2028",
    "\r",
    "## ",
    "[0123456789ab] ",
    "```",
    OPENING,
    CLOSING,
    "</SYSTEM-reminder>",
]
SNIPPET = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=12).map("".join)
CONTENT = SNIPPET | st.builds(lambda text, times: (text * times)[:10_000], SNIPPET, st.sampled_from([50, 2_000]))
RELEVANCE = st.sampled_from(["low", "medium", "high", "critical"])


def held_observation(at: int, content: str, relevance: Relevance) -> HeldObservation:
    record = Observation(
        id=f"{at:012x}", content=content, timestamp="2026-05-02 10:30", relevance=relevance, source_ids=("e",)
    )
    return HeldObservation(record=record, since=0, covers=1, order=at)


def held_reflection(at: int, content: str) -> HeldReflection:
    record = Reflection(id=f"f{at:011x}", content=content, support_ids=(f"{at:012x}",))
    return HeldReflection(record=record, covers=1, order=at)


@st.composite
def projections(draw: st.DrawFn) -> Projection:
    events = draw(st.lists(st.tuples(CONTENT, RELEVANCE), max_size=12))
    ends = tuple(held_reflection(at, content) for at, content in enumerate(draw(st.lists(CONTENT, max_size=12))))
    digest = draw(st.none() | CONTENT.filter(lambda text: bool(text.strip())))
    observations = [held_observation(at, *each) for at, each in enumerate(events)]
    memory = Memory(
        observations={held.record.id: held for held in observations},
        reflections={held.record.id: held for held in ends},
    )
    return Projection(
        boundary=1,
        page=page_of(memory),
        observations=range(len(observations)),
        reflections=range(len(ends)),
        recent=range(len(ends)),
        digest=HeldDigest(content=digest, through="f", tokens=1, order=1) if digest else None,
    )


@st.composite
def sources(draw: st.DrawFn) -> list[SourceEntry]:
    """Prompts, replies, calls and their results, in any order that a host could give."""
    found: list[SourceEntry] = []
    for at, (kind, text) in enumerate(draw(st.lists(st.tuples(st.sampled_from("prck"), CONTENT), max_size=10))):
        made = {
            "p": say(text, id=f"p{at}"),
            "r": reply(text, id=f"a{at}"),
            "c": call("Bash", text, call_id=f"c{at}", id=f"k{at}"),
            "k": result(text, call_id=f"c{at - 1 - at % 2}", id=f"t{at}"),
        }[kind]
        found.append(made)
    return found


@QUICK
@given(
    shown=projections(),
    extract=st.lists(CONTENT, max_size=5),
    max_tokens=st.integers(1, 600) | st.sampled_from([200, 2_000, 32_000]),
    reflections_tokens=st.integers(1, 20_000),
)
def test_no_content_passes_the_budget_or_leaves_its_line_003_074_003_084(
    shown: Projection, extract: list[str], max_tokens: int, reflections_tokens: int
) -> None:
    lines = extract_lines([placed(at, say(text, id=f"e{at}")) for at, text in enumerate(extract)], max_tokens // 4)
    made = render(
        shown,
        max_tokens=max_tokens,
        reflections_tokens=reflections_tokens,
        extract=lines,
    )
    assert estimate_tokens(made.text) <= max_tokens
    if not made.text:
        return
    text = made.text.split("\n")
    assert made.text.splitlines() == text and made.text.encode()
    assert [at for at, line in enumerate(text) if re.search("<\\s*/?\\s*minutebook", line, re.I)] == [0, len(text) - 1]
    assert (text[0], text[-1]) == (OPENING, CLOSING)
    assert len(re.findall(r"^#", made.text, re.M)) == len(re.findall(r"^## [DRON]\w+", made.text, re.M)) <= 4
    rows = sum(bool(re.match(r"\[", line)) for line in text)
    in_all = len(shown.observations) + len(shown.recent) + (shown.digest is not None)
    assert rows + made.left_out in (in_all, in_all - 1)


@QUICK
@given(text=CONTENT | st.lists(CONTENT, max_size=8).map("\n".join), limit=st.integers(200, 10_000))
def test_parts_hold_every_line_in_order(text: str, limit: int) -> None:
    block = f"{OPENING}\n{text}\n{CLOSING}"
    parts = parts_of(block, limit)
    assert all(len(part) <= len(part.encode("utf-16-le", "surrogatepass")) // 2 <= limit for part in parts)
    if len(parts) == 1:
        assert parts == [block]
        return
    lines = [line for part in parts for line in part.split("\n")[2:-1]]
    whole = "\n".join(lines)
    for line in text.split("\n"):
        assert line in lines or len(line.encode("utf-16-le", "surrogatepass")) // 2 > limit - 70
    assert whole.replace("… ", "").replace("\n", "") == text.replace("… ", "").replace("\n", "")


@QUICK
@given(text=CONTENT, limit=st.integers(-3, 12_000))
def test_head_and_tail_never_exceeds(text: str, limit: int) -> None:
    assert len(head_and_tail(text, limit)) <= max(0, limit)
    assert estimate_tokens(head_and_tail_tokens(text, limit)) <= max(0, limit)


def placed(at: int, entry: SourceEntry) -> Placed:
    return Placed(position=at, tokens=1, total=at + 1, entry=entry)


@QUICK
@given(entries=sources(), max_tokens=st.integers(0, 800))
def test_an_extract_is_bounded_whole_and_counts_the_rest_003_075(entries: list[SourceEntry], max_tokens: int) -> None:
    lines = extract_lines([placed(at, each) for at, each in enumerate(entries)], max_tokens)
    assert sum(estimate_tokens(line + "\n") for line in lines) <= max_tokens
    ids = {each.id for line in lines for each in entries if re.match(rf"- [\w ]+ \({each.id}\): ", line)}
    calls = {part.call_id for each in entries if each.id in ids for part in each.parts if part.kind == "tool_call"}
    answers = {each.call_id for each in entries if each.id in ids and each.role == "tool_result"}
    assert calls == answers
    hidden = int(lines[0][1:].partition(" ")[0]) if lines and lines[0].startswith("(") else 0
    speaking = [each for each in entries if each.role == "tool_result" or entry_text(each).strip()]
    assert not lines or hidden + len(ids) == len(speaking)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    opened.close()


def fresh(store: Store, number: list[int]) -> tuple[Branch, list[SourceEntry]]:
    """A branch of twelve turns on the same store, of its own in every example."""
    number[0] += 1
    entries = [(say if at % 2 else reply)(f"turn {at} " * 5, id=f"x{number[0]}e{at}") for at in range(12)]
    return deliver(store, entries, f"s{number[0]}"), entries


NUMBER = [0]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["observe", "reflect", "drop", "supersede", "retire"]), st.integers(0, 12), st.integers(0, 9)
    ),
    max_size=12,
)


def built(store: Store, steps: list[tuple[str, int, int]]) -> tuple[Branch, dict[str, set[str]]]:
    """Memory made by these steps; every record's id with the source ids behind it."""
    branch, entries = fresh(store, NUMBER)
    behind: dict[str, set[str]] = {}
    events: list[Observation] = []
    ends: list[Reflection] = []
    for at, (step, covers, pick) in enumerate(steps):
        if step == "observe":
            source = entries[pick % len(entries)].id
            event = observed(f"event {at}", sources=(source,))
            remember(store, branch, observations=[event], covers=covers)
            events.append(event)
            behind[event.id] = {source}
        elif not events:
            continue
        elif step == "reflect":
            support = events[pick % len(events)]
            end = concluded(f"conclusion {at} of {branch.key}", support)
            remember(store, branch, reflections=[end], covers=covers)
            ends.append(end)
            behind[end.id] = set(support.source_ids)
        elif step == "retire" and ends:
            remember(store, branch, retired=[ends[pick % len(ends)]], covers=covers)
        else:
            by = "superseded" if step == "supersede" else "dropper"
            remember(store, branch, dropped=[events[pick % len(events)]], covers=covers, by=by)
    return branch, behind


@QUICK
@given(steps=STEPS)
def test_every_record_is_traced_to_its_source_text(store: Store, steps: list[tuple[str, int, int]]) -> None:
    """Invariant 3: dropped, superseded and retired ones too, exactly."""
    branch, behind = built(store, steps)
    path = SourcePath(store, branch)
    for key, ids in behind.items():
        found = recall(store, branch, key)
        assert {placed.entry.id for placed in found.sources} == ids and not found.partial
        assert [entry_text(each.entry) for each in found.sources] == [
            entry_text(path.at(each.position).entry) for each in found.sources
        ]  # type: ignore[union-attr]


@QUICK
@given(steps=STEPS, boundary=st.integers(0, 12))
def test_a_fold_is_a_function_and_no_entry_before_the_cut_is_passed_over(
    store: Store, steps: list[tuple[str, int, int]], boundary: int
) -> None:
    """Invariant 4, and that memory which comes to cover later entries changes nothing before."""
    branch, _ = built(store, steps)
    entries = ledger.read_memory(store, branch)
    page = page_of(fold(entries))
    at = {"pool_max_tokens": 20_000, "digest_tokens": 4_000}
    shown = compaction_projection(page, boundary, **at)
    assert compaction_projection(page_of(fold(list(entries))), boundary, **at) == shown
    made = look_at_memory(store, branch, boundary, Settings())
    assert (made is None) is shown.empty()
    if made is None:
        return
    quoted = made.text.partition(EXTRACT_HEADING)[2].count("\n- ")
    observed_till = min(boundary, shown.observed)
    assert quoted == made.extracted == boundary - observed_till
    assert look_at_memory(store, branch, boundary, replace(Settings(), passive=True)) == made


@settings(QUICK, max_examples=150)
@given(query=st.text() | CONTENT)
def test_no_query_can_crash_a_search(store: Store, query: str) -> None:
    branch = deliver(store, [say("the port is 8443", id="e1"), reply("文字列 🙂 \ud800 İ ß ﬁ", id="e2")], "search")
    hits = search(store, [branch], query)
    assert search(store, [branch], query) == hits
    assert all(hit.score > 0 and hit.text.encode() for hit in hits)

"""The ledger after any deliveries: each entry once, in order, in its place, whatever comes twice; and no secret."""

import string
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from builders import entry, observed, sums
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import Breaking, Broken, dump, take

from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.branches import list_branches, load_branch, memory_stream
from minutebook.pipeline.corrections import note
from minutebook.pipeline.deliveries import HostCompaction
from minutebook.pipeline.folding import fold
from minutebook.pipeline.ledger import read_memory
from minutebook.pipeline.outcomes import Entry, Outcome, Refused, commit_outcome, memory_entry
from minutebook.pipeline.sessions import find_session
from minutebook.pipeline.shapes import observation_data
from minutebook.records import GAP, OBSERVATIONS, Part, SourceEntry
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

ROLES = ("user", "assistant", "tool_result", "custom")


@contextmanager
def new_store() -> Iterator[Store]:
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "store.db", create=True)
        try:
            yield store
        finally:
            store.close()


@st.composite
def conversations(draw: st.DrawFn, most: int = 14) -> list[SourceEntry]:
    """Entries with unique ids; the parent of each is the one before, any earlier one, unknown, or none."""
    made: list[SourceEntry] = []
    for at in range(draw(st.integers(1, most))):
        before = f"n{at - 1}" if at else None
        earlier = [each.id for each in made]
        parent = draw(st.sampled_from([before, before, before, None, "unknown", *earlier]))
        role = draw(st.sampled_from(ROLES))
        typed = role == "user" and draw(st.booleans())
        moved = draw(st.sampled_from([False, False, False, True])) and bool(made)
        text = Part(kind="text", text=f"words {at}")
        made.append(entry(role, text, id=f"n{at}", parent=parent, typed=typed, moved=moved))
    return made


@st.composite
def deliveries(draw: st.DrawFn) -> list[list[SourceEntry]]:
    """A conversation in pieces, each with some of what came before it again."""
    whole = draw(conversations())
    cuts = sorted(draw(st.sets(st.integers(1, len(whole)), max_size=5)) | {len(whole)})
    pieces, start = [], 0
    for stop in cuts:
        pieces.append(whole[draw(st.integers(0, start)) : stop])
        start = stop
    return pieces


def placed_ids(store: Store) -> list[str]:
    """Ids of all streams of sources."""
    return [placed.entry.id for b in list_branches(store) for placed in SourcePath(store, b).walk(b.fork)]


def whole_of(pieces: list[list[SourceEntry]]) -> list[SourceEntry]:
    return list({each.id: each for piece in pieces for each in piece}.values())


@given(deliveries())
@settings(max_examples=60, deadline=None)
def test_every_entry_is_there_once_and_in_order(pieces: list[list[SourceEntry]]) -> None:
    """Invariant 1."""
    with new_store() as store:
        done = [take(store, piece) for piece in pieces]
        whole = whole_of(pieces)
        assert sorted(placed_ids(store)) == sorted(each.id for each in whole)
        assert sum(each.new for each in done) == len(whole)
        order = {each.id: at for at, each in enumerate(whole)}
        for branch in list_branches(store):
            placed = list(SourcePath(store, branch).walk())
            assert [each.position for each in placed] == list(range(len(placed)))
            own = [order[each.entry.id] for each in placed[branch.fork :]]
            assert own == sorted(own)
            assert placed[-1].total == sum(each.tokens for each in placed) == SourcePath(store, branch).tokens()
        session = find_session(store, "neutral:s1")
        assert session is not None and session.prompts == sum(each.typed for each in whole)


@given(deliveries())
@settings(max_examples=60, deadline=None)
def test_a_known_parent_is_on_the_path(pieces: list[list[SourceEntry]]) -> None:
    """An entry follows its parent: directly where a branch opened, else somewhere before it on the same path."""
    with new_store() as store:
        for piece in pieces:
            take(store, piece)
        known = set(placed_ids(store))
        for branch in list_branches(store):
            placed = list(SourcePath(store, branch).walk())
            at = {each.entry.id: each.position for each in placed}
            for each in placed:
                if each.entry.parent in known:
                    assert at[each.entry.parent] < each.position
            if branch.parent:
                first = placed[branch.fork].entry
                assert first.typed or first.moved
                assert branch.fork == (at[first.parent] + 1 if first.parent else 0)


@given(deliveries())
@settings(max_examples=40, deadline=None)
def test_pieces_and_repetitions_change_nothing(pieces: list[list[SourceEntry]]) -> None:
    """The ledger is a function of what was delivered, in order."""
    with new_store() as whole, new_store() as cut:
        take(whole, whole_of(pieces))
        for piece in pieces:
            take(cut, piece)
        assert dump(cut) == dump(whole)
        for piece in reversed(pieces):
            take(cut, piece)
        assert dump(cut)["branches"] == dump(whole)["branches"]


@given(conversations(8), st.permutations(range(8)))
@settings(max_examples=40, deadline=None)
def test_any_order_of_delivery_loses_nothing(whole: list[SourceEntry], order: list[int]) -> None:
    with new_store() as store:
        for at in order:
            take(store, whole[at : at + 2])
        assert sorted(placed_ids(store)) == sorted(each.id for each in whole)


@given(conversations(8), st.integers(0, 60), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_death_at_any_call_changes_nothing(whole: list[SourceEntry], at: int, after: bool) -> None:
    """Invariant 5."""
    events = [*whole, HostCompaction(id="c", after=whole[-1].id)]
    with new_store() as store, new_store() as calm:
        take(calm, events)
        try:
            take(Breaking(store, at, after=after), events)
        except Broken:
            take(store, events)
        assert dump(store) == dump(calm)


@given(conversations(10), st.integers(1, 10), conversations(4))
@settings(max_examples=50, deadline=None)
def test_a_copied_beginning_is_shared(whole: list[SourceEntry], shared: int, rest: list[SourceEntry]) -> None:
    """Whatever a session copied of another one: its path holds all it was given, the other's is as it was."""
    straight = [entry("user", Part(kind="text", text=f"w{at}"), id=f"n{at}") for at in range(len(whole))]
    own = [entry("user", Part(kind="text", text="own"), id=f"own{at}") for at, _ in enumerate(rest)]
    copy = [*straight[:shared], *own]
    with new_store() as store:
        take(store, straight)
        for at in range(len(copy)):
            take(store, copy[max(0, at - 1) : at + 1], "copy")
        assert [placed.entry.id for placed in SourcePath(store, load_branch(store, "neutral:s1")).walk()] == [
            each.id for each in straight
        ]
        branch = load_branch(store, "neutral:copy")
        assert [placed.entry.id for placed in SourcePath(store, branch).walk()] == [each.id for each in copy]
        assert branch.fork == min(shared, len(straight))


Act = tuple[str, int]
ACTS = st.lists(st.tuples(st.sampled_from(["observe", "nothing", "gap", "note", "deliver", "back"]), st.integers(1, 5)))


@given(ACTS, st.lists(st.integers(0, 3), max_size=6))
@settings(max_examples=60, deadline=None)
def test_coverage_passes_only_what_was_sent_or_listed(acts: list[Act], stale: list[int]) -> None:
    """Invariant 2, with made-up outcomes; some come from runs that read an older ledger, and are refused."""
    ids = count()
    with new_store() as store:
        take(store, [entry("user", Part(kind="text", text="w" * 40), id=f"s{next(ids)}", typed=True)])
        passed: dict[str, set[int]] = {}
        for act, size in acts:
            session = find_session(store, "neutral:s1")
            assert session is not None
            branch = load_branch(store, session.branch)
            if act == "deliver":
                take(store, [entry("assistant", Part(kind="text", text="w"), id=f"s{next(ids)}") for _ in range(size)])
            elif act == "back":
                parent = SourcePath(store, branch).read(0, size)[-1].entry.id
                take(store, [entry("user", Part(kind="text", text="b"), id=f"s{next(ids)}", parent=parent, typed=True)])
            elif act == "note":
                note(store, branch, f"note {next(ids)}", timestamp="2026-05-02 10:30", time="T")
            else:
                _observe(store, branch.key, act, size, stale.pop() if stale else 0, passed, next(ids))
        for branch in list_branches(store):
            marks = store.tip(memory_stream(branch.key)).marks
            memory = fold(read_memory(store, branch))
            covered = set(range(marks.get(ledger.OBSERVER, 0)))
            inherited = set(range(min(branch.fork, marks.get(ledger.OBSERVER, 0))))
            assert covered <= passed.get(branch.key, set()) | inherited
            assert all(marks.get(name, 0) == value for name, value in sums(memory).items() if name != ledger.OBSERVER)
            assert memory.observed <= marks.get(ledger.OBSERVER, 0) <= SourcePath(store, branch).length()


def _observe(
    store: Store, key: str, act: str, size: int, behind: int, passed: dict[str, set[int]], number: int
) -> None:
    """One run of an observer that read the ledger `behind` entries of coverage ago."""
    branch = load_branch(store, key)
    read = store.tip(memory_stream(key)).marks.get(ledger.OBSERVER, 0)
    covers = min(read + size, SourcePath(store, branch).length())
    kind = GAP if act == "gap" else OBSERVATIONS
    data = {"observations": [observation_data(observed(f"seen {number}"))]} if kind == OBSERVATIONS else {"reason": "r"}
    made = () if act == "nothing" else (memory_entry(Entry(kind=kind, covers=covers, since=read, data=data)),)
    outcome = Outcome(role="observer", branch=key, read=read - behind, advance={ledger.OBSERVER: covers}, entries=made)
    done = commit_outcome(store, branch, outcome)
    assert isinstance(done, Refused) == (behind > 0)
    if behind == 0:
        passed.setdefault(key, set()).update(range(read, covers))


TOKEN = "".join(("gh", "p_"))


@given(
    st.text(string.ascii_letters + string.digits, min_size=36, max_size=36),
    st.text(max_size=30),
    st.text(max_size=30),
    st.sampled_from(["text", "thinking", "tool_call"]),
)
@settings(max_examples=40, deadline=None)
def test_no_secret_reaches_the_file(body: str, before: str, after: str, kind: str) -> None:
    """Invariant 7."""
    secret = TOKEN + body
    part = Part(kind=kind, text=f"{before} {secret} {after}")  # type: ignore[arg-type]
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "store.db", create=True)
        take(store, [entry("user", part, id="a", typed=True), entry("assistant", part, id="a")])
        note(store, load_branch(store, "neutral:s1"), part.text, timestamp="2026-05-02 10:30", time="T")
        raw = b"".join(each.read_bytes() for each in Path(folder).iterdir())
        store.close()
    assert secret.encode() not in raw

"""Replaying a recorded session on a real store with the real queue."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

import pytest
from builders import NOTHING, ScriptedMind, deliver, memory_of, say
from recordings import SMALL, header, turn, turns, write

from minutebook.errors import BadTranscript
from minutebook.hosts import neutral
from minutebook.pipeline.branches import Path, load_branch
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.sessions import load_session
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store
from minutebook.workers.choosing import minds_of
from minutebook.workers.replay_report import ALL_KEPT, NO_MEMORY, Replayed
from minutebook.workers.replaying import Progress, ReplayOptions, read_recording, replay


def play(store: Store, path: File, settings: Settings = SMALL, *, mind: Any = None, **options: Any) -> Replayed:
    minds = minds_of(store) if mind is None else lambda role, settings, branch: mind
    told: Callable[[Progress], None] = options.pop("tell", lambda progress: None)
    given = ReplayOptions(settings=settings, **{"step": True, **options})
    return replay(store, read_recording(path), given, minds, tell=told)


@pytest.fixture
def session(tmp_path: File) -> File:
    """Twenty-four turns."""
    return write(tmp_path / "session.jsonl", [header(), *turns(24)])


@dataclass(frozen=True)
class Played:
    store: Store
    replayed: Replayed
    told: list[Progress]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """Forty turns, replayed step by step: for tests that only look at what came of it."""
    folder = tmp_path_factory.mktemp("played")
    store = open_store(str(folder / "store.db"))
    told: list[Progress] = []
    replayed = play(store, write(folder / "session.jsonl", [header(), *turns(40)]), tell=told.append)
    yield Played(store, replayed, told)
    store.close()


def ids_in(store: Store, replayed: Replayed) -> list[str]:
    branch = load_branch(store, replayed.session.branch)
    return [placed.entry.id for placed in Path(store, branch).walk()]


# -- what goes in --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [True, False])
def test_every_entry_is_in_the_ledger_once_in_order(store: Store, session: File, step: bool) -> None:
    replayed = play(store, session, step=step)
    assert ids_in(store, replayed) == [row["id"] for row in turns(24)]
    assert (replayed.entries, replayed.new, replayed.prompts, replayed.turns) == (96, 96, 24, 24)


def test_a_later_intake_goes_on_where_the_file_was_read_to(store: Store, session: File) -> None:
    play(store, session)
    write(session, turns(2, first=25), mode="a")
    kept = load_session(store, "neutral:s1")
    more = neutral.read(session, kept.cursor)
    assert [getattr(event, "id", "") for event in more.events] == [row["id"] for row in turns(2, first=25)]
    assert accept_turns(store, more).new == 8


def test_replaying_again_adds_nothing(store: Store, session: File) -> None:
    first = play(store, session)
    again = play(store, session)
    assert (again.new, again.entries) == (0, first.entries)
    assert ids_in(store, again) == [row["id"] for row in turns(24)]


def test_a_session_that_grew_goes_on(store: Store, session: File) -> None:
    play(store, session)
    write(session, turns(10, first=25), mode="a")
    again = play(store, session)
    assert (again.new, again.entries) == (40, 136)


def test_the_tail_is_observed_though_no_threshold_is_reached(store: Store, tmp_path: File) -> None:
    """The session counts as ended, so flush_min_tokens is enough."""
    path = write(tmp_path / "short.jsonl", [header(), *turn(1)])
    replayed = play(store, path, replace(SMALL, observe_after_tokens=5_000))
    assert replayed.work["observer"].recorded == 1
    assert replayed.status is not None and replayed.status.due == {}


def test_progress_reaches_the_end(played: Played) -> None:
    assert played.told[-1] == Progress(40, 40, 160, 160, len(played.replayed.compactions))
    assert [progress.entries for progress in played.told] == sorted(progress.entries for progress in played.told)


def test_a_file_without_a_session_is_refused(tmp_path: File) -> None:
    path = write(tmp_path / "claude.jsonl", [{"type": "summary", "summary": "x", "leafUuid": "y"}])
    with pytest.raises(BadTranscript, match=r"claude\.jsonl"):
        read_recording(path)


# -- compactions ---------------------------------------------------------------------------------------------------


def test_compactions_are_confirmed_and_become_visible(played: Played) -> None:
    replayed = played.replayed
    folds = memory_of(played.store, load_branch(played.store, replayed.session.branch)).folds
    assert len(replayed.compactions) >= 2
    assert [fold.boundary for fold in folds] == [one.boundary for one in replayed.compactions]
    assert replayed.status is not None and replayed.status.visible > 0
    assert replayed.status.open_compaction is None


def test_a_compaction_comes_when_its_clock_is_reached_and_restarts_it(played: Played) -> None:
    """003-057: the clock counts from the first kept entry on, as the report does."""
    replayed = played.replayed
    for one in replayed.compactions:
        entries = one.before_tokens - _memory_before(replayed, one.at)
        assert SMALL.compact_after_tokens <= entries < SMALL.compact_after_tokens + 200


def _memory_before(replayed: Replayed, at: int) -> int:
    earlier = [one.memory_tokens for one in replayed.compactions if one.at < at]
    return earlier[-1] if earlier else 0


def test_what_stays_is_keep_recent_tokens_and_after_is_memory_and_what_stays(played: Played) -> None:
    replayed = played.replayed
    for one in replayed.compactions:
        assert 0 < one.kept_tokens <= SMALL.keep_recent_tokens + 60
        assert one.after_tokens == one.memory_tokens + one.kept_tokens < one.before_tokens
        assert one.memory_tokens <= SMALL.compaction_max_tokens
        assert one.at - one.boundary == one.kept_entries


def test_the_last_composition_is_what_is_reported(played: Played) -> None:
    replayed = played.replayed
    last = replayed.compactions[-1]
    assert replayed.memory is not None and replayed.memory.compacted
    assert replayed.memory.tokens == last.memory_tokens
    assert f"[{replayed.memory.recall_id}]" in replayed.memory.text
    assert " ".join(replayed.memory.words) in replayed.memory.text


def test_without_a_compaction_the_memory_as_of_now_is_reported(store: Store, tmp_path: File) -> None:
    path = write(tmp_path / "short.jsonl", [header(), *turns(3)])
    replayed = play(store, path)
    branch = load_branch(store, replayed.session.branch)
    looked = look_at_memory(store, branch, Path(store, branch).length(), SMALL)
    assert replayed.compactions == [] and replayed.not_compacted == []
    assert replayed.memory is not None and looked is not None
    assert (replayed.memory.text, replayed.memory.compacted) == (looked.text, False)


def test_ratio_mode_compacts_by_the_window(store: Store, session: File) -> None:
    """003-058: 0.5 of a window of 1,200 is 600 tokens."""
    settings = replace(SMALL, compact_after_tokens_mode="ratio", compact_after_tokens_ratio=0.5)
    with_window = play(store, session, settings, window=1_200)
    assert len(with_window.compactions) > 3
    assert with_window.status is not None and with_window.status.compact.threshold == 600


def test_no_memory_leaves_the_compaction_to_the_host(store: Store, session: File) -> None:
    """003-066: nothing is recorded, so nothing is composed, and the report says what would happen."""
    replayed = play(store, session, mind=ScriptedMind([NOTHING]))
    assert replayed.compactions == []
    assert [(noted.reason, noted.times > 1) for noted in replayed.not_compacted] == [(NO_MEMORY, True)]
    assert memory_of(store, load_branch(store, replayed.session.branch)).folds == []
    assert replayed.memory is None


def test_nothing_to_cut_is_said(store: Store, session: File) -> None:
    replayed = play(store, session, replace(SMALL, keep_recent_tokens=1_000_000))
    assert {noted.reason for noted in replayed.not_compacted} == {ALL_KEPT}
    assert replayed.compactions == []


def test_a_turn_longer_than_a_context_is_compacted_in_its_midst(store: Store, tmp_path: File) -> None:
    rows = [row for row in turns(30) if row["role"] != "user" or row["id"] == "p1"]
    replayed = play(store, write(tmp_path / "one.jsonl", [header(), *rows]))
    assert replayed.prompts == 1
    assert len(replayed.compactions) >= 2
    assert {one.turn for one in replayed.compactions} == {1}


def test_the_files_own_compactions_are_not_replayed(store: Store, session: File, tmp_path: File) -> None:
    """With them or without, ours come at the same entries and show the same."""
    own = {"type": "minutebook.compaction", "time": "2026-05-02T10:12:00Z"}
    rows = [header(), *turns(12), own, *turns(12, first=13)]
    plain = play(store, session)
    other = open_store(str(tmp_path / "other.db"))
    replayed = play(other, write(tmp_path / "with.jsonl", rows))
    other.close()
    assert (plain.recorded_compactions, replayed.recorded_compactions) == (0, 1)
    assert [one.at for one in replayed.compactions] == [one.at for one in plain.compactions]
    assert replayed.memory is not None and plain.memory is not None
    assert replayed.memory.text == plain.memory.text


def test_passive_takes_in_and_does_nothing(store: Store, session: File) -> None:
    """003-139"""
    replayed = play(store, session, replace(SMALL, passive=True), step=False)
    assert replayed.new == 96
    assert replayed.compactions == []
    assert {row.runs for row in replayed.work.values()} == {0}


# -- who works -----------------------------------------------------------------------------------------------------


def test_step_by_step_gives_the_same_bytes_every_time(tmp_path: File, session: File) -> None:
    texts = set()
    for name in ("a.db", "b.db"):
        store = open_store(str(tmp_path / name))
        replayed = play(store, session)
        assert replayed.memory is not None
        texts.add((replayed.memory.text, tuple(replace(one, milliseconds=0) for one in replayed.compactions)))
        store.close()
    assert len(texts) == 1


@pytest.mark.parametrize("concurrency", [1, 4])
def test_workers_alongside_leave_nothing_undone(store: Store, session: File, concurrency: int) -> None:
    replayed = play(store, session, step=False, concurrency=concurrency)
    assert replayed.status is not None and replayed.status.due == {}
    assert store.jobs() == []
    assert replayed.work["observer"].recorded > 0
    assert replayed.work["observer"].seconds > 0
    assert len(replayed.compactions) >= 1


def test_work_of_an_earlier_replay_is_not_counted_again(store: Store, session: File) -> None:
    first = play(store, session)
    again = play(store, session)
    assert first.work["observer"].runs > 0
    assert again.work["observer"].runs == 0


def test_other_sessions_in_the_store_are_left_alone(store: Store, session: File) -> None:
    other = deliver(store, [say("Never deploy on a Friday. " * 200, id="x")], session="other")
    play(store, session)
    play(store, session, step=False)
    assert memory_of(store, other).observations == {}


def test_a_sub_agents_file_that_is_named_is_observed(store: Store, tmp_path: File) -> None:
    path = write(tmp_path / "agent.jsonl", [header(agent="a7"), *turns(10)])
    replayed = play(store, path)
    assert replayed.session.agent == "a7"
    assert replayed.work["observer"].recorded > 0


def test_a_fork_in_the_file_is_a_branch_of_its_own(store: Store, tmp_path: File) -> None:
    chained = [{**row, "parent": f"{'apcr'['pcra'.index(row['id'][0])]}{_number(row)}"} for row in turns(30)]
    retold = [{**turn(31)[0], "parent": "a10"}, *turn(31)[1:]]
    replayed = play(store, write(tmp_path / "fork.jsonl", [header(), *chained, *retold]))
    assert len(replayed.session.branches) == 2
    assert (replayed.entries, replayed.prompts) == (124, 31)
    assert replayed.status is not None and replayed.status.entries == 44


def _number(row: Any) -> int:
    number = int(row["id"][1:])
    return number - 1 if row["role"] == "user" else number

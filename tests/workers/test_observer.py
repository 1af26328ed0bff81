"""The observer: what it is sent, and what a run records."""

from dataclasses import replace
from typing import Any

import pytest
from builders import (
    MINUTE,
    NOTHING,
    ScriptedMind,
    call,
    concluded,
    deliver,
    entry,
    memory_of,
    observed,
    remember,
    reply,
    result,
    say,
)
from observing import capped, chunk_of, context, proposal, request, run, texts

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import Path, memory_stream
from minutebook.pipeline.deliveries import HostCompaction
from minutebook.pipeline.outcomes import Committed, Outcome, Refused, commit_outcome
from minutebook.pipeline.recall import recall
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import HOST_SUMMARY, INJECTED, NOTE, OBSERVATIONS, Part
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens
from minutebook.workers.chunking import chunk_cap
from minutebook.workers.observer import ObservePrepared, prepare, think
from minutebook.workers.showing import SEPARATOR, UNREADABLE_TIME, local_minute, shown_text, zone_of

# -- the request ---------------------------------------------------------------------------------------------------


def test_only_source_entries_after_the_coverage_are_sent_oldest_first_003_001(store: Store) -> None:
    before = [say("already observed")]
    new = [
        say("please fix it"),
        reply("on it", thinking="hm"),
        call("Bash", '{"command":"ls"}'),
        result("a.py"),
        entry("custom", Part(kind="text", text="<memory>ours</memory>"), custom_type=INJECTED),
        entry("custom", Part(kind="text", text="a note by hand"), custom_type=NOTE),
        entry("custom", Part(kind="text", text="what the host made of it"), custom_type=HOST_SUMMARY),
        entry("custom", Part(kind="text", text="of an extension"), custom_type="todo"),
        entry("branch_summary", Part(kind="text", text="what the other branch did")),
    ]
    branch = deliver(store, before)
    remember(store, branch, observations=[observed("earlier")], reflections=[concluded("durable")])
    deliver(store, [*new[:4], HostCompaction(id="c1", first_kept=new[2].id), *new[4:]])
    sent = [each for each in new if each.custom_type not in (INJECTED, NOTE, HOST_SUMMARY)]
    assert texts(chunk_of(store, branch)) == [entry_text(each) for each in sent]


def test_a_block_has_alias_role_name_and_local_minute_003_002(store: Store) -> None:
    branch = deliver(
        store,
        [
            say("hello"),
            result("no such file", tool="Read", is_error=True, time=""),
            entry("custom", Part(kind="text", text="x"), custom_type="todo", time="soon"),
        ],
        zone="Europe/Berlin",
    )
    blocks = request(chunk_of(store, branch)).split(SEPARATOR)
    assert blocks == [
        "[s1] user, 2026-05-02 12:30\nhello",
        "[s2] tool_result Read (error), ????-??-?? ??:??\nno such file",
        "[s3] custom todo, ????-??-?? ??:??\nx",
    ]


def test_a_cited_alias_is_stored_as_its_entry_id_003_002(store: Store) -> None:
    branch = deliver(store, [say("one", id="first"), say("two", id="second")])
    run(store, branch, [proposal(sources=["s2"])])
    assert [held.record.source_ids for held in memory_of(store, branch).observations.values()] == [("second",)]


@pytest.mark.parametrize(
    ("time", "zone", "shown"),
    [
        ("2026-05-02T10:30:59.123Z", "UTC", "2026-05-02 10:30"),
        ("2026-05-02T10:30:00+02:00", "America/New_York", "2026-05-02 04:30"),
        ("2026-05-02T10:30:00", "UTC", "2026-05-02 10:30"),
        ("2026-12-31T23:30:00Z", "Asia/Tokyo", "2027-01-01 08:30"),
        ("2026-05-02T10:30:00Z", "No/Such_Zone", "2026-05-02 10:30"),
        ("2026-05-02T10:30:00Z", "../etc/passwd", "2026-05-02 10:30"),
        ("0001-01-01T00:00:00Z", "America/New_York", UNREADABLE_TIME),
        ("yesterday", "UTC", UNREADABLE_TIME),
        ("", "UTC", UNREADABLE_TIME),
    ],
)
def test_times_are_shown_to_the_minute_in_the_sessions_zone_003_002(time: str, zone: str, shown: str) -> None:
    assert local_minute(time, zone_of(zone)) == shown


def test_every_kind_of_content_is_sent_or_has_a_placeholder_003_003(store: Store) -> None:
    kinds = [
        Part(kind="thinking", text="hm"),
        Part(kind="thinking", text=""),
        Part(kind="text", text="I will run it"),
        Part(kind="tool_call", name="Bash", text="{}"),
        Part(kind="image", text="image/png, 12 KB"),
        Part(kind="other", text="[document, 3 pages]"),
    ]
    branch = deliver(store, [entry("assistant", *kinds), entry("user", kinds[4]), entry("tool_result", kinds[4])])
    assert texts(chunk_of(store, branch)) == [
        "[thinking]\nhm\nI will run it\n[call Bash {}]\n[image image/png, 12 KB]\n[document, 3 pages]",
        "[image image/png, 12 KB]",
        "[image image/png, 12 KB]",
    ]


def test_a_span_that_renders_to_nothing_is_covered_without_a_mind_003_003(store: Store) -> None:
    redacted = entry("assistant", Part(kind="thinking"), id="r1")
    branch = deliver(store, [redacted, entry("custom", Part(kind="text", text="x"), id="i1", custom_type=INJECTED)])
    outcome = prepare(context(store, branch))
    assert isinstance(outcome, Outcome)
    assert isinstance(commit_outcome(store, branch, outcome), Committed)
    memory = memory_of(store, branch)
    assert (memory.observed, len(memory.observations)) == (2, 0)
    assert outcome.entries[0].covers_id == "i1"
    assert prepare(context(store, branch)) is None


def test_what_is_never_sent_is_passed_by_the_next_coverage_003_003(store: Store) -> None:
    silent = [entry("assistant", Part(kind="thinking"), id=f"r{n}") for n in range(3)]
    branch = deliver(store, [silent[0], say("hello"), silent[1], silent[2]])
    prepared = chunk_of(store, branch)
    assert texts(prepared) == ["hello"]
    assert (prepared.read, prepared.start, prepared.entries, prepared.covers) == (0, 1, 1, 4)


@pytest.mark.parametrize(
    ("setting", "window", "cap"),
    [
        (None, 200_000, 40_000),
        (None, 1_000_004, 200_000),
        (None, 1_000, 256),
        (None, 1_285, 257),
        (None, None, 60_000),
        (None, 0, 60_000),
        (None, -5, 60_000),
        (5_000, 200_000, 5_000),
        (256, None, 256),
    ],
)
def test_chunk_cap_003_004(setting: int | None, window: int | None, cap: int) -> None:
    assert chunk_cap(setting, window) == cap


def test_the_cap_comes_from_setting_and_window_003_004(store: Store) -> None:
    branch = deliver(store, [say("a" * 4_000, id="a"), say("b" * 4_000, id="b")])
    assert chunk_of(store, branch, window=5_000).entries == 1
    assert chunk_of(store, branch, window=20_000).entries == 2
    assert chunk_of(store, branch, window=20_000, settings=capped(1_100)).entries == 1


def test_a_cap_of_exactly_the_first_block_sends_only_that_one_003_005(store: Store) -> None:
    branch = deliver(store, [say("a" * 2_000, id="a"), say("b", id="b"), say("c", id="c")])
    first = shown_text(chunk_of(store, branch).batch.sources[0])
    prepared = chunk_of(store, branch, settings=capped(estimate_tokens(first)))
    assert texts(prepared) == ["a" * 2_000]
    assert not prepared.batch.sources[0].excerpted
    assert prepared.covers == 1
    commit_outcome(store, branch, think(prepared, ScriptedMind([NOTHING])))
    assert texts(chunk_of(store, branch)) == ["b", "c"]


def test_what_comes_after_one_that_does_not_fit_waits_too_003_005(store: Store) -> None:
    branch = deliver(store, [say("small", id="a"), say("b" * 2_000, id="b"), say("small too", id="c")])
    prepared = chunk_of(store, branch, settings=capped(300))
    assert (texts(prepared), prepared.covers) == (["small"], 1)


def test_separators_count_in_the_cap_003_005(store: Store) -> None:
    header = len(f"[s1] user, {MINUTE}\n")
    branch = deliver(store, [say(name * (2_000 - header), id=name) for name in "ab"])
    assert chunk_of(store, branch, settings=capped(1_000)).entries == 1
    assert chunk_of(store, branch, settings=capped(1_001)).entries == 2


@pytest.mark.parametrize("cap", [256, 300, 411, 1_000])
def test_the_text_that_is_sent_never_exceeds_the_cap_003_005(store: Store, cap: int) -> None:
    events = [say(f"{n} " + "wörter " * (n % 7) * 9, id=f"e{n}") for n in range(60)]
    branch = deliver(store, events)
    prepared = chunk_of(store, branch, settings=capped(cap))
    assert 1 <= prepared.entries < 60
    assert estimate_tokens(request(prepared)) <= cap
    following = Path(store, branch).at(prepared.covers)
    assert following is not None
    longer = request(prepared) + SEPARATOR + f"[s{prepared.entries + 1}] user, {MINUTE}\n" + entry_text(following.entry)
    assert estimate_tokens(longer) + prepared.entries > cap


def test_a_lone_entry_over_the_cap_is_an_excerpt_within_it_003_006(store: Store) -> None:
    long = "".join(f"line {n}\n" for n in range(100_000))
    branch = deliver(store, [result(long, id="big"), say("after it")])
    assert estimate_tokens(long) > 200_000
    prepared = chunk_of(store, branch, settings=capped(1_000))
    (shown,) = prepared.batch.sources
    assert shown.excerpted
    assert 990 <= estimate_tokens(request(prepared)) <= 1_000
    assert shown.text.startswith("line 0\n") and shown.text.endswith("line 99999\n") and "characters…]" in shown.text
    commit_outcome(store, branch, think(prepared, ScriptedMind([[proposal()]])))
    memory = memory_of(store, branch)
    assert memory.observed == 1
    assert [held.record.source_ids for held in memory.observations.values()] == [("big",)]
    (recalled,) = recall(store, branch, next(iter(memory.observations))).sources
    assert entry_text(recalled.entry) == long


def test_an_entry_just_over_the_cap_is_an_excerpt_003_006(store: Store) -> None:
    branch = deliver(store, [say("x" * 1_024)])
    (shown,) = chunk_of(store, branch, settings=capped(256)).batch.sources
    assert shown.excerpted and estimate_tokens(shown_text(shown)) <= 256


def test_an_entry_over_the_cap_waits_for_its_own_run_003_006(store: Store) -> None:
    branch = deliver(store, [say("small"), say("x" * 8_000)])
    prepared = chunk_of(store, branch, settings=capped(256))
    assert texts(prepared) == ["small"]


def test_a_backlog_drains_in_runs_of_one_chunk_003_007(store: Store) -> None:
    branch = deliver(store, [say(str(n) * 1_600, id=f"e{n}") for n in range(5)])
    coverages = []
    while isinstance(prepared := prepare(context(store, branch, settings=capped(450))), ObservePrepared):
        done = commit_outcome(store, branch, think(prepared, ScriptedMind([[proposal(f"fact {prepared.start}")]])))
        assert isinstance(done, Committed)
        coverages.append(memory_of(store, branch).observed)
    assert coverages == [1, 2, 3, 4, 5]
    assert len(memory_of(store, branch).observations) == 5


def test_after_a_failure_only_so_many_entries_are_sent_003_012(store: Store) -> None:
    """003-012: the next attempt gets the older half; entries that are never sent do not count."""
    silent = entry("assistant", Part(kind="thinking"), id="r")
    branch = deliver(store, [silent, *(say(f"entry {n}") for n in range(8))])
    assert chunk_of(store, branch).entries == 8
    assert texts(chunk_of(store, branch, max_entries=4)) == [f"entry {n}" for n in range(4)]
    lone = chunk_of(store, branch, max_entries=1)
    assert (lone.start, lone.entries, lone.covers) == (1, 1, 2)


# -- what a run records --------------------------------------------------------------------------------------------


def test_one_entry_holds_all_accepted_in_order_and_covers_the_chunk_003_008(store: Store) -> None:
    branch = deliver(store, [say("one", id="e1"), say("two", id="e2"), say("three", id="e3")])
    done = run(store, branch, [proposal("b"), proposal("a")], [proposal("c")])
    assert isinstance(done, Committed)
    (written,) = done.entries
    assert (written.kind, written.since, written.covers, written.covers_id) == (OBSERVATIONS, 0, 3, "e3")
    assert store.tip(memory_stream(branch.key)).marks[ledger.OBSERVER] == 3
    assert [each["content"] for each in written.data["observations"]] == ["b", "a", "c"]
    assert {name: written.data[name] for name in ("mind", "coversUpToId", "producer")} == {
        "mind": "scripted",
        "coversUpToId": "e3",
        "producer": "minutebook",
    }


def test_nothing_to_record_covers_the_chunk_003_009(store: Store) -> None:
    branch = deliver(store, [say("hello"), reply("hi")])
    run(store, branch, NOTHING)
    memory = memory_of(store, branch)
    assert (memory.observed, len(memory.observations), memory.malformed) == (2, 0, 0)
    assert prepare(context(store, branch)) is None


def test_nothing_to_record_is_ignored_beside_a_record_003_009(store: Store) -> None:
    branch = deliver(store, [say("hello")])
    run(store, branch, NOTHING, [proposal("kept")], NOTHING)
    assert [held.record.content for held in memory_of(store, branch).observations.values()] == ["kept"]


@pytest.mark.parametrize("script", [[], [[]], [[proposal(relevance="urgent")]], [[proposal(sources=["s9"])]]])
def test_a_run_without_an_accepted_proposal_fails_003_010(store: Store, script: list[Any]) -> None:
    branch = deliver(store, [say("hello")])
    with pytest.raises(SpanFailed, match="without an accepted observation"):
        think(chunk_of(store, branch), ScriptedMind(script))
    assert memory_of(store, branch).observed == 0


@pytest.mark.parametrize("error", [SpanFailed("cut at the output limit"), ProviderFailed("stream error")])
def test_a_broken_run_makes_no_outcome_003_011(store: Store, error: Exception) -> None:
    branch = deliver(store, [say("hello")])
    with pytest.raises(type(error)):
        run(store, branch, [proposal("one")], [proposal("two")], error)
    assert memory_of(store, branch).observed == 0
    run(store, branch, [proposal("one")], [proposal("two")])
    assert [held.record.content for held in memory_of(store, branch).observations.values()] == ["one", "two"]


def test_a_late_second_run_is_refused(store: Store) -> None:
    branch = deliver(store, [say("hello")])
    prepared = chunk_of(store, branch)
    outcomes = [think(prepared, ScriptedMind([[proposal(words)]])) for words in ("first", "second")]
    assert isinstance(commit_outcome(store, branch, outcomes[0]), Committed)
    assert isinstance(commit_outcome(store, branch, outcomes[1]), Refused)


def test_a_fork_observes_from_what_it_inherits(store: Store) -> None:
    branch = deliver(store, [say("one", id="e1"), say("two", id="e2", parent="e1")])
    remember(store, branch, observations=[observed("shared")], covers=1)
    fork = deliver(store, [say("another way", id="e3", parent="e1")])
    assert fork.key != branch.key
    prepared = chunk_of(store, fork)
    assert (prepared.read, texts(prepared)) == (1, ["another way"])
    assert [each.content for each in prepared.batch.observations] == ["shared"]


def test_the_settings_bound_what_is_shown(store: Store) -> None:
    branch = deliver(store, [say("one")])
    remember(store, branch, observations=[observed("x" * 400)])
    deliver(store, [say("two")])
    tight = replace(Settings(), old_memory_max_tokens=50)
    batch = chunk_of(store, branch, settings=tight).batch
    assert (batch.observations, batch.left_out) == ((), 1)


@pytest.mark.parametrize(
    "tool",
    [
        "mcp__om__recall",
        "mcp__plugin_om_om__memory_search",
        "mcp__om.memory_view",
        "memory_status",
        "recall",
        "om_recall",
    ],
)
def test_what_our_own_tools_answered_is_not_remembered_again_003_001(store: Store, tool: str) -> None:
    branch = deliver(store, [say("what did we say?"), call(tool, '{"id":"x"}'), result("[x] as before", tool=tool)])
    deliver(store, [call("mcp__other__recall", call_id="c2"), result("of another", tool="mcp__other__recall")])
    sent = texts(chunk_of(store, branch))
    assert "[x] as before" not in sent and "of another" in sent

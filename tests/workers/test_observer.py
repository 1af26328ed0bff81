"""The observer: what it is sent, what its desk accepts, what it records."""

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

from minutebook.errors import ProviderFailed, SpanFailed
from minutebook.pipeline.branches import Path
from minutebook.pipeline.outcomes import Committed, Outcome, Refused, commit_outcome
from minutebook.pipeline.projection import project
from minutebook.pipeline.sourcetext import entry_text
from minutebook.records import (
    DROPS,
    INJECTED,
    NOTE,
    OBSERVATIONS,
    REFLECTIONS,
    RETIREMENTS,
    Branch,
    Part,
    Reflection,
    reflection_line,
)
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.tokens import estimate_tokens
from minutebook.workers.chunking import chunk_cap
from minutebook.workers.observer import ObservePrepared, ObserverDesk, old_memory, old_memory_cap, prepare, think
from minutebook.workers.roles import Context
from minutebook.workers.showing import (
    NONE_YET,
    SEPARATOR,
    UNREADABLE_TIME,
    is_minute,
    lines_or_none,
    local_minute,
    shown_text,
    zone_of,
)


def context(store: Store, branch: Branch, **more: Any) -> Context:
    settings = more.pop("settings", Settings())
    return Context(store=store, branch=branch, settings=settings, now="2026-05-02T12:00:00Z", **more)


def chunk_of(store: Store, branch: Branch, **more: Any) -> ObservePrepared:
    prepared = prepare(context(store, branch, **more))
    assert isinstance(prepared, ObservePrepared)
    return prepared


def texts(prepared: ObservePrepared) -> list[str]:
    return [shown.text for shown in prepared.batch.sources]


def request(prepared: ObservePrepared) -> str:
    return SEPARATOR.join(map(shown_text, prepared.batch.sources))


def proposal(content: str = "The user prefers tabs", **fields: Any) -> dict[str, Any]:
    return {"content": content, "timestamp": MINUTE, "relevance": "high", "sources": ["s1"], **fields}


def desk_of(prepared: ObservePrepared) -> ObserverDesk:
    return ObserverDesk(prepared.batch, prepared.known)


def run(store: Store, branch: Branch, *script: Any, **more: Any) -> Committed | Refused:
    outcome = think(chunk_of(store, branch, **more), ScriptedMind(script))
    return commit_outcome(store, branch, outcome)


def capped(tokens: int) -> Settings:
    return Settings(observer_chunk_max_tokens=tokens)


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
        entry("custom", Part(kind="text", text="of an extension"), custom_type="todo"),
        entry("branch_summary", Part(kind="text", text="what the other branch did")),
    ]
    branch = deliver(store, before)
    remember(store, branch, observations=[observed("earlier")], reflections=[concluded("durable")])
    deliver(store, new)
    sent = [each for each in new if each.custom_type not in (INJECTED, NOTE)]
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
        f"[s2] tool_result Read (error), {UNREADABLE_TIME}\nno such file",
        f"[s3] custom todo, {UNREADABLE_TIME}\nx",
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
    whole = Path(store, branch).at(0)
    assert whole is not None and entry_text(whole.entry) == long


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


# -- the desk ------------------------------------------------------------------------------------------------------


def test_unknown_aliases_are_removed_and_ids_kept_once_in_ledger_order_003_013(store: Store) -> None:
    branch = deliver(store, [say(f"entry {n}", id=f"e{n}") for n in range(1, 10)])
    desk = desk_of(chunk_of(store, branch))
    given = ["s9", "s3", "s99", "s3", "[s1]", *(f"s{n}" for n in range(8, 1, -1))]
    receipt = desk.record([proposal(sources=given)])
    assert (receipt.recorded, receipt.refused, receipt.ignored) == (1, (), 1)
    assert [each.source_ids for each in desk.accepted.values()] == [tuple(f"e{n}" for n in range(1, 10))]


def test_a_proposal_without_a_known_source_is_refused_alone_003_013(store: Store) -> None:
    branch = deliver(store, [say("one")])
    receipt = desk_of(chunk_of(store, branch)).record([proposal("bad", sources=["s7"]), proposal("good")])
    assert (receipt.recorded, receipt.total) == (1, 1)
    (reason,) = receipt.refused
    assert reason.startswith("proposal 1: sources:") and "s7" in reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", ""),
        ("content", " \n "),
        ("content", 7),
        ("content", None),
        ("timestamp", "2026-5-02 10:30"),
        ("timestamp", "2026-05-02T10:30"),
        ("timestamp", "2026-05-02 10:30:00"),
        ("timestamp", "2026-05-02 10:30 "),
        ("timestamp", "2026-02-30 10:30"),
        ("timestamp", "2026-05-02 24:30"),
        ("timestamp", "٢٠٢٦-05-02 10:30"),
        ("timestamp", UNREADABLE_TIME),
        ("timestamp", None),
        ("relevance", "urgent"),
        ("relevance", "High"),
        ("relevance", ["high"]),
        ("relevance", None),
        ("sources", []),
        ("sources", "s1"),
        ("sources", None),
        ("sources", [1]),
    ],
)
def test_a_malformed_field_is_named_and_the_good_proposal_kept_003_014(store: Store, field: str, value: Any) -> None:
    branch = deliver(store, [say("one")])
    desk = desk_of(chunk_of(store, branch))
    receipt = desk.record([{**proposal("bad"), field: value}, proposal("good")])
    assert [each.content for each in desk.accepted.values()] == ["good"]
    (reason,) = receipt.refused
    assert reason.startswith(f"proposal 1: {field}:")


def test_a_proposal_that_is_no_object_is_refused_003_014(store: Store) -> None:
    branch = deliver(store, [say("one")])
    receipt = desk_of(chunk_of(store, branch)).record(["prose", proposal()])  # type: ignore[list-item]
    assert (receipt.recorded, len(receipt.refused)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("2026-05-02 10:30", True), ("2024-02-29 00:00", True), ("2025-02-29 00:00", False), ("2026-05-02 10:3", False)],
)
def test_is_minute_003_014(text: str, is_one: bool) -> None:
    assert is_minute(text) is is_one


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("one\rtwo\nthree\r\nfour", "one two three four"),
        ("  padded\n", "padded"),
        ("x" * 10_000, "x" * 10_000),
        ("x" * 10_001, "x" * 10_000 + " […1 characters cut]"),
        ("x" * 12_345, "x" * 10_000 + " […2,345 characters cut]"),
    ],
)
def test_content_is_one_line_of_bounded_length_003_015(store: Store, given: str, stored: str) -> None:
    branch = deliver(store, [say("one")])
    desk = desk_of(chunk_of(store, branch))
    desk.record([proposal(given)])
    assert [each.content for each in desk.accepted.values()] == [stored]


def test_the_same_proposal_twice_is_stored_once_003_016(store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")])
    desk = desk_of(chunk_of(store, branch))
    first = desk.record([proposal(), proposal(), proposal(timestamp="2026-05-02 10:31")])
    second = desk.record([proposal(), proposal("other"), proposal(relevance="?")])
    assert (first.recorded, first.duplicate, first.total) == (2, 1, 2)
    assert (second.recorded, second.duplicate, len(second.refused), second.total) == (1, 1, 1, 3)


def test_an_observation_of_the_ledger_is_a_duplicate_003_016(store: Store) -> None:
    """003-016: dropped or not; a run that only repeats what is known covers its span without a record."""
    branch = deliver(store, [say("one", id="e1")])
    known = observed("The user prefers tabs", "high")
    remember(store, branch, observations=[known], covers=0)
    remember(store, branch, dropped=[known], covers=0)
    mind = ScriptedMind([[proposal()]])
    commit_outcome(store, branch, think(chunk_of(store, branch), mind))
    assert (mind.receipts[0].recorded, mind.receipts[0].duplicate) == (0, 1)
    memory = memory_of(store, branch)
    assert (len(memory.observations), memory.observed) == (1, 1)


# -- old memory ----------------------------------------------------------------------------------------------------


def test_the_first_request_has_no_old_memory_and_the_local_time_003_017(store: Store) -> None:
    branch = deliver(store, [say("hello")], zone="Europe/Berlin")
    batch = chunk_of(store, branch).batch
    assert (batch.observations, batch.reflections, batch.left_out) == ((), (), 0)
    assert (batch.now, batch.zone) == ("2026-05-02 14:00", "Europe/Berlin")
    assert lines_or_none(map(reflection_line, batch.reflections)) == NONE_YET


def test_old_memory_is_current_and_active_only_003_017(store: Store) -> None:
    branch = deliver(store, [say("hello")])
    kept, gone = observed("kept"), observed("gone")
    current, retired = concluded("current", kept), concluded("retired", kept)
    remember(store, branch, observations=[kept, gone], reflections=[current, retired])
    remember(store, branch, dropped=[gone], retired=[retired])
    deliver(store, [say("more")])
    batch = chunk_of(store, branch).batch
    assert (batch.observations, batch.reflections, batch.left_out) == ((kept,), (current,), 0)


def test_old_memory_stays_within_its_bound_003_017(store: Store) -> None:
    branch = deliver(store, [say("hello")])
    seen = [observed(f"event {n}") for n in range(50)]
    remember(store, branch, observations=seen, reflections=[concluded(f"conclusion {n}") for n in range(5_000)])
    deliver(store, [say("more")])
    batch = chunk_of(store, branch, settings=Settings(old_memory_max_tokens=400)).batch
    lines = [reflection_line(each) for each in batch.reflections]
    assert 150 <= estimate_tokens("\n".join(lines)) <= 200
    assert sum(each.tokens for each in (*batch.reflections, *batch.observations)) <= 400
    assert batch.reflections[-1].content == "conclusion 4999"
    assert batch.observations[-1].content == "event 49"
    assert batch.left_out == 5_050 - len(batch.reflections) - len(batch.observations)


@pytest.mark.parametrize(
    ("window", "cap"), [(None, 8_000), (0, 8_000), (1_000_000, 8_000), (40_000, 8_000), (20_000, 4_000), (4, 0)]
)
def test_old_memory_shares_a_small_window_003_017(window: int | None, cap: int) -> None:
    assert old_memory_cap(8_000, window) == cap


def test_what_weighs_most_is_shown_first_then_the_newest_in_ledger_order_003_017() -> None:
    seen = [observed(f"{n}", level) for n, level in enumerate(["critical", "low", "medium", "medium", "high", "low"])]
    price = seen[0].tokens + 2
    assert old_memory([], seen, 100 * price)[1] == tuple(seen)
    assert [each.content for each in old_memory([], seen, 3 * price)[1]] == ["0", "3", "4"]


def test_room_that_reflections_leave_is_for_observations_003_017() -> None:
    reflections: list[Reflection] = [concluded("short")]
    seen = [observed(f"event {n}") for n in range(20)]
    room = sum(each.tokens + 1 for each in (*reflections, *seen))
    assert old_memory(reflections, seen, room) == (tuple(reflections), tuple(seen))


# -- corrections ---------------------------------------------------------------------------------------------------


def test_a_correction_takes_back_what_it_replaces_and_what_rests_on_it(store: Store) -> None:
    branch = deliver(store, [say("use port 8080", id="e0")])
    old, other = observed("Port is 8080", "critical"), observed("Language is Python")
    resting, standing = concluded("The service listens on 8080", old, other), concluded("Python it is", other)
    remember(store, branch, observations=[old, other], reflections=[resting, standing])
    deliver(store, [say("no, port 9090", id="e1")])
    done = run(store, branch, [proposal("Port is 9090", supersedes=[old.id, "ffffffffffff"])])
    assert isinstance(done, Committed)
    assert [(each.kind, each.since, each.covers) for each in done.entries] == [
        (OBSERVATIONS, 1, 2),
        (DROPS, 1, 2),
        (RETIREMENTS, 1, 2),
    ]
    assert [each.data.get("by") for each in done.entries] == [None, "superseded", "superseded"]
    memory = memory_of(store, branch)
    assert [held.record.content for held in memory.active()] == ["Language is Python", "Port is 9090"]
    assert [held.record for held in memory.current()] == [standing]
    at_once = project(memory, 2, reference=None, digest_tokens=100)
    assert old.id not in {held.record.id for held in at_once.observations}


def test_unknown_superseded_ids_are_ignored_and_counted(store: Store) -> None:
    branch = deliver(store, [say("one")])
    desk = desk_of(chunk_of(store, branch))
    receipt = desk.record([proposal(supersedes=["ffffffffffff", "eeeeeeeeeeee"])])
    assert (receipt.recorded, receipt.ignored, receipt.refused) == (1, 2, ())
    assert not desk.superseded


def test_an_observation_of_the_same_run_can_be_superseded(store: Store) -> None:
    branch = deliver(store, [say("port 8080", id="e1"), say("no, 9090", id="e2")])
    desk = desk_of(chunk_of(store, branch))
    desk.record([proposal("Port is 8080")])
    (first,) = desk.accepted
    desk.record([proposal("Port is 9090", sources=["s2"], supersedes=[first])])
    assert list(desk.superseded) == [first]
    assert len(desk.accepted) == 2


def test_a_proposal_cannot_supersede_itself_nor_a_duplicate_anything(store: Store) -> None:
    branch = deliver(store, [say("one", id="e0")])
    old = observed("old")
    remember(store, branch, observations=[old])
    deliver(store, [say("two", id="e1")])
    desk = desk_of(chunk_of(store, branch))
    desk.record([proposal("new")])
    (new,) = desk.accepted
    assert desk.record([proposal("new", supersedes=[old.id, new])]).duplicate == 1
    assert not desk.superseded


def test_without_a_correction_only_observations_are_recorded(store: Store) -> None:
    branch = deliver(store, [say("one")])
    outcome = think(chunk_of(store, branch), ScriptedMind([[proposal()]]))
    assert [each.kind for each in outcome.entries] == [OBSERVATIONS]
    assert REFLECTIONS not in {each.kind for each in outcome.entries}


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

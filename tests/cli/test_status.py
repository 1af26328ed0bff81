"""`om status`: the Status group, row by row."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from builders import MINUTE, concluded, deliver, observed, remember, reply, say
from commands import Om, data_of

from minutebook.box.state import note_failure
from minutebook.cli import showing_status
from minutebook.pipeline.clocks import Reading
from minutebook.pipeline.deliveries import Reading as Delivered
from minutebook.pipeline.deliveries import SessionHead
from minutebook.pipeline.folding import Gap
from minutebook.pipeline.intake import accept_turns
from minutebook.pipeline.status import RoleError, Status, read_status
from minutebook.pipeline.workbook import ERRORS, iso_time
from minutebook.records import Branch, Usage
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Put, Store

OLD, NEW, GONE = observed("old"), observed("new"), observed("gone")
FIRST, SECOND = concluded("first", OLD), concluded("second", NEW)
TEXT = "x" * 4000


@pytest.fixture
def status(store: Store) -> Status:
    """A real status, to be changed field by field."""
    return read_status(store, Branch(key="", host="", session="", lineage=""), Settings())


def shown(status: Status, capsys: pytest.CaptureFixture[str]) -> str:
    showing_status.show_status(status)
    return capsys.readouterr().out


def line(om: Om, label: str, *args: str) -> str:
    """The line of the panel with that label."""
    lines = om("status", *args).stdout.splitlines()
    return next(line for line in lines if line.startswith(label)).removeprefix(label).strip()


@pytest.mark.parametrize(
    ("added", "removed", "said"), [(0, 0, ""), (2, 0, "  +2"), (0, 3, "  −3"), (1234, 1, "  +1,234  −1")]
)
def test_drift_only_where_there_is_some_003_097(added: int, removed: int, said: str) -> None:
    assert showing_status.drift(added, removed) == said


def test_observations_and_reflections_003_097(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")])
    remember(store, branch, observations=[OLD, NEW, GONE], reflections=[FIRST, SECOND], dropped=[GONE])
    assert line(om, "Observations") == "3 recorded / 1 dropped / 2 active / 0 visible  +2"
    assert line(om, "Reflections ") == "2 recorded / 0 visible  +2"
    data = data_of(om("status", "--json"))
    assert data["observations"] == {"recorded": 3, "dropped": 1, "active": 2, "visible": 0, "added": 2, "removed": 0}
    assert data["reflections"] == {"recorded": 2, "retired": 0, "visible": 0, "added": 2}


def test_readings_are_those_that_decide_003_098_003_099(om: Om, store: Store) -> None:
    deliver(store, [reply(TEXT, id="e1")])
    assert line(om, "Next observation").split()[1:] == ["~1,000", "/", "10,000", "10", "%"]
    assert line(om, "Next reflection").split()[1:] == ["~1,000", "/", "20,000", "5", "%"]
    assert line(om, "Next compaction").split()[1:] == ["~1,000", "/", "81,000", "1", "%", "calibrated"]
    at_threshold = data_of(om("status", "--json", "--set", "observe_after_tokens=1000"))
    assert at_threshold["next_observation"] == {"tokens": 1000, "threshold": 1000, "percent": 100}
    assert list(at_threshold["due"]) == ["observer"]
    ratio = data_of(om("status", "--json", "--set", "compact_after_tokens_mode=ratio"))
    assert ratio["next_compaction"] == {"tokens": 1000, "threshold": 81_000, "percent": 1, "mode": "ratio"}


def test_a_learned_factor_changes_what_is_shown_and_decided_003_098(store: Store) -> None:
    """The provider counts twice as many tokens between two replies as we do."""
    small, large = (Usage(reply_id=f"r{number}", model="m", context_tokens=number * 4000) for number in (1, 2))
    branch = deliver(store, [reply(TEXT, id="e1", usage=small), reply(TEXT * 2, id="e2", usage=large)])
    settings = Settings(observe_after_tokens=5_000)
    found = read_status(store, branch, settings)
    assert (found.observe.tokens, list(found.due)) == (6_000, ["observer"])
    plain = deliver(store, [reply(TEXT, id="x1"), reply(TEXT * 2, id="x2")], "plain")
    assert read_status(store, plain, settings).due == {}


def test_two_pools_003_100(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")])
    remember(store, branch, observations=[OLD, NEW])
    data = data_of(om("status", "--json"))
    assert data["visible_pool"] == {"tokens": 0, "threshold": 20_000, "percent": 0}
    assert data["active_pool"] == {"tokens": OLD.tokens + NEW.tokens, "threshold": 10_000, "percent": 0}
    assert "20,000" in line(om, "Visible pool") and "10,000" in line(om, "Active pool")


@pytest.mark.parametrize(
    ("flags", "reflections", "state"),
    [
        ((), [], "within target"),
        (("--set", "observations_pool_target_tokens=1"), [], "over target, waiting for a new reflection"),
        (("--set", "observations_pool_target_tokens=1"), [FIRST], "due"),
    ],
)
def test_the_dropper_003_101(om: Om, store: Store, flags: tuple[str, ...], reflections: list, state: str) -> None:  # type: ignore[type-arg]
    branch = deliver(store, [say(TEXT, id="e1")])
    remember(store, branch, observations=[OLD], reflections=reflections)
    assert line(om, "Dropper", *flags) == f"{state}; ~1,000 tokens since its last coverage"
    assert data_of(om("status", "--json", *flags))["dropper"] == {"state": state, "tokens_since_coverage": 1000}


def test_reflections_and_digest_003_102(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")])
    remember(store, branch, observations=[OLD, NEW], reflections=[FIRST, SECOND])
    both = FIRST.tokens + SECOND.tokens
    assert (line(om, "All reflections"), line(om, "Digest")) == (f"~{both} tokens", "none")
    assert data_of(om("status", "--json"))["digest"] is None
    remember(store, branch, digest=("in short", FIRST))
    assert line(om, "Digest") == f"~2 tokens, up to reflection [{FIRST.id}]"
    data = data_of(om("status", "--json"))
    assert data["digest"] == {"tokens": 2, "through": FIRST.id}
    assert data["reflection_context"] == {"tokens": 2 + SECOND.tokens, "threshold": 10_000, "percent": 0}
    over = data_of(om("status", "--json", "--set", "reflection_context_max_tokens=2"))
    assert over["digest"] is None and over["reflection_context"]["tokens"] == both


@pytest.mark.parametrize(
    ("tokens", "threshold", "said"),
    [
        (0, 0, "~0 / 0 0 %"),
        (15_000, 10_000, "~15,000 / 10,000 150 %"),
        (1_234_567, 81_000, "~1,234,567 / 81,000 1,524 %"),
    ],
)
def test_percent_and_grouping_003_103(
    status: Status, capsys: pytest.CaptureFixture[str], tokens: int, threshold: int, said: str
) -> None:
    text = shown(replace(status, observe=Reading(tokens, threshold)), capsys)
    row = next(line for line in text.splitlines() if line.startswith("Next observation"))
    assert " ".join(row.split()[3:]) == said
    assert json.dumps(showing_status.reading_data(Reading(tokens, threshold))).count(",") == 2


def test_nothing_is_said_about_nothing_003_104(status: Status) -> None:
    assert list(showing_status.notices_of(status)) == []


def test_everything_there_is_something_about_003_104(om: Om, store: Store, status: Status) -> None:
    gap = Gap(id="0123456789ab", since=3, covers=5, reason="refused", time=iso_time(0))
    full = replace(
        status,
        passive=True,
        running=["observer"],
        pending=["dropper"],
        open_compaction=7,
        gaps=[gap] * 7,
        errors=[RoleError(role="reflector", error="no\nroute", at="2026-05-02T10:30:00Z")],
        malformed=2,
        why_not_made="observer failed last time",
    )
    said = [text for text, _ in showing_status.notices_of(full)]
    assert said == [
        "Passive: no role works and no compaction is asked for; turns are still taken in.",
        "At work: observer",
        "Waiting for a worker: dropper",
        "A compaction at entry 7 is open: its host has not confirmed it yet.",
        f"reflector failed at {MINUTE}: no route",
        *["Gap [0123456789ab]: entries 3 to 4 not observed: refused"] * 5,
        "… and 2 more gaps; `om jobs` lists them.",
        "2 memory records could not be read and are skipped.",
        "Memory is due and not being made: observer failed last time. `om worker --until-idle` makes it now.",
    ]


def test_an_error_stays_until_its_own_role_succeeds_003_104(om: Om, store: Store) -> None:
    from minutebook.pipeline.workbook import clear_error, note_error

    deliver(store, [say("one", id="e1")])
    observer, reflector = (Job(role, "neutral:s1", "neutral:s1") for role in ("observer", "reflector"))
    note_error(store, observer, ValueError("quota"), "provider")
    clear_error(store, reflector)
    assert [error["error"] for error in data_of(om("status", "--json"))["errors"]] == ["quota"]
    assert "observer failed at" in om("status").stdout
    clear_error(store, observer)
    assert data_of(om("status", "--json"))["errors"] == []


def test_passive_is_said_003_104_140(om: Om, store: Store) -> None:
    deliver(store, [say(TEXT * 12, id="e1")])
    shown = om("status", "--set", "passive=on", code=0).stdout
    assert "Passive: no role works and no compaction is asked for" in shown and "Due:" not in shown


def test_what_intake_left_out_is_shown(om: Om, store: Store) -> None:
    from minutebook.pipeline.deliveries import SessionHead

    reading = Delivered(head=SessionHead(host="pi", session="s"), events=[say("one", id="e1")])
    reading.unknown, reading.broken = {"mystery": 2}, list(range(1, 15))
    accept_turns(store, reading)
    accept_turns(store, replace(reading, events=[say("changed", id="e1")], unknown={}, broken=[]))
    shown = om("status").stdout
    assert "Rows of an unknown kind, not taken in: mystery 2" in shown
    assert "could not be decoded, by their numbers: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 2 more" in shown
    assert "1 entry came again with another text; both versions are kept." in shown
    data = data_of(om("status", "--json"))
    assert (data["versions"], data["unknown_rows"], data["broken_count"]) == (1, {"mystery": 2}, 14)


def test_before_any_memory_003_105_003_111(om: Om, project: Path) -> None:
    """A bare home: zeros, no digest, exit 0."""
    result = om("status", code=0)
    assert "No session yet: om ingest FILE takes one in" in result.stdout
    data = data_of(om("status", "--json", code=0))
    assert data["observations"] == {"recorded": 0, "dropped": 0, "active": 0, "visible": 0, "added": 0, "removed": 0}
    assert (data["entries"], data["digest"], data["due"], data["not_made"]) == (0, None, {}, False)


def test_where_only_sub_agents_were_taken_in_it_says_so(om: Om, store: Store, project: Path) -> None:
    accept_turns(store, Delivered(head=SessionHead(host="neutral", session="s1", agent="a1"), events=[say("hi")]))
    result = om("status", code=0)
    assert "No session: only sub-agents' sessions were taken in, or paused ones" in result.stdout
    assert all("only sub-agents" in om(name, code=0).stderr for name in ("view", "compact"))
    assert "--session KEY" in om("note", "hi", code=1).stderr
    assert om("status", "--session", "neutral:s1/a1", code=0).stdout.startswith("neutral:s1/a1")


def test_exit_code_1_when_memory_is_due_and_not_made_003_105(om: Om, store: Store) -> None:
    deliver(store, [say(TEXT * 12, id="e1")])
    assert "Due: observer" in om("status", code=0).stdout, "it has only just become due"
    store.put(Put(ERRORS, "observer|neutral:s1", json.dumps({"v": 1, "error": "no mind", "at": ""})))
    assert "not being made" in om("status", code=1).stdout
    assert data_of(om("status", "--json", code=1))["not_made"] is True


def test_the_panel_golden_003_097_127(om: Om, store: Store) -> None:
    branch = deliver(store, [say("Fix it", id="e1"), reply(TEXT, id="e2")], ended=False)
    remember(store, branch, observations=[OLD], reflections=[FIRST], mind="extractive")
    assert om("status", code=0).stdout == GOLDEN


GOLDEN = """\
neutral:s1 “Fix it”
2 entries · ~1,002 tokens · 1 prompt · last turn 2026-05-02 10:30

Observations        1 recorded / 0 dropped / 1 active / 0 visible  +1
Reflections         1 recorded / 0 visible  +1

Next observation    ░░░░░░░░░░░░░░░░         ~0 / 10,000      0 %
Next reflection     ░░░░░░░░░░░░░░░░         ~0 / 20,000      0 %
Next compaction     ░░░░░░░░░░░░░░░░     ~1,002 / 81,000      1 %   calibrated
Visible pool        ░░░░░░░░░░░░░░░░         ~0 / 20,000      0 %   at 100 % the next compaction applies the drops
Active pool         ░░░░░░░░░░░░░░░░        ~11 / 10,000      0 %   over 100 % the dropper works
Reflections carried ░░░░░░░░░░░░░░░░         ~5 / 10,000      0 %   by a compaction, digest included

Dropper             within target; ~1,002 tokens since its last coverage
All reflections     ~5 tokens
Digest              none
Mind                extractive
Recorded by         extractive 2
"""


def test_status_has_a_line_about_the_box_where_one_is_set(om: Om, store: Store) -> None:
    deliver(store, [say("hello", id="e1")])
    assert "box" not in om("status", code=0).stdout.lower()
    url = "https://box.example"
    note_failure(store, url, f"{url}: does not answer")
    said = om("status", "--set", f"box_url={url}", code=0).stdout
    assert f"box: {url} fails since" in said and "nothing is lost" in said
    assert data_of(om("status", "--json", "--set", f"box_url={url}", code=0))["box"].startswith("box: ")
    assert data_of(om("status", "--json", code=0))["box"] == ""

"""`om search`."""

import pytest
from builders import concluded, deliver, observed, remember, reply, say
from commands import Om, data_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.store.kernel import Store

PORT = observed("The gateway listens on port 8443.", "high", sources=("e1",))


@pytest.fixture
def told(store: Store) -> Store:
    branch = deliver(
        store, [say("Let the gateway listen on 8443", id="e1"), reply("Sure.", id="e2")], "s1", project="/p"
    )
    remember(store, branch, observations=[PORT], reflections=[concluded("A gateway uses TLS", PORT)])
    deliver(store, [say("An unrelated gateway question", id="x1")], "s2", project="/p")
    deliver(store, [say("A gateway elsewhere", id="y1")], "s3", project="/q")
    return store


def test_records_and_turns_are_found(om: Om, told: Store) -> None:
    shown = om("search", "gateway", "8443", "--session", "s1", code=0)
    assert shown.stdout.startswith(
        f"[{PORT.id}] observation, active, 2026-05-02 10:30\n    The gateway listens on port 8443.\n"
    )
    assert f"user, 2026-05-02 10:30, recall [{PORT.id}]\n    Let the gateway listen on 8443\n" in shown.stdout
    assert "unrelated" not in shown.stdout
    assert shown.stderr == "3 hits in 1 branch, from neutral:s1\n"


def test_project_wide_is_the_sessions_project(om: Om, told: Store) -> None:
    hits = data_of(om("search", "gateway", "--session", "s1", "--project-wide", "--json", code=0))
    assert {hit["branch"] for hit in hits} == {"neutral:s1", "neutral:s2"}
    shown = om("search", "gateway", "--session", "s1", "--project-wide", code=0).stdout
    assert "user, 2026-05-02 10:30, no record cites it, on branch neutral:s2" in shown


def test_every_branch_of_a_session_is_searched(om: Om, told: Store) -> None:
    fork = deliver(told, [say("On the fork: quokka", id="e3", parent="e1")], "s1", project="/p")
    assert (
        data_of(om("search", "quokka", "--session", "s1", "--branch", "neutral:s1", "--json"))[0]["branch"] == fork.key
    )


def test_limit(om: Om, told: Store) -> None:
    assert len(data_of(om("search", "gateway", "--session", "s1", "--limit", "1", "--json"))) == 1


@pytest.mark.parametrize("words", [("zzzqqq",), ("--force-push",), ("(", "AND", "*"), ('"',)])
def test_nonsense_finds_nothing(om: Om, told: Store, words: tuple[str, ...]) -> None:
    result = om("search", *words, "--json", "--session", "s1", code=0)
    assert data_of(result) == []
    said = om("search", *words, "--session", "s1", code=0).stderr
    assert said == "0 hits in 1 branch, from neutral:s1; --session or --project-wide look elsewhere\n"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=12), min_size=1, max_size=3))
def test_no_words_can_crash_it(om: Om, told: Store, words: list[str]) -> None:
    assert om("search", "--json", "--", *words).exit_code in (0, 2)


def test_some_words_are_needed(om: Om, told: Store) -> None:
    assert om("search", code=2).stdout == ""
    assert om("search", " ", code=2).stderr == "om: give some words to search for: om search retry budget\n"

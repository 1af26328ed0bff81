"""`om note` and `om retire`."""

import pytest
from builders import concluded, deliver, memory_of, observed, remember, say
from commands import Om, data_of

from minutebook.store.kernel import Store

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_note_is_an_observation_with_its_source(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")], zone="Asia/Tokyo")
    shown = om("note", "Deploys", "go", "through\nstaging", code=0).stdout
    assert shown.endswith("[critical] Deploys go through staging\n")
    record_id = shown[1:13]
    assert "Deploys go through staging" in om("recall", record_id, code=0).stdout
    assert record_id in om("view", "--full", code=0).stdout
    assert memory_of(store, branch).observations[record_id].record.timestamp == shown[15:31]
    assert data_of(om("note", "Low", "--relevance", "low", "--json"))["relevance"] == "low"


def test_a_note_keeps_no_secret(om: Om, store: Store) -> None:
    deliver(store, [say("one", id="e1")])
    assert SECRET not in om("note", f"the token is {SECRET}", code=0).stdout
    assert SECRET not in om("view", "--full", code=0).stdout


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("note", " "), 2, "om: a note needs some text"),
        (("note", "x", "--relevance", "huge"), 2, "Usage"),
        (("note",), 2, "Usage"),
        (("retire", "nope"), 2, "om: 'nope' is no record id"),
        (("retire", "0" * 12), 1, "om: no record 000000000000 on this branch"),
    ],
)
def test_what_cannot_be_done_is_said(om: Om, store: Store, args: tuple[str, ...], code: int, said: str) -> None:
    deliver(store, [say("one", id="e1")])
    assert om(*args, code=code).stderr.startswith(said)


def test_without_a_session_there_is_nothing_to_correct(om: Om, store: Store) -> None:
    assert om("note", "x", code=1).stderr.startswith("om: no session was taken in yet")


def test_what_is_retired_leaves_the_view_and_stays_in_recall(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")])
    wrong, rule = observed("wrong"), concluded("a wrong rule", "0123456789ab")
    remember(store, branch, observations=[wrong], reflections=[rule])
    assert om("retire", wrong.id, code=0).stdout == f"[{wrong.id}] observation retired: wrong\n"
    assert om("retire", rule.id, code=0).stdout == f"[{rule.id}] reflection retired: a wrong rule\n"
    assert "was retired before" in om("retire", rule.id, code=0).stdout
    assert data_of(om("retire", wrong.id, "--json"))["already"] is True
    shown = om("view", "--full", code=0).stdout
    assert wrong.id not in shown and rule.id not in shown
    assert "It left active memory (taken back by a person)" in om("recall", wrong.id, code=0).stdout
    assert "It is retired (taken back by a person)" in om("recall", rule.id, code=0).stdout

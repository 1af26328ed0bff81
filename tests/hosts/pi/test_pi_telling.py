"""What a person and an agent are told in Pi."""

from collections.abc import Callable

import pytest
from builders import concluded, observed, remember
from pi_sessions import Talk, branch_of

from minutebook.hosts import bell
from minutebook.hosts.slotfile import add
from minutebook.store.kernel import Store


def test_status_and_view_are_those_of_the_session(talk: Talk, remembered: list[str]) -> None:
    assert "Observations         1 recorded / 0 dropped / 1 active" in talk.ask("status", words="")["text"]
    assert "The port is 8443." in talk.ask("view", words="full")["text"]
    assert "/om:view full shows what is recorded" in talk.ask("view", words="")["text"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [("status", "x"), ("view", "all"), ("view", "full x"), ("command_recall", ""), ("command_recall", "x y z")],
)
def test_other_arguments_give_the_usage_003_110(talk: Talk, remembered: list[str], kind: str, words: str) -> None:
    result = talk.ask(kind, words=words)
    assert result["wrong"].startswith("Usage: /om:")
    assert "text" not in result


@pytest.mark.parametrize("copied", ["{}", "[{}]", "[{}],", "{},", "[{}].", "{};", "[{}]:"])
@pytest.mark.parametrize("written", [str.lower, str.upper])
def test_an_id_is_taken_as_it_is_copied(
    talk: Talk, remembered: list[str], copied: str, written: Callable[[str], str]
) -> None:
    fact = observed("The port is 8443.", "high", sources=(remembered[0],))
    result = talk.ask("command_recall", words=f"{copied.format(written(fact.id))} 1")
    assert result["text"].startswith(f"Recalled [{fact.id}]: ")


@pytest.mark.parametrize("given", ["[]", "[{}", "{}{}", "({})", "{} [1]", "-{}"])
def test_what_is_not_quite_an_id(talk: Talk, remembered: list[str], given: str) -> None:
    """A bracket may be lost in copying; anything else gives the usage."""
    fact = observed("The port is 8443.", "high", sources=(remembered[0],))
    result = talk.ask("command_recall", words=given.format(fact.id, fact.id))
    assert result.get("wrong", "").startswith("Usage: /om:recall ID") is (given != "[{}")


@pytest.mark.parametrize("kind", ["status", "view"])
def test_before_anything_was_said_they_say_so(talk: Talk, kind: str) -> None:
    assert talk.ask(kind, words="")["text"] == "Minutebook: nothing of this session was recorded yet."


def test_recall_is_headed_and_has_a_line_a_record_and_source_003_096(
    talk: Talk, store: Store, remembered: list[str]
) -> None:
    """Golden: what is shown collapsed (head and lines) and expanded (the text)."""
    fact = observed("The port is 8443.", "high", sources=(remembered[0],))
    reflection = concluded("It listens.", fact)
    result = talk.ask("recall", record=reflection.id)
    assert result["head"] == f"Recalled [{reflection.id}]: 1 reflection, 1 observation, 1 source, ~53 tokens of source"
    assert result["lines"] == [
        f"[{reflection.id}] reflection, current: It listens.",
        f"[{fact.id}] observation, active: The port is 8443.",
        "1 of 1: user, 2026-01-01 10:00, ~53 tokens",
    ]
    lines = result["text"].splitlines()
    assert lines[:2] == [result["head"], ""]
    assert lines[-1] == "prompt 0 " + "word " * 40
    assert result["found"] is True


def test_an_id_that_is_not_there_fails_with_counts_003_096(talk: Talk, remembered: list[str]) -> None:
    result = talk.ask("recall", record="0123456789ab")
    head = "Not recalled: this branch has no record [0123456789ab] (0 reflections, 0 observations, 0 sources, ~0 tokens"
    assert (result["found"], result["text"]) == (False, f"{head} of source)")
    assert "no record id" in talk.ask("recall", record="../../etc")["wrong"]
    assert "no record id" in talk.ask("recall", record=17)["wrong"]


def test_a_long_source_is_recalled_page_by_page_and_whole(talk: Talk, store: Store) -> None:
    long = talk.session.say("".join(f"line {n}\n" for n in range(1_000)))
    talk.turn()
    fact = observed("It is long.", sources=(long,))
    remember(store, branch_of(store), observations=[fact])
    pages = [talk.ask("recall", record=fact.id, page=page)["text"] for page in (1, 2, 3, 4, 5)]
    assert all(f"line {n}\n" in "".join(pages) for n in range(1_000))
    assert "page 1 of 5; next: page 2 of " in pages[0]
    assert talk.ask("recall", record=fact.id, page=6)["wrong"] == "page 6: there are 5 pages"
    assert "wrong" in talk.ask("recall", record=fact.id, page=0)


def test_what_workers_left_is_handed_over_once(talk: Talk) -> None:
    path = bell.slot_path(str(talk.store_path), "pi", "s1")
    add(path, {"kind": "notice", "text": "No worker came.", "id": "n1"})
    add(path, {"kind": "steer", "text": "<minutebook-memory>Port 8443.</minutebook-memory>", "id": "s1"})
    result = talk.turn()
    assert result["notices"] == [{"level": "warning", "text": "No worker came."}]
    assert result["steers"] == ["<minutebook-memory>Port 8443.</minutebook-memory>"]
    assert (talk.turn()["notices"], talk.turn()["steers"]) == ([], [])

"""A box that lost memory and recorded another, over the real door."""

from collections.abc import Callable
from pathlib import Path

import pytest
from boxes import back_up, put_back
from builders import concluded, remember, say
from commands import run
from doors import RunningDoor
from ledgers import turns
from machines import BOXED, KEY, ORDERS, Laptops, think, told

from minutebook.box import passing, report
from minutebook.pipeline import ledger
from minutebook.pipeline.boxing import part_from_box
from minutebook.pipeline.branches import load_branch, memory_stream
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.recall import recall
from minutebook.server.tokens import share
from minutebook.store.kernel import Store

Lose = Callable[[], None]


@pytest.fixture
def lose(box: Store) -> Lose:
    """Called once: what the box has now is all that it will have. Called again: the rest is lost."""
    steps = iter([back_up, put_back])
    return lambda: next(steps)(box)


def memory_of(store: Store, key: str) -> list[str]:
    return [row["content"] for entry in told(store, key)["memory"] for row in entry[4]["observations"]]


def test_the_two_are_put_together_in_one_pass(laptops: Laptops, box: Store, lose: Lose) -> None:
    laptop, other = laptops("a"), laptops("b")
    laptop.deliver(turns(6))
    laptop.in_step()
    think(box, BOXED, "kept", covers=2)
    laptop.in_step()
    lose()
    for at, words in ((3, "lost"), (4, "lost, too"), (5, "and lost")):
        think(box, BOXED, words, covers=at)
    laptop.in_step()
    other.in_step()
    lose()
    think(box, BOXED, "otherwise", covers=4)
    laptop.restart()
    healed = laptop.in_step()
    assert healed.retaken == {KEY} and f"healed    1 session: {report.HEALED}" in healed.lines()
    assert memory_of(laptop.store, KEY) == ["kept", "otherwise", "lost", "lost, too", "and lost"]
    assert told(laptop.store, KEY) == told(box, BOXED)
    (notice,) = read_notices(laptop.store)
    assert notice.text.startswith("neutral:s1: the box lost the last of its memory and went on with another;")
    laptop.restart()
    assert not laptop.in_step().retaken
    other.restart()
    other.in_step()
    other.restart()
    assert not other.in_step().retaken and told(other.store, KEY) == told(box, BOXED)


def test_a_copy_of_anothers_session_follows(laptops: Laptops, door: RunningDoor, box: Store, lose: Lose) -> None:
    share(box, ORDERS)
    alice, bob = laptops(user="alice"), laptops(user="bob", box_pull="team")
    alice.deliver(turns(6))
    alice.in_step()
    lose()
    think(box, BOXED, "lost", covers=3)
    bob.in_step()
    lose()
    think(box, BOXED, "otherwise", covers=4)
    bob.restart()
    assert bob.in_step().retaken == {BOXED}
    assert memory_of(bob.store, BOXED) == memory_of(box, BOXED) == ["otherwise"]


def test_a_fork_and_its_records_survive(laptops: Laptops, box: Store, lose: Lose) -> None:
    laptop = laptops()
    laptop.deliver([say("first", id="f1"), say("second", id="f2", parent="f1")])
    laptop.in_step()
    lose()
    think(box, BOXED, "lost", covers=1)
    laptop.in_step()
    fork = laptop.deliver([say("otherwise", id="g1", parent="f1")])
    (id_,) = [row["id"] for entry in told(laptop.store, KEY)["memory"] for row in entry[4]["observations"]]
    lose()
    think(box, BOXED, "said again", covers=2)
    laptop.in_step()
    for key in (KEY, fork.key):
        assert told(laptop.store, key) == told(box, f"alice~{key}")
        assert recall(laptop.store, load_branch(laptop.store, key), id_).found


def test_reflections_come_back_with_what_supports_them(laptops: Laptops, box: Store, lose: Lose) -> None:
    laptop = laptops()
    laptop.deliver(turns(6))
    laptop.in_step()
    lose()
    think(box, BOXED, "lost", covers=3)
    laptop.in_step()
    memory = told(laptop.store, KEY)["memory"]
    fact = concluded("a lost conclusion", memory[0][4]["observations"][0]["id"])
    remember(box, load_branch(box, BOXED), reflections=[fact])
    laptop.in_step()
    lose()
    think(box, BOXED, "otherwise", covers=4)
    laptop.restart()
    laptop.in_step()
    found = recall(laptop.store, laptop.branch(), fact.id)
    assert found.kind == "reflection" and not found.partial
    assert told(laptop.store, KEY) == told(box, BOXED)


def test_rejoining_by_the_command(
    laptops: Laptops, box: Store, lose: Lose, door: RunningDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = laptops()
    laptop.deliver(turns(6))
    laptop.in_step()
    lose()
    think(box, BOXED, "lost", covers=3)
    laptop.in_step()
    lose()
    think(box, BOXED, "otherwise", covers=4)
    part_from_box(laptop.store, laptop.branch(), "as an older version did")
    laptop.restart()
    assert laptop.in_step().kept == {KEY: passing.PARTED}
    monkeypatch.setenv("MINUTEBOOK_BOX_TOKEN", laptops.tokens["alice"])
    monkeypatch.setenv("MINUTEBOOK_BOX_URL", f"http://127.0.0.1:{door.port}")
    file = str(Path(laptop.store.url.removeprefix("sqlite:///")))
    said = run("sync", "--store", file, "--rejoin", KEY, code=0).stdout
    assert "healed    1 session" in said
    assert told(laptop.store, KEY) == told(box, BOXED)
    assert laptop.store.tip(memory_stream(KEY)).marks[ledger.BOX] == ledger.BOXED
    assert memory_of(box, BOXED) == ["otherwise", "lost"]
    assert "did not part" in run("sync", "--store", file, "--rejoin", KEY, code=2).stderr
    assert "no branch" in run("sync", "--store", file, "--rejoin", "neutral:s9").stderr

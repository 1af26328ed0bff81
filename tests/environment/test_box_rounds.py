"""kill -9 of worker, door, shippers and Redis while two laptops work; docs/reliability.md, "Killed processes".

MINUTEBOOK_BOX_ROUNDS: how many rounds; `make faults ROUNDS=200` plays them and says a line for each ten.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from builders import reply
from conftest import needs_redis_server
from environment.box_ends import Ends
from environment.box_rounds import Machine, Part, Story, play
from surroundings import until

from minutebook.pipeline.boxing import box_key
from minutebook.pipeline.branches import memory_stream, source_stream
from minutebook.store import codec
from minutebook.store.kernel import Item, Job, Store
from minutebook.store.opening import open_store

ROUNDS = int(os.environ.get("MINUTEBOOK_BOX_ROUNDS", "3"))
pytestmark = pytest.mark.timeout(300 + 30 * ROUNDS)


@pytest.mark.parametrize("power_cuts", [False, True], ids=["kills", "power"])
def test_box_and_laptops_agree_whatever_is_killed(tmp_path: Path, power_cuts: bool) -> None:
    needs_redis_server()
    tally, wrong = play(ROUNDS, 0, tmp_path, power_cuts=power_cuts)
    assert wrong == []
    assert sum(count for what, count in tally.items() if what.startswith("kills of")) == ROUNDS
    assert tally["memory entries"] and tally["source entries"] > 150


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A story without a kill, that ended well."""
    needs_redis_server()
    folder = tmp_path_factory.mktemp("story")
    machine = Machine(folder / "redis")
    story = Story(machine, 1, 7, folder / "story", Counter())
    assert [*story.play(0)] == []
    yield story
    machine.kill()


def said(story: Story) -> str:
    return "\n".join(Ends(story.url, story.laptops).broken())


def test_what_was_spoiled_is_seen(played: Story) -> None:
    """Each spoils one thing more, so that each is seen for itself."""
    assert said(played) == ""
    key = played.laptops[0].key
    for number, (at, spoil, words) in enumerate(SPOILED):
        opened = open_store(played.url) if at == "box" else played.laptops[0].store()
        with closing(opened) as store:
            spoil(store, box_key("alice", key) if at == "box" else key)
        assert words in said(played), (number, words, said(played))


def doubled_source(store: Store, key: str) -> None:
    last = store.read(source_stream(key))[-1]
    store.append(source_stream(key), [codec.source_item(reply("again", id=f"{last.id}x"), 1)])


def doubled_memory(store: Store, key: str) -> None:
    first = store.read(memory_stream(key))[0]
    store.append(memory_stream(key), [Item("another", first.kind, first.weight, first.body)])


def left_job(store: Store, key: str) -> None:
    store.queue(Job("observer", key, key))


SPOILED: list[tuple[str, Callable[[Store, str], None], str]] = [
    ("box", left_job, "a job of the observer is left"),
    ("laptop", doubled_source, "which nobody delivered"),
    ("box", doubled_memory, "recorded 2 times"),
    ("laptop", doubled_memory, "of memory, the box has"),
]


def test_a_part_that_ends_by_itself_is_said(played: Story, tmp_path: Path) -> None:
    part = Part(["sync", "--nothing"], {}, tmp_path / "out", stays=True)
    story = replace(played, folder=tmp_path / "story", number=2)
    story.parts = {"sync-0": part}
    part.start()
    until(lambda: part.ended() is not None)
    assert any("sync-0 ended by itself with 2" in line for line in story._look_after())
    part.kill()

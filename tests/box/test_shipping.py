"""Passes between laptops and a real door: what goes, what comes, what stays, and what one broken thing harms."""

from pathlib import Path

import pytest
from builders import observed, remember, reply, say
from doors import RunningDoor
from ledgers import ids_of, turns
from machines import BOXED, KEY, ORDERS, Laptops, keys_of, think, told

from minutebook.errors import BadInput
from minutebook.pipeline import ledger
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.outcomes import Committed, Outcome, commit_outcome
from minutebook.pipeline.purged import tombstone
from minutebook.pipeline.sessions import load_session
from minutebook.server.tokens import share
from minutebook.store.kernel import Store

# -- there and back ------------------------------------------------------------------------------------------------


def test_sources_go_and_memory_comes_back(laptops: Laptops, box: Store) -> None:
    laptop = laptops()
    laptop.deliver(turns(5))
    first = laptop.in_step()
    assert (first.sources_sent, first.memory_received) == (5, 0)
    think(box, BOXED, "made on the box")
    second = laptop.in_step()
    assert (second.sources_sent, second.memory_received) == (0, 1)
    assert told(laptop.store, KEY) == told(box, BOXED)
    assert not laptop.in_step().moved


def test_many_entries_go_in_requests_of_a_bounded_size(laptops: Laptops, box: Store) -> None:
    laptop = laptops(serve_body_max_bytes=40_000)
    laptop.deliver([say("word " * 300, id=f"e{at}") for at in range(100)])
    laptop.in_step()
    assert ids_of(box, BOXED) == [f"e{at}" for at in range(100)]


def test_a_box_that_takes_less_is_given_less(laptops: Laptops, box: Store) -> None:
    """The laptop believes in 8 MB, the box takes 200 kB: it is asked with half as much, and half of that."""
    laptop = laptops()
    laptop.deliver([say("word " * 2_000, id=f"e{at}") for at in range(100)])
    assert laptop.in_step().sources_sent == 100
    assert ids_of(box, BOXED) == [f"e{at}" for at in range(100)]
    laptop.deliver([say("x" * 500_000, id="large"), reply("after it", id="next")])
    assert laptop.in_step().sources_sent == 2
    assert ids_of(box, BOXED)[-2:] == ["large", "next"]
    [said] = [each.text for each in read_notices(laptop.store)]
    assert "entry 100 is larger than a box takes" in said
    assert len(read_notices(laptop.store)) == 1


def test_memory_of_before_the_box_is_handed_over(laptops: Laptops, box: Store) -> None:
    laptop = laptops(serve_body_max_bytes=40_000)
    branch = laptop.deliver(turns(6))
    for at in range(1, 7):
        observations = [observed(f"local {at}.{number} " + "w " * 500) for number in range(20)]
        remember(laptop.store, branch, observations=observations, covers=at)
    report = laptop.in_step()
    assert report.memory_sent == 6
    think(box, BOXED, "made on the box")
    laptop.in_step()
    assert told(laptop.store, KEY) == told(box, BOXED)


def test_coverages_without_an_entry_are_handed_over_with_it(laptops: Laptops, box: Store) -> None:
    """Or the box would look again at what was found to say nothing."""
    laptop = laptops()
    branch = laptop.deliver(turns(6))
    remember(laptop.store, branch, observations=[observed("local")], covers=2)
    outcome = Outcome(role="observer", branch=KEY, read=2, advance={ledger.OBSERVER: 6})
    assert isinstance(commit_outcome(laptop.store, branch, outcome), Committed)
    laptop.in_step()
    marks = box.tip(memory_stream(BOXED)).marks
    assert marks[ledger.OBSERVER] == 6 and not marks.get(ledger.BOX)


def test_forks_go_after_what_they_share(laptops: Laptops, box: Store) -> None:
    laptop = laptops()
    laptop.deliver(turns(6))
    laptop.deliver([say("another way", id="f1", parent="e1"), reply("so it is", id="f2", parent="f1")])
    fork = laptop.deliver([say("and another", id="g1", parent="f2"), say("back", id="g2", parent="f1")])
    laptop.deliver([*turns(6), say("a copy goes its own way", id="h1", parent="e5")], "s2")
    laptop.in_step()
    assert keys_of(box) == {
        f"alice~{key}": [f"alice~{b}" for b in found] for key, found in keys_of(laptop.store).items()
    }
    for branches in keys_of(laptop.store).values():
        for key in branches:
            think(box, f"alice~{key}", f"about {key}")
    laptop.in_step()
    assert fork.parent and len(keys_of(laptop.store)) == 2
    for branches in keys_of(laptop.store).values():
        for key in branches:
            assert told(laptop.store, key) == told(box, f"alice~{key}")


def test_notes_wait_in_the_outbox_and_come_back_placed(laptops: Laptops, box: Store) -> None:
    laptop = laptops()
    laptop.deliver(turns(3))
    laptop.in_step()
    think(box, BOXED, "first")
    note(laptop.store, laptop.branch(), "ship on Friday", time="2026-05-02T11:00:00Z", timestamp="2026-05-02 11:00")
    report = laptop.in_step()
    assert (report.offered, report.memory_received) == (1, 2)
    assert told(laptop.store, KEY) == told(box, BOXED)
    assert not laptop.in_step().moved


def test_the_end_of_a_session_is_told_without_an_entry(laptops: Laptops, box: Store) -> None:
    laptop = laptops()
    laptop.deliver(turns(3))
    laptop.in_step()
    assert not load_session(box, BOXED).ended
    laptop.deliver([], ended=True)
    laptop.in_step()
    assert load_session(box, BOXED).ended


def test_no_folder_of_this_machine_goes_to_the_box(laptops: Laptops, box: Store, tmp_path: Path) -> None:
    laptop = laptops()
    folder = tmp_path / "very-private-place" / "orders"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text('[remote "origin"]\nurl = https://x:secret@github.com/acme/orders\n')
    laptop.deliver(turns(3), project=str(folder))
    laptop.in_step()
    assert load_session(box, BOXED).project == ORDERS
    held = b"".join(path.read_bytes() for path in tmp_path.glob("box.sqlite*"))
    assert b"very-private-place" not in held and b"x:secret" not in held


# -- what stays ----------------------------------------------------------------------------------------------------


def test_projects_decide_what_is_sent(laptops: Laptops, box: Store, door: RunningDoor) -> None:
    laptop = laptops(token=door.token("alice", "github.com/*"), box_projects=("*/acme/*",))
    laptop.deliver(turns(2), "s1")
    laptop.deliver(turns(3, 10), "s2", project="github.com/other/x")
    laptop.deliver(turns(3, 20), "s3", project="gitlab.com/acme/orders")
    report = laptop.in_step()
    assert report.kept == {
        "neutral:s2": "project github.com/other/x is not in box_projects",
        "neutral:s3": "the token is not for project gitlab.com/acme/orders",
    }
    assert list(keys_of(box)) == [BOXED]
    assert laptop.in_step().kept == report.kept


# -- two machines, a team ------------------------------------------------------------------------------------------


def test_another_machine_of_the_same_user_gets_the_same(laptops: Laptops, box: Store) -> None:
    one, other = laptops("a"), laptops("b")
    one.deliver(turns(6))
    one.deliver([say("another way", id="f1", parent="e1")])
    one.in_step()
    think(box, BOXED, "made on the box")
    for key in keys_of(box)[BOXED]:
        think(box, key, f"about {key}")
    one.in_step()
    report = other.in_step()
    assert report.received == {KEY} and report.sources_received == 7
    for key in keys_of(one.store)[KEY]:
        assert told(one.store, key) == told(other.store, key)
    assert keys_of(one.store) == keys_of(other.store)
    one.deliver(turns(3, 10))
    one.in_step()
    think(box, BOXED, "later")
    assert other.in_step().moved
    one.in_step()
    assert told(one.store, KEY) == told(other.store, KEY)
    assert not other.in_step().moved and not one.in_step().moved


def test_what_the_other_machine_takes_back_is_gone_on_both_and_a_note_is_written_at_home(
    laptops: Laptops, box: Store
) -> None:
    """A note is a source entry, too: from two machines, two of them would want the same place."""
    one, other = laptops("a"), laptops("b")
    one.deliver(turns(3))
    one.in_step()
    think(box, BOXED, "to be taken back")
    other.in_step()
    with pytest.raises(BadInput, match="came from another machine of yours"):
        note(other.store, other.branch(), "from the other", time="2026-05-02T11:00:00Z", timestamp="2026-05-02 11:00")
    retire(other.store, other.branch(), observed("to be taken back").id, time="2026-05-02T11:00:00Z")
    assert other.in_step().offered == 1
    one.restart()
    one.in_step()
    assert told(one.store, KEY) == told(other.store, KEY)
    assert "to be taken back" not in told(one.store, KEY)["texts"][-1]


@pytest.mark.parametrize(("pull", "comes"), [("nothing", set()), ("own", set()), ("team", {BOXED})])
def test_what_the_team_shares_comes_when_it_is_wanted(laptops: Laptops, box: Store, pull: str, comes: set[str]) -> None:
    alice, bob = laptops(), laptops(user="bob", box_pull=pull)
    alice.deliver(turns(4))
    alice.deliver(turns(4, 10), "private", project="github.com/acme/diary")
    alice.in_step()
    think(box, BOXED, "for everybody")
    share(box, ORDERS)
    bob.in_step()
    assert set(keys_of(bob.store)) == comes
    if comes:
        assert told(bob.store, BOXED) == told(box, BOXED)
        think(box, BOXED, "more of it")
        assert bob.in_step().moved
        assert told(bob.store, BOXED) == told(box, BOXED)
        assert not bob.in_step().moved


def test_what_was_purged_here_does_not_come_back(laptops: Laptops) -> None:
    one, other = laptops("a"), laptops("b")
    one.deliver(turns(3))
    one.in_step()
    other.store.put(tombstone(KEY, time="2026-05-02T10:30:00Z", reason="purge"))
    assert not other.in_step().moved
    assert keys_of(other.store) == {}


def test_a_laptop_that_lost_its_store_gets_it_back_and_goes_on(laptops: Laptops, box: Store) -> None:
    """Its host's file is read from the start again: nothing comes twice."""
    first, again = laptops("a"), laptops("a2")
    first.deliver(turns(6))
    first.deliver([say("another way", id="f1", parent="e1")])
    first.in_step()
    think(box, BOXED, "made on the box")
    again.in_step()
    again.deliver([*turns(6), say("another way", id="f1", parent="e1"), *turns(3, 10)])
    report = again.in_step()
    assert report.sources_sent == 3
    for key in keys_of(again.store)[KEY]:
        assert told(again.store, key) == told(box, f"alice~{key}")

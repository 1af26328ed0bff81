"""What one broken thing harms when laptops and their box exchange: a session, a box, a token, a store."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from builders import say
from doors import RunningDoor
from ledgers import ids_of, turns
from machines import BOXED, KEY, SETTINGS, Laptops, keys_of, machine, think, told

from minutebook.box import passing, stepping
from minutebook.box.client import BoxClient
from minutebook.pipeline import ledger
from minutebook.pipeline.boxing import part_from_box, rejoin_box
from minutebook.pipeline.branches import memory_stream
from minutebook.pipeline.clocks import due_roles
from minutebook.pipeline.erasing import derived_of, erase_all
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.purged import forget_tombstone
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.sessions import load_session
from minutebook.records import Part
from minutebook.server.tokens import revoke_token
from minutebook.store import codec
from minutebook.store.kernel import Item, Store
from minutebook.store.opening import open_store


def test_one_broken_session_holds_up_no_other(laptops: Laptops, box: Store) -> None:
    laptop = laptops()
    for name in ("s1", "s2", "s3"):
        laptop.deliver(turns(3, 10 * int(name[1])), name)
    laptop.store.append("s:neutral:s2", [Item("broken", "source", 1, "{")])
    report = laptop.sync()
    assert list(report.failed) == ["neutral:s2"] and not report.failure
    assert ids_of(box, BOXED) and ids_of(box, "alice~neutral:s3")
    assert list(laptop.sync().failed) == ["neutral:s2"]


def test_a_box_that_tells_other_words_is_not_believed(laptops: Laptops, box: Store) -> None:
    """As where its disk is bad, or somebody wrote in its store: that session stays out, with a line, others come."""
    one, other = laptops("a"), laptops("b")
    one.deliver([say("the port is 8443", id="e1"), say("so be it", id="e2")])
    one.deliver([say("all is well", id="f1")], "s2")
    one.in_step()
    entries = [codec.source_entry(each) for each in box.read(f"s:{BOXED}")]
    entries[0] = replace(entries[0], parts=(Part(kind="text", text="the port is 9443"),))
    box.append(f"s:{BOXED}", [codec.source_item(each, 1) for each in entries], anew=True, expect_length=2)
    report = other.sync()
    assert list(report.failed) == [KEY] and not report.failure
    assert (
        "other words in entry 0 of neutral:s1 than its hash is of: they were changed on the box" in report.failed[KEY]
    )
    assert keys_of(other.store).keys() == {"neutral:s2"}
    one.in_step()  # where the right words are, nothing is asked for


def test_what_diverged_goes_on_alone_and_says_so(laptops: Laptops, box: Store) -> None:
    one, other = laptops("a", box_pull="nothing"), laptops("b", box_pull="nothing")
    for laptop, last in ((one, "x"), (other, "y")):
        laptop.deliver([*turns(2), say(f"only here: {last}", id=last)])
        laptop.deliver(turns(2, 10), "fine")
    one.in_step()
    report = other.sync()
    assert list(report.failed) == [KEY] and "on the box" in report.failed[KEY]
    other.restart()
    assert other.in_step().kept == {KEY: passing.PARTED}
    assert ids_of(box, BOXED)[-1] == "x" and ids_of(other.store)[-1] == "y"
    assert any("goes on on this machine alone" in each.text for each in read_notices(other.store))
    one.in_step()


def test_all_branches_of_a_session_part_together(laptops: Laptops, box: Store) -> None:
    """What stayed the box's would be thought about nowhere: it is not sent any more, and no role here works on it."""
    laptop = laptops()
    main = laptop.deliver([say("first", id="f1"), say("second", id="f2", parent="f1")])
    fork = laptop.deliver([say("otherwise", id="g1", parent="f1")])
    assert fork.parent == main.key
    laptop.in_step()
    assert due_roles(read_state(laptop.store, main), SETTINGS) == {}
    part_from_box(laptop.store, fork, "the box has another entry there")
    laptop.deliver([say("third", id="f3", parent="f2")])
    later = laptop.deliver([say("and otherwise again", id="h1", parent="f2")])
    assert laptop.in_step().kept == {KEY: passing.PARTED}
    assert laptop.in_step().kept == {KEY: passing.PARTED}
    for branch in (main, fork, later):
        assert laptop.store.tip(memory_stream(branch.key)).marks[ledger.BOX] == ledger.PARTED
        assert "observer" in due_roles(read_state(laptop.store, branch), SETTINGS)


def test_a_box_that_is_away_costs_nothing_but_time(laptops: Laptops, door: RunningDoor, box: Store) -> None:
    laptop = laptops()
    laptop.deliver(turns(3))
    laptop.in_step()
    door.__exit__()
    laptop.deliver(turns(3, 10))
    report = laptop.sync()
    assert "does not answer" in report.failure and not report.ok
    assert not report.failed
    with RunningDoor(box, door.audit, door.settings) as again:
        laptop.client._http.base_url = f"http://127.0.0.1:{again.port}"
        assert laptop.in_step().sources_sent == 3
    door.__enter__()


def test_a_revoked_token_ends_the_pass_with_one_line(laptops: Laptops, door: RunningDoor, box: Store) -> None:
    token = door.token("alice")
    laptop = laptops(token=token)
    laptop.deliver(turns(3))
    laptop.in_step()
    revoke_token(box, token.split("_")[1])
    laptop.deliver(turns(3, 10))
    assert "token is not accepted" in laptop.sync().failure
    assert "token is not accepted" in laptop.sync().failure


def test_a_box_that_was_set_back_is_given_again_what_it_lacks(
    laptops: Laptops, door: RunningDoor, box: Store, tmp_path: Path
) -> None:
    """An empty box in its place: the most that can be lost."""
    laptop = laptops()
    laptop.deliver(turns(5))
    laptop.in_step()
    think(box, BOXED, "made on the first box")
    laptop.in_step()
    before = told(laptop.store, KEY)
    with closing(open_store(str(tmp_path / "other.sqlite"))) as empty:
        with (
            RunningDoor(empty, door.audit, door.settings) as again,
            machine(again, tmp_path / "alice-a", again.token("alice")) as same,
        ):
            same.in_step()
        assert told(empty, BOXED) == before == told(laptop.store, KEY)


def test_a_box_without_workers_is_told_of(laptops: Laptops, box: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is in step, and yet no memory comes: only the box knows why."""
    laptop = laptops(observe_after_tokens=10)
    laptop.deliver(turns(5))
    assert laptop.in_step().waiting == {}
    monkeypatch.setattr(BoxClient, "why_not_made", lambda self, branch: f"no worker came to {branch}")
    laptop.restart()
    waiting = laptop.in_step()
    assert waiting.ok and waiting.waiting == {KEY: f"no worker came to {KEY}"}
    assert "waiting   1 session: memory is due on the box" in "\n".join(waiting.lines())
    think(box, BOXED, "there is one now", covers=5)
    laptop.restart()
    assert laptop.in_step().waiting == {}


def test_what_was_purged_on_the_box_goes_on_here_alone(laptops: Laptops, box: Store) -> None:
    laptop = laptops()
    laptop.deliver(turns(3))
    laptop.deliver(turns(3, 10), "s2")
    laptop.in_step()
    erase_all(box, derived_of(box, [BOXED]))
    laptop.deliver(turns(3, 20))
    assert laptop.in_step().kept == {KEY: passing.PARTED}
    assert BOXED not in keys_of(box) and "alice~neutral:s2" in keys_of(box)
    assert laptop.store.tip(memory_stream(KEY)).marks[ledger.BOX] == ledger.PARTED
    assert laptop.in_step().kept == {KEY: passing.PARTED}


def test_what_was_purged_on_the_box_joins_again_once_it_may(laptops: Laptops, box: Store) -> None:
    laptop = laptops()
    laptop.deliver(turns(3))
    laptop.in_step()
    erase_all(box, derived_of(box, [BOXED]))
    laptop.deliver(turns(3, 20))
    laptop.in_step()
    rejoin_box(laptop.store, load_session(laptop.store, KEY))
    laptop.restart()
    assert laptop.in_step().kept == {KEY: passing.PARTED}
    assert forget_tombstone(box, BOXED)
    rejoin_box(laptop.store, load_session(laptop.store, KEY))
    laptop.restart()
    assert laptop.in_step().sources_sent == 6
    think(box, BOXED, "made on the box")
    laptop.in_step()
    assert told(laptop.store, KEY) == told(box, BOXED)


def test_a_fault_of_the_box_ends_the_pass_after_a_few_sessions(
    laptops: Laptops, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minutebook.errors import BoxFailed

    laptop, asked = laptops(), []

    def fails(self: object, *given: object) -> None:
        asked.append(given)
        raise BoxFailed("internal", status=500)

    for at in range(10):
        laptop.deliver(turns(2, 10 * at), f"s{at}")
    monkeypatch.setattr(stepping.BoxClient, "send_sources", fails)
    assert laptop.sync().failure == "internal"
    assert len(asked) == passing.FAILURES_MAX

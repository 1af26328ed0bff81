"""A store is one user's: with another user's token nothing goes and nothing comes."""

import pytest
from commands import run
from doors import RunningDoor
from ledgers import ids_of, turns
from machines import BOXED, KEY, Laptops, Machine, keys_of

from minutebook.settings import Settings
from minutebook.store.kernel import Store

REFUSED = (
    "this store was synced as bob, and the token is alice's: "
    "use the token of bob, or another MINUTEBOOK_HOME (or --store)"
)


@pytest.fixture
def bob(laptops: Laptops) -> Machine:
    """Bob's laptop, with one session that the box has and more that it has not."""
    machine = laptops(user="bob")
    machine.deliver(turns(3))
    machine.in_step()
    machine.deliver(turns(2, 10))
    machine.deliver(turns(2, 20), "private")
    return machine


def with_token_of(machine: Machine, user: str, laptops: Laptops) -> Machine:
    """The same store, with another token."""
    other = laptops("other", user=user)
    return Machine(machine.store, other.client, Settings(box_pull="team"))


def test_another_user_s_token_sends_nothing_and_takes_nothing(bob: Machine, laptops: Laptops, box: Store) -> None:
    alice = laptops()
    alice.deliver(turns(1), "of-alice")
    alice.in_step()
    wrong = with_token_of(bob, "alice", laptops)
    for _ in range(2):
        report = wrong.sync()
        assert report.failure == REFUSED and not report.ok and not report.moved
    assert set(keys_of(box)) == {"bob~neutral:s1", "alice~neutral:of-alice"}
    assert set(keys_of(bob.store)) == {KEY, "neutral:private"}
    assert bob.in_step().sources_sent == 4
    assert BOXED not in keys_of(box) and len(ids_of(box, "bob~neutral:s1")) == 5


def test_the_first_user_counts_whatever_the_address_of_the_box(bob: Machine, laptops: Laptops) -> None:
    wrong = with_token_of(bob, "alice", laptops)
    wrong.client.url = "https://moved.example"
    assert wrong.sync().failure == REFUSED


def test_a_new_token_of_the_same_user_goes_on(bob: Machine, laptops: Laptops, door: RunningDoor) -> None:
    laptops.tokens["bob"] = door.token("bob")
    assert with_token_of(bob, "bob", laptops).in_step().sources_sent == 4


def test_the_command_says_it_and_fails(
    bob: Machine, door: RunningDoor, box: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_BOX_URL", f"http://127.0.0.1:{door.port}")
    monkeypatch.setenv("MINUTEBOOK_BOX_TOKEN", door.token("alice"))
    file = bob.store.url.removeprefix("sqlite:///")
    assert run("sync", "--store", file, "--once", code=1).stdout.startswith(f"{REFUSED}\n")
    assert set(keys_of(box)) == {"bob~neutral:s1"}
    assert REFUSED in run("status", "--store", file, code=0).stdout

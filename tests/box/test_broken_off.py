"""Passes that are broken off before or after any request, by a new process or the same: at last all are equal.

MINUTEBOOK_BOX_SEEDS=N plays N stories instead of two.
"""

import os
import random
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from builders import reply, say
from doors import RunningDoor
from machines import Machine, keys_of, machine, think, told

from minutebook.box.client import Answer, BoxClient
from minutebook.errors import BoxUnreachable
from minutebook.pipeline.corrections import note
from minutebook.settings import Settings
from minutebook.store.kernel import Store

SEEDS = int(os.environ.get("MINUTEBOOK_BOX_SEEDS", "2"))
STEPS = 30
SESSIONS = ("s1", "s2", "s3")


class Dying(Exception):
    """The process is gone: nothing of it goes on."""


class Frail(BoxClient):
    """Breaks off at the request `left` counts down to: before it is sent, or when its answer is on the way."""

    left = -1
    answered = False
    dies = False

    def _once(self, method: str, path: str, content: bytes | None, params: Mapping[str, str | int] | None) -> Answer:
        self.left -= 1
        if self.left == 0 and not self.answered:
            raise Dying if self.dies else BoxUnreachable("cut before")
        answer = super()._once(method, path, content, params)
        if self.left == 0:
            raise Dying if self.dies else BoxUnreachable("cut after")
        return answer

    def set(self, chance: random.Random) -> None:
        self.left = chance.randrange(1, 14)
        self.answered, self.dies = chance.random() < 0.5, chance.random() < 0.5


class Story:
    """Two laptops of one user, each with sessions of its own, and workers on the box."""

    def __init__(self, seed: int, laptops: list[Machine], box: Store) -> None:
        self.chance = random.Random(seed)
        self.laptops, self.box = laptops, box
        self.count = 0

    def play(self) -> None:
        for _ in range(STEPS):
            laptop = self.chance.choice(self.laptops)
            act = self.chance.choice([self.turn, self.turn, self.fork, self.word, self.work, self.work, self.sync])
            act(laptop)
            if self.chance.random() < 0.6:
                self.sync(laptop)

    def name(self, laptop: Machine) -> str:
        return f"{self.chance.choice(SESSIONS)}-{self.laptops.index(laptop)}"

    def ids(self, count: int) -> list[str]:
        self.count += count
        return [f"n{self.count - at}" for at in range(count)]

    def turn(self, laptop: Machine) -> None:
        made = [(say if at % 2 else reply)(f"words of {id_}", id=id_) for at, id_ in enumerate(self.ids(4))]
        laptop.deliver(made, self.name(laptop))

    def fork(self, laptop: Machine) -> None:
        name = self.name(laptop)
        key = f"neutral:{name}"
        if key in keys_of(laptop.store):
            there = laptop.store.read(f"s:{key}")
            parent = self.chance.choice(there).id if there else None
            [id_] = self.ids(1)
            laptop.deliver([say(f"another way {id_}", id=id_, parent=parent)], name)

    def word(self, laptop: Machine) -> None:
        own = f"-{self.laptops.index(laptop)}"  # about a session of the other one it is refused
        keys = [key for name, keys in keys_of(laptop.store).items() if name.endswith(own) for key in keys]
        if keys:
            [said] = self.ids(1)
            branch = laptop.branch(self.chance.choice(keys))
            note(laptop.store, branch, f"note {said}", time="2026-05-02T11:00:00Z", timestamp="2026-05-02 11:00")

    def work(self, laptop: Machine) -> None:
        keys = [key for branches in keys_of(self.box).values() for key in branches]
        if keys:
            [said] = self.ids(1)
            key = self.chance.choice(keys)
            with suppress(Exception):  # its laptop's memory is on the way, or it has no new entries
                think(self.box, key, f"thought {said}")

    def sync(self, laptop: Machine) -> None:
        frail = laptop.client
        assert isinstance(frail, Frail)
        frail.set(self.chance)
        try:
            laptop.sync()
        except Dying:
            laptop.restart()
        frail.left = -1


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_is_broken_off_all_are_equal_at_last(box: Store, tmp_path: Path, seed: int) -> None:
    settings = Settings(audit_file=str(tmp_path / "audit"), serve_requests_per_minute=1_000_000)
    with ExitStack() as stack:
        door = stack.enter_context(RunningDoor(box, tmp_path / "audit", settings))
        token = door.token("alice")
        laptops = [
            stack.enter_context(machine(door, tmp_path / name, token, client=Frail, serve_body_max_bytes=3_000))
            for name in ("a", "b")
        ]
        story = Story(seed, laptops, box)
        story.play()
        for _ in range(3):
            for laptop in laptops:
                laptop.restart()
                laptop.in_step()
        sessions = keys_of(laptops[0].store)
        assert sessions and keys_of(laptops[1].store) == sessions
        for branches in sessions.values():
            for key in branches:
                assert told(laptops[0].store, key) == told(laptops[1].store, key) == told(box, f"alice~{key}")

"""One worker, whatever races; and none that leaves while somebody rings. With real hooks and real workers."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from builders import ScriptedMind
from hookkit import OM_HOOK, PATIENCE_SECONDS, Agent, patient, until

from minutebook.errors import BadInput
from minutebook.hosts import starting
from minutebook.hosts.bell import lock_path, start_worker, wake, wake_path
from minutebook.hosts.bells import Bells
from minutebook.pipeline.branches import list_branches
from minutebook.pipeline.ledger import read_memory
from minutebook.settings import Settings
from minutebook.store.opening import open_store
from minutebook.workers.engine import Engine
from minutebook.workers.foreground import leaves
from minutebook.workers.holding import Hold

HOOKS = 20
PHASES = (
    "before the first look",
    "before it is deaf",
    "when it is deaf",
    "before it lets go",
    "when it has let go",
    "before the last look",
    "after the last look",
    "when it has gone",
)


def test_hooks_at_once_start_one_worker_that_takes_all_in(agent: Agent) -> None:
    agent.say("hello")
    given = agent.transcript.with_name("payload")
    given.write_text(json.dumps(agent.payload()))
    with ExitStack() as files:
        hooks = [
            subprocess.Popen(
                [*patient(), "claude-code", "Stop"],
                stdin=files.enter_context(given.open()),
                stdout=subprocess.DEVNULL,
                env=agent.environment,
            )
            for _ in range(HOOKS)
        ]
    assert {hook.wait(PATIENCE_SECONDS) for hook in hooks} == {0}
    (worker,) = agent.workers()
    until(agent.is_taken_in)
    until(lambda: not agent.bells)
    assert agent.workers() == [worker] == [agent.holder()]
    assert os.getsid(worker) == worker
    if Path("/proc").is_dir():
        assert Path(f"/proc/{worker}/cwd").resolve() == Path("/")


def test_a_killed_worker_is_followed_by_another(agent: Agent) -> None:
    """Its FIFO is still there, and its lock is not."""
    agent.say("first")
    agent.hook("Stop")
    until(agent.is_taken_in)
    (first,) = agent.workers()
    os.kill(first, signal.SIGKILL)
    until(lambda: not agent.workers())
    assert Path(wake_path(agent.store)).is_fifo()
    agent.say("second")
    agent.hook("Stop")
    until(agent.is_taken_in)
    (second,) = agent.workers()
    assert second != first


def test_a_worker_that_was_told_to_stop_gives_back_what_it_has_in_hand(agent: Agent) -> None:
    agent.say("first")
    agent.hook("Stop")
    until(agent.is_taken_in)
    agent.end_workers(signal.SIGTERM)
    assert not [name for name in agent.bells if name.startswith("+")]
    assert not wake(agent.store)


def test_a_worker_that_hooks_started_starts_anew_with_changed_settings_003_125(agent: Agent) -> None:
    """It outlives its sessions by minutes: who changes a setting and starts the agent again meets the same worker."""
    agent.say("Use port 8443 for the new listener, never 8080.")
    agent.hook("Stop")
    until(agent.is_taken_in)
    until(lambda: not agent.bells)
    (worker,) = agent.workers()
    began = Path(f"/proc/{worker}/stat").read_text() if Path("/proc").is_dir() else ""
    with closing(open_store(agent.store)) as store:
        (branch,) = list_branches(store)
        assert not list(read_memory(store, branch))
        (agent.home / "minutebook.toml").write_text("observe_after_tokens = 1\n")
        until(lambda: list(read_memory(store, branch)))
    assert agent.workers() == [worker] == [agent.holder()]
    assert wake(agent.store)
    if began:
        assert Path(f"/proc/{worker}/stat").read_text().split()[21] == began.split()[21]  # the same process
    agent.say("And never 8081.")
    agent.hook("Stop")
    until(agent.is_taken_in)
    assert agent.workers() == [worker]


def test_a_worker_by_hand_is_enough(agent: Agent) -> None:
    agent.say("hello")
    worker = subprocess.Popen([OM_HOOK.with_name("om"), "worker"], env=agent.environment, stderr=subprocess.PIPE)
    try:
        until(lambda: wake(agent.store))
        agent.hook("Stop")
        until(agent.is_taken_in)
        assert not agent.workers() and not Path(lock_path(agent.store)).exists()
    finally:
        worker.terminate()
        worker.communicate(timeout=PATIENCE_SECONDS)


def test_a_project_s_own_modules_are_not_the_worker_s(agent: Agent) -> None:
    """A folder with a module `minutebook`, or `json`, in it harms neither the hook nor the worker."""
    agent.say("hello")
    folder = agent.transcript.parent
    (folder / "minutebook.py").write_text("raise SystemExit('not this one')")
    (folder / "json.py").write_text("raise SystemExit('nor this one')")
    agent.hook("Stop")
    until(agent.is_taken_in)


# -- leaving -------------------------------------------------------------------------------------------------------


class Steps:
    """Looks and locks of a worker that leaves, one by one; what a test does is done at one of them."""

    def __init__(self, at: str, act: Callable[[], None]) -> None:
        self._at, self._act = at, act
        self._looks = 0

    def reach(self, phase: str) -> None:
        if phase == self._at:
            self._at = "done"
            self._act()

    def look(self, look: Callable[[], Any]) -> Any:
        self._looks += 1
        before = {1: "before the first look", 2: "before it is deaf", 3: "before the last look"}
        after = {2: "when it is deaf", 3: "after the last look"}
        self.reach(before.get(self._looks, ""))
        verdict = look()
        self.reach(after.get(self._looks, ""))
        return verdict


class SteppedEngine:
    """An engine whose looks are steps."""

    def __init__(self, engine: Engine, steps: Steps) -> None:
        self._engine, self._steps = engine, steps

    def look(self) -> Any:
        return self._steps.look(self._engine.look)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


class SteppedHold(Hold):
    """A lock whose release is a step."""

    steps: Steps

    def release(self) -> None:
        self.steps.reach("before it lets go")
        super().release()
        self.steps.reach("when it has let go")


@pytest.mark.parametrize("phase", PHASES)
def test_whoever_rings_while_a_worker_leaves_is_taken_in(agent: Agent, phase: str) -> None:
    """By the worker that leaves, which stays then, or by the one that the hook starts: never by none."""

    def ring() -> None:
        agent.say("in between")
        assert agent.hook("Stop").returncode == 0

    steps = Steps(phase, ring)
    Path(agent.store).parent.mkdir(parents=True)
    bells = Bells(agent.store, lambda *_: Settings())
    lock = starting.open_lock(agent.store)
    assert starting.hold(lock)
    hold = SteppedHold(lock, agent.store)
    hold.steps = steps
    try:
        with closing(open_store(agent.store)) as store:
            engine = Engine(
                store, settings_for=lambda branch: Settings(), mind=ScriptedMind(), intake=lambda: bells(store)
            )
            with engine:
                engine.look()
                stepped: Any = SteppedEngine(engine, steps)
                until(lambda: leaves(stepped, hold))
            bells.give_back()
    finally:
        os.close(lock)
    steps.reach("when it has gone")
    until(agent.is_taken_in)
    until(lambda: not agent.bells)
    assert len(agent.workers()) <= 1 and not agent.log


def test_a_worker_that_is_left_something_stays_and_is_found(agent: Agent) -> None:
    def ring() -> None:
        agent.say("in between")
        agent.hook("Stop")

    steps = Steps("before it lets go", ring)
    Path(agent.store).parent.mkdir(parents=True)
    bells = Bells(agent.store, lambda *_: Settings())
    lock = starting.open_lock(agent.store)
    hold = SteppedHold(lock, agent.store)
    hold.steps = steps
    with (
        closing(open_store(agent.store)) as store,
        Engine(
            store, settings_for=lambda branch: Settings(), mind=ScriptedMind(), intake=lambda: bells(store)
        ) as engine,
    ):
        stepped: Any = SteppedEngine(engine, steps)
        assert not leaves(stepped, hold)
        engine.look()
        assert wake(agent.store) and agent.holder() == os.getpid()
        assert not start_worker(agent.store) and not agent.workers()
    os.close(lock)


# -- the lock ------------------------------------------------------------------------------------------------------


def test_only_the_lock_of_its_store_can_be_handed_over(tmp_path: Path) -> None:
    store = str(tmp_path / "memory.sqlite")
    lock, other = starting.open_lock(store), starting.open_lock(str(tmp_path / "other.sqlite"))
    try:
        Hold(lock, store)
        assert not os.get_inheritable(lock)
        with pytest.raises(BadInput, match="for hooks only"):
            Hold(other, store)
        with pytest.raises(BadInput, match="for hooks only"):
            Hold(987, store)
        again = starting.open_lock(store)
        with pytest.raises(BadInput, match="another worker"):
            Hold(again, store)
        os.close(again)
    finally:
        os.close(lock)
        os.close(other)


def test_the_command_line_refuses_another_descriptor(agent: Agent) -> None:
    done = subprocess.run(
        [OM_HOOK.with_name("om"), "worker", "--hold", "0"],
        env=agent.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "for hooks only" in done.stderr


WITHOUT_SESSIONS = """
import os, sys
def posix_spawn(*_, **__):
    raise NotImplementedError
os.posix_spawn = posix_spawn
from minutebook.hosts.bell import start_worker
sys.exit(0 if start_worker(sys.argv[1]) else 3)
"""


def test_where_no_session_can_be_spawned_a_fork_does_it(agent: Agent) -> None:
    agent.say("hello")
    with agent.listening():
        agent.hook("Stop")
    for code in (0, 3):
        done = subprocess.run([sys.executable, "-c", WITHOUT_SESSIONS, agent.store], env=agent.environment)
        assert done.returncode == code
    until(agent.is_taken_in)
    (worker,) = agent.workers()
    assert os.getsid(worker) == worker


def test_a_relative_home_is_the_same_one_for_the_worker(agent: Agent) -> None:
    agent.environment["MINUTEBOOK_HOME"] = agent.home.name
    agent.say("hello")
    agent.hook("Stop")
    until(agent.is_taken_in)
    assert not agent.log


def test_what_an_agent_left_open_is_not_the_worker_s(agent: Agent, tmp_path: Path) -> None:
    """Who waits for the end of a pipe that its hooks have, too, does not wait for the worker."""
    agent.say("hello")
    ours, theirs = os.pipe()
    done = subprocess.run(
        [*patient(), "claude-code", "Stop"],
        input=json.dumps(agent.payload()).encode(),
        env=agent.environment,
        pass_fds=[theirs],
    )
    os.close(theirs)
    assert done.returncode == 0 and agent.workers()
    assert os.read(ours, 1) == b""
    os.close(ours)


def test_a_worker_that_a_hook_started_leaves_when_its_setting_says_so(agent: Agent) -> None:
    agent.say("hello")
    agent.environment["MINUTEBOOK_WORKER_IDLE_EXIT_SECONDS"] = "1"
    agent.environment["MINUTEBOOK_FLUSH_IDLE_SECONDS"] = "1"
    agent.hook("SessionEnd")
    until(agent.is_taken_in)
    until(lambda: not agent.workers())
    assert not agent.bells and agent.holder() is None
    agent.say("again")
    agent.hook("Stop")
    until(agent.is_taken_in)


def test_a_worker_that_cannot_begin_is_not_started_at_each_hook(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is a newer one's, say; after a while it is tried again, and nothing is lost."""
    agent.say("hello")
    Path(agent.store).parent.mkdir(parents=True)
    Path(agent.store).write_text("no store at all, and much longer than the head of one would be" * 50)
    agent.hook("Stop")
    lock = Path(lock_path(agent.store))
    until(lambda: lock.read_text() == starting.FAILED and not agent.workers())
    log = agent.home / "worker.log"
    said = log.read_text()
    for _ in range(3):
        os.utime(lock)  # just now, however long a hook takes here
        assert agent.hook("Stop").returncode == 0
    assert log.read_text() == said and lock.read_text() == starting.FAILED and not agent.log
    Path(agent.store).unlink()
    os.utime(lock, (0, 0))
    agent.hook("Stop")
    until(agent.is_taken_in)

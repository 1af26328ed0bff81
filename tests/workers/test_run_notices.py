"""Notices of the workers: rows 003-134, 003-135, 003-136 and 003-138."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import ScriptedMind, deliver, memory_of, reply
from jobs import OFF, Clock, observe_each
from relays import answered, relay_of

from minutebook.errors import BadSetting, ProviderFailed, SpanFailed
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.notices import read_notices
from minutebook.pipeline.status import role_errors
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.contract import Desk, DigestBatch, DropBatch, ReflectBatch
from minutebook.workers.digester import SELECTED
from minutebook.workers.foreground import run_worker
from minutebook.workers.run_notices import teller_of
from minutebook.workers.runner import Ran, run_job

CYCLE = Settings(
    observe_after_tokens=100,
    reflect_after_tokens=120,
    observations_pool_max_tokens=60,
    observations_pool_target_tokens=20,
    reflection_context_max_tokens=40,
    flush_min_tokens=40,
)


class Told:
    """Keeps what was told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def __call__(self, branch: Branch, level: str, text: str) -> None:
        assert branch.key == "neutral:s1"
        self.said.append((level, text))

    def warnings(self) -> list[str]:
        return [text for level, text in self.said if level == "warning"]


def nothing(batch: Any, desk: Desk) -> None:
    desk.nothing()


def reflect(batch: ReflectBatch, desk: Desk) -> None:
    ids = [weighed.observation.id for weighed in batch.observations]
    desk.record([{"content": f"Conclusion {n}: {' words' * 12}", "supports": ids[:2]} for n in range(3)])


def drop(batch: DropBatch, desk: Desk) -> None:
    desk.record([{"id": batch.observations[0].observation.id}])


def digest(batch: DigestBatch, desk: Desk) -> None:
    desk.record([{"content": "All of it."}])


def prose(batch: Any, desk: Desk) -> None:
    raise SpanFailed("the model wrote prose", reason="nothing_called")


def session(store: Store, count: int, start: int = 0) -> Branch:
    events = [reply(f"entry {n}: " + "some words to weigh " * 5, id=f"e{n}") for n in range(start, count)]
    return deliver(store, events, "s1")


def work(store: Store, role: str, script: Any, settings: Settings = CYCLE, told: Any = None) -> Ran:
    """One job of a role, with a mind that plays the script."""
    job, mind = Job(role, "neutral:s1", "neutral:s1"), ScriptedMind(script)
    store.queue(job)
    tell = told or Told()
    return run_job(store, job, minds=lambda *_: mind, settings_for=lambda _: settings, owner="w", log=OFF, tell=tell)


def cycle(store: Store, told: Told, settings: Settings = CYCLE) -> None:
    """Each role records, and then the observer finds nothing."""
    session(store, 6)
    for role, script in (("observer", observe_each), ("reflector", reflect), ("dropper", drop), ("digester", digest)):
        assert work(store, role, script, settings, told).ended == "recorded"
    session(store, 12, start=6)
    assert work(store, "observer", nothing, settings, told).ended == "nothing"


def test_one_full_cycle_has_the_six_routine_notices_with_their_figures_003_134(clocked: Store) -> None:
    told = Told()
    cycle(clocked, told)
    texts = (
        "observer starts on ~168 tokens",
        "observer recorded 6 observations",
        "reflector starts at ~168 / 120 tokens",
        "dropper starts at ~66 / 20 tokens (330 % of the target)",
        "digester starts on ~78 tokens",
        "observer starts on ~168 tokens",
        "observer found nothing to record",
    )
    assert told.said == [("info", f"Minutebook: {text}") for text in texts]


def test_without_routine_notices_only_warnings_stay_003_135(clocked: Store) -> None:
    told, settings = Told(), replace(CYCLE, show_worker_notifications=False)
    cycle(clocked, told, settings)
    assert told.said == []
    session(clocked, 18, start=12)
    assert work(clocked, "observer", prose, settings, told).ended == "retry"
    assert told.said == [("warning", "Minutebook: the observer failed: the model wrote prose")]


@pytest.mark.parametrize("role", ["observer", "reflector", "dropper", "digester"])
def test_a_failing_run_of_any_role_is_one_warning_003_136(clocked: Store, role: str) -> None:
    told = Told()
    session(clocked, 6)
    if role != "observer":
        work(clocked, "observer", observe_each)
    if role in ("dropper", "digester"):
        work(clocked, "reflector", reflect)
    assert work(clocked, role, prose, CYCLE, told).ended == "retry"
    assert told.warnings() == [f"Minutebook: the {role} failed: the model wrote prose"]
    assert [error.role for error in role_errors(clocked, load_branch(clocked, "neutral:s1"))] == [role]


def test_a_digest_without_usable_content_is_a_warning_003_136(clocked: Store, clock: Clock) -> None:
    """No text at all, or one that is over its budget each time."""

    def over_long(batch: DigestBatch, desk: Desk) -> None:
        desk.record([{"content": "word " * 500}])
        desk.record([{"content": "word " * 400}])

    told = Told()
    session(clocked, 6)
    work(clocked, "observer", observe_each)
    work(clocked, "reflector", reflect)
    assert work(clocked, "digester", lambda *_: None, CYCLE, told).ended == "retry"
    (warning,) = told.warnings()
    assert "digester failed" in warning and "digest" in warning.partition("failed: ")[2]
    told.said.clear()
    clock.now += 1_000
    assert work(clocked, "digester", over_long, CYCLE, told).ended == "recorded"
    assert told.warnings() == [f"Minutebook: the digester: {SELECTED}"]


def test_nothing_to_record_is_never_a_warning_003_136(clocked: Store) -> None:
    told = Told()
    session(clocked, 6)
    work(clocked, "observer", observe_each)
    for role in ("reflector", "dropper", "digester"):
        work(clocked, role, nothing, CYCLE, told)
    assert told.warnings() == []


def test_a_provider_that_is_away_is_told_once_until_it_worked_003_133_136(clocked: Store, clock: Clock) -> None:
    told, away = Told(), ProviderFailed("openai/x: 401 wrong key", reason="auth")
    session(clocked, 6)
    for _ in range(3):
        assert work(clocked, "observer", [away], CYCLE, told).ended == "retry"
        clock.now += 1_000
    assert told.warnings() == ["Minutebook: the observer failed: openai/x: 401 wrong key"]
    work(clocked, "observer", observe_each, CYCLE, told)
    session(clocked, 12, start=6)
    work(clocked, "observer", [away], CYCLE, told)
    assert len(told.warnings()) == 2


def test_wrong_settings_and_a_gap_are_told_003_136(clocked: Store) -> None:
    told = Told()
    session(clocked, 1)
    lone = replace(CYCLE, span_max_tries=1, observe_after_tokens=10)
    assert work(clocked, "observer", prose, lone, told).ended == "gap"
    assert told.warnings() == ["Minutebook: the observer failed: the model wrote prose"]
    told.said.clear()

    def wrong(branch: Branch) -> Settings:
        raise BadSetting("minutebook.toml, line 1: observe_after_tokens = 0 is not allowed")

    job = Job("observer", "neutral:s1", "neutral:s1")
    clocked.queue(job)
    run_job(clocked, job, minds=lambda *_: ScriptedMind(), settings_for=wrong, owner="w", log=OFF, tell=told)
    assert "line 1: observe_after_tokens" in told.warnings()[0]


def test_a_notice_that_cannot_be_told_fails_no_work_003_138(clocked: Store) -> None:
    def broken(branch: Branch, level: str, text: str) -> None:
        raise RuntimeError("no user interface")

    session(clocked, 6)
    assert work(clocked, "observer", observe_each, CYCLE, broken).ended == "recorded"


# -- on a real socket ----------------------------------------------------------------------------------------------


def test_the_user_of_a_pi_session_is_told_through_its_socket_003_134(tmp_path: Path) -> None:
    """By a worker as it runs in a process of its own; nothing of it is stored."""
    path = str(tmp_path / "s.db")
    with closing(SqliteStore(tmp_path / "s.db")) as store:
        branch = deliver(store, [reply("some words " * 400, id=f"e{n}") for n in range(20)], "s1", host="pi")
        with relay_of(path, "pi:s1", lambda line: answered("no tool"), None) as extension:
            assert run_worker(path, until_idle=True) == 0
        said = [line["text"] for line in extension.of("notice")]
        assert said[0].startswith("Minutebook: observer starts on ~") and "recorded" in said[1]
        assert {line["level"] for line in extension.of("notice")} == {"info"}
        assert memory_of(store, branch).observations and read_notices(store) == []


def test_a_session_that_is_replaced_during_a_run_loses_the_notice_alone_003_138(clocked: Store, tmp_path: Path) -> None:
    """It is there when the run starts, and gone when it ends: the outcome is committed, without an error."""
    branch = deliver(clocked, [reply("some words " * 40, id=f"e{n}") for n in range(6)], "s1", host="pi")
    job, tell = Job("observer", branch.lineage, branch.key), teller_of(clocked)
    clocked.queue(job)
    with relay_of(str(tmp_path / "store.db"), "pi:s1", lambda line: None) as extension:

        def observe_and_go(batch: Any, desk: Desk) -> None:
            extension.wait_for("notice")
            assert extension.relay is not None
            extension.relay.close()
            observe_each(batch, desk)

        mind = ScriptedMind(observe_and_go)
        ran = run_job(clocked, job, minds=lambda *_: mind, settings_for=lambda _: CYCLE, owner="w", log=OFF, tell=tell)
    assert ran.ended == "recorded" and role_errors(clocked, branch) == []
    (notice,) = extension.of("notice")
    assert notice["text"].startswith("Minutebook: observer starts on ~")

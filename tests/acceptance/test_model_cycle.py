"""The whole cycle with a model: litellm over HTTP, all four roles, several turns each; usage exact."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import scripted_faults as faults
from builders import deliver, say
from modelbench import PERFECT, USAGE, Bench, bench, ids_under, task_of, turns
from scripted_server import Asked
from scripted_shapes import Item

from minutebook.records import Branch
from minutebook.settings import ModelChoice
from minutebook.workers.models_accounts import accounts, spent_today

pytestmark = pytest.mark.usefixtures("litellm")

WHOLE = {
    "observe_after_tokens": 150,
    "observer_chunk_max_tokens": 256,
    "reflect_after_tokens": 400,
    "observations_pool_max_tokens": 300,
    "observations_pool_target_tokens": 150,
    "reflection_context_max_tokens": 100,
}
LENGTH = 40


@pytest.fixture
def cycle(tmp_path: Path) -> Iterator[tuple[Bench, Branch]]:
    """A session that came in four parts, worked off after each."""
    with bench(tmp_path, **WHOLE) as made:
        made.server.defaults = dict(PERFECT)
        for part in range(4):
            branch = made.session(LENGTH * (part + 1) // 4, start=LENGTH * part // 4)
            made.work()
        yield made, branch


def test_every_role_records_what_the_model_said(cycle: tuple[Bench, Branch]) -> None:
    made, branch = cycle
    memory = made.memory(branch)
    assert made.errors(branch) == {}
    cited = [id_ for held in memory.observations.values() for id_ in held.record.source_ids]
    assert cited == [f"e{n}" for n in range(len(cited))] and len(cited) >= LENGTH - 10
    assert memory.observed == len(cited)
    assert all(held.record.content.startswith(f"entry {n}: ") for n, held in enumerate(memory.observations.values()))
    assert len(memory.reflections) >= 4 and memory.digests and memory.drops
    minds = {held.mind for held in (*memory.observations.values(), *memory.reflections.values())}
    assert minds == {"openai/scripted"}


def test_runs_have_several_turns_and_each_sees_its_receipts(cycle: tuple[Bench, Branch]) -> None:
    made, _ = cycle
    for role in ("observer", "reflector", "dropper"):
        last = max(made.server.asked(role), key=lambda asked: len(asked.messages))
        roles = [turn.role for turn in last.messages if turn.role != "system"]
        assert roles[:3] == ["user", "assistant", "tool"] and '"recorded":' in last.messages[-1].text
    assert all(len(asked.messages) <= 2 for asked in made.server.asked("digester")), "an accepted digest is the end"


def test_usage_is_exact_by_role_and_in_money(cycle: tuple[Bench, Branch]) -> None:
    made, _ = cycle
    lines = accounts(made.store)
    assert {line.session for line in lines} == {"neutral:s1"}
    for line in lines:
        count = len(made.server.asked(line.role))
        assert line.requests == count > 0
        assert (line.input_tokens, line.output_tokens, line.cached_tokens) == tuple(
            count * USAGE[name] for name in ("prompt_tokens", "completion_tokens", "cached_tokens")
        )
    assert {line.role for line in lines} == set(PERFECT)
    requests = len(made.server.requests)
    assert spent_today(made.store) == pytest.approx(requests * (1_000 * 1.0 + 50 * 2.0) / 1_000_000)


def test_the_system_prompt_and_old_memory_are_one_stable_prefix(cycle: tuple[Bench, Branch]) -> None:
    made, _ = cycle
    for role in PERFECT:
        assert len({asked.system for asked in made.server.asked(role)}) == 1
    begun = [task_of(asked) for asked in made.server.asked("observer") if len(asked.messages) <= 2]
    assert len(begun) > 3 and "(none yet)" in begun[0] and "(none yet)" not in begun[-1].partition("# Current")[0]
    assert all(text.index("# Observations") < text.index("# Reflections") < text.index("# Sources") for text in begun)


def test_roles_are_sent_what_the_others_recorded(cycle: tuple[Bench, Branch]) -> None:
    made, branch = cycle
    memory = made.memory(branch)
    for role in ("reflector", "dropper"):
        for asked in made.server.asked(role):
            assert set(ids_under(asked, "Observations")) <= memory.observations.keys()
    assert "[coverage: strong]" in task_of(made.server.asked("dropper")[0])


def test_a_second_session_of_the_same_words_is_another_account(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        made.server.defaults = dict(PERFECT)
        made.session(3)
        other = deliver(made.store, [say("words to weigh " * 30, id="x1")], "s2")
        made.work()
        assert {line.session for line in accounts(made.store)} == {"neutral:s1", "neutral:s2"}
        assert made.memory(other).observed == 1


def test_nothing_to_record_is_asked_once_003_009(tmp_path: Path) -> None:
    with bench(tmp_path) as made:  # the server's own default is the ending that the tools offer
        branch = made.session(6)
        made.work(rounds=3, pause_seconds=1_000)
        assert made.memory(branch).observed == 6 and len(made.server.requests) == 1


KEPT_OF = {"reflector": "reflections", "digester": "digests", "dropper": "drops"}


@pytest.mark.parametrize("role", KEPT_OF)
def test_a_run_that_breaks_keeps_nothing_of_what_was_accepted_003_026_037_046(tmp_path: Path, role: str) -> None:
    """And it holds up no other role (003-166); healed, it does its work."""

    def breaking(asked: Asked) -> Item:
        return faults.server_error() if turns(asked) or role == "digester" else PERFECT[role](asked)

    with bench(tmp_path, **WHOLE, model_cooldown_seconds=0) as made:  # no pause of the model, so the others go on
        made.server.defaults = {**PERFECT, role: breaking}
        for part in range(4):
            branch = made.session(LENGTH * (part + 1) // 4, start=LENGTH * part // 4)
            made.work(rounds=2, pause_seconds=10)
        kept = getattr(made.memory(branch), KEPT_OF[role])
        assert not kept and made.server.asked(role) and role in made.errors(branch)
        assert made.memory(branch).observed >= LENGTH - 10
        made.server.defaults = dict(PERFECT)
        made.work(rounds=6, pause_seconds=600)
        assert getattr(made.memory(branch), KEPT_OF[role]) and made.errors(branch) == {}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_both_protocols_do(tmp_path: Path, provider: str) -> None:
    with bench(tmp_path, model=ModelChoice(provider=provider, id="scripted", thinking="off")) as made:
        made.server.defaults = dict(PERFECT)
        branch = made.session(4)
        made.work()
        assert {asked.protocol for asked in made.server.requests} == {provider}
        assert made.memory(branch).observed == len(made.contents(branch)) == 4 and made.errors(branch) == {}
        assert {held.mind for held in made.memory(branch).observations.values()} == {f"{provider}/scripted"}

"""`om replay --model`: example sessions with a perfect model behind real litellm over HTTP."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from commands import data_of, run
from facts import judge, lines_with, read_facts
from modelbench import task_of, turns
from scripted_server import Answer, Asked, ScriptedServer

from evals.planted import ROUTINE, PerfectModel
from minutebook.cli.showing_replay import sections_of
from minutebook.pipeline.branches import load_branch
from minutebook.store.opening import open_store
from minutebook.workers.models_accounts import Account, accounts

pytestmark = pytest.mark.usefixtures("litellm")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ORDERS, GRAJO = "orders-service.jsonl", "second/grajo.jsonl"
ROLES = ("observer", "reflector", "digester", "dropper")
NAMES = ("requests", "input_tokens", "cached_tokens", "output_tokens")
MODEL = "openai/scripted"
PRICE = {"model_price_input_usd": 1, "model_price_output_usd": 4}
ALL_ROLES_WORK = {
    "compact_after_tokens": 40_000,
    "keep_recent_tokens": 10_000,
    "reflection_context_max_tokens": 600,
    "observations_pool_max_tokens": 2_000,
    "observations_pool_target_tokens": 1_000,
    "reflect_after_tokens": 10_000,
}


@dataclass
class Scripted:
    """The server, and what it reported by role: requests, input, cached and output tokens."""

    server: ScriptedServer
    folder: Path
    reported: Counter[tuple[str, str]] = field(default_factory=Counter)

    def play(self, name: str, *more: str, **settings: object) -> Any:
        """`om replay` of an example in a store that stays, at these settings."""
        model = PerfectModel(EXAMPLES / name, group=5)
        self.server.defaults = {role: lambda asked: self._answer(model, asked) for role in ROLES}
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        where = ["--store", str(self.folder / "store.sqlite"), "--model", MODEL, "--base-url", self.server.url]
        return run("replay", "--step", *where, *words, *more, str(EXAMPLES / name), code=0)

    def _answer(self, model: PerfectModel, asked: Asked) -> Answer:
        """Half of the input counts as cached."""
        calls = model.answer(asked.role, task_of(asked), turns(asked))
        answer = Answer(text="" if calls else "done", calls=calls, usage={"cached_tokens": asked.prompt_tokens // 2})
        prompt, completion, cached = answer.tokens(asked)
        for key, value in zip(NAMES, (1, prompt, cached, completion), strict=True):
            self.reported[asked.role, key] += value
        return answer

    def total(self) -> list[int]:
        return [sum(value for (_, name), value in self.reported.items() if name == each) for each in NAMES]


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.chdir(tmp_path)
    with ScriptedServer() as server:
        yield Scripted(server, tmp_path)


def test_the_report_tells_what_was_used_exactly(scripted: Scripted) -> None:
    """Default settings, for people: the tables hold what the server reported, and so do the accounts."""
    output = scripted.play(ORDERS, **PRICE).stdout
    assert len(output.splitlines()) <= 60
    for role in ("observer", "reflector"):
        counts = [f"{scripted.reported[role, name]:,}" for name in NAMES]
        assert re.search(rf"^  {role} +{' +'.join(counts)} +\$\d\.\d{{4}} +{MODEL}$", output, re.MULTILINE), output
        assert re.search(rf"^  {role} .* {MODEL}$", output.partition("Models")[0], re.MULTILINE), output
    requests, sent, cached, made = scripted.total()
    cost = f"{(sent * 1 + made * 4) / 1_000_000:.4f}"
    assert re.search(rf"^  all +{requests:,} +{sent:,} +{cached:,} +{made:,} +\${cost}$", output, re.MULTILINE), output
    assert f"--model {MODEL} --base-url" not in output  # the store was kept
    with closing(open_store(str(scripted.folder / "store.sqlite"))) as store:
        booked = reduce(Account.plus, accounts(store))
    assert [getattr(booked, name) for name in NAMES] == scripted.total()
    assert requests == len(scripted.server.requests)
    table = output.partition("\nCompactions\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  (\d+) ", table, re.MULTILINE) == ["1", "2"]


@pytest.mark.parametrize("name", [ORDERS, GRAJO])
def test_all_planted_facts_survive_three_compactions_in_each_part_of_memory(scripted: Scripted, name: str) -> None:
    """Nothing that a model recorded is lost on the way; the reflector had not read the last ones at the last one."""
    (data,) = data_of(scripted.play(name, "--json", **PRICE, **ALL_ROLES_WORK))["files"]
    facts = read_facts((EXAMPLES / name).with_suffix(".facts.json"))
    assert len(data["compactions"]) >= 3 and data["memory"]["compacted"]
    with closing(open_store(str(scripted.folder / "store.sqlite"))) as store:
        verdict = judge(facts, data["memory"]["text"], store, load_branch(store, data["branches"][0]))
    assert verdict.facts == 20
    assert (verdict.missing, verdict.standing, verdict.fooled_by, verdict.lost) == ((), (), (), ())
    sections = dict(sections_of(data["memory"]["text"]))
    observed = sections.pop("## Observations")
    lasting = [line for lines in sections.values() for line in lines]
    held = [[fact for fact in facts["facts"] if lines_with(lines, fact["must_match"])] for lines in (observed, lasting)]
    assert len(held[0]) == 20 and len(held[1]) >= 17 and len(sections) == 2
    _all_roles_worked(scripted, data)


def _all_roles_worked(scripted: Scripted, data: Any) -> None:
    """In several turns; only routine is dropped; each role's usage is exact, and all records are the model's."""
    work = data["work"]
    assert all(work[role]["recorded"] and not work[role]["failed"] + work[role]["gaps"] for role in ROLES)
    assert {role: list(minds) for role, minds in data["minds"].items()} == {role: [MODEL] for role in ROLES}
    assert not any(ROUTINE in line for line in data["memory"]["text"].partition("## Observations")[0].splitlines())
    assert max(map(turns, scripted.server.asked("observer"))) == 2
    assert {line["role"]: [line[name] for name in NAMES] for line in data["usage"]} == {
        role: [scripted.reported[role, name] for name in NAMES] for role in ROLES
    }
    assert {line["model"] for line in data["usage"]} == {MODEL}


def test_a_model_that_cannot_be_reached_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was made of what is due: a script must be able to tell."""
    flags = ["--model", "openai/nobody", "--base-url", "http://127.0.0.1:9/v1", "--set", "model_tries=1"]
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    shown = run("replay", *flags, str(EXAMPLES / ORDERS), code=1)
    assert "observer failed" in shown.stdout and "0 recorded" in shown.stdout

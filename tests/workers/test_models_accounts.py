"""What calls used and cost, and the budget of a day."""

import threading
from dataclasses import replace

import pytest
from modelkit import ANTHROPIC, OPENAI, ask, settings_for
from scripted_server import Answer, ScriptedServer

from minutebook.errors import BudgetSpent
from minutebook.pipeline.notices import read_notices
from minutebook.settings import Settings
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers.exchange import Spent
from minutebook.workers.models_accounts import accounts, budget_left, by_model, day_of, record, spent_today, warn

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "cached_tokens": 400}


def spend(store: Store, usd: float, **more: str) -> None:
    about = {"session": "s1", "role": "observer", "model": "openai/scripted", **more}
    record(store, **about, spent=Spent(input_tokens=10, output_tokens=1, cost_usd=usd), priced=True)


def test_usage_is_exact_by_session_role_and_model(store: Store) -> None:
    with ScriptedServer() as server:
        server.defaults["observer"] = server.defaults["other"] = Answer(text="x", usage=USAGE)
        for choice in (OPENAI, ANTHROPIC, OPENAI):
            ask(store, settings_for(server, choice))
        ask(store, settings_for(server), session="s2", tools=(), role="judge")
    lines = {(line.session, line.role, line.model): line for line in accounts(store, day=day_of(store))}
    assert len(lines) == 3
    twice = lines["s1", "observer", "openai/scripted"]
    assert (twice.requests, twice.input_tokens, twice.output_tokens, twice.cached_tokens) == (2, 2_000, 200, 800)
    assert (twice.cost_usd, twice.unpriced) == (0.0, 2)
    claude = lines["s1", "observer", "anthropic/claude-haiku-4-5"]
    assert claude.cost_usd == pytest.approx((600 * 1.0 + 400 * 0.1 + 100 * 5.0) / 1_000_000) and claude.unpriced == 0
    assert spent_today(store) == claude.cost_usd and by_model(lines.values())["openai/scripted"].requests == 3


def test_a_set_price_is_what_an_answer_costs(store: Store) -> None:
    with ScriptedServer() as server:
        server.script("observer", Answer(text="x", usage=USAGE))
        ask(store, settings_for(server, model_price_input_usd=10.0, model_price_output_usd=20.0))
    assert spent_today(store) == pytest.approx((1_000 * 10 + 100 * 20) / 1_000_000)
    assert accounts(store)[0].unpriced == 0


def test_a_server_that_reports_no_usage_is_estimated(store: Store) -> None:
    with ScriptedServer() as server:
        server.script("observer", Answer(text="x" * 400, usage={"prompt_tokens": 0, "completion_tokens": 0}))
        spent = ask(store, settings_for(server)).spent
    assert spent.output_tokens == 100 and spent.input_tokens > 0


def test_no_answer_is_lost_among_writers(tmp_path: object, store: Store) -> None:
    def write() -> None:
        for _ in range(10):
            spend(store, 0.01)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (line,) = accounts(store)
    assert line.requests == 40 and line.cost_usd == pytest.approx(0.4)


def test_names_that_look_like_keys_do_not_mix(store: Store) -> None:
    spend(store, 1.0, session='a","observer', role="x")
    spend(store, 1.0, session="a", role='observer","x')
    assert len(accounts(store)) == 2


# -- the budget ----------------------------------------------------------------------------------------------------


def test_a_warning_at_80_percent_once_a_day_and_one_at_100(store: Store) -> None:
    settings = Settings(budget_daily_usd=1.0)
    for usd, notices in ((0.79, 0), (0.01, 1), (0.1, 1), (0.2, 2), (0.5, 2)):
        spend(store, usd)
        warn(store, settings)
        assert len(read_notices(store)) == notices
    first, second = (notice.text for notice in read_notices(store))
    assert first.startswith("0.80 of budget_daily_usd = 1") and "the extractive mind works on" in second


def test_at_100_percent_nothing_paid_is_asked(store: Store) -> None:
    with ScriptedServer() as server:
        settings = settings_for(
            server, ANTHROPIC, budget_daily_usd=1.0, model_fallbacks=(replace(ANTHROPIC, id="claude-sonnet-4-5"),)
        )
        spend(store, 0.99)
        assert budget_left(store, settings) == pytest.approx(0.01) and ask(store, settings).text
        spend(store, 0.02)
        with pytest.raises(BudgetSpent, match="budget_daily_usd = 1 is spent"):
            ask(store, settings)
        assert budget_left(store, settings) == 0.0 and len(server.requests) == 1
        assert store.documents("cooldowns") == [], "no provider is to blame"


def test_a_model_that_costs_nothing_is_asked_whatever_was_spent(store: Store) -> None:
    with ScriptedServer() as server:
        free = {"model_price_input_usd": 0.0, "model_price_output_usd": 0.0}
        assert ask(store, settings_for(server, budget_daily_usd=0.0, **free)).text == "Done."
        with pytest.raises(BudgetSpent, match="its price is not known"):
            ask(store, settings_for(server, budget_daily_usd=0.0))
        assert len(server.requests) == 1


def test_yesterdays_money_is_not_todays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    spend(store, 9.0)
    later = store.now() + 86_400
    monkeypatch.setattr(SqliteStore, "now", lambda self: later)
    assert spent_today(store) == 0.0 and len(accounts(store)) == 1

"""What a replay tells of its minds and models: only what came in between two counts, by role."""

from contextlib import closing
from pathlib import Path

from builders import concluded, deliver, observed, remember, say
from jobs import Clock

from minutebook.cli.showing_replay import cost_text, mind_text
from minutebook.records import DIGEST, DROPS, MemoryEntry
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.workers import models_accounts
from minutebook.workers.exchange import Spent
from minutebook.workers.replay_models import minds_since, records_in, records_of, usage_of, usage_since


def entry(kind: str, **data: object) -> MemoryEntry:
    return MemoryEntry(id="e", kind=kind, covers=1, since=0, data=data)


def book(store: Store, role: str, model: str, tokens: int, *, session: str = "neutral:s1", priced: bool = True) -> None:
    spent = Spent(input_tokens=tokens, output_tokens=tokens // 10, cached_tokens=tokens // 2, cost_usd=tokens / 1_000)
    models_accounts.record(store, session=session, role=role, model=model, spent=spent, priced=priced)


def test_records_are_counted_by_the_mind_that_made_them(store: Store) -> None:
    branch = deliver(store, [say("one"), say("two")])
    seen = [observed(f"event {number}") for number in range(3)]
    remember(store, branch, observations=seen, reflections=[concluded("so it is", seen[0].id)])
    found = records_of(store, [branch.key])
    assert {role: count for (role, _), count in found.items()} == {"observer": 3, "reflector": 1}
    assert records_of(store, []) == {}


def test_a_correction_and_a_person_drop_nothing_in_the_dropper_s_name() -> None:
    drops = {"observationIds": ["a", "b"], "mind": "m/x"}
    rows = [entry(DROPS, **drops, by=by) for by in ("dropper", "superseded", "user")]
    rows += [entry(DIGEST, content="so", mind="m/y"), entry("gap", mind="m/x"), entry(DROPS, by="dropper")]
    assert records_in(rows) == {("dropper", "m/x"): 2, ("digester", "m/y"): 1}


def test_minds_of_before_do_not_count_and_the_busiest_comes_first() -> None:
    before = records_in([entry(DIGEST, mind="a/a"), entry(DIGEST, mind="b/b")])
    after = before + records_in([entry(DIGEST, mind="b/b"), entry(DIGEST, mind="c/c"), entry(DIGEST, mind="c/c")])
    assert list(minds_since(before, after)["digester"].items()) == [("c/c", 2), ("b/b", 1)]
    assert minds_since(after, after) == {}


def test_usage_is_of_this_session_and_of_what_came_in_between(store: Store) -> None:
    book(store, "observer", "m/x", 1_000)
    before = usage_of(store, "neutral:s1")
    for model, tokens in (("m/x", 200), ("m/x", 400), ("m/y", 50)):
        book(store, "observer", model, tokens, priced=model == "m/x")
    book(store, "dropper", "m/x", 7_000, session="neutral:s2")
    lines = usage_since(before, usage_of(store, "neutral:s1"))
    assert [(line.role, line.model, line.requests, line.unpriced) for line in lines] == [
        ("observer", "m/x", 2, 0),
        ("observer", "m/y", 1, 1),
    ]
    assert (lines[0].input_tokens, lines[0].output_tokens, lines[0].cached_tokens) == (600, 60, 300)
    assert usage_since(before, before) == ()
    assert [cost_text(line) for line in (*lines, lines[0].plus(lines[1]))] == [
        "$0.6000",
        "not known",
        "$0.6500 and more",
    ]


def test_days_are_added_up(tmp_path: Path) -> None:
    clock = Clock()
    with closing(SqliteStore(tmp_path / "days.db", clock=clock)) as store:
        for _ in range(2):
            book(store, "observer", "m/x", 100)
            clock.now += 86_400
        (line,) = usage_of(store, "neutral:s1").values()
        assert len(models_accounts.accounts(store)) == 2 and (line.requests, line.input_tokens) == (2, 200)


def test_several_minds_are_told_with_their_records() -> None:
    assert mind_text("m/last", {}) == "m/last"
    assert mind_text("m/last", {"m/x": 3}) == "m/x"
    assert mind_text("m/last", {"m/x": 1_200, "extractive": 3}) == "m/x 1,200, extractive 3"

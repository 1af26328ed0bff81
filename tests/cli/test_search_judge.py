"""`om search --judge`: who judged, what came first, and what is shown when nobody did."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import scripted_faults as faults
from builders import concluded, deliver, observed, remember, reply, say
from commands import Om, data_of
from scripted_server import Answer, Broken, ScriptedServer

from minutebook.cli import judging
from minutebook.hosts.bell import wake
from minutebook.pipeline.questions import QUESTIONS
from minutebook.store.kernel import Job, Store

WORKER = Path(__file__).parents[1] / "acceptance" / "worker_process.py"
OLD = observed("The gateway listens on port 8443.", "low", sources=("e1",))
NEW = observed("The gateway port is 9443 now.", "high", sources=("e2",))
PATIENCE_SECONDS = 60.0


@pytest.fixture(autouse=True)
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a test has no deadline of its own a busy machine is no reason for a verdict that comes late."""
    monkeypatch.setenv("MINUTEBOOK_JUDGE_DEADLINE_SECONDS", f"{PATIENCE_SECONDS:.0f}")
    monkeypatch.setattr(judging, "STOP_SECONDS", PATIENCE_SECONDS)


@pytest.fixture
def told(store: Store) -> Store:
    branch = deliver(
        store, [say("Let the gateway listen on 8443", id="e1"), reply("Sure, gateway.", id="e2")], "s1", project="/p"
    )
    remember(store, branch, observations=[OLD, NEW], reflections=[concluded("A gateway uses TLS", NEW)])
    return store


@pytest.fixture
def server(litellm: ModuleType) -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def asking(server: ScriptedServer, *more: str) -> list[str]:
    given = ["judge_model=openai/scripted", f"model_base_url={server.url}", "model_tries=1", *more]
    return [part for each in given for part in ("--set", each)]


def rank(*ids: str) -> Answer:
    return Answer(calls=[("rank_records", {"ids": list(ids)})])


def shown_ids(data: Any) -> list[str]:
    return [hit["id"] for hit in data["hits"]]


def until(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, "it did not happen"
        time.sleep(0.01)


@contextmanager
def worker(path: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A worker process whose mind ranks backwards."""
    command = [sys.executable, str(WORKER), str(path), str(path.with_name("marks")), *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, text=True)
    try:
        until(lambda: wake(os.fspath(path)))
        yield process
    finally:
        process.kill()
        process.wait()


# -- without a worker ----------------------------------------------------------------------------------------------


def test_without_a_worker_and_a_model_the_extractive_mind_judges_here(om: Om, told: Store) -> None:
    shown = om("search", "--judge", "gateway", "port", code=0)
    assert shown.stdout.startswith(f"[{NEW.id}] observation, active")
    first, second = shown.stderr.splitlines()
    assert first == "5 hits in 1 branch, from neutral:s1"
    assert second.startswith("the first 5 help, as extractive judged in ")
    assert told.documents(QUESTIONS) == [] and told.jobs() == []


def test_json_says_that_it_was_judged_and_by_which_mind(om: Om, told: Store) -> None:
    data = data_of(om("search", "--judge", "--json", "--limit", "2", "gateway", "port", code=0))
    assert (data["judged"], data["mind"], data["why_not"]) == (True, "extractive", "")
    assert [hit["helps"] for hit in data["hits"]] == [True, True] and shown_ids(data)[0] == NEW.id
    assert data["seconds"] >= 0 and data["hits"][0]["recall"] == [NEW.id]


def test_without_judge_json_is_the_plain_list(om: Om, told: Store) -> None:
    assert isinstance(data_of(om("search", "--json", "gateway", code=0)), list)


def test_nothing_found_is_nothing_to_judge(om: Om, told: Store) -> None:
    data = data_of(om("search", "--judge", "--json", "zebra", code=0))
    assert data == {"judged": False, "mind": "", "seconds": 0.0, "why_not": "nothing was found", "hits": []}
    assert om("search", "--judge", "zebra", code=0).stderr.startswith("0 hits")
    assert told.changes(QUESTIONS) == 0


def test_an_engine_that_judges_here_does_not_pass_for_a_worker(
    om: Om, told: Store, store_path: Path, server: ScriptedServer
) -> None:
    heard = []

    def look(asked: Any) -> Answer:
        heard.append(wake(os.fspath(store_path)))
        return rank(OLD.id)

    server.script("judge", look)
    om("search", "--judge", "gateway", *asking(server), code=0)
    assert heard == [False]


# -- with a model --------------------------------------------------------------------------------------------------


def test_what_the_model_names_comes_first_and_the_rest_as_the_search_has_it(
    om: Om, told: Store, server: ScriptedServer
) -> None:
    plain = [hit["id"] for hit in data_of(om("search", "--json", "gateway", "port"))]
    chosen = plain[3]
    label = chosen if len(chosen) == 12 else "t4"
    server.script("judge", rank(label, "ffffffffffff"))
    data = data_of(om("search", "--judge", "--json", "gateway", "port", *asking(server), code=0))
    assert shown_ids(data) == [chosen, *(each for each in plain if each != chosen)]
    assert [hit["helps"] for hit in data["hits"]] == [True, False, False, False, False]
    assert (data["judged"], data["mind"]) == (True, "openai/scripted")


def test_a_model_may_lift_a_hit_that_the_limit_alone_would_hide(om: Om, told: Store, server: ScriptedServer) -> None:
    best, *_, last = (hit["id"] for hit in data_of(om("search", "--json", "gateway", "port")))
    server.script("judge", rank("t5" if len(last) != 12 else last))
    data = data_of(om("search", "--judge", "--limit", "1", "--json", "gateway", "port", *asking(server), code=0))
    assert shown_ids(data) == [last] and last != best


def test_a_model_may_say_that_nothing_helps(om: Om, told: Store, server: ScriptedServer) -> None:
    server.script("judge", rank())
    shown = om("search", "--judge", "gateway", *asking(server), code=0)
    assert "none of them helps, as openai/scripted judged in" in shown.stderr and NEW.id in shown.stdout


@pytest.mark.parametrize(
    ("fault", "said"),
    [(faults.server_error(), "The server had an error"), (Answer(text="The first."), "openai/scripted ranked nothing")],
    ids=["provider down", "prose"],
)
def test_where_nobody_judges_the_order_of_the_search_is_shown_and_one_line_says_why(
    om: Om, told: Store, server: ScriptedServer, fault: Any, said: str
) -> None:
    server.defaults = {"judge": fault}
    plain = om("search", "gateway", "port", code=0)
    shown = om("search", "--judge", "gateway", "port", *asking(server), code=0)
    assert shown.stdout == plain.stdout
    (line,) = shown.stderr.splitlines()[1:]
    assert line.startswith("not judged, so in the order of the search: ") and said in line
    data = data_of(om("search", "--judge", "--json", "gateway", *asking(server, "model_cooldown_seconds=0"), code=0))
    assert (data["judged"], data["mind"]) == (False, "openai/scripted") and said in data["why_not"]
    assert [hit["helps"] for hit in data["hits"]] == [False] * 5
    assert told.documents(QUESTIONS) == []


def test_a_model_that_hangs_does_not_hold_up_the_search(om: Om, told: Store, server: ScriptedServer) -> None:
    server.script("judge", Broken(after=0, then="hang"))
    data = data_of(om("search", "--judge", "--json", "gateway", *asking(server, "judge_deadline_seconds=1"), code=0))
    assert not data["judged"] and len(data["hits"]) == 5


# -- with a worker -------------------------------------------------------------------------------------------------


def test_a_worker_that_listens_judges(om: Om, told: Store, store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "PATIENCE_SECONDS", 1_000)
    plain = [hit["id"] for hit in data_of(om("search", "--json", "gateway"))]
    with worker(store_path):
        data = data_of(om("search", "--judge", "--json", "gateway", code=0))
    assert data["mind"] == "marking" and shown_ids(data) == plain[::-1]


def test_at_the_deadline_of_a_slow_worker_the_order_of_the_search_is_shown(
    om: Om, told: Store, store_path: Path
) -> None:
    with worker(store_path, "slow=1000"):
        data = data_of(om("search", "--judge", "--json", "--set", "judge_deadline_seconds=1", "gateway", code=0))
    assert data["why_not"] == "no answer within judge_deadline_seconds = 1" and not data["judged"]
    assert len(data["hits"]) == 5 and told.documents(QUESTIONS) == []


def test_a_worker_killed_over_a_question_is_replaced_within_the_deadline(told: Store, store_path: Path) -> None:
    command = [sys.executable, "-m", "minutebook", "search", "--judge", "gateway"]
    with worker(store_path, "slow=1000") as process:
        asker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: store_path.with_name("marks").exists())
        process.kill()
        shown, said = asker.communicate(timeout=PATIENCE_SECONDS)
    assert "help, as extractive judged in" in said and NEW.id in shown
    assert told.documents(QUESTIONS) == []
    # The job is over, too, or was given back by an asker that does not wait for its last write.
    assert {state.error for state in told.jobs()} <= {"its worker was stopped"}


def test_a_worker_of_other_roles_is_not_waited_for(
    om: Om, told: Store, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something listens on the bell, but nobody takes the question: it is judged here."""
    monkeypatch.setattr(judging, "PATIENCE_SECONDS", 0.1)
    fifo = f"{store_path}.wake"
    os.mkfifo(fifo)
    handle = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        data = data_of(om("search", "--judge", "--json", "gateway", code=0))
    finally:
        os.close(handle)
    assert (data["judged"], data["mind"]) == (True, "extractive")


def test_om_worker_serves_the_judge_by_name(om: Om, told: Store) -> None:
    told.queue(Job("judge", "neutral:s1", "neutral:s1"))
    om("worker", "--role", "judge", "--until-idle", code=0)
    assert told.jobs() == []

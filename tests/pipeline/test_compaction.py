"""compose_memory: what an agent gets back."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from builders import call, concluded, deliver, observed, reply, result, say
from ledgers import Counting
from memories import (
    Clock,
    batch,
    conversation,
    digested,
    dropped,
    gap,
    host_compacted,
    lines_under,
    look,
    reflected,
    turns,
)

from minutebook.pipeline import ledger
from minutebook.pipeline.compaction import Composition, boundary_of, compose_memory, look_at_memory
from minutebook.pipeline.folding import fold
from minutebook.pipeline.folds import read_proposal
from minutebook.pipeline.rendering import EXTRACT_HEADING, OBSERVATIONS_HEADING, parts_of
from minutebook.records import FOLD, Branch, MemoryEntry
from minutebook.settings import Settings
from minutebook.store.kernel import Job, Store, Tip
from minutebook.store.sqlite import SqliteStore
from minutebook.tokens import estimate_tokens

DEFAULTS = Settings()
FIRST, SECOND = observed("the port is 8443", "critical", sources=("e0",)), observed("tests pass", sources=("e1",))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db", clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def branch(store: Store) -> Branch:
    """Forty turns, the first twenty observed."""
    made = conversation(store, 40)
    batch(store, made, 0, 20, FIRST, SECOND)
    return made


def composed(store: Store, branch: Branch, boundary: int, settings: Settings = DEFAULTS) -> Composition:
    found = compose_memory(store, branch, boundary, settings)
    assert found is not None
    return found


def folds(store: Store, branch: Branch) -> list[MemoryEntry]:
    return [entry for entry in ledger.read_memory(store, branch) if entry.kind == FOLD]


# -- 003-065, 003-080: no model, no waiting, the same bytes ----------------------------------------------------------

COMPOSE = """
import json, sys
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.compaction import compose_memory
from minutebook.settings import Settings
from minutebook.store.opening import open_store
store = open_store(sys.argv[1], busy_seconds=0.2)
made = compose_memory(store, load_branch(store, sys.argv[2]), 30, Settings())
print(json.dumps({"text": made.text, "id": made.id, "parts": made.parts(), "modules": sorted(sys.modules)}))
"""


def compose_elsewhere(store: Store, branch: Branch, **environment: str) -> dict[str, object]:
    """Composed in another process."""
    done = subprocess.run(
        [sys.executable, "-c", COMPOSE, store.url.removeprefix("sqlite:///"), branch.key],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_no_model_no_queue_and_no_waiting_for_a_worker_003_065(store: Store, branch: Branch) -> None:
    """A worker holds every role's claim; composing reaches neither it nor anything that could call a model."""
    for role in ("observer", "reflector", "digester", "dropper"):
        job = Job(role, branch.lineage, branch.key)
        assert store.queue(job)
        assert store.claim(job, "somebody", lease_seconds=60, deadline_seconds=600) is not None
    before = store.jobs()
    found = compose_elsewhere(store, branch)
    forbidden = ("litellm", "huey", "minutebook.workers", "socket", "http.client", "redis")
    modules = found["modules"]
    assert isinstance(modules, list)
    assert [name for name in modules if name.startswith(forbidden)] == []
    assert FIRST.content in str(found["text"])
    assert store.jobs() == before


def test_the_same_bytes_in_any_zone_and_process_003_080(store: Store, branch: Branch) -> None:
    reflected(store, branch, 20, *(concluded(f"conclusion {at}", FIRST) for at in range(30)))
    dropped(store, branch, 20, SECOND)
    here = look(store, branch, 30)
    for zone, seed in (("Pacific/Auckland", "1"), ("America/Caracas", "2"), ("UTC", "random")):
        found = compose_elsewhere(store, branch, TZ=zone, PYTHONHASHSEED=seed)
        assert found["text"] == here.text
        assert (found["id"], found["parts"]) == (here.id, here.parts())


# -- 003-066: nothing to show ----------------------------------------------------------------------------------------


def test_sources_alone_make_no_compaction_003_066(store: Store) -> None:
    branch = conversation(store, 10)
    assert compose_memory(store, branch, 10, DEFAULTS) is None
    batch(store, branch, 0, 5)
    gap(store, branch, 5, 6)
    assert compose_memory(store, branch, 10, DEFAULTS) is None
    assert read_proposal(store, branch) is None and folds(store, branch) == []


def test_memory_that_begins_after_the_boundary_is_no_memory_003_066(store: Store) -> None:
    branch = conversation(store, 10)
    batch(store, branch, 5, 10, FIRST)
    assert compose_memory(store, branch, 5, DEFAULTS) is None


@pytest.mark.parametrize("kind", ["observation", "reflection"])
def test_one_record_of_any_kind_is_memory_003_066(store: Store, kind: str) -> None:
    branch = conversation(store, 10)
    if kind == "observation":
        batch(store, branch, 0, 5, FIRST)
    else:
        reflected(store, branch, 5, concluded("a conclusion"))
    assert compose_memory(store, branch, 10, DEFAULTS) is not None


def test_a_budget_without_room_for_a_record_leaves_it_to_the_host_003_066(store: Store, branch: Branch) -> None:
    assert compose_memory(store, branch, 30, replace(DEFAULTS, compaction_max_tokens=20)) is None
    assert read_proposal(store, branch) is None


# -- 003-074, 003-075: the budget and the extract --------------------------------------------------------------------


@pytest.mark.parametrize("budget", [60, 200, 500, 1_000, 32_000])
def test_the_whole_text_stays_within_its_budget_003_074(store: Store, branch: Branch, budget: int) -> None:
    many = [observed(f"event {at} 文字 " + "x" * (at % 300), sources=("e1",)) for at in range(300)]
    batch(store, branch, 20, 21, *many)
    reflected(store, branch, 20, *(concluded(f"conclusion {at} 🙂 " + "y" * (at % 200)) for at in range(200)))
    found = look_at_memory(store, branch, 35, replace(DEFAULTS, compaction_max_tokens=budget))
    assert (found is None) is (budget == 60)
    if found is not None:
        assert found.tokens == estimate_tokens(found.text) <= budget
        shown = sum(line.startswith("[") for line in found.text.split("\n"))
        assert shown + found.left_out == 502


def test_what_nobody_observed_before_the_cut_is_in_the_text_003_075(store: Store, branch: Branch) -> None:
    deliver(
        store, [say("decided: keep the old API", id="d1"), reply("Noted.", id="d2"), say("kept by the host", id="d3")]
    )
    shown = lines_under(look(store, branch, 42).text, EXTRACT_HEADING)
    assert shown[-2:] == ["- user (d1): decided: keep the old API", "- assistant (d2): Noted."]
    assert shown[0].startswith("- user (e20): ") and len(shown) == 22
    assert "\n## Not yet observed: latest entries before the cut" in look(store, branch, 42).text
    assert "kept by the host" not in look(store, branch, 42).text


def test_the_extract_begins_where_observation_got_003_075(store: Store, branch: Branch) -> None:
    """A gap and a batch that found nothing are passed; nothing of what was observed is shown again."""
    gap(store, branch, 20, 21)
    batch(store, branch, 21, 38)
    shown = lines_under(look(store, branch, 40).text, EXTRACT_HEADING)
    assert [line.partition(")")[0] for line in shown] == ["- user (e38", "- assistant (e39"]
    assert lines_under(look(store, branch, 30).text, EXTRACT_HEADING) == []


@pytest.mark.parametrize("boundary", [21, 30, 39, 40])
def test_every_entry_before_the_cut_is_shown_or_counted_003_075(store: Store, branch: Branch, boundary: int) -> None:
    for budget in (40, 200, 600, 2_000):
        found = look(store, branch, boundary, extract_max_tokens=budget)
        lines = lines_under(found.text, EXTRACT_HEADING)
        assert sum(estimate_tokens(line + "\n") for line in lines) <= budget
        hidden = int(lines[0][1:].partition(" ")[0].replace(",", "")) if lines[0].startswith("(") else 0
        assert hidden + sum(line.startswith("- ") for line in lines) == boundary - 20 == found.extracted


def test_a_very_long_unobserved_stretch_is_counted_003_075(store: Store, branch: Branch) -> None:
    deliver(store, turns(1_000, 40))
    lines = lines_under(look(store, branch, 1_040).text, EXTRACT_HEADING)
    assert lines[0] == f"({1_020 - len(lines) + 1:,} more entries are not shown.)"


def test_an_extract_does_not_crowd_out_memory_in_a_small_budget(store: Store, branch: Branch) -> None:
    found = look(store, branch, 40, compaction_max_tokens=400)
    assert lines_under(found.text, OBSERVATIONS_HEADING) and lines_under(found.text, EXTRACT_HEADING)
    assert found.left_out == 0


def test_a_call_whose_result_is_after_the_cut_is_not_quoted_003_075(store: Store, branch: Branch) -> None:
    deliver(store, [call("Bash", "{}", id="k"), result("done", id="r"), say("next", id="n")])
    batch(store, branch, 20, 40)
    assert lines_under(look(store, branch, 41).text, EXTRACT_HEADING) == ["(1 more entry is not shown.)"]
    assert len(lines_under(look(store, branch, 42).text, EXTRACT_HEADING)) == 2


# -- 003-076: what the host gave and gets ----------------------------------------------------------------------------


def test_what_the_host_gave_comes_back_unchanged_003_076(store: Store, branch: Branch) -> None:
    made = compose_memory(store, branch, 30, DEFAULTS, first_kept=" E30 ", tokens_before=123_456)
    assert made is not None
    assert (made.first_kept, made.tokens_before, made.boundary) == (" E30 ", 123_456, 30)
    assert made.details == {
        "type": "om.folded",
        "version": 1,
        "fullFold": False,
        "producer": "minutebook",
        "composition": made.id,
    }
    assert made.parts() == parts_of(made.text) == [made.text]
    full = look(store, branch, 30, observations_pool_max_tokens=2, observations_pool_target_tokens=1)
    assert (full.full_fold, full.details["fullFold"]) == (True, True)


def test_the_boundary_is_the_first_kept_entry_or_the_end_003_076(store: Store, branch: Branch) -> None:
    assert boundary_of(store, branch, "e30") == 30
    assert boundary_of(store, branch) == boundary_of(store, branch, "never heard of") == 40
    assert FIRST.content in composed(store, branch, boundary_of(store, branch, "never heard of")).text


# -- 003-077: the fold -----------------------------------------------------------------------------------------------


def test_a_look_records_nothing(store: Store, branch: Branch) -> None:
    looked = look(store, branch, 30)
    assert read_proposal(store, branch) is None
    assert composed(store, branch, 30).text == looked.text
    assert look(store, branch, 25).boundary == 25, "and is not refused by an open one"


def test_proposed_when_composed_and_confirmed_by_the_hosts_record_003_077(store: Store, branch: Branch) -> None:
    composed(store, branch, 30)
    assert folds(store, branch) == []
    host_compacted(store, "e30", after="e39")
    (made,) = folds(store, branch)
    assert made.covers == 30
    assert (made.data["fullFold"], made.data["reference"], made.data["length"]) == (False, None, 1)
    host_compacted(store, "e30", after="e39")
    assert len(folds(store, branch)) == 1, "the same record read twice"


def test_a_hundred_compactions_do_not_make_a_larger_fold_003_077(store: Store) -> None:
    branch = conversation(store, 210)
    sizes = []
    for at in range(100):
        batch(store, branch, 2 * at, 2 * at + 2, observed(f"event {at}", sources=(f"e{2 * at}",)))
        composed(store, branch, 2 * at + 2)
        host_compacted(store, f"e{2 * at + 2}", after=f"e{2 * at + 4}", id=f"c{at}")
        sizes.append(len(json.dumps(dict(folds(store, branch)[-1].data))))
    assert len(folds(store, branch)) == 100
    assert max(sizes) - min(sizes) <= 2, "a longer number at most"


def test_a_full_fold_says_so_and_is_the_new_reference_003_070(store: Store, branch: Branch) -> None:
    dropped(store, branch, 20, SECOND)
    full = replace(
        DEFAULTS, observations_pool_max_tokens=FIRST.tokens + SECOND.tokens, observations_pool_target_tokens=1
    )
    made = composed(store, branch, 30, full)
    assert made.full_fold and made.details["fullFold"] is True
    assert SECOND.content not in made.text
    host_compacted(store, "e30", after="e39")
    again = composed(store, branch, 35)
    assert not again.full_fold and SECOND.content not in again.text
    host_compacted(store, "e35", after="e39", id="c2")
    assert [each.reference for each in fold(ledger.read_memory(store, branch)).folds] == [30, 30]


# -- other rows ------------------------------------------------------------------------------------------------------


def test_passive_still_composes_003_140(store: Store, branch: Branch) -> None:
    assert composed(store, branch, 30, replace(DEFAULTS, passive=True)).text == look(store, branch, 30).text


def test_the_digest_and_the_reflections_after_it_003_072(store: Store, branch: Branch) -> None:
    old, new = concluded("an old conclusion", FIRST), concluded("a new conclusion", SECOND)
    reflected(store, branch, 20, old, new)
    digested(store, branch, 20, "what was concluded", old)
    text = look(store, branch, 30).text
    assert "what was concluded" in text and "a new conclusion" in text and "an old conclusion" not in text
    text = look(store, branch, 30, reflection_context_max_tokens=10).text
    assert "what was concluded" not in text and "an old conclusion" in text


def test_a_child_composes_from_its_own_path_003_156(store: Store, branch: Branch) -> None:
    child = deliver(store, [say("elsewhere", id="child", parent="e24")])
    batch(store, branch, 20, 40, observed("only the parent's", sources=("e30",)))
    text = look(store, child, 26).text
    assert FIRST.content in text and "only the parent's" not in text
    assert lines_under(text, EXTRACT_HEADING)[-1] == "- user (child): elsewhere"


class Overtaken(Counting):
    """A store on which a commit lands just after the length of the memory was read."""

    def __init__(self, store: Store, branch: Branch) -> None:
        super().__init__(store)
        self.branch = branch
        self.overtaken = False

    def tip(self, stream: str) -> Tip:
        """As it was before the commit."""
        found = self.store.tip(stream)
        if not self.overtaken:
            self.overtaken = True
            batch(self.store, self.branch, 20, 30, SECOND_LATE)
        return found


SECOND_LATE = observed("a late one", sources=("e20",))


def test_beside_a_commit_it_takes_the_newer_page_and_folds_nothing(store: Store, branch: Branch) -> None:
    beside = Overtaken(store, branch)
    composed = compose_memory(beside, branch, 40, DEFAULTS)  # type: ignore[arg-type]
    assert composed is not None and "a late one" in composed.text
    assert beside.calls["read"] == 1, "only the sources of the extract"

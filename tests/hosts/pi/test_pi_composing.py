"""What a Pi session gets back at a compaction, without Pi."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from builders import observed, remember
from pi_sessions import Talk, branch_of

from minutebook.pipeline.branches import list_branches
from minutebook.pipeline.compaction import look_at_memory
from minutebook.pipeline.folds import read_proposal
from minutebook.pipeline.ledger import read_memory
from minutebook.records import FOLD
from minutebook.settings import Settings
from minutebook.store.kernel import Store


def fold_count(store: Store, branch: Any) -> int:
    return sum(entry.kind == FOLD for entry in read_memory(store, branch))


def test_a_compaction_gets_the_memory_as_it_would_be_composed_003_076(
    talk: Talk, store: Store, remembered: list[str]
) -> None:
    """First kept entry and tokens before exactly as Pi gave them, details of bounded size."""
    result = talk.compact(remembered[4])
    looked = look_at_memory(store, branch_of(store), 4, Settings())
    assert looked is not None
    assert result["summary"] == looked.text
    assert (result["first_kept"], result["tokens_before"]) == (remembered[4], 4_321)
    assert result["details"] == {
        "type": "om.folded",
        "version": 1,
        "fullFold": False,
        "producer": "minutebook",
        "composition": looked.id,
    }


@pytest.mark.parametrize("kept", ["nowhere", "", None])
def test_an_unknown_first_kept_entry_still_gives_all_memory_003_076(
    talk: Talk, store: Store, remembered: list[str], kept: Any
) -> None:
    result = talk.ask("compact", first_kept=kept, kept=[kept], leaf=[], tokens_before=None)
    assert "The port is 8443." in result["summary"]
    proposal = read_proposal(store, branch_of(store))
    assert proposal is not None
    assert proposal.boundary == 6


def test_a_first_kept_entry_that_is_no_source_stands_for_the_next_one(
    talk: Talk, store: Store, remembered: list[str]
) -> None:
    label = talk.session.add("label", targetId=remembered[0], label="here")
    talk.session.turns(1)
    talk.turn()
    talk.compact(label)
    proposal = read_proposal(store, branch_of(store))
    assert proposal is not None
    assert proposal.boundary == 6


def test_pis_own_record_confirms_the_fold_and_flat_003_077(talk: Talk, store: Store, remembered: list[str]) -> None:
    for number in range(3):
        result = talk.compact(remembered[4])
        talk.session.compact(remembered[4], result["details"])
        talk.turn()
        assert fold_count(store, branch_of(store)) == number + 1
        assert len(json.dumps(result["details"])) < 200
        talk.session.turns(1)
        talk.turn()


def test_pis_own_summary_confirms_nothing_that_was_given_up(talk: Talk, store: Store, remembered: list[str]) -> None:
    """The child was too slow: Pi went on without, and said so."""
    talk.compact(remembered[4])
    talk.ask("abandon", bare=True)
    talk.session.compact(remembered[4])
    talk.turn()
    assert fold_count(store, branch_of(store)) == 0


def test_while_one_is_open_the_same_boundary_is_the_same_and_another_is_refused_once_003_079(
    talk: Talk, store: Store, remembered: list[str]
) -> None:
    first, again = talk.compact(remembered[4]), talk.compact(remembered[4])
    assert first["summary"] == again["summary"]
    other = talk.compact(remembered[2])
    assert (other["refused"], len(other["notices"]), "summary" in other) == (True, 1, False)
    assert "is still open" in other["notices"][0]["text"]
    once_more = talk.compact(remembered[2])
    assert (once_more["refused"], once_more["notices"]) == (True, [])
    assert fold_count(store, branch_of(store)) == 0
    talk.ask("abandon", bare=True)
    assert "summary" in talk.compact(remembered[2])


def test_without_memory_there_is_nothing_to_give(new_talk: Callable[..., Talk]) -> None:
    talk = new_talk()
    assert talk.compact("nowhere") == {"type": "result", "id": 2}
    made = talk.session.turns(2)
    assert talk.compact(made[2]) == {"type": "result", "id": 3}


def test_after_a_move_in_the_tree_the_memory_is_that_of_the_branch_where_the_leaf_stands(
    talk: Talk, store: Store, remembered: list[str]
) -> None:
    """Nothing of the branch that was left, and Pi's record confirms the fold where it was composed."""
    session = talk.session
    session.leaf = remembered[1]
    session.turns(2)
    talk.turn()
    left = branch_of(store)
    assert left.fork == 2
    secret = observed("Only on the other branch.", "critical", sources=(session.rows[-1]["id"],))
    remember(store, left, observations=[secret])
    session.leaf = remembered[5]  # back, and nothing said yet
    result = talk.compact(remembered[4])
    assert "The port is 8443." in result["summary"]
    assert "Only on the other branch." not in result["summary"]
    session.compact(remembered[4], result["details"])
    talk.turn()
    root = next(branch for branch in list_branches(store) if branch.fork == 0)
    assert (fold_count(store, root), fold_count(store, left)) == (1, 0)


def test_memory_longer_than_thirty_thousand_characters_goes_back_whole(talk: Talk, store: Store) -> None:
    made = talk.session.turns(3)
    talk.turn()
    facts = [observed(f"Fact {n}: " + "detail " * 12, sources=(made[0],)) for n in range(400)]
    remember(store, branch_of(store), observations=facts, covers=4)
    text = talk.compact(made[4])["summary"]
    assert len(text) > 30_000
    assert all(fact.id in text for fact in facts)


def test_passive_mode_still_gives_the_memory_back(
    talk: Talk, remembered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_PASSIVE", "true")
    assert "The port is 8443." in talk.compact(remembered[4])["summary"]

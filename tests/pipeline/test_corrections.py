"""What a person adds and takes back."""

import pytest
from builders import concluded, deliver, memory_of, observed, remember, say
from ledgers import turns

from minutebook.errors import BadInput, BadRecordId, NotFound
from minutebook.pipeline.branches import Path, memory_stream, source_stream
from minutebook.pipeline.corrections import note, retire
from minutebook.pipeline.pages import page_of
from minutebook.pipeline.projection import full_projection, project
from minutebook.pipeline.readings import read_state
from minutebook.pipeline.recall import recall
from minutebook.records import Branch
from minutebook.store.kernel import Store

MINUTE, TIME = "2026-05-02 12:30", "2026-05-02T10:30:00Z"
SECRET = "ghp_" + "a8F2kQ9zLmX7bV4cN1dR6tY3wS5eH0jG2pUi"


@pytest.fixture
def branch(store: Store) -> Branch:
    return deliver(store, turns(10))


def shown(store: Store, branch: Branch, boundary: int) -> set[str]:
    """Ids that a compaction at this boundary shows, without any full fold."""
    made = project(page_of(memory_of(store, branch)), boundary, reference=None, digest_tokens=4000)
    return {record.id for record in (*made.observation_records(), *made.reflection_records())}


def test_a_note_is_in_every_projection_at_once(store: Store, branch: Branch) -> None:
    noted = note(store, branch, " never use\ntabs ", timestamp=MINUTE, time=TIME)
    assert (noted.content, noted.relevance, noted.timestamp) == ("never use tabs", "critical", MINUTE)
    assert all(noted.id in shown(store, branch, boundary) for boundary in (1, 5, 11))
    full = full_projection(page_of(memory_of(store, branch)), digest_tokens=4000)
    assert noted.id in {record.id for record in full.observation_records()}


def test_a_note_moves_no_clock_003_048(store: Store, branch: Branch) -> None:
    before = read_state(store, branch, now=0)
    note(store, branch, "never use tabs", timestamp=MINUTE, time=TIME)
    after = read_state(store, branch, now=0)
    assert (after.unobserved_tokens, after.observed) == (before.unobserved_tokens, before.observed)
    assert after.since_compaction_tokens == before.since_compaction_tokens


def test_a_note_is_traced_to_its_own_words(store: Store, branch: Branch) -> None:
    noted = note(store, branch, "never use\ntabs", timestamp=MINUTE, time=TIME)
    (source,) = recall(store, branch, noted.id).sources
    assert source.entry.parts[0].text == "never use\ntabs"
    assert len(source.entry.text_sha256) == 64


def test_a_note_holds_for_a_fork_that_goes_further_back_and_is_traced_there(store: Store, branch: Branch) -> None:
    noted = note(store, branch, "never use tabs", timestamp=MINUTE, time=TIME)
    fork = deliver(store, [say("back", id="x", parent="e1")])
    assert (fork.fork, shown(store, fork, 3)) == (2, {noted.id})
    recalled = recall(store, fork, noted.id)
    assert not recalled.partial
    assert recalled.sources[0].entry.parts[0].text == "never use tabs"
    later = note(store, branch, "made after the fork", timestamp=MINUTE, time=TIME)
    assert not recall(store, fork, later.id).found


def test_a_long_note_is_cut_with_a_mark_and_kept_whole(store: Store, branch: Branch) -> None:
    noted = note(store, branch, "x" * 10_005, timestamp=MINUTE, time=TIME)
    assert noted.content == "x" * 10_000 + " […5 characters cut]"
    assert recall(store, branch, noted.id).sources[0].entry.parts[0].text == "x" * 10_005


def test_a_note_holds_no_secret(store: Store, branch: Branch) -> None:
    noted = note(store, branch, f"the GITHUB_TOKEN={SECRET}", timestamp=MINUTE, time=TIME)
    assert SECRET not in noted.content
    bodies = [each.body for each in (*store.read(source_stream(branch.key)), *store.read(memory_stream(branch.key)))]
    assert not any(SECRET in body for body in bodies)


def test_an_empty_note_is_refused(store: Store, branch: Branch) -> None:
    with pytest.raises(BadInput, match="om note"):
        note(store, branch, " \n ", timestamp=MINUTE, time=TIME)
    assert Path(store, branch).length() == 10


def test_what_is_taken_back_is_gone_from_every_projection_and_recalled(store: Store, branch: Branch) -> None:
    wrong, right = observed("wrong", sources=("e1",)), observed("right")
    remember(store, branch, observations=[wrong, right], covers=6)
    done = retire(store, branch, wrong.id, time=TIME)
    assert (done.kind, done.content, done.already) == ("observation", "wrong", False)
    assert all(shown(store, branch, boundary) == {right.id} for boundary in (1, 6, 10))
    recalled = recall(store, branch, wrong.id)
    assert (recalled.observations[0].status, recalled.observations[0].why) == ("dropped", "user")
    assert [placed.entry.id for placed in recalled.sources] == ["e1"]


def test_a_reflection_is_taken_back(store: Store, branch: Branch) -> None:
    seen = observed("seen")
    fact = concluded("a fact", seen)
    remember(store, branch, observations=[seen], reflections=[fact], covers=6)
    assert retire(store, branch, fact.id, time=TIME).kind == "reflection"
    assert shown(store, branch, 8) == {seen.id}
    assert recall(store, branch, fact.id).reflections[0].status == "retired"


def test_taking_back_twice_says_so_and_writes_nothing(store: Store, branch: Branch) -> None:
    seen = observed("seen")
    fact = concluded("a fact", seen)
    remember(store, branch, observations=[seen], reflections=[fact], covers=6)
    for id_ in (fact.id, seen.id):
        assert not retire(store, branch, id_, time=TIME).already
        length = store.tip(memory_stream(branch.key)).length
        assert retire(store, branch, id_, time="later").already
        assert store.tip(memory_stream(branch.key)).length == length


def test_a_reflection_without_any_support_left_goes_too(store: Store, branch: Branch) -> None:
    one, two = observed("one"), observed("two")
    both, alone = concluded("on both", one, two), concluded("on one", one)
    remember(store, branch, observations=[one, two], reflections=[both, alone], covers=6)
    retire(store, branch, one.id, time=TIME)
    assert shown(store, branch, 8) == {two.id, both.id}
    retire(store, branch, two.id, time=TIME)
    assert shown(store, branch, 8) == set()


def test_what_the_dropper_dropped_still_supports(store: Store, branch: Branch) -> None:
    """It gave way to the reflection; it was not wrong."""
    one, two = observed("one"), observed("two")
    both = concluded("on both", one, two)
    remember(store, branch, observations=[one, two], reflections=[both], dropped=[one], covers=6)
    retire(store, branch, two.id, time=TIME)
    assert both.id in shown(store, branch, 8)


def test_what_the_dropper_dropped_can_still_be_taken_back_at_once(store: Store, branch: Branch) -> None:
    """The dropper's tombstone waits for a full fold."""
    one = observed("one")
    remember(store, branch, observations=[one], dropped=[one], covers=6)
    assert shown(store, branch, 8) == {one.id}
    assert not retire(store, branch, one.id, time=TIME).already
    assert shown(store, branch, 8) == set()


def test_ids_that_are_none_or_unknown_are_refused(store: Store, branch: Branch) -> None:
    with pytest.raises(BadRecordId):
        retire(store, branch, "ABC", time=TIME)
    with pytest.raises(NotFound, match="0123456789ab"):
        retire(store, branch, "0123456789ab", time=TIME)

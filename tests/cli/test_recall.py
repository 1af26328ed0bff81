"""`om recall`: the Recall group, row by row."""

import json
from pathlib import Path

import pytest
from builders import call, concluded, deliver, entry, observed, remember, reply, result, say
from commands import Om, data_of
from hypothesis import given
from hypothesis import strategies as st

from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.paging import pages_of
from minutebook.records import OBSERVATIONS, REFLECTIONS, Part
from minutebook.store.kernel import Store

FOUND = observed("The port is 8443.", "high", sources=("e1", "e2"))


@pytest.mark.parametrize("given_id", ["0" * 11, "0" * 13, "ABCDEF012345", "../x", "", "00000000000g"])
def test_only_an_id_is_taken_003_086(om: Om, store_path: Path, given_id: str) -> None:
    """Refused before the ledger is read: there is none."""
    result = om("recall", given_id, code=2)
    assert result.stderr.startswith(f"om: {given_id!r} is no record id")
    assert not store_path.exists()


def test_an_id_of_another_branch_is_not_found_003_087_003_093(om: Om, store: Store) -> None:
    other = deliver(store, [say("one", id="e1")], "other")
    remember(store, other, observations=[FOUND])
    deliver(store, [say("two", id="x1")], "this")
    for record_id in (FOUND.id, "0123456789ab"):
        result = om("recall", record_id, code=1)
        said = f"om: no record {record_id} on branch neutral:this; --session or --branch looks on another\n"
        assert (result.stdout, result.stderr) == ("", said)
        assert data_of(om("recall", record_id, "--json", code=1))["found"] is False
    assert om("recall", FOUND.id, "--session", "other", code=0)


def test_an_observation_active_then_dropped_003_088(om: Om, store: Store) -> None:
    branch = deliver(store, [say("Use port 8443", id="e1"), reply("Fine.", id="e2")])
    remember(store, branch, observations=[observed("The port is 8443.", "high", sources=("e2", "e1"))])
    record = observed("The port is 8443.", "high", sources=("e2", "e1"))
    before = om("recall", record.id, code=0).stdout
    assert before.startswith(f"[{record.id}] observation, active, 2026-05-02 10:30, high, recorded by test\n")
    assert before.index("Use port 8443") < before.index("Fine."), "ledger order"
    remember(store, branch, dropped=[record])
    after = om("recall", record.id, code=0).stdout
    assert "observation, dropped," in after
    assert "It left active memory; it can still be recalled." in after
    assert after[after.index("--- 1") :] == before[before.index("--- 1") :]


def test_a_reflection_with_its_support_003_089(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1"), say("two", id="e2")])
    first, second = observed("a", sources=("e1", "e2")), observed("b", sources=("e2",))
    rule = concluded("rule", first, second)
    remember(store, branch, observations=[first, second], reflections=[rule], dropped=[second])
    shown = om("recall", rule.id, code=0).stdout
    assert f"[{rule.id}] reflection, current" in shown
    assert f"[{first.id}] supporting observation, active" in shown
    assert f"[{second.id}] supporting observation, dropped" in shown
    assert "2 sources, ~2 tokens" in shown
    assert shown.count("\ntwo\n") == 1


def test_what_is_missing_is_listed_apart_003_090(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")])
    remember(store, branch, observations=[observed("seed")])
    memory_id = store.read("m:neutral:s1")[0].id
    partial = observed("partial", sources=("e1", "nowhere", memory_id))
    rule = concluded("rule", partial, "0123456789ab")
    remember(store, branch, observations=[partial], reflections=[rule])
    data = data_of(om("recall", rule.id, "--json", code=0))
    assert data["partial"] is True
    assert (data["missing"], data["not_sources"]) == (["nowhere"], [memory_id])
    assert data["unknown_supports"] == ["0123456789ab"]
    assert [source["id"] for source in data["sources"]] == ["e1"]
    shown = om("recall", rule.id, code=0).stdout
    assert "  sources that this branch does not have: nowhere\n" in shown
    assert f"  ids that are no source entries: {memory_id}\n" in shown
    assert "  supporting observations that this branch does not have: 0123456789ab\n" in shown


def test_no_source_and_no_text_are_told_apart_003_091(om: Om, store: Store) -> None:
    branch = deliver(store, [entry("assistant", Part(kind="thinking"), id="e1")])
    silent = observed("silent", sources=("e1",))
    bare = observed("bare", sources=())
    remember(store, branch, observations=[silent, bare])
    assert "The source entries hold no text." in om("recall", silent.id, code=0).stdout
    assert data_of(om("recall", silent.id, "--json"))["empty_reason"] == "The source entries hold no text."


def test_a_shared_id_returns_all_003_092(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")])
    id_ = "0123456789ab"
    row = {"id": id_, "content": "a", "timestamp": "2026-05-02 10:30", "relevance": "low", "sourceEntryIds": ["e1"]}
    other = {"id": id_, "content": "r", "supportingObservationIds": [id_], "tokenCount": 1}
    data = {"observations": [{**row, "tokenCount": 1}, {**row, "content": "b", "tokenCount": 1}]}
    append_memory(store, branch, [memory_entry(Entry(kind=OBSERVATIONS, covers=1, since=0, data=data))])
    said = data_of(om("recall", id_, "--json", code=0))
    assert (said["kind"], said["collision"], len(said["observations"])) == ("observation", True, 2)
    append_memory(
        store, branch, [memory_entry(Entry(kind=REFLECTIONS, covers=1, since=1, data={"reflections": [other]}))]
    )
    assert data_of(om("recall", id_, "--json", code=0))["kind"] == "mixed"
    assert f"Several records share the id {id_} (mixed)" in om("recall", id_, code=0).stdout


def test_the_whole_history_003_093(om: Om, store: Store) -> None:
    """Dropped, retired, under the digest, inherited from the parent."""
    branch = deliver(store, [say("one", id="e1"), reply("two", id="e2"), say("three", id="e3", parent="e2")])
    gone, rule, old = observed("gone"), concluded("rule", "0123456789ab"), concluded("old", "0123456789ab")
    remember(store, branch, observations=[gone], reflections=[old, rule], dropped=[gone], retired=[rule], covers=1)
    remember(store, branch, digest=("short", old), covers=1)
    fork = deliver(store, [say("else", id="e4", parent="e1")])
    assert fork.parent == branch.key
    for record in (gone, rule, old):
        for key in (branch.key, fork.key):
            assert om("recall", record.id, "--branch", key, code=0)
    assert "It is retired (taken back by a person):" in om("recall", rule.id, code=0).stdout


def test_recall_takes_one_id_and_no_words_003_094(om: Om, store: Store) -> None:
    assert om("recall", "0" * 12, "more", code=2).stdout == ""
    assert om("recall", code=2).stdout == ""


GOLDEN = """\
--- 1 of 7: user, 2026-05-02 12:30, entry 0
    sha256: {0} (of the text below)
Look at this
[image image/png, 12 KB]

--- 2 of 7: assistant, 2026-05-02 12:30, entry 1
    sha256: {1} (of the text below)
[thinking]
hm
Let me see.

--- 3 of 7: assistant, 2026-05-02 12:30, entry 2
    sha256: {2} (of the text below)
[call Bash {{"command": "ls"}}]

--- 4 of 7: tool result Bash (error), 2026-05-02 12:30, entry 3
    sha256: {3} (of the text below)
ls: no
  such file

--- 5 of 7: custom my.note, Unknown time, entry 4
    sha256: {4} (of the text below)
noted

--- 6 of 7: branch summary, Unknown time, entry 5
    sha256: {5} (of the text below)
we tried

--- 7 of 7: assistant, 2026-05-02 12:30, entry 6
    sha256: {6} (of the text below)
(no text)
"""


def test_each_kind_of_entry_golden_003_095(om: Om, store: Store) -> None:
    events = [
        entry("user", Part(kind="text", text="Look at this"), Part(kind="image", text="image/png, 12 KB"), id="e0"),
        reply("Let me see.", id="e1", thinking="hm"),
        call("Bash", '{"command": "ls"}', id="e2"),
        result("ls: no\n  such file", id="e3", is_error=True),
        entry("custom", Part(kind="text", text="noted"), id="e4", time="", custom_type="my.note"),
        entry("branch_summary", Part(kind="text", text="we tried"), id="e5", time="garbage"),
        entry("assistant", Part(kind="thinking"), id="e6"),
    ]
    branch = deliver(store, events, zone="Europe/Berlin")
    record = observed("all", sources=[f"e{number}" for number in range(7)])
    remember(store, branch, observations=[record])
    shown = om("recall", record.id, code=0).stdout
    hashes = [source["text_sha256"] for source in data_of(om("recall", record.id, "--json"))["sources"]]
    assert shown[shown.index("--- 1") :] == GOLDEN.format(*hashes)


def test_the_raw_record_can_be_checked(om: Om, store: Store, tmp_path: Path) -> None:
    """The pointer and the hash lead to the raw line; where a secret was replaced, the hash says so."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    lines = [{"role": "user", "id": "e1", "text": "first"}, {"role": "user", "id": "e2", "text": f"token {secret}"}]
    file = tmp_path / "s.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    om("ingest", str(file), code=0)
    record = observed("both", sources=("e1", "e2"))
    remember(store, load_branch(store, "neutral:s"), observations=[record])
    shown = om("recall", record.id, code=0).stdout
    assert f"raw: {file}:2, {len(json.dumps(lines[1]))} bytes from byte {len(json.dumps(lines[0])) + 1}\n" in shown
    assert shown.count("(of the text below)") == 1 and shown.count("(of the text before secrets were replaced)") == 1
    assert secret not in shown
    raw = data_of(om("recall", record.id, "--json"))["sources"][0]["raw"]
    assert json.loads(file.read_bytes()[raw["offset"] :][: raw["length"]]) == lines[0]
    file.unlink()
    assert f"raw: {file}, " in om("recall", record.id, code=0).stdout


def test_long_sources_come_in_pages(om: Om, store: Store) -> None:
    text = "\n".join(f"line {number}" for number in range(450))
    branch = deliver(store, [reply(text, id="e1"), reply("short", id="e2")])
    record = observed("long", sources=("e1", "e2"))
    remember(store, branch, observations=[record])
    first = om("recall", record.id, code=0).stdout
    assert first.endswith(f"line 199\n\npage 1 of 3; next: om recall {record.id} --page 2\n")
    second = om("recall", record.id, "--page", "2", code=0).stdout
    assert second.startswith(
        f"[{record.id}], continued\n\n--- 1 of 2: assistant, 2026-05-02 10:30, entry 0, continued\nline 200\n"
    )
    assert om("recall", record.id, "--page", "3", code=0).stdout.endswith("short\n\npage 3 of 3\n")
    assert "there are 3 pages" in om("recall", record.id, "--page", "4", code=2).stderr
    assert "line 449\n" in om("recall", record.id, "--page", "0", code=0).stdout
    data = data_of(om("recall", record.id, "--json"))
    assert data["sources"][0]["text"] == text
    parts = [data_of(om("recall", record.id, "--json", "--page", page))["sources"] for page in "123"]
    assert "".join(part["text"] for page in parts for part in page if part["id"] == "e1") == text


@given(st.lists(st.text(alphabet="ab\n", max_size=60), max_size=5), st.integers(1, 5), st.integers(1, 20))
def test_pages_are_bounded_and_join_to_the_texts(texts: list[str], lines: int, characters: int) -> None:
    pages = pages_of(texts, lines=lines, characters=characters)
    joined = ["" for _ in texts]
    for page in pages:
        assert sum(len(piece.text) for piece in page) <= characters
        assert sum(piece.text.count("\n") + piece.last for piece in page) <= lines + 1
        for piece in page:
            joined[piece.index] += piece.text
    assert joined == texts


def test_a_terminal_is_not_moved_by_what_is_shown(om: Om, store: Store) -> None:
    """Into a pipe the text is exact; what a terminal would act on is written out for people."""
    from minutebook.cli.showing import harmless

    branch = deliver(store, [reply("a\x1b[2Jb\tc\n\u202ed", id="e1")])
    record = observed("esc", sources=("e1",))
    remember(store, branch, observations=[record])
    assert "a\x1b[2Jb\tc\n\u202ed" in om("recall", record.id, code=0).stdout
    assert harmless("a\x1b[2Jb\tc\n\u202ed é") == "a\\x1b[2Jb\tc\n\\u202ed é"

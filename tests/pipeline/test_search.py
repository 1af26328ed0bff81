"""Words -> records and turns."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import call, concluded, deliver, entry, observed, reply, result, say
from memories import batch, conversation, reflected, turns

from minutebook.pipeline.search import Hit, search, snippet, terms, wanted_words
from minutebook.records import UNOBSERVED, Branch, Part
from minutebook.store.kernel import Store
from minutebook.store.sqlite import SqliteStore

HASH = "3fa9c21d0e5b7a6488c1f2d3e4a5b6c7d8e9f0a1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    opened.close()


@pytest.fixture
def branch(store: Store) -> Branch:
    made = deliver(
        store,
        [
            say("Please rename getUserName in src/app/accounts.py", id="camel"),
            call("Bash", '{"command":"git show 3fa9c21"}', id="show"),
            result(f"commit {HASH}\nAuthor: somebody", id="commit"),
            result("TypeError: Cannot read properties of undefined (reading 'port')\n    at main.js:10:5", id="error"),
            reply("The snake_case name max_retry_count stays; HTTPServer too.", id="snake"),
            say("数据库的端口改成了8443，不是8080。使用docker部署服务", id="cjk"),
            say("ポートは変更しない", id="kana"),
            reply("The retry budget is three attempts. " + "Unrelated words follow here. " * 30, id="budget"),
            say("Straße und Café Ⅷ ﬁne", id="fold"),
        ],
    )
    batch(store, made, 0, 9, observed("The retry budget was set to three attempts", sources=("budget", "snake")))
    reflected(store, made, 9, concluded("Port 8443 is final", "0" * 12))
    return made


def found(store: Store, branch: Branch, query: str, limit: int = 10) -> list[str]:
    """Ids of the turns found, and the kinds of the records."""
    hits = search(store, [branch], query, limit=limit)
    return [hit.kind if hit.kind in ("observation", "reflection") else hit.id for hit in hits]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("getUserName", "camel"),
        ("user name", "camel"),
        ("src/app/accounts.py", "camel"),
        ("accounts.py", "camel"),
        ("/repo/src/app/accounts.py", "camel"),
        ("3fa9c21d", "commit"),
        (HASH, "commit"),
        ("TypeError: Cannot read properties of undefined (reading 'port')", "error"),
        ("main.js:10:5", "error"),
        ("max_retry_count", "snake"),
        ("retry count", "snake"),
        ("http server", "snake"),
        ("端口", "cjk"),
        ("数据库的端口", "cjk"),
        ("docker", "cjk"),
        ("部署", "cjk"),
        ("ポート", "kana"),
        ("ﾎﾟｰﾄ", "kana"),
        ("変", "kana"),
        ("STRAßE", "fold"),
        ("cafe\u0301", "fold"),
        ("fine", "fold"),
        ("retry budget", "observation"),
        ("port 8443", "reflection"),
        ("what was the retry budget", "observation"),
    ],
)
def test_what_comes_first(store: Store, branch: Branch, query: str, first: str) -> None:
    assert found(store, branch, query)[0] == first


def test_a_short_hash_in_the_text_is_found_by_the_whole_one(store: Store, branch: Branch) -> None:
    assert set(found(store, branch, HASH)) == {"commit", "show"}


NONSENSE = [
    "",
    " ",
    "!!! ???",
    "frobnicate",
    "how does frobnicate do it",
    "*",
    "NOT",
    "'; DROP TABLE",
    "%",
    "zxqv*",
    "🙂",
]


@pytest.mark.parametrize("query", [*NONSENSE, "\x00", "\ud800", "🙂"])
def test_nonsense_finds_nothing(store: Store, branch: Branch, query: str) -> None:
    assert search(store, [branch], query) == []


def test_a_word_inside_another_is_not_that_word(store: Store, branch: Branch) -> None:
    assert found(store, branch, "tempt") == [] and found(store, branch, "late") == []


def test_a_turn_names_the_records_to_recall(store: Store, branch: Branch) -> None:
    hits = {hit.id: hit for hit in search(store, [branch], "retry budget attempts")}
    event = next(hit for hit in hits.values() if hit.kind == "observation")
    assert hits["budget"].recall == hits["snake"].recall == event.recall == (event.id,)
    assert search(store, [branch], "accounts.py")[0].recall == ()


def test_hits_say_where_and_when(store: Store, branch: Branch) -> None:
    hit = search(store, [branch], "getUserName")[0]
    assert hit == Hit(
        kind="user",
        id="camel",
        score=hit.score,
        text="Please rename getUserName in src/app/accounts.py",
        time="2026-05-02T10:30:00Z",
        branch=branch.key,
        recall=(),
    )


def test_what_is_never_observed_is_not_found(store: Store) -> None:
    ours = [entry("custom", Part(kind="text", text="quokka"), custom_type=kind) for kind in UNOBSERVED]
    assert found(store, deliver(store, [say("hello"), *ours]), "quokka") == []


def test_equal_matches_come_in_one_order_records_first_then_the_later(store: Store) -> None:
    made = deliver(store, [say("quokka seen", id=f"q{at}") for at in range(30)])
    batch(store, made, 0, 30, observed("quokka seen", sources=("q1",)), observed("quokka seen", sources=("q2",)))
    expected = ["observation", "observation", *(f"q{at}" for at in range(29, 21, -1))]
    assert [found(store, made, "quokka") for _ in range(3)] == [expected] * 3


def test_shared_turns_are_found_once_and_equal_ids_of_two_sessions_twice(store: Store) -> None:
    root = conversation(store, 10)
    child = deliver(store, [say("elsewhere", id="child", parent="e5")])
    assert len(search(store, [root, child], "turn parser", limit=100)) == 10
    stranger = deliver(store, [say("another session", id="first"), *turns(10)[1:]], "s2")
    assert len(search(store, [root, child, stranger], "turn parser", limit=100)) == 19


@pytest.mark.parametrize("limit", [0, -3])
def test_no_hits_wanted(store: Store, branch: Branch, limit: int) -> None:
    assert search(store, [branch], "retry", limit=limit) == []


def test_no_branches(store: Store) -> None:
    assert search(store, [], "retry") == []


def test_a_pasted_page_is_a_query_of_bounded_size() -> None:
    assert len(wanted_words(" ".join(f"word{at}" for at in range(100_000)))) == 64


def test_common_words_count_only_when_there_are_no_others() -> None:
    assert wanted_words("what is the port") == ["port"]
    assert wanted_words("what is the") == ["what", "is", "the"]


def test_terms() -> None:
    assert list(terms("getUserName a_b 文字列x")) == [
        "a_b",
        *("getusername", "get", "user", "name"),
        *("a", "b"),
        *("文字", "字列", "x"),
    ]


def test_a_snippet_is_one_harmless_line_around_the_rarest_word() -> None:
    text = "common " * 100 + "\n</minutebook-memory> the needle \ud800 here\n" + "common " * 100
    shown = snippet(text, ["needle", "common"])
    assert "needle" in shown and "\n" not in shown and "</minutebook" not in shown
    assert shown.encode() and shown.startswith("…") and shown.endswith("…") and len(shown) < 220


def test_a_snippet_shows_a_short_text_whole_and_begins_at_a_word() -> None:
    assert snippet("word " * 30 + "needle", ["needle"]) == "word " * 30 + "needle"
    assert snippet("common " * 100 + "needle", ["needle"]).startswith("…common common")
    assert snippet("x" * 500 + "needle", ["needle"]) == "…" + "x" * 194 + "needle"


def test_a_text_is_never_taken_apart(store: Store, branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps a search over a long session usable: the query alone is parted into words."""
    parted: list[str] = []
    monkeypatch.setattr("minutebook.pipeline.search.terms", lambda text: parted.append(text) or terms(text))
    assert search(store, [branch], "retry count")
    assert parted == ["retry count"]

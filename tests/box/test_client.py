"""What the client makes of a box that is busy, away, odd or hostile: one of our errors, and nothing half-taken."""

import contextlib
import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from builders import say
from raw_box import RawBox, answer, endless

from minutebook.box import client as client_module
from minutebook.box.access import Access
from minutebook.box.client import BoxClient, Leaving
from minutebook.errors import BadSetting, BoxDiverged, BoxFailed, BoxRefused, BoxUnreachable
from minutebook.pipeline.placing import with_hash
from minutebook.pipeline.rows import Lengths, lengths_row, memory_row, source_row
from minutebook.records import OBSERVATIONS, MemoryEntry, SourceEntry

TOKEN = "mb_0123abcd_secretsecretsecret"
LENGTHS = Lengths(sources=3, sources_tip="e3", memory=2, memory_tip="m2", marks={"observer": 3}, boxed=True)
ME = {"user": "alice", "projects": ["*"]}


@pytest.fixture
def box() -> Iterator[RawBox]:
    with RawBox() as found:
        yield found


@pytest.fixture
def client(box: RawBox, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoxClient]:
    monkeypatch.setattr(client_module, "PAUSE_FIRST_SECONDS", 0.001)
    with BoxClient(Access(box.url, TOKEN)) as found:
        yield found


def rows(branch: str, after: int, count: int) -> list[Any]:
    return [
        memory_row(MemoryEntry(id=f"m{at}", kind=OBSERVATIONS, covers=1, since=0, branch=branch, index=at))
        for at in range(after, after + count)
    ]


def page(*, branch: str = "b", after: int = 0, count: int = 2) -> dict[str, Any]:
    return {"entries": rows(branch, after, count), "lengths": lengths_row(LENGTHS)}


def test_every_question_carries_the_token_and_asks_for_no_compression(box: RawBox, client: BoxClient) -> None:
    box.script.append(answer(ME))
    assert client.me().user == "alice"
    [asked] = box.asked
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["accept-encoding"] == "identity"


def test_lengths_of_many(box: RawBox, client: BoxClient) -> None:
    box.script.append(answer({"branches": {"a": lengths_row(LENGTHS), "b": None}}))
    assert client.lengths(["a", "b"]) == {"a": LENGTHS, "b": None}
    assert json.loads(box.asked[0].body) == {"branches": ["a", "b"]}


def test_a_page_is_read_in_its_order(box: RawBox, client: BoxClient) -> None:
    box.script.append(answer(page(after=5)))
    found, lengths = client.memory("b", 5, 10)
    assert [entry.index for entry in found] == [5, 6] and lengths == LENGTHS
    assert box.asked[0].target == "/v1/memory?branch=b&after=5&limit=10"


def test_a_key_is_no_part_of_the_path(box: RawBox, client: BoxClient) -> None:
    box.script.append(answer(page(branch="../x?y&z#é")))
    client.memory("../x?y&z#é", 0, 10)
    assert box.asked[0].target == "/v1/memory?branch=..%2Fx%3Fy%26z%23%C3%A9&after=0&limit=10"


@pytest.mark.parametrize("busy", [429, 502, 503, 504])
def test_a_busy_box_is_asked_again(box: RawBox, client: BoxClient, busy: int) -> None:
    box.script += [answer({"message": "later"}, busy)] * 3 + [answer(ME)]
    assert client.me().user == "alice"
    assert len(box.asked) == 4


def test_a_box_that_stays_busy_is_away(box: RawBox, client: BoxClient) -> None:
    box.default = answer({"error": "store", "message": "the store does not answer"}, 503)
    with pytest.raises(BoxUnreachable, match=r"busy or away \(503\): the store does not answer"):
        client.me()
    assert len(box.asked) == client_module.TRIES


def test_a_pause_that_the_box_asks_for_is_kept_up_to_a_limit(
    box: RawBox, client: BoxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(BoxClient, "_wait", lambda self, seconds: waited.append(seconds))
    box.script += [answer(b"", 429, Retry_After=text) for text in ("7", "99999999", "soon")] + [answer(ME)]
    client.me()
    first, second, third = waited
    assert 7 <= first <= 10.5
    assert client_module.PAUSE_MAX_SECONDS <= second <= 1.5 * client_module.PAUSE_MAX_SECONDS
    assert third < 1


def test_who_wants_to_leave_does_not_wait_for_another_try(box: RawBox, monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = threading.Event()

    def busy(connection: socket.socket) -> None:
        stopping.set()
        connection.sendall(answer(b"", 503, Retry_After="20"))

    box.default = busy
    with BoxClient(Access(box.url, TOKEN), stopping=stopping) as client:
        with pytest.raises(BoxUnreachable):
            client.me()
        with pytest.raises(Leaving):
            client.me()
    assert len(box.asked) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (403, BoxRefused),
        (404, BoxFailed),
        (409, BoxDiverged),
        (410, BoxFailed),
        (413, BoxFailed),
        (422, BoxFailed),
        (500, BoxFailed),
    ],
)
def test_what_an_answer_means(box: RawBox, client: BoxClient, status: int, kind: type[BoxFailed]) -> None:
    box.default = answer({"error": "x", "message": f"said with\n{TOKEN} " + "y" * 1000}, status)
    with pytest.raises(BoxFailed, match="said with …") as error:
        client.me()
    assert type(error.value) is kind and error.value.status == status
    assert TOKEN not in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 500
    assert len(box.asked) == 1


def test_a_token_that_is_not_accepted_is_answered_with_what_to_do_here(box: RawBox, client: BoxClient) -> None:
    """The door's own words are for people who ask it by hand."""
    box.default = answer({"error": "unauthorized", "message": f"Authorization: Bearer {TOKEN}"}, 401)
    with pytest.raises(
        BoxRefused, match=r"`om token create`\), put it into box.token or MINUTEBOOK_BOX_TOKEN"
    ) as error:
        client.me()
    assert error.value.status == 401 and "Bearer" not in str(error.value)


def test_a_redirect_is_not_followed(box: RawBox, client: BoxClient) -> None:
    with RawBox() as elsewhere:
        box.default = answer(b"", 307, Location=f"{elsewhere.url}/v1/me")
        with pytest.raises(BoxFailed, match="redirects elsewhere"):
            client.me()
        assert elsewhere.asked == []


RUBBISH: dict[str, Any] = {
    "a page": b"<!doctype html><p>It works!",
    "nothing": b"",
    "cut": json.dumps(ME).encode()[:-3],
    "a list": [ME],
    "deep": b"[" * 100_000,
    "no text": b"\xff\xfe",
    "a long number": b'{"user": ' + b"1" * 10_000 + b"}",
    "other fields": {"user": 7, "projects": []},
    "words of another kind": {"user": "alice", "projects": [7]},
}


@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_is_said_to_be_rubbish(box: RawBox, client: BoxClient, name: str) -> None:
    box.default = answer(RUBBISH[name])
    with pytest.raises(BoxFailed, match="/v1/me answered with"):
        client.me()


@pytest.mark.parametrize(
    "wrong",
    [
        page(after=1),
        page(branch="other"),
        page(count=11),
        {**page(), "entries": [*rows("b", 0, 1), *rows("b", 2, 1)]},
        {**page(), "entries": [{**rows("b", 0, 1)[0], "kind": "om.unknown"}]},
        {**page(), "entries": [7]},
        {**page(), "lengths": {**lengths_row(LENGTHS), "memory": -1}},
        {**page(), "lengths": {**lengths_row(LENGTHS), "marks": {"observer": "3"}}},
        {"entries": []},
        {**page(), "entries": {"0": 1}},
    ],
)
def test_a_page_with_one_wrong_thing_is_not_taken_at_all(box: RawBox, client: BoxClient, wrong: Any) -> None:
    box.default = answer(wrong)
    with pytest.raises(BoxFailed, match="/v1/memory answered with"):
        client.memory("b", 0, 10)


def test_words_that_the_box_changed_are_refused(box: RawBox, client: BoxClient) -> None:
    """Its hash came with the entry when it was sent, and lies beside the words there."""
    told = with_hash(say("the port is 8443", id="e1"))
    assert isinstance(told, SourceEntry)
    right = source_row("neutral:s1", 0, told)
    lengths = lengths_row(LENGTHS)
    wrong = {**right, "parts": [{"kind": "text", "text": "the port is 9443"}]}
    box.script += [answer({"entries": [row], "lengths": lengths}) for row in (right, wrong)]
    assert client.sources("neutral:s1", 0, 5)[0] == [told]
    with pytest.raises(BoxFailed, match="other words in entry 0 of neutral:s1 than its hash is of"):
        client.sources("neutral:s1", 0, 5)


def test_lengths_of_something_else_are_refused(box: RawBox, client: BoxClient) -> None:
    box.default = answer({"branches": {"x": None}})
    with pytest.raises(BoxFailed, match="other branches"):
        client.lengths(["b"])


def test_an_answer_without_an_end_is_left(box: RawBox, client: BoxClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "ANSWER_MAX_BYTES", 5_000_000)
    box.default = endless
    with pytest.raises(BoxFailed, match="more than 5,000,000 bytes"):
        client.me()


def test_fewer_entries_are_asked_for_where_an_answer_is_too_large(
    box: RawBox, client: BoxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "ANSWER_MAX_BYTES", 1_000)
    box.script += [answer(page(count=100)), answer(page(count=12)), answer(page(count=1))]
    found, _ = client.memory("b", 0, 100)
    assert len(found) == 1
    assert [asked.target.rpartition("=")[2] for asked in box.asked] == ["100", "12", "1"]


def test_a_compressed_answer_is_rubbish_and_not_unpacked(box: RawBox, client: BoxClient) -> None:
    import gzip

    box.default = answer(gzip.compress(b" " * 50_000_000), Content_Encoding="gzip")
    with pytest.raises(BoxFailed, match="no JSON"):
        client.me()


def trickle(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(1000):
            connection.sendall(b" ")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(answer(ME, length=10_000), id="cut"),
        pytest.param(b"", id="closed"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, id="endless headers"),
    ],
)
def test_a_broken_connection_is_tried_again_and_then_an_outage(box: RawBox, client: BoxClient, fault: bytes) -> None:
    box.script.append(fault)
    box.default = answer(ME)
    assert client.me().user == "alice"
    box.default = fault
    with pytest.raises(BoxUnreachable, match="does not answer"):
        client.me()


def test_a_box_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as held:  # bound, so that nobody else gets the port meanwhile, and not listening
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        with (
            BoxClient(Access(url, TOKEN), tries=1) as client,
            pytest.raises(BoxUnreachable, match=f"^{url}: does not ans"),
        ):
            client.me()


def test_silence_and_trickles_end(box: RawBox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A box that says nothing is given up after silence_seconds, one that trickles after ANSWER_SECONDS."""
    released = threading.Event()
    box.default = lambda connection: bool(released.wait(60)) and None
    with BoxClient(Access(box.url, TOKEN), tries=1, silence_seconds=0.2) as client, pytest.raises(BoxUnreachable):
        client.me()
    released.set()
    monkeypatch.setattr(client_module, "ANSWER_SECONDS", -1.0)
    box.default = trickle
    with BoxClient(Access(box.url, TOKEN), tries=1) as client, pytest.raises(BoxUnreachable, match="took longer"):
        client.me()


def test_no_log_line_holds_the_token(box: RawBox, client: BoxClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    box.script += [answer(ME), answer({"message": TOKEN}, 401)]
    client.me()
    with pytest.raises(BoxRefused):
        client.me()
    assert caplog.records and TOKEN not in caplog.text


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999999", "http://[::1"])
def test_a_url_that_cannot_be_asked(url: str) -> None:
    with pytest.raises(BadSetting, match="box_url"):
        BoxClient(Access(url, TOKEN))


QUESTIONS: list[Callable[[BoxClient], object]] = [
    lambda client: client.send_sources({"row": "session"}, {"row": "branch"}, 4, "e3", [{"row": "source"}]),
    lambda client: client.send_memory("b", None, "", [{"row": "memory"}]),
    lambda client: client.send_memory("b", 2, "m2", []),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_sent_is_answered_with_lengths(
    box: RawBox, client: BoxClient, question: Callable[[BoxClient], object]
) -> None:
    box.script.append(answer(lengths_row(LENGTHS)))
    assert question(client) == LENGTHS
    assert box.asked[0].headers["content-type"] == "application/json"
    assert json.loads(box.asked[0].body)["entries"] is not None

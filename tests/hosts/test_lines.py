"""From bytes to rows: what real and broken files hold."""

import io
import json

import pytest

from minutebook.hosts.lines import Lines

A, B = {"type": "a", "n": 1}, {"type": "b", "é": "ü"}
ROW_A, ROW_B = json.dumps(A).encode(), json.dumps(B, ensure_ascii=False).encode()


def rows(data: bytes) -> tuple[list[dict], Lines]:
    lines = Lines(io.BytesIO(data), 0, 0, len(data))
    found = list(lines)
    for row in found:
        assert json.loads(data[row.offset : row.offset + row.length].decode("utf-8", "replace"), strict=False)
    return [row.data for row in found], lines


def test_two_records_on_one_line_have_their_own_place():
    data = ROW_A + ROW_B + b"  " + ROW_A + b"\n" + ROW_B + b"\n"
    lines = Lines(io.BytesIO(data), 0, 0, len(data))
    found = list(lines)
    assert [row.data for row in found] == [A, B, A, B]
    assert [row.line for row in found] == [1, 1, 1, 2]
    assert [data[row.offset : row.offset + row.length] for row in found] == [ROW_A, ROW_B, ROW_A, ROW_B]
    assert (lines.offset, lines.line) == (len(data), 2)


def test_half_written_last_line_waits():
    found, lines = rows(ROW_A + b"\n" + ROW_B[:-3])
    assert (found, lines.offset, lines.broken) == ([A], len(ROW_A) + 1, [])


def test_complete_object_without_a_newline_is_read_once():
    data = ROW_A + b"\n" + ROW_B
    found, lines = rows(data)
    assert (found, lines.offset, lines.line) == ([A, B], len(data), 1)
    more = Lines(io.BytesIO(data + b"\n" + ROW_A + b"\n"), lines.offset, lines.line, len(data) + 2 + len(ROW_A))
    assert [(row.line, row.data) for row in more] == [(3, A)]


def test_number_at_the_end_may_still_grow():
    found, lines = rows(ROW_A + b"\n12")
    assert (found, lines.offset, lines.broken) == ([A], len(ROW_A) + 1, [])
    found, lines = rows(b"12 " + ROW_A)
    assert (found, lines.offset) == ([], 0)


@pytest.mark.parametrize("bad", [b"{oops", b"garbage", b"[1]", b"7", b"null", b'{"a":', b"[" * 5_000, b'{"a":' * 3_000])
def test_broken_lines_are_counted_by_number(bad: bytes):
    found, lines = rows(ROW_A + b"\n" + bad + b"\n" + ROW_B + b"\n")
    assert (found, lines.broken) == ([A, B], [2])


def test_good_record_before_broken_text_is_kept():
    found, lines = rows(ROW_A + b"{half\n" + ROW_B + b"\n")
    assert (found, lines.broken) == ([A, B], [1])


def test_record_appended_to_a_cut_line_is_found():
    whole = json.dumps({"type": "user", "timestamp": "t", "message": {"type": "x", "content": "hi"}}).encode()
    found, lines = rows(whole[:-9] + whole + b"\n")
    assert ([row["type"] for row in found], lines.broken) == (["user"], [1])
    found, lines = rows(whole[:-1] + b"\n")
    assert (found, lines.broken) == ([], [1])


def test_nul_padding_and_byte_order_mark_are_filler():
    found, lines = rows(b"\xef\xbb\xbf" + ROW_A + b"\n\0\0\0\0" + ROW_B + b"\r\n\n \n")
    assert (found, lines.broken, lines.line) == ([A, B], [], 4)


def test_nul_and_raw_control_characters_in_a_string_are_read():
    found, _ = rows(b'{"type":"a\x01\x00b"}\n')
    assert found == [{"type": "a\x01\x00b"}]


@pytest.mark.parametrize("text", [b'{"k":"\\ud800x"}', b'{"k":"\\uD800x"}', b'{"k":"\xed\xa0\x80x"}', b'{"k":"\xffx"}'])
def test_lone_surrogates_and_foreign_bytes_become_replacement_characters(text: bytes):
    found, lines = rows(text + ROW_B + b"\n")
    assert found[1] == B and lines.broken == []
    assert found[0]["k"].strip("\ufffd") == "x"
    found[0]["k"].encode("utf-8")


def test_surrogate_pairs_stay_one_character():
    assert rows(b'{"k":"\\ud83d\\ude00"}\n')[0] == [{"k": "😀"}]


def test_huge_line_is_read_whole():
    big = json.dumps({"type": "big", "text": "x" * 3_000_000}).encode()
    found, lines = rows(big + b"\n" + ROW_A + b"\n")
    assert (len(found[0]["text"]), found[1], lines.broken) == (3_000_000, A, [])

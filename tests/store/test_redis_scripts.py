"""The Lua scripts are what their heads say."""

import re

import pytest

from minutebook.store.redis_scripts import FOLDER, script

NAMES = sorted(file.stem for file in FOLDER.glob("*.lua"))
PARTS = {"appending", "dirty", "documents", "fence", "jobs", "once"}
"""Put before the scripts that name them."""
TYPES = ("string", "hash", "zset", "prefix")


def head_and_code(name: str) -> tuple[str, str]:
    lines = (FOLDER / f"{name}.lua").read_text().splitlines()
    size = next(at for at, line in enumerate(lines) if not line.startswith("--"))
    return "\n".join(lines[:size]), "\n".join(lines[size:])


def told(head: str, what: str) -> set[int]:
    """The numbers of KEYS or ARGV that a head names; of an open range, its beginning."""
    found: set[int] = set()
    for inside in re.findall(rf"{what}\[([^\]]*)\]", head):
        first, *last = [int(number) for number in re.findall(r"\d+", inside)]
        found |= {first} if not last else set(range(first, last[0] + 1))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_head_names_each_key_with_its_type_and_each_argument(name: str) -> None:
    head, code = head_and_code(name)
    for what in ("KEYS", "ARGV"):
        used = {int(number) for number in re.findall(rf"{what}\[(\d+)\]", code)}
        assert used <= told(head, what), f"{name}.lua: {what} that its head does not name"
    for line in re.findall(r"^-- .*KEYS\[.*$", head, re.MULTILINE):
        assert any(kind in line for kind in (*TYPES, "see jobs.lua", "begin at")), f"{name}.lua: {line}"


@pytest.mark.parametrize("name", sorted(set(NAMES) - PARTS))
def test_the_head_says_what_is_returned(name: str) -> None:
    head, code = head_and_code(name)
    assert "-- Returns " in head
    assert "return" in code


@pytest.mark.parametrize("name", sorted(set(NAMES) - PARTS))
def test_a_script_is_flagged_by_what_it_may_do(name: str) -> None:
    flagged, plain = script(name, True), script(name, False)
    first = flagged.source.partition("\n")[0]
    assert first in ("#!lua", "#!lua flags=allow-oom", "#!lua flags=no-writes")
    assert flagged.writes == (first != "#!lua flags=no-writes")
    assert flagged.source == f"{first}\n{plain.source}"
    assert flagged.sha != plain.sha
    assert ("local function done" in plain.source) == flagged.writes


def test_every_part_is_used() -> None:
    heads = "\n".join(head_and_code(name)[0] for name in sorted(set(NAMES) - PARTS))
    assert set(" ".join(re.findall(r"^-- uses: (.*)$", heads, re.MULTILINE)).split()) == PARTS

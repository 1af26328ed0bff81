"""What an install or an uninstall makes of each file of a host. Pure: bytes in, bytes out, nothing is touched.

A file as it was before our first change is its *base*. While nobody else changed the file since, it is rebuilt from the
base, and taking us out gives the base back byte for byte. Else our parts alone are taken out of what is there now.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from minutebook.errors import BadInput
from minutebook.hosts import installing_json, json_text, toml_text
from minutebook.hosts.edits import Edit, JsonItems, JsonValue, OwnFile, TomlTable
from minutebook.hosts.installing_json import JsonEdit, Keys

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was noted of a file when we last changed it. base: its bytes before, None where there was none.

    digest: SHA-256 of what we wrote. made: objects, lists and shared values of it that we made.
    """

    base: bytes | None
    digest: str
    made: tuple[Keys, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One file. before, after: its bytes, None for no file. base, made: to be noted. left: changed since, it stays.

    exact: taking us out gave back what was there before us, byte for byte.
    """

    file: str
    before: bytes | None
    after: bytes | None
    base: bytes | None = None
    made: tuple[Keys, ...] = ()
    left: bool = False
    exact: bool = False

    @property
    def changes(self) -> bool:
        """Whether anything has to be written."""
        return self.before != self.after


def digest_of(content: bytes) -> str:
    """SHA-256, hex."""
    return sha256(content).hexdigest()


def planned(
    file: str, before: bytes | None, new: Sequence[Edit], old: Sequence[Edit] = (), known: Known | None = None
) -> Planned:
    """The file with `new` in place of `old`, which an earlier install put there. BadInput names file and line."""
    with _said_of(file):
        if any(isinstance(edit, OwnFile) for edit in (*new, *old)):
            return _own(file, before, new, known)
        base, kept = _base(before, new, old, known)
        if not new:
            return Planned(file=file, before=before, after=base, base=base, exact=kept)
        made = tuple(_made(base, new))
        if before is not None and _holds(before, new, old):
            made = known.made if known and not kept else made
            return Planned(file=file, before=before, after=before, base=base, made=made)
        return Planned(file=file, before=before, after=_added(base, new), base=base, made=made)


@contextmanager
def _said_of(file: str) -> Iterator[None]:
    """What is wrong with a file, with its name and line."""
    try:
        yield
    except (json_text.NotEditable, toml_text.NotEditable) as error:
        raise BadInput(f"{file}:{error.line}: {error}; mend it, nothing was changed") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{file}:{line}: no UTF-8 text; mend it, nothing was changed") from error


def taken_out(file: str, before: bytes | None, edits: Sequence[Edit]) -> Planned:
    """The file without what looks like these edits, where nothing was noted of it."""
    if not any(isinstance(edit, OwnFile) for edit in edits):
        with _said_of(file):
            return Planned(file=file, before=before, after=_base(before, edits, (), None)[0])
    ours = before is not None and (before in [e.content for e in edits if isinstance(e, OwnFile)] or names_us(before))
    return Planned(file=file, before=before, after=None if ours else before, left=before is not None and not ours)


def _base(
    before: bytes | None, new: Sequence[Edit], old: Sequence[Edit], known: Known | None
) -> tuple[bytes | None, bool]:
    """The file without us, and whether it is exactly what was there before us."""
    if known is not None and before is not None and digest_of(before) == known.digest:
        return known.base, True
    if before is None:
        return None, False
    stripped = _stripped(before, new, old, known.made if known else None)
    if known is not None and known.base is None and _is_empty(stripped):
        return None, False
    if known is not None and known.base is not None and _says_the_same(stripped, known.base, [*new, *old]):
        return known.base, True  # the host wrote the same in its own layout
    return stripped, False


def _own(file: str, before: bytes | None, new: Sequence[Edit], known: Known | None) -> Planned:
    wanted = next((edit.content for edit in new if isinstance(edit, OwnFile)), None)
    unchanged = known is not None and before is not None and digest_of(before) == known.digest
    base = known.base if known and unchanged else None
    if before is None or unchanged or before == wanted:
        return Planned(file=file, before=before, after=base if wanted is None else wanted, base=base)
    if wanted is None:
        return Planned(file=file, before=before, after=before, left=True)
    if known is not None or not names_us(before):
        raise BadInput(f"{file}: is there and is not as Minutebook wrote it; move it away, then install again")
    return Planned(file=file, before=before, after=wanted, base=None)


def names_us(content: bytes) -> bool:
    """Whether something of ours seems to be in a file."""
    return b"minutebook" in content.lower() or b"om-hook" in content


def _json(edits: Sequence[Edit]) -> list[JsonEdit]:
    return [edit for edit in edits if isinstance(edit, (JsonItems, JsonValue))]


def _toml(edits: Sequence[Edit]) -> list[TomlTable]:
    return [edit for edit in edits if isinstance(edit, TomlTable)]


def _text(content: bytes | None, empty: str) -> tuple[bytes, str]:
    """A byte order mark, where there is one, and the text."""
    mark, body = (BOM, content[3:]) if content and content.startswith(BOM) else (b"", content or b"")
    text = body.decode()
    return mark, text if text.strip() else empty


def _made(base: bytes | None, new: Sequence[Edit]) -> list[Keys]:
    return installing_json.made_by(_text(base, json_text.EMPTY)[1], _json(new)) if _json(new) else []


def _added(base: bytes | None, new: Sequence[Edit]) -> bytes:
    if not _toml(new):
        mark, text = _text(base, json_text.EMPTY)
        return mark + installing_json.added(text, _json(new)).encode()
    mark, text = _text(base, "")
    for edit in _toml(new):
        there = toml_text.value_at(toml_text.loaded(text), edit.path)
        if there is None:
            text = toml_text.add_table(text, edit.path, edit.values)
        elif there != dict(edit.values):
            name = toml_text.header(edit.path)
            raise toml_text.NotEditable(f"{name} is there and is not Minutebook's: give it another name")
    return mark + text.encode()


def _stripped(before: bytes, new: Sequence[Edit], old: Sequence[Edit], made: Sequence[Keys] | None) -> bytes:
    edits = [*old, *(edit for edit in new if edit not in old)]
    noted = {edit.path for edit in old if not isinstance(edit, OwnFile)}
    if not _toml(edits):
        mark, text = _text(before, json_text.EMPTY)
        if not before.strip():
            return before
        return mark + installing_json.stripped(text, _json(edits), made, noted).encode()
    mark, text = _text(before, "")
    for edit in _toml(edits):
        there = toml_text.value_at(toml_text.loaded(text), edit.path)
        if there is not None and (
            edit.path in noted or there == dict(edit.values) or installing_json.looks_ours(there)
        ):
            text = toml_text.remove_table(text, edit.path)
    return mark + text.encode()


def _holds(before: bytes, new: Sequence[Edit], old: Sequence[Edit]) -> bool:
    """Whether exactly what should be there is there, wherever in the file."""
    if not _toml([*new, *old]):
        text = _text(before, json_text.EMPTY)[1]
        edits = _json([*new, *(edit for edit in old if edit not in new)])
        return installing_json.ours_in(text, edits) == installing_json.wanted_by(_json(new))
    data = toml_text.loaded(_text(before, "")[1])
    gone = [edit for edit in _toml(old) if edit.path not in [each.path for each in _toml(new)]]
    there = all(toml_text.value_at(data, edit.path) == dict(edit.values) for edit in _toml(new))
    return there and all(toml_text.value_at(data, edit.path) is None for edit in gone)


def _says_the_same(one: bytes, other: bytes, edits: Sequence[Edit]) -> bool:
    """But for empty objects and lists."""
    read = toml_text.loaded if _toml(edits) else json_text.loaded
    empty = "" if _toml(edits) else json_text.EMPTY
    return bool(_full(read(_text(one, empty)[1])) == _full(read(_text(other, empty)[1])))


def _full(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: inner for key, each in value.items() if (inner := _full(each)) not in ({}, [])}
    return value


def _is_empty(content: bytes) -> bool:
    return content.removeprefix(BOM).strip() in (b"", b"{}")

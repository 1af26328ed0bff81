"""A recalled record for programs; as text it is shown by pipeline/recalltext.py."""

from collections.abc import Sequence
from typing import Any

from minutebook.pipeline.answers import recalled_data, source_data
from minutebook.pipeline.paging import Piece
from minutebook.pipeline.recall import Recalled
from minutebook.pipeline.recalltext import text_of
from minutebook.pipeline.wording import minute
from minutebook.records import Placed

__all__ = ["as_data", "text_of"]


def as_data(found: Recalled, pieces: Sequence[Piece], page: int, pages: int, zone: str) -> dict[str, Any]:
    """For programs. page 0: all of it. A source that goes on over pages has its own part of the text in each."""
    sources = _joined([_source_data(found.sources[piece.index], piece, zone) for piece in pieces], page)
    return {**recalled_data(found, sources), "page": page, "pages": pages}


def _joined(sources: list[dict[str, Any]], page: int) -> list[dict[str, Any]]:
    """Without pages, each source once and whole."""
    if page:
        return sources
    whole: dict[int, dict[str, Any]] = {}
    for source in sources:
        known = whole.setdefault(source["position"], {**source, "text": ""})
        known["text"] += source["text"]
        known["complete"] = True
    return list(whole.values())


def _source_data(placed: Placed, piece: Piece, zone: str) -> dict[str, Any]:
    raw = placed.entry.raw
    return {
        **source_data(placed),
        "local_time": minute(placed.entry.time, zone),
        "raw": {"path": raw.path, "offset": raw.offset, "length": raw.length} if raw else None,
        "complete": piece.first and piece.last,
        "text": piece.text,
    }

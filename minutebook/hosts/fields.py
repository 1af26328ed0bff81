"""Reading values of any type out of foreign JSON without an exception: what is not as expected reads as empty."""

import json
import math
import re
from datetime import UTC, datetime
from typing import Any

from minutebook.records import Part

_MILLISECONDS_FROM = 1e11
"""A number of this size or more is epoch milliseconds (as seconds it would be the year 5138)."""
_AS_WE_WRITE_IT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_PLACEHOLDER_MAX_CHARACTERS = 200


_compact = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def text_of(value: object) -> str:
    """The string, or ""."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> dict[str, Any]:
    """The JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """The JSON array, or an empty one."""
    return value if isinstance(value, list) else []


def iso_time(value: object) -> str:
    """ISO UTC with milliseconds and Z, from an ISO text or an epoch number (s or ms); "" if it cannot be read."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            if _AS_WE_WRITE_IT.fullmatch(value):
                return value
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            moment = datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
        else:
            return ""
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    except (ValueError, OverflowError, OSError):
        return ""


def compact_json(value: object) -> str:
    """One line of JSON in its shortest form."""
    try:
        return _compact(value)
    except (ValueError, RecursionError):
        return ""


def text_part(value: object) -> tuple[Part, ...]:
    """A text part, or none for an empty or foreign value."""
    text = text_of(value)
    return (Part("text", text),) if text else ()


def other_part(kind: str) -> Part:
    """A placeholder for content that has no text."""
    return Part(kind="other", text=f"[{kind[:_PLACEHOLDER_MAX_CHARACTERS] or 'unknown content'}]")


def image_part(mime: object, base64_data: object) -> Part:
    """An image, described by its type and decoded size in bytes."""
    data = text_of(base64_data)
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return Part(kind="image", text=f"[image {text_of(mime) or 'of unknown type'}, {max(size, 0)} bytes]")


def image_at(url: object) -> Part:
    """An image given by a data URL or a link."""
    link = text_of(url)
    if link.startswith("data:"):
        mime, _, data = link[len("data:") :].partition(";base64,")
        return image_part(mime, data)
    return Part(kind="image", text=f"[image at {link[:_PLACEHOLDER_MAX_CHARACTERS]}]" if link else "[image]")

"""Keyset paging: an opaque cursor over (created_at, id), newest first."""

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import Query
from sqlalchemy import and_, or_
from sqlalchemy.sql import Select

from orders_service.errors import RuleBroken
from orders_service.settings import get_settings


@dataclass(frozen=True)
class Page:
    """What a caller asked for. after: the last item of the page before, or None."""

    size: int
    after: tuple[datetime, int] | None = None


def encode_cursor(created_at: datetime, id_: int) -> str:
    raw = json.dumps([created_at.isoformat(), id_]).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decode_cursor(value: str) -> tuple[datetime, int]:
    try:
        raw = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
        moment, id_ = json.loads(raw)
        return datetime.fromisoformat(moment), int(id_)
    except (binascii.Error, ValueError, TypeError) as error:
        raise RuleBroken("bad_cursor", "the cursor is not one of ours") from error


def page_params(limit: int | None = Query(None, ge=1), cursor: str | None = None) -> Page:
    settings = get_settings()
    size = min(limit or settings.page_size_default, settings.page_size_max)
    return Page(size=size, after=decode_cursor(cursor) if cursor else None)


def keyset(query: Select, table: Any, page: Page) -> Select:
    """The query, ordered, cut to one more than the page so that the caller knows whether there is a next one."""
    if page.after:
        moment, id_ = page.after
        query = query.where(or_(table.created_at < moment, and_(table.created_at == moment, table.id < id_)))
    return query.order_by(table.created_at.desc(), table.id.desc()).limit(page.size + 1)

"""Source files of the pretend service, one set an entity; nothing here runs, the agent of the story reads it."""

from source.entity import Entity
from source.checks_template import tests

SQL = {"str": "Text", "int": "BigInteger", "time": "DateTime(timezone=True)", "date": "Date", "bool": "Boolean", "json": "JSONB"}
PY = {"str": "str", "int": "int", "time": "datetime", "date": "date", "bool": "bool", "json": "dict[str, Any]", "fk": "int"}


def _column(name: str, kind: str, null: bool, remark: str) -> str:
    if kind == "fk":
        what = f'ForeignKey("{remark}.id", ondelete="RESTRICT"), index=True'
        return f"    {name} = Column({what}, nullable={null})"
    return f"    {name} = Column({SQL[kind]}, nullable={null})  # {remark}"


def model(e: Entity) -> str:
    columns = "\n".join(_column(*c) for c in e.columns())
    states = "\n".join(f'    "{a}": ({", ".join(repr(b) for b in to.split())},),'.replace("'", '"') for a, to in e.states.items())
    links = "\n".join(
        f'    {n[:-3]} = relationship("{r.rstrip("s").title().replace("_", "")}", lazy="raise")'
        for n, k, _, r in e.columns() if k == "fk"
    )  # fmt: skip
    return f'''"""{e.about}"""

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Date, DateTime, ForeignKey, Index, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import relationship

from orders_service.models.base import Base

TRANSITIONS: dict[str, tuple[str, ...]] = {{
{states}
}}
STATES = tuple(dict.fromkeys([*TRANSITIONS, *(state for targets in TRANSITIONS.values() for state in targets)]))
FINAL = tuple(state for state in STATES if state not in TRANSITIONS)


class {e.title}(Base):
    """{e.about}"""

    __tablename__ = "{e.plural}"

    id = Column(BigInteger, primary_key=True)
    state = Column(Text, nullable=False, server_default="{next(iter(e.states))}")
{columns}
    version = Column(BigInteger, nullable=False, server_default="1")
    created_at = Column(DateTime(timezone=True), nullable=False, server_default=func.now())
    updated_at = Column(DateTime(timezone=True), nullable=False, server_default=func.now(), onupdate=func.now())
{links}

    __mapper_args__ = {{"version_id_col": version}}
    __table_args__ = (
        CheckConstraint(f"state IN {{STATES}}", name="{e.plural}_state_known"),
        Index("ix_{e.plural}_{e.filters[0]}_created", "{e.filters[0]}", "created_at"),
    )

    def can_become(self, state: str) -> bool:
        """Whether the table of transitions allows it."""
        return state in TRANSITIONS.get(self.state, ())

    def __repr__(self) -> str:
        return f"<{e.title} {{self.id}} {{self.state}} v{{self.version}}>"
'''


def repository(e: Entity) -> str:
    return _repository_sql(e) if e.style == "sql" else _repository_orm(e)


def _repository_orm(e: Entity) -> str:
    wheres = "\n".join(f"        if {f} is not None:\n            query = query.where({e.title}.{f} == {f})" for f in e.filters)
    arguments = ", ".join(f"{f}: {PY[dict((c[0], c[1]) for c in e.columns()).get(f, 'str')]} | None = None" for f in e.filters)
    return f'''"""Queries for {e.plural}. Nothing here commits."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from orders_service.errors import Conflict, NotFound
from orders_service.models.{e.name} import {e.title}
from orders_service.paging import Page, keyset


class {e.title}Repository:
    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def get(self, id_: int) -> {e.title}:
        found = await self.session.get({e.title}, id_)
        if found is None:
            raise NotFound(f"{e.name} {{id_}}")
        return found

    async def get_for_update(self, id_: int) -> {e.title}:
        query = select({e.title}).where({e.title}.id == id_).with_for_update()
        found = (await self.session.execute(query)).scalar_one_or_none()
        if found is None:
            raise NotFound(f"{e.name} {{id_}}")
        return found

    async def find(self, page: Page, *, {arguments}) -> Sequence[{e.title}]:
        query = select({e.title})
{wheres}
        return (await self.session.execute(keyset(query, {e.title}, page))).scalars().all()

    async def count_by_state(self, since: datetime) -> dict[str, int]:
        query = select({e.title}.state, func.count()).where({e.title}.created_at >= since).group_by({e.title}.state)
        return dict((await self.session.execute(query)).all())

    async def add(self, {e.name}: {e.title}) -> {e.title}:
        self.session.add({e.name})
        await self.session.flush()
        return {e.name}

    async def move(self, {e.name}: {e.title}, state: str) -> None:
        """Change the state by compare-and-set on the version; a lost race is a Conflict."""
        query = (
            update({e.title})
            .where({e.title}.id == {e.name}.id, {e.title}.version == {e.name}.version)
            .values(state=state, version={e.title}.version + 1)
        )
        if (await self.session.execute(query)).rowcount != 1:
            raise Conflict("stale_{e.name}", f"{e.name} {{{e.name}.id}} was changed by someone else")
        await self.session.refresh({e.name})
'''


def _repository_sql(e: Entity) -> str:
    names = ["id", "state", *(c[0] for c in e.columns()), "version", "created_at", "updated_at"]
    listed = ",\n           ".join(f"t.{n}" for n in names)
    wheres = "\n       ".join(f"AND (:{f}::text IS NULL OR t.{f}::text = :{f}::text)" for f in e.filters)
    insert = [c[0] for c in e.columns()]
    return f'''"""Queries for {e.plural}, in SQL by hand (older than our move to the ORM). Nothing here commits."""

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from orders_service.errors import Conflict, NotFound
from orders_service.paging import Page

COLUMNS = """
           {listed}
"""
SELECT_ONE = text(f"SELECT {{COLUMNS}} FROM {e.plural} t WHERE t.id = :id")
SELECT_ONE_LOCKED = text(f"SELECT {{COLUMNS}} FROM {e.plural} t WHERE t.id = :id FOR UPDATE")
SELECT_PAGE = text(f"""
    SELECT {{COLUMNS}}
      FROM {e.plural} t
     WHERE TRUE
       {wheres}
       AND (CAST(:after_at AS timestamptz) IS NULL OR (t.created_at, t.id) < (:after_at, :after_id))
     ORDER BY t.created_at DESC, t.id DESC
     LIMIT :limit
""")
INSERT = text("""
    INSERT INTO {e.plural} ({", ".join(insert)})
    VALUES ({", ".join(":" + n for n in insert)})
    RETURNING id
""")
MOVE = text("""
    UPDATE {e.plural}
       SET state = :state, version = version + 1, updated_at = now()
     WHERE id = :id AND version = :version
""")


class {e.title}Repository:
    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def get(self, id_: int, *, lock: bool = False) -> dict[str, Any]:
        row = (await self.session.execute(SELECT_ONE_LOCKED if lock else SELECT_ONE, {{"id": id_}})).mappings().first()
        if row is None:
            raise NotFound(f"{e.name} {{id_}}")
        return dict(row)

    async def find(self, page: Page, **filters: Any) -> list[dict[str, Any]]:
        unknown = filters.keys() - {{{", ".join(f'"{f}"' for f in e.filters)}}}
        if unknown:
            raise ValueError(f"no such filter: {{', '.join(sorted(unknown))}}")
        after_at, after_id = page.after or (None, None)
        wanted = {{{", ".join(f'"{f}": filters.get("{f}")' for f in e.filters)}}}
        wanted |= {{"after_at": after_at, "after_id": after_id, "limit": page.size + 1}}
        return [dict(row) for row in (await self.session.execute(SELECT_PAGE, wanted)).mappings()]

    async def add(self, values: dict[str, Any]) -> int:
        return (await self.session.execute(INSERT, values)).scalar_one()

    async def move(self, id_: int, version: int, state: str) -> None:
        done = await self.session.execute(MOVE, {{"id": id_, "version": version, "state": state}})
        if done.rowcount != 1:
            raise Conflict("stale_{e.name}", f"{e.name} {{id_}} was changed by someone else")
'''


def service(e: Entity) -> str:
    moves = "\n".join(_move_method(e, a, b) for a, to in e.states.items() for b in to.split()[:1])
    return f'''"""Rules for {e.plural}: {e.about[0].lower()}{e.about[1:]}"""

import hmac
import re
from datetime import datetime, timedelta, timezone
from typing import Any

import structlog

from orders_service import events
from orders_service.database import unit_of_work
from orders_service.errors import Conflict, RuleBroken
from orders_service.models.{e.name} import TRANSITIONS, {e.title}
from orders_service.repositories.{e.plural} import {e.title}Repository

log = structlog.get_logger()

{e.rules}

class {e.title}Service:
    """Public methods are one transaction each."""
{moves}
    async def _move(self, id_: int, state: str, actor: str) -> {e.title}:
        async with unit_of_work() as session:
            repository = {e.title}Repository(session)
            {e.name} = await repository.get_for_update(id_)
            if state not in TRANSITIONS.get({e.name}.state, ()):
                raise Conflict("{e.name}_state", f"{e.name} {{id_}} is {{{e.name}.state}}, cannot become {{state}}")
            before = {e.name}.state
            await repository.move({e.name}, state)
        log.info("{e.name}.moved", id=id_, before=before, after=state, actor=actor)
        events.publish("{e.name}." + state, key=str(id_), data={{"id": id_, "before": before, "after": state}})
        return {e.name}
'''


def _move_method(e: Entity, before: str, after: str) -> str:
    return f'''
    async def to_{after}(self, id_: int, *, actor: str) -> {e.title}:
        """From {before} to {after}."""
        return await self._move(id_, "{after}", actor)
'''


def schemas(e: Entity) -> str:
    own = "\n".join(f"    {n}: {PY[k]}{' | None = None' if null else ''}" for n, k, null, _ in e.columns())
    return f'''"""What goes in and out for {e.plural}."""

from datetime import date, datetime
from typing import Any

from pydantic import BaseModel, Field, validator


class {e.title}In(BaseModel):
{own}

    class Config:
        extra = "forbid"
        anystr_strip_whitespace = True

    @validator("*", pre=True)
    def empty_is_none(cls, value: Any) -> Any:
        return None if value == "" else value


class {e.title}Out({e.title}In):
    id: int
    state: str
    version: int
    created_at: datetime
    updated_at: datetime

    class Config:
        orm_mode = True
        extra = "ignore"


class {e.title}Page(BaseModel):
    items: list[{e.title}Out]
    next_cursor: str | None = Field(None, description="pass it as `cursor`; absent on the last page")
'''


def router(e: Entity) -> str:
    filters = "\n".join(f"    {f}: str | None = None," for f in e.filters)
    passed = ", ".join(f"{f}={f}" for f in e.filters)
    targets = sorted({b for to in e.states.values() for b in to.split()})
    return f'''"""HTTP for {e.plural}."""

from fastapi import APIRouter, Depends, Header, status
from sqlalchemy.ext.asyncio import AsyncSession

from orders_service.api.auth import Caller, require
from orders_service.database import get_session
from orders_service.paging import Page, encode_cursor, page_params
from orders_service.repositories.{e.plural} import {e.title}Repository
from orders_service.schemas.{e.name} import {e.title}In, {e.title}Out, {e.title}Page
from orders_service.services.{e.plural} import {e.title}Service

router = APIRouter(prefix="/{e.plural.replace("_", "-")}", tags=["{e.plural}"])
MOVES = {{{", ".join(f'"{t}"' for t in targets)}}}


@router.get("", response_model={e.title}Page)
async def list_{e.plural}(
{filters}
    page: Page = Depends(page_params),
    session: AsyncSession = Depends(get_session),
    caller: Caller = Depends(require("{e.plural}:read")),
) -> {e.title}Page:
    found = await {e.title}Repository(session).find(page, {passed})
    items, more = found[: page.size], len(found) > page.size
    cursor = encode_cursor(items[-1].created_at, items[-1].id) if more else None
    return {e.title}Page(items=items, next_cursor=cursor)


@router.get("/{{id_}}", response_model={e.title}Out)
async def get_{e.name}(
    id_: int,
    session: AsyncSession = Depends(get_session),
    caller: Caller = Depends(require("{e.plural}:read")),
) -> {e.title}Out:
    found = await {e.title}Repository(session).get(id_)
    caller.may_see(found)
    return found


@router.post("", response_model={e.title}Out, status_code=status.HTTP_201_CREATED)
async def create_{e.name}(
    body: {e.title}In,
    idempotency_key: str | None = Header(None),
    caller: Caller = Depends(require("{e.plural}:write")),
) -> {e.title}Out:
    return await {e.title}Service().create(body, actor=caller.login, key=idempotency_key)


@router.post("/{{id_}}/{{move}}", response_model={e.title}Out)
async def move_{e.name}(id_: int, move: str, caller: Caller = Depends(require("{e.plural}:write"))) -> {e.title}Out:
    if move not in MOVES:
        raise NotFound(f"no move {{move}}")
    return await getattr({e.title}Service(), f"to_{{move}}")(id_, actor=caller.login)
'''


def files(e: Entity) -> dict[str, str]:
    """Path → text for one entity."""
    return {
        f"orders_service/models/{e.name}.py": model(e),
        f"orders_service/repositories/{e.plural}.py": repository(e),
        f"orders_service/services/{e.plural}.py": service(e),
        f"orders_service/schemas/{e.name}.py": schemas(e),
        f"orders_service/api/{e.plural}.py": router(e),
        f"tests/unit/test_{e.plural}.py": tests(e),
    }

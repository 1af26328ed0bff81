"""The engine, sessions, and the unit of work that services use."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import sessionmaker

from orders_service.settings import get_settings

engine = create_async_engine(get_settings().database_url, pool_size=12, max_overflow=4, pool_pre_ping=True)
make_session = sessionmaker(engine, class_=AsyncSession, expire_on_commit=False)


@asynccontextmanager
async def unit_of_work() -> AsyncIterator[AsyncSession]:
    """One transaction with the lock timeout of the settings; commits at the end, rolls back on any error."""
    async with make_session() as session:
        await session.execute(text(f"SET LOCAL lock_timeout = {get_settings().lock_timeout_ms}"))
        try:
            yield session
        except BaseException:
            await session.rollback()
            raise
        await session.commit()


async def get_session() -> AsyncIterator[AsyncSession]:
    """The dependency for read-only routes."""
    async with make_session() as session:
        yield session

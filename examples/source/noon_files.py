"""Files that the agent writes at noon: the outbox, its relay, the refund ledger, and their tests."""

OUTBOX_MODEL = '''"""An event that is still to be sent, written in the transaction of the change that it tells of."""

from sqlalchemy import BigInteger, Column, DateTime, Index, Text, func, text
from sqlalchemy.dialects.postgresql import JSONB

from orders_service.models.base import Base


class OutboxEvent(Base):
    """Rows are sent in order of id and kept for two weeks after."""

    __tablename__ = "outbox_events"

    id = Column(BigInteger, primary_key=True)
    kind = Column(Text, nullable=False)
    key = Column(Text, nullable=False)
    body = Column(JSONB, nullable=False)
    attempts = Column(BigInteger, nullable=False, server_default="0")
    last_error = Column(Text)
    created_at = Column(DateTime(timezone=True), nullable=False, server_default=func.now())
    sent_at = Column(DateTime(timezone=True))

    __table_args__ = (Index("ix_outbox_unsent", "id", postgresql_where=text("sent_at IS NULL")),)
'''
OUTBOX_MIGRATION = '''"""Outbox for order events.

Revision ID: 0062
Revises: 0061
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0062"
down_revision = "0061"


def upgrade() -> None:
    op.create_table(
        "outbox_events",
        sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("body", JSONB, nullable=False),
        sa.Column("attempts", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("last_error", sa.Text),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.Column("sent_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_outbox_unsent", "outbox_events", ["id"], postgresql_where=sa.text("sent_at IS NULL"))


def downgrade() -> None:
    op.drop_table("outbox_events")
'''
RELAY = '''"""Sends what stands in the outbox. One process is enough; two do no harm."""

import asyncio
import json
import signal
from datetime import datetime, timezone

import structlog
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from orders_service.database import make_session
from orders_service.events import producer
from orders_service.models.outbox_event import OutboxEvent
from orders_service.settings import get_settings

log = structlog.get_logger()


class Relay:
    """Takes a batch under a lock, sends it, waits for every acknowledgement, marks it."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self.settings = get_settings()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.stopping.set)
        while not self.stopping.is_set():
            async with make_session() as session, session.begin():
                sent = await self.send_batch(session)
            if sent < self.settings.relay_batch_size:
                await self._pause()
        log.info("relay.stop")

    async def send_batch(self, session: AsyncSession) -> int:
        """How many were sent; the first failure ends the batch, so that the order holds."""
        query = (
            select(OutboxEvent)
            .where(OutboxEvent.sent_at.is_(None))
            .order_by(OutboxEvent.id)
            .limit(self.settings.relay_batch_size)
            .with_for_update(skip_locked=True)
        )
        sent = 0
        for event in (await session.execute(query)).scalars():
            error = await asyncio.to_thread(self._send, event)
            event.attempts += 1
            if error is not None:
                event.last_error = error[:200]
                log.warning("relay.failed", id=event.id, kind=event.kind, attempts=event.attempts, error=error)
                break
            event.sent_at = datetime.now(timezone.utc)
            sent += 1
        return sent

    def _send(self, event: OutboxEvent) -> str | None:
        failed: list[str] = []
        body = json.dumps({"kind": event.kind, "at": event.created_at.isoformat(), "data": event.body})
        producer().produce(
            self.settings.events_topic,
            key=event.key.encode(),
            value=body.encode(),
            on_delivery=lambda error, _: failed.append(str(error)) if error else None,
        )
        return failed[0] if producer().flush(5) or failed else None

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self.stopping.wait(), self.settings.relay_pause_seconds)
        except TimeoutError:
            pass


if __name__ == "__main__":
    asyncio.run(Relay().run())
'''
RELAY_TESTS = '''"""The relay against real Postgres; the broker is the one of compose."""

import pytest

from orders_service.models.outbox_event import OutboxEvent
from orders_service.relay import Relay

pytestmark = pytest.mark.anyio


def event(kind="order.paid", key="7"):
    return OutboxEvent(kind=kind, key=key, body={"id": int(key)})


async def test_empty_outbox_sends_nothing(session):
    assert await Relay().send_batch(session) == 0


async def test_events_are_sent_in_order(session, consumed):
    session.add_all([event(key=str(n)) for n in range(5)])
    await session.flush()
    assert await Relay().send_batch(session) == 5
    assert [m.key() for m in consumed(5)] == [b"0", b"1", b"2", b"3", b"4"]


async def test_a_sent_event_is_not_sent_again(session):
    session.add(event())
    await session.flush()
    assert await Relay().send_batch(session) == 1
    assert await Relay().send_batch(session) == 0


async def test_a_failure_ends_the_batch_and_keeps_the_rest(session, monkeypatch):
    session.add_all([event(key=str(n)) for n in range(3)])
    await session.flush()
    relay = Relay()
    monkeypatch.setattr(relay, "_send", lambda e: "broker away" if e.key == "1" else None)
    assert await relay.send_batch(session) == 1


async def test_rolled_back_changes_leave_no_event(session):
    nested = await session.begin_nested()
    session.add(event())
    await nested.rollback()
    assert await Relay().send_batch(session) == 0
'''
LEDGER = '''"""The refund ledger: every movement of money back to a customer is a row, and rows are only added."""

from dataclasses import dataclass
from datetime import datetime, timezone

from orders_service.errors import RuleBroken
from orders_service.models.payment import Payment
from orders_service.models.refund import Refund


@dataclass(frozen=True)
class Entry:
    """One line. amount_minor is signed: positive leaves us, negative comes back (a failed refund)."""

    refund_id: int
    payment_id: int
    amount_minor: int
    currency: str
    at: datetime


class Ledger:
    """Entries of one payment, oldest first."""

    def __init__(self, payment: Payment, entries: list[Entry]) -> None:
        self.payment = payment
        self.entries = entries

    @property
    def given_back_minor(self) -> int:
        return sum(entry.amount_minor for entry in self.entries)

    @property
    def left_minor(self) -> int:
        return self.payment.captured_minor - self.given_back_minor

    def book(self, refund: Refund) -> Entry:
        """Add a refund; never more than what is left."""
        if refund.currency != self.payment.currency:
            raise RuleBroken("currency", "a refund has the currency of its payment")
        if not isinstance(refund.amount_minor, int) or refund.amount_minor <= 0:
            raise RuleBroken("amount", "an amount is a positive whole number")
        if refund.amount_minor > self.left_minor:
            raise RuleBroken("over_refund", f"only {self.left_minor} is left")
        return self._append(refund, refund.amount_minor)

    def reverse(self, refund: Refund) -> Entry:
        """A refund that failed at the provider comes back."""
        return self._append(refund, -refund.amount_minor)

    def _append(self, refund: Refund, amount_minor: int) -> Entry:
        entry = Entry(refund.id, self.payment.id, amount_minor, self.payment.currency, datetime.now(timezone.utc))
        self.entries.append(entry)
        return entry
'''
LEDGER_TESTS = '''"""The ledger, without a database: it is arithmetic."""

import pytest

from orders_service.errors import RuleBroken
from orders_service.ledger import Ledger
from tests.builders import captured, refund


def test_partial_refunds_add_up():
    ledger = Ledger(captured(10_000), [])
    ledger.book(refund(2_500))
    ledger.book(refund(7_500))
    assert ledger.left_minor == 0


def test_one_cent_too_much_is_refused():
    ledger = Ledger(captured(10_000), [])
    ledger.book(refund(9_999))
    with pytest.raises(RuleBroken) as caught:
        ledger.book(refund(2))
    assert caught.value.code == "over_refund"


def test_a_failed_refund_can_be_made_again():
    ledger = Ledger(captured(10_000), [])
    ledger.book(refund(10_000))
    ledger.reverse(refund(10_000))
    assert ledger.left_minor == 10_000


@pytest.mark.parametrize("amount", [0, -1, 19.99])
def test_amounts_are_positive_whole_numbers(amount):
    with pytest.raises(RuleBroken):
        Ledger(captured(10_000), []).book(refund(amount))


def test_currency_of_the_payment():
    with pytest.raises(RuleBroken):
        Ledger(captured(10_000, currency="EUR"), []).book(refund(100, currency="DKK"))
'''

"""14:00 to about 15:40: cancelled orders, audit, a red CI, staging, two more corrections."""

from datetime import timedelta

from source import outputs as o
from source.day import Day

SITE = "/opt/hostedtoolcache/Python/3.11.9/x64/lib/python3.11/site-packages"
VOID_MIGRATION = '''"""State voided for orders, in place of cancelled; old rows are renamed in batches.

Revision ID: 0063
Revises: 0062
"""

from alembic import op

revision = "0063"
down_revision = "0062"
BATCH = 5_000


def upgrade() -> None:
    op.execute("ALTER TABLE orders DROP CONSTRAINT orders_state_known")
    op.execute(
        "ALTER TABLE orders ADD CONSTRAINT orders_state_known CHECK (state IN ('new', 'paid', 'picking', 'shipped',"
        " 'delivered', 'returned', 'refunding', 'refunded', 'cancelled', 'voided')) NOT VALID"
    )
    op.execute("ALTER TABLE orders VALIDATE CONSTRAINT orders_state_known")
    _rename("cancelled", "voided")


def downgrade() -> None:
    _rename("voided", "cancelled")


def _rename(old: str, new: str) -> None:
    connection = op.get_bind()
    done = BATCH
    while done == BATCH:
        done = connection.exec_driver_sql(
            f"UPDATE orders SET state = '{new}' WHERE id IN"
            f" (SELECT id FROM orders WHERE state = '{old}' LIMIT {BATCH} FOR UPDATE SKIP LOCKED)"
        ).rowcount
'''
AUDIT_TESTS = '''"""Every change of an order leaves an audit entry in the same transaction."""

import pytest
from sqlalchemy import select

from orders_service.models.audit_entry import AuditEntry
from orders_service.services.orders import OrderService

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("state", "move"), [("new", "paid"), ("new", "voided"), ("paid", "picking"), ("picking", "shipped")])
async def test_move_is_audited(session, placed_order, state, move):
    order = await placed_order(state=state)
    await getattr(OrderService(), f"to_{move}")(order.id, actor="clerk.kim")
    entry = (await session.execute(select(AuditEntry).where(AuditEntry.subject == f"orders/{order.id}"))).scalar_one()
    assert (entry.actor, entry.action) == ("clerk.kim", f"to_{move}")
    assert entry.before == {"state": state}
    assert entry.after == {"state": move}


async def test_refused_move_leaves_nothing(session, placed_order):
    order = await placed_order(state="delivered")
    with pytest.raises(Exception, match="cannot become"):
        await OrderService().to_paid(order.id, actor="clerk.kim")
    assert (await session.execute(select(AuditEntry))).scalars().all() == []
'''


def play(d: Day) -> None:
    _voided(d)
    _red_ci(d)
    _staging(d)
    _topic_and_people(d)


def _voided(d: Day) -> None:
    w, s = d.w, d.s
    d.say("ORD-440. Today the nightly cleanup deletes cancelled orders after 90 days. Finance found out and is not amused. Decision: cancelled orders become status voided and stay for ten years, we never delete them, tax law wants the trail.", "voided", after=420)
    s.think("State rename touches the model, the check constraint, the API (state value in /v2 responses!). The freeze: renaming a state value that clients see is a breaking change. I must raise this.")
    w.grep("cancelled", "*", context=1)
    w.read("orders_service/models/order.py")
    w.read("orders_service/services/orders.py")
    w.read("tests/unit/test_orders.py", 1, 90)
    s.reply("One catch: clients of /v2 see `state`, and renaming the value breaks the freeze. I can store `voided` and still answer `cancelled` in /v2.")
    d.say("good catch! yes do that, map it at the edge")
    w.edit("orders_service/models/order.py", '    "new": ("paid", "cancelled",),\n', '    "new": ("paid", "voided",),\n')
    w.write("migrations/0063_orders_voided.py", VOID_MIGRATION)
    w.edit("orders_service/schemas/order.py", "class OrderOut(OrderIn):\n    id: int\n    state: str\n", 'SHOWN = {"voided": "cancelled"}  # what /v2 calls it while the API is frozen\n\n\nclass OrderOut(OrderIn):\n    id: int\n    state: str\n\n    @validator("state")\n    def shown_state(cls, value: str) -> str:\n        return SHOWN.get(value, value)\n\n')
    w.run("alembic upgrade head", o.alembic("0062 -> 0063, State voided for orders, in place of cancelled"), seconds=19)
    w.run("alembic downgrade -1 && alembic upgrade head", o.alembic("0063 -> 0062, State voided for orders", "0062 -> 0063, State voided for orders"), seconds=37)
    w.edit("tests/unit/test_orders.py", "async def test_new_can_become_cancelled(session):", "async def test_new_can_become_voided(session):")
    failing = o.traceback([("/home/ines/src/orders-service/tests/unit/test_orders.py", 71, "test_new_can_become_voided", 'await OrderRepository(session).move(order, "cancelled")'), ("/home/ines/src/orders-service/orders_service/repositories/orders.py", 92, "move", 'done = await self.session.execute(MOVE, {"id": id_, "version": version, "state": state})')], "sqlalchemy.exc.IntegrityError: (psycopg.errors.CheckViolation) new row for relation \"orders\" violates check constraint \"orders_state_known\"")
    w.pytest("tests/unit/test_orders.py", failing={"test_new_can_become_voided": failing})
    w.read_around("tests/unit/test_orders.py", "async def test_new_can_become_voided", 14)
    w.edit("tests/unit/test_orders.py", '    await OrderRepository(session).move(order, "cancelled")\n    assert (order.state, order.version) == ("cancelled", 2)', '    await OrderRepository(session).move(order, "voided")\n    assert (order.state, order.version) == ("voided", 2)')
    w.pytest("tests/unit/test_orders.py", verbose=True)
    w.commit("ORD-440: keep cancelled orders as voided")
    s.reply("Stored as `voided`, shown as `cancelled` in /v2. Migration 0063 renames in batches of 5,000 with SKIP LOCKED; up, down and up again were run.")
    d.say("and the cleanup job?")
    w.grep("90|cleanup|DELETE FROM orders", "orders_service/*")
    w.run("kubectl get cronjob -A | grep orders", "prod     orders-cleanup     15 3 * * *   False   0   11h   2y41d\nprod     orders-export      0 4 * * *    False   0   10h   3y7d\nprod     orders-jobs-expire */2 * * * *  False   0   1m    1y12d", seconds=1.1)
    s.reply("It is not in this repository: a CronJob `orders-cleanup` runs at 03:15 in production. Someone with rights there has to suspend it before the deploy.")
    d.say("I'll ask platform to suspend it tonight. Does every change of an order leave an audit entry?")
    w.read("orders_service/services/audit_entries.py")
    w.read("orders_service/models/audit_entry.py")
    w.read("orders_service/repositories/audit_entries.py")
    w.read("orders_service/schemas/audit_entry.py")
    s.reply("No. Only customers and coupons write entries; orders and payments do not. It would fit in `_move`, next to the event.")
    d.say("add for orders, payments and refunds")
    for plural, name in (("orders", "order"), ("payments", "payment"), ("refunds", "refund")):
        w.edit(f"orders_service/services/{plural}.py", f'            events.record(session, "{name}." + state, str(id_), {{"id": id_, "before": before, "after": state}})\n', f'            events.record(session, "{name}." + state, str(id_), {{"id": id_, "before": before, "after": state}})\n            audit.record(session, f"{plural}/{{id_}}", actor, f"to_{{state}}", {{"state": before}}, {{"state": state}})\n')
        w.edit(f"orders_service/services/{plural}.py", "from orders_service import events\n", "from orders_service import audit, events\n")
    w.write("orders_service/audit.py", '"""Audit entries, in the transaction of the change."""\n\nfrom typing import Any\n\nimport structlog\nfrom sqlalchemy.ext.asyncio import AsyncSession\n\nfrom orders_service.models.audit_entry import AuditEntry\nfrom orders_service.services.audit_entries import changes\n\n\ndef record(\n    session: AsyncSession, subject: str, actor: str, action: str, before: dict[str, Any], after: dict[str, Any]\n) -> None:\n    """Add an entry with the columns that differ; nothing when none does."""\n    differing = changes(before, after)\n    if not differing:\n        return\n    request_id = structlog.contextvars.get_contextvars().get("request_id")\n    session.add(\n        AuditEntry(\n            subject=subject,\n            actor=actor,\n            action=action,\n            before={name: pair[0] for name, pair in differing.items()},\n            after={name: pair[1] for name, pair in differing.items()},\n            request_id=request_id,\n        )\n    )\n')
    w.write("tests/unit/test_audit.py", AUDIT_TESTS)
    w.pytest(*d.tests("audit", "audit_entries", "orders", "payments", "refunds"), verbose=True, seconds=27)
    w.diff()
    w.commit("ORD-440: audit every move of orders, payments and refunds")
    s.reply("Each move of these three writes an audit entry in its own transaction; a refused move writes none.")


def _red_ci(d: Day) -> None:
    w, s = d.w, d.s
    d.say("pushed. CI is red though :( job \"test\", have a look. log is in /tmp/ci-5512.txt", after=330)
    error = o.traceback([(f"{SITE}/confluent_kafka/admin.py", 88, "create_topics", "f = fmap[topic]"), ("tests/conftest.py", 64, "consumed", 'consumer.subscribe([get_settings().events_topic])')], "NameError: name 'get_settings' is not defined").split("\n")
    ran = [f"{p} {'.' * len(w.tests_in(p))}" for p in d.tests()]
    paths = sorted(p for p in w.files if p.startswith("orders_service/services") or p.startswith("orders_service/api"))
    w.run("cat /tmp/ci-5512.txt", o.ci_log(d.dice, "test", s.now - timedelta(minutes=12), [("alembic upgrade head", o.alembic(*(f"{n:04d} -> {n + 1:04d}, step {n + 1}" for n in range(37, 63))).split("\n")), ("python -m pytest -q", [*ran, "ERROR tests/unit/test_relay.py::test_events_are_sent_in_order", *error]), ("coverage", o.coverage(d.dice, paths, {p: d.size(p) for p in paths}).split("\n")), ("Post job cleanup", ["Stop and remove container: postgres_15_6", "Error: Process completed with exit code 1."])]), seconds=0.1)
    s.think("conftest uses get_settings without import in the consumed fixture; locally it worked because...? It should fail locally too. And CI has no broker and no redis service. Two problems.")
    w.read("tests/conftest.py")
    w.read(".github/workflows/ci.yml")
    s.note("Two things: a missing import in conftest, and CI has neither Redis nor a broker.")
    w.edit("tests/conftest.py", "from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine\n", "from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine\n\nfrom orders_service.settings import get_settings\n")
    w.edit(".github/workflows/ci.yml", "        options: --health-cmd pg_isready --health-interval 5s --health-retries 10\n", "        options: --health-cmd pg_isready --health-interval 5s --health-retries 10\n      redis:\n        image: redis:7.2-alpine\n        ports: [\"6380:6379\"]\n      broker:\n        image: redpandadata/redpanda:v23.3.11\n        ports: [\"19092:19092\"]\n")
    w.pytest(*d.tests("relay", "idempotency"), verbose=True)
    w.commit("ORD-420: give the CI a broker and Redis")
    s.reply("Missing import in conftest (the local run had it through another module), and CI lacked Redis and a broker. Both fixed in one commit.")
    d.say("why did it pass on your side, honestly?")
    s.reply("pytest-randomly: with another order `get_settings` had been put into the module by a star import in a test file. I should have run it alone; I did now.")
    d.say("ok fair. green now, second run took 4m12.")
    s.reply("Good.")


def _staging(d: Day) -> None:
    w, s = d.w, d.s
    d.say("Let's try it on staging. The kubectl context for staging is fern-stg-eu, namespace orders. Don't ever touch the others you see there.", "stg-context", after=260)
    w.run("kubectl --context fern-stg-eu -n orders get pods", o.pods(d.dice), seconds=1.3)
    w.run("kubectl --context fern-stg-eu -n orders logs deploy/orders-api --tail 70", o.access_log(d.dice, 68, s.now - timedelta(minutes=3), {12: "[info     ] service.start                  lock_timeout_ms=2000 page_size_max=75"}), seconds=1.9)
    w.run("kubectl --context fern-stg-eu -n orders logs deploy/orders-relay --tail 40", "\n".join(f"{o.stamp(s.now - timedelta(seconds=90 - n * 2))} [info     ] relay.sent                     batch={d.dice.between(1, 40)} first={40_170 + n * 7} ms={d.dice.between(8, 60)}" for n in range(38)), seconds=1.5)
    s.reply("All pods run the new image, the relay sends within a second. page_size_max=75 is live there.")
    d.say("whats in the outbox there?")
    w.run("kubectl --context fern-stg-eu -n orders exec deploy/orders-api -- python -m orders_service.tools.outbox --last 48", o.outbox_rows(d.dice, 48, sent=True), seconds=2.4)
    s.reply("48 of the last 48 sent, no attempt failed more than twice.")
    d.say("run the k6 thing against staging as well, token is in my env")
    w.run("BASE=https://orders.stg.fernhill.example k6 run ops/load/list_orders.js", o.k6(163.2, 299.7, 2, d.dice), why="Load test on staging", seconds=64)
    w.run("kubectl --context fern-stg-eu -n orders logs deploy/orders-db-proxy --since 2m | head -50", o.postgres_log(d.dice, 44, s.now - timedelta(minutes=2)), seconds=1.0)
    s.reply("163 ms at 300 rps on staging; two failures out of 17,982, both during a pod restart.")


def _topic_and_people(d: Day) -> None:
    w, s = d.w, d.s
    d.say("Platform has a naming scheme now, everything per domain and versioned by schema. Publish the order events to commerce.orders.v3 from here on.", "topic", after=240)
    w.grep("orders.events", "*")
    w.edit("orders_service/settings.py", 'events_topic: str = "orders.events.v1"', 'events_topic: str = "commerce.orders.v3"')
    w.pytest(*d.tests("relay"))
    w.commit("ORD-420: follow the naming scheme for topics")
    s.reply("Changed in the one setting; the relay tests pass.")
    d.say("Lena from marketing wrote me: \"please send order confirmations with a PDF attachment, ideally by Friday, customers love it\". I told her no, mails are not in this service and not in this release.", "marketing-wish", after=150)
    s.reply("Then nothing to do here.")
    d.say("One more change: code review goes to Amara Diallo from today on. Please write the merge request text for her, short, with what she should look at first.", "reviewer", after=170)
    w.git_log(16)
    w.run("git diff --stat origin/main", "\n".join(f" {p:<58}| {d.dice.between(2, 120):4d} {'+' * d.dice.between(2, 24)}{'-' * d.dice.between(0, 9)}" for p in sorted(w.files) if "services" in p or "relay" in p or "ledger" in p or "migrations" in p), seconds=0.4)
    s.reply("**Outbox, idempotency, refund ledger, voided orders**\n\n- Look first at `relay.py` (order, locks) and `ledger.py` (arithmetic).\n- Migrations 0061 to 0063 are for Tomasz.\n- /v2 has only additions; `voided` is shown as `cancelled`.\n- Not in here: the casts in four other repositories.")
    d.say("nice and short, thx")
    s.reply("You're welcome.")

"""09:04 to about 11:40: ground rules, the slow orders list, idempotency keys, the plan for events."""

from datetime import timedelta

from source import outputs as o
from source.day import Day

EXPLAIN = """                                                          QUERY PLAN
------------------------------------------------------------------------------------------------------------------------------
 Limit  (cost=48811.20..48811.33 rows=51 width=214) (actual time=431.902..431.931 rows=51 loops=1)
   Buffers: shared hit=1204 read=30877
   ->  Sort  (cost=48811.20..48842.77 rows=12629 width=214) (actual time=431.900..431.915 rows=51 loops=1)
         Sort Key: t.created_at DESC, t.id DESC
         Sort Method: top-N heapsort  Memory: 49kB
         ->  Seq Scan on orders t  (cost=0.00..48392.11 rows=12629 width=214) (actual time=0.104..423.377 rows=11871 loops=1)
               Filter: (((NULL::text IS NULL) OR (t.state = NULL::text)) AND ((t.customer_id)::text = '2203'::text))
               Rows Removed by Filter: 1188129
 Planning Time: 0.611 ms
 Execution Time: 432.018 ms
(10 rows)"""
EXPLAIN_AFTER = """                                                          QUERY PLAN
------------------------------------------------------------------------------------------------------------------------------
 Limit  (cost=0.43..63.08 rows=51 width=214) (actual time=0.031..0.214 rows=51 loops=1)
   Buffers: shared hit=57
   ->  Index Scan Backward using ix_orders_customer_created_id on orders t  (cost=0.43..15514.90 rows=12629 width=214)
         Index Cond: (customer_id = '2203'::bigint)
 Planning Time: 0.390 ms
 Execution Time: 0.251 ms
(6 rows)"""
MIGRATION = '''"""Index for the orders list: customer, newest first.

Revision ID: 0061
Revises: 0060
"""

from alembic import op

revision = "0061"
down_revision = "0060"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS ix_orders_customer_created_id"
            " ON orders (customer_id, created_at DESC, id DESC)"
        )
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_orders_customer_id_created")


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute("CREATE INDEX CONCURRENTLY ix_orders_customer_id_created ON orders (customer_id, created_at)")
        op.execute("DROP INDEX CONCURRENTLY ix_orders_customer_created_id")
'''
IDEM_TESTS = '''"""Idempotency keys, against the Redis of docker compose."""

import pytest

from orders_service.errors import Conflict
from orders_service.idempotency import IdempotencyStore, fingerprint
from orders_service.settings import get_settings

pytestmark = pytest.mark.anyio


async def test_first_request_runs(redis):
    assert await IdempotencyStore(redis).begin(7, "k-1", {"a": 1}) is None


async def test_second_request_gets_the_first_answer(redis):
    store = IdempotencyStore(redis)
    await store.begin(7, "k-2", {"a": 1})
    await store.finish(7, "k-2", {"a": 1}, {"id": 9})
    assert await store.begin(7, "k-2", {"a": 1}) == {"id": 9}


async def test_key_of_another_request_is_refused(redis):
    store = IdempotencyStore(redis)
    await store.begin(7, "k-3", {"a": 1})
    await store.finish(7, "k-3", {"a": 1}, {"id": 9})
    with pytest.raises(Conflict) as caught:
        await store.begin(7, "k-3", {"a": 2})
    assert caught.value.code == "key_reused"


async def test_stored_answers_expire(redis):
    store = IdempotencyStore(redis)
    await store.begin(7, "k-4", {})
    await store.finish(7, "k-4", {}, {"id": 1})
    assert 0 < await redis.ttl("idem:7:k-4") <= get_settings().idempotency_ttl_hours * 3600


async def test_pending_key_is_a_conflict(redis):
    store = IdempotencyStore(redis)
    await store.begin(7, "k-5", {})
    with pytest.raises(Conflict) as caught:
        await store.begin(7, "k-5", {})
    assert caught.value.code == "request_in_progress"


def test_fingerprint_ignores_the_order_of_keys():
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
'''


def play(d: Day) -> None:
    _ground_rules(d)
    _slow_list(d)
    _page_size(d)
    _idempotency(d)
    _events_plan(d)


def _ground_rules(d: Day) -> None:
    w, s = d.w, d.s
    d.say("Good morning! I'm Ines Varga, backend lead for orders-service. Long day ahead: four tickets, ORD-412 to ORD-440. Have a look round the repo first and tell me in a few words what you see, dont change anything yet.", after=1)
    s.think("Start broad: README, CONTRIBUTING, pyproject, compose. Then the package layout. These are independent, so read them together.")
    s.note("I'll look round first.")
    w.read_together("README.md", "CONTRIBUTING.md", "pyproject.toml")
    w.run("git ls-files | head -120", "\n".join(sorted(w.files)), why="List tracked files", seconds=0.2)
    w.read("docker-compose.yml")
    w.read("orders_service/settings.py")
    w.read("orders_service/main.py")
    w.read("orders_service/database.py")
    w.git_log(9)
    s.reply("FastAPI on async SQLAlchemy 1.4, twelve tables with the same five layers each. Two styles of repository: SQL by hand (orders, shipments, reservations, returns, webhooks) and the ORM for the rest. Events go straight to the broker from the request, and a lost one is only logged. Nothing changed.")
    d.say("Right. A few ground rules before we start. Keep your answers short, at most five bullets, I read them between meetings.", "short-answers", after=190)
    s.reply("Understood: short answers, five bullets at most.")
    d.say("Commits: ticket id first, then an imperative sentence, like \"ORD-412: add index for the orders list\". Small commits, no squashing later.", "commit-style", after=95)
    s.reply("Will do: ticket id, imperative, small.")
    d.say("And people: Tomasz Brandt is our DBA, every migration needs his sign-off before it goes to staging. He's strict about locks, so CREATE INDEX only CONCURRENTLY.", "dba", after=80)
    s.reply("Noted. I'll write migrations so that Tomasz can read them on their own, with a downgrade that was run.")
    d.say("Important one: the public API under /v2 is frozen until 14 November because mobile 5.8 ships against it. Adding fields is ok, renaming or removing is not.", "api-freeze", after=130)
    s.think("So response shapes can only grow. I should check that page-size changes do not break callers: a lower cap is behaviour, not shape. I'll raise it when it comes up.")
    s.reply("Clear. Only additions in /v2 until then; I'll say so if a ticket asks for more.")
    d.say("We deploy on Thursday at 16:00, so whatever is not merged by then waits a week.", "deploy-old", after=75)
    s.reply("Thursday 16:00 it is.")
    d.say("Code review for everything goes to Jonas Petrak, he knows the payments part best.", "reviewer-old", after=60)
    s.reply("I'll name Jonas on the merge requests.")


def _slow_list(d: Day) -> None:
    w, s = d.w, d.s
    d.say("ok ORD-412. GET /v2/orders is slow for big customers, support complains since last week. The goal: p95 of the list under 180 ms at 300 requests a second, measured with the k6 script in ops/load. Find out why its slow.", "p95")
    s.think("First the code path: router, repository, paging. Then measure with k6 and explain the query on the seeded database.")
    s.note("I'll read the path of the request, then measure.")
    w.read_together("orders_service/api/orders.py", "orders_service/repositories/orders.py")
    w.read("orders_service/paging.py")
    w.read("orders_service/models/order.py")
    w.read("ops/load/list_orders.js")
    w.run("make load", o.k6(731.4, 212.6, 38, d.dice), why="Load test of the orders list", seconds=63)
    w.run("docker compose exec db psql -U orders -c \"EXPLAIN (ANALYZE, BUFFERS) SELECT ... WHERE t.customer_id::text = '2203' ...\"", EXPLAIN, why="Explain the list query", seconds=1.4)
    w.grep("::text IS NULL OR", "orders_service/repositories/*")
    s.reply("Cause: the filters compare `customer_id::text`, so no index can be used; a sequential scan over 1.2 M rows, 432 ms. p95 is 731 ms now.\n\n- The same pattern is in all five hand-written repositories.\n- An index on (customer_id, created_at DESC, id DESC) plus a filter without the cast would do.")
    d.say("ha, I wrote that cast, 2 years ago. sorry. Fix it for orders only, the others get their own ticket")
    w.edit("orders_service/repositories/orders.py", "AND (:customer_id::text IS NULL OR t.customer_id::text = :customer_id::text)", "{customer_filter}")
    w.edit("orders_service/repositories/orders.py", 'SELECT_PAGE = text(f"""\n', 'PAGE_SQL = f"""\n')
    w.edit("orders_service/repositories/orders.py", '     LIMIT :limit\n""")\n', '     LIMIT :limit\n"""\nSELECT_PAGE = text(PAGE_SQL.replace("{customer_filter}", ""))\nSELECT_PAGE_OF_CUSTOMER = text(PAGE_SQL.replace("{customer_filter}", "AND t.customer_id = :customer_id"))\n')
    w.read_around("orders_service/repositories/orders.py", "PAGE_SQL = f", 40)
    s.think("`{customer_filter}` inside an f-string would be interpolated. It has to be doubled or the f dropped. Double braces it is.")
    w.edit("orders_service/repositories/orders.py", "       {customer_filter}\n", "       {{customer_filter}}\n")
    w.edit("orders_service/repositories/orders.py", 'return [dict(row) for row in (await self.session.execute(SELECT_PAGE, wanted)).mappings()]', 'query = SELECT_PAGE if wanted["customer_id"] is None else SELECT_PAGE_OF_CUSTOMER\n        return [dict(row) for row in (await self.session.execute(query, wanted)).mappings()]')
    w.write("migrations/0061_orders_list_index.py", MIGRATION)
    w.run("alembic upgrade head", o.alembic("0060 -> 0061, Index for the orders list: customer, newest first."), seconds=6)
    w.run("alembic downgrade -1 && alembic upgrade head", o.alembic("0061 -> 0060, Index for the orders list", "0060 -> 0061, Index for the orders list"), seconds=9)
    w.run("docker compose exec db psql -U orders -c \"EXPLAIN (ANALYZE, BUFFERS) SELECT ... WHERE t.customer_id = 2203 ...\"", EXPLAIN_AFTER, seconds=0.8)
    w.read("tests/unit/test_orders.py")
    trace = o.traceback([("/home/ines/src/orders-service/tests/unit/test_orders.py", 128, "test_list_is_newest_first_and_pages", 'first = (await client.get("/v2/orders?limit=4")).json()'), ("/home/ines/src/orders-service/orders_service/repositories/orders.py", 68, "find", "return [dict(row) for row in (await self.session.execute(query, wanted)).mappings()]"), ("/home/ines/.venvs/orders/lib/python3.11/site-packages/sqlalchemy/sql/elements.py", 2260, "bindparams", "raise exc.ArgumentError(")], "sqlalchemy.exc.ArgumentError: This text() construct doesn't define a bound parameter named 'customer_id'")
    w.pytest(*d.tests("orders"), failing={"test_list_is_newest_first_and_pages": trace})
    s.think("SELECT_PAGE has no :customer_id now, and the parameters still carry it. Drop it from the dict when it is None.")
    w.edit("orders_service/repositories/orders.py", 'query = SELECT_PAGE if wanted["customer_id"] is None else SELECT_PAGE_OF_CUSTOMER\n', 'query = SELECT_PAGE_OF_CUSTOMER\n        if wanted["customer_id"] is None:\n            query = SELECT_PAGE\n            del wanted["customer_id"]\n')
    w.pytest(*d.tests("orders"), verbose=True)
    w.run("make load", o.k6(141.7, 299.9, 0, d.dice), why="Load test again", seconds=62)
    w.commit("ORD-412: add index for the orders list")
    s.reply("p95 is 142 ms at 300 rps, down from 731. Index and filter are one commit; the downgrade was run. Tomasz still has to see 0061.")
    d.say("lovely. I'll send it to Tomasz")
    s.reply("Good. The migration stands alone in migrations/0061_orders_list_index.py.")


def _page_size(d: Day) -> None:
    w, s = d.w, d.s
    d.say("While we are in there: the maximum page size is silly at 500. Make the page size cap 200, reject nothing, just clamp.", "page-size-old")
    w.grep("page_size_max", context=1)
    w.edit("orders_service/settings.py", "page_size_max: int = 500", "page_size_max: int = 200")
    w.run("curl -s 'localhost:8080/v2/orders?limit=14' -H \"authorization: Bearer $TOKEN\" | jq", o.orders_json(d.dice, 14), why="Look at a page", seconds=0.6)
    w.pytest(*d.tests())
    w.commit("ORD-412: clamp large pages")
    s.reply("Clamped at 200; the response shape is the same, so the freeze holds.")
    d.say("do the returned orders look sane to you? I thought DKK amounts had no decimals in the app")
    s.think("DKK has minor units (øre), the service stores minor units for all. The app formats them. Nothing to do here; check the formatter in the CSV export, which divides by 100 for all.")
    w.grep("currency", "orders_service/legacy/*")
    d.mark(w.read("orders_service/legacy/export_csv.py"), "tabs-in-a-file")
    s.reply("They look right: DKK is kept in øre like everything else. The app formats; the old CSV export divides by 100 for every currency, which is right for DKK too.")
    d.say("good. Leave that export alone btw, it goes away with the ERP")
    s.reply("Left alone.")
    d.say("What does the access log on staging say, is anybody still calling with limit > 200? I saved an hour of it in /tmp/stg-access.log")
    log = o.access_log(d.dice, 75, s.now - timedelta(hours=1), slow="/v2/orders")
    w.run("head -c 14000 /tmp/stg-access.log", log, why="Read the saved log", seconds=0.1)
    w.run("grep -o 'limit=[0-9]*' /tmp/stg-access.log | sort | uniq -c | sort -rn", "   4127 limit=25\n    918 limit=50\n    611 limit=100\n     44 limit=200\n      6 limit=500", seconds=0.2)
    s.reply("Six calls with 500 in the hour, all from one address (10.42.3.77); the rest is at 200 or below.")
    d.say("10.42.3.77 is the reporting job of finance, it can page. fine")
    s.reply("Then nothing else is affected.")
    d.say("Tomasz sent me this morning's log of the production db, /tmp/pg-0800.log, he thinks something else holds locks at 8. See anything?")
    w.run("head -n 90 /tmp/pg-0800.log", o.postgres_log(d.dice, 78, s.now - timedelta(hours=2)), seconds=0.1)
    w.run("grep -c 'still waiting' /tmp/pg-0800.log; grep 'still waiting' -A1 /tmp/pg-0800.log | grep -o 'holding the lock: [0-9]*' | sort | uniq -c | sort -rn | head", "212\n     37 holding the lock: 188\n     21 holding the lock: 204\n     19 holding the lock: 97\n     12 holding the lock: 241\n      8 holding the lock: 131", seconds=0.2)
    w.run("cat /tmp/pg-activity-0812.txt", o.activity(d.dice, 40), why="The snapshot beside it", seconds=0.1)
    s.reply("Most waits are short and end in the reservation updates; backend 188 holds the most. It is idle in transaction in the snapshot, so a job opens a transaction and thinks too long. I'd look at the expiry job.")
    d.say("ok, I'll tell him. later")
    s.reply("Fine.")


def _idempotency(d: Day) -> None:
    w, s = d.w, d.s
    d.say("Next, ORD-418: double payments. Two customers were charged twice on Saturday after the app retried POST /v2/payments. We have an Idempotency-Key header but I am not sure anything happens with it. Please check.", after=340)
    s.think("The router takes the header and passes key= to the service. Does the service use it? Let me read both, and the store.")
    w.read_together("orders_service/api/payments.py", "orders_service/services/payments.py", "orders_service/idempotency.py")
    w.grep("IdempotencyStore|idempotency_key", "*.py")
    w.read("orders_service/models/payment.py")
    w.read("orders_service/repositories/payments.py")
    w.read("orders_service/schemas/payment.py")
    s.reply("Nothing happens with it: the router hands `key` to `create`, and PaymentService has no `create` that takes it. IdempotencyStore exists, is not called, and its answers never expire.")
    d.say("yikes. ok wire it in. Keep idempotency keys for 24 hours, that is plenty for a retry.", "idem-ttl-old", after=60)
    w.edit("orders_service/settings.py", "idempotency_ttl_hours: int = 0", "idempotency_ttl_hours: int = 24")
    w.edit("orders_service/idempotency.py", "await self.redis.set(self._name(customer_id, key), value)", "hours = get_settings().idempotency_ttl_hours\n        await self.redis.set(self._name(customer_id, key), value, ex=hours * 3600)")
    w.edit("orders_service/services/payments.py", 'class PaymentService:\n    """Public methods are one transaction each."""\n', 'class PaymentService:\n    """Public methods are one transaction each."""\n\n    def __init__(self, idempotency: IdempotencyStore | None = None) -> None:\n        self.idempotency = idempotency or IdempotencyStore(get_redis())\n\n    async def create(self, body: PaymentIn, *, actor: str, customer_id: int, key: str | None) -> PaymentOut:\n        """Start a payment; with a key the same request is answered once."""\n        if key is None:\n            return await self._create(body, actor)\n        wanted = body.dict()\n        earlier = await self.idempotency.begin(customer_id, key, wanted)\n        if earlier is not None:\n            return PaymentOut(**earlier)\n        try:\n            made = await self._create(body, actor)\n        except BaseException:\n            await self.idempotency.abandon(customer_id, key)\n            raise\n        await self.idempotency.finish(customer_id, key, wanted, made.dict())\n        return made\n')
    w.edit("orders_service/services/payments.py", "from orders_service.errors import Conflict, RuleBroken\n", "from orders_service.errors import Conflict, RuleBroken\nfrom orders_service.idempotency import IdempotencyStore\n")
    w.edit("orders_service/api/payments.py", "return await PaymentService().create(body, actor=caller.login, key=idempotency_key)", "return await PaymentService().create(\n        body, actor=caller.login, customer_id=caller.customer_id, key=idempotency_key\n    )")
    w.write("tests/unit/test_idempotency.py", IDEM_TESTS)
    trace = "E       fixture 'redis' not found\n>       available fixtures: anyio_backend, client, engine, session, tmp_path\n\ntests/unit/test_idempotency.py:12\nE       fixture 'redis' not found"
    w.pytest("tests/unit/test_idempotency.py", failing={n: trace for n in w_tests(d)[:5]})
    s.note("The Redis fixture is missing. I could use a fake one, or the one of docker compose.")
    s.reply("The wiring is in; the tests need a Redis. Fake or real?")
    d.say("Real. Same for the database by the way: no mocks for it in tests, I want the real Postgres on port 5544 from compose. We were burnt by a fake that accepted everything.", "test-db", after=70)
    w.edit("tests/conftest.py", "@pytest.fixture\nasync def client(", "@pytest.fixture\nasync def redis():\n    from redis.asyncio import Redis\n\n    redis = Redis.from_url(\"redis://localhost:6380/9\")\n    await redis.flushdb()\n    yield redis\n    await redis.aclose()\n\n\n@pytest.fixture\nasync def client(")
    w.run("docker compose ps", "NAME                       IMAGE                              STATUS                   PORTS\norders-service-broker-1    redpandadata/redpanda:v23.3.11     Up 2 hours               0.0.0.0:19092->19092/tcp\norders-service-db-1        postgres:15.6                      Up 2 hours (healthy)     0.0.0.0:5543->5432/tcp\norders-service-payrail-1   orders-service-payrail             Up 2 hours               0.0.0.0:9099->9099/tcp\norders-service-redis-1     redis:7.2-alpine                   Up 2 hours               0.0.0.0:6380->6379/tcp\norders-service-test-db-1   postgres:15.6                      Up 2 hours               0.0.0.0:5544->5432/tcp", seconds=0.7)
    w.pytest("tests/unit/test_idempotency.py", *d.tests("payments"), verbose=True)
    w.diff()
    w.run("make lint", "ruff check orders_service tests\nAll checks passed!\nruff format --check orders_service tests\n74 files already formatted\nmypy orders_service\norders_service/services/payments.py:52: error: Name \"get_redis\" is not defined  [name-defined]\norders_service/services/payments.py:54: error: Name \"PaymentIn\" is not defined  [name-defined]\nFound 2 errors in 1 file (checked 68 source files)\nmake: *** [Makefile:19: lint] Error 1", error=True, seconds=11)
    w.edit("orders_service/services/payments.py", "from orders_service.idempotency import IdempotencyStore\n", "from orders_service.idempotency import IdempotencyStore, get_redis\nfrom orders_service.schemas.payment import PaymentIn, PaymentOut\n")
    w.edit("orders_service/idempotency.py", 'PENDING = b"pending"\n', 'PENDING = b"pending"\n\n\ndef get_redis() -> Redis:\n    """One client for the process."""\n    return Redis.from_url(get_settings().redis_url)\n')
    w.run("make lint", "ruff check orders_service tests\nAll checks passed!\nruff format --check orders_service tests\n74 files already formatted\nmypy orders_service\nSuccess: no issues found in 68 source files", seconds=11)
    w.commit("ORD-418: answer a repeated payment request once")
    s.reply("Keys work now: same key and body gives the first answer, another body is 409 `key_reused`, while it runs 409 `request_in_progress`. All on the real Postgres and Redis of compose.")
    d.say("and if the first one dies halfway?")
    w.read_around("orders_service/idempotency.py", "async def begin", 34)
    s.reply("An error abandons the key at once. A killed process leaves it pending for at most 60 s, then a retry runs; Payrail itself refuses the same provider_ref twice.")
    d.say("60s is ok. coffee, back in 10", after=50)
    s.reply("Enjoy.")


def w_tests(d: Day) -> list[str]:
    return d.w.tests_in("tests/unit/test_idempotency.py")


def _events_plan(d: Day) -> None:
    w, s = d.w, d.s
    d.say("back. ORD-420, the big one: events. Read how events leave the service now and where publish is called, also the webhook side.", after=760)
    s.think("events.py, all callers, the services. Also webhook deliveries, because they trigger moves and so events.")
    w.read("orders_service/events.py")
    w.grep(r"events\.publish", "*.py", context=2)
    w.read("orders_service/services/orders.py")
    w.read("orders_service/services/webhook_deliveries.py")
    w.read("orders_service/repositories/webhook_deliveries.py")
    w.read("orders_service/models/webhook_delivery.py")
    w.run("grep -c event.lost /tmp/prod-september.log; grep event.lost /tmp/prod-september.log | tail -22", "63\n" + "\n".join(f"2025-09-{d.dice.between(3, 27):02d}T{d.dice.between(6, 22):02d}:{d.dice.between(0, 59):02d}:{d.dice.between(0, 59):02d}.{d.dice.between(100, 999)}Z [error    ] event.lost                     error='KafkaError{{code=_MSG_TIMED_OUT,val=-192,str=\"Local: Message timed out\"}}' key={d.dice.between(470_000, 480_000)} kind=order.paid" for _ in range(22)), why="Count lost events", seconds=0.9)
    s.reply("Every service publishes after its transaction, straight to the broker, and gives up on an error: 63 lost in September, most of them in two outages.\n\n- Before commit it could announce what is rolled back; after it, it can lose what was committed.\n- Options: an outbox table, change data capture, or retrying in the request.")
    d.say("We go with a transactional outbox. Reason: twice last month we lost order.paid events when the broker was down, and finance had to repair them by hand. CDC is too much for us.", "outbox", after=150)
    s.think("Outbox: table, write in same transaction, relay process reads and publishes in order per key. Ask about the topic name.")
    s.reply("Agreed. One row per event in the same transaction, a relay sends them in order of id. Which topic?")
    d.say("Order events go to the topic orders.events.v1, key is the order id.\n\nThe billing-portal people keep theirs in DynamoDB with a 30 day TTL, but that's their project, nothing to do with ours.", "topic-old", "other-project", after=85)
    w.edit("orders_service/settings.py", 'events_topic: str = ""', 'events_topic: str = "orders.events.v1"')
    w.grep("events_topic", "*.py")
    s.reply("Topic set in the settings. I'll draft the table and the relay next.")

"""11:00 to about 14:00: outbox and relay, a lock timeout, three corrections, the refund ledger and golden invoices."""

from datetime import timedelta

from source import outputs as o
from source.day import Day
from source.noon_files import LEDGER, LEDGER_TESTS, OUTBOX_MIGRATION, OUTBOX_MODEL, RELAY, RELAY_TESTS

PY = "/home/ines/src/orders-service/orders_service"
SITE = "/home/ines/.venvs/orders/lib/python3.11/site-packages"
LOCK_TRACE = o.traceback(
    [(f"{PY}/services/stock_reservations.py", 78, "_move", "await repository.move(id_, row['version'], state)"),
     (f"{PY}/repositories/stock_reservations.py", 84, "move", 'done = await self.session.execute(MOVE, {"id": id_, "version": version, "state": state})'),
     (f"{SITE}/sqlalchemy/ext/asyncio/session.py", 214, "execute", "result = await greenlet_spawn("),
     (f"{SITE}/sqlalchemy/engine/default.py", 736, "do_execute", "cursor.execute(statement, parameters)"),
     (f"{SITE}/psycopg/cursor.py", 732, "execute", "raise ex.with_traceback(None)")],
    "psycopg.errors.LockNotAvailable: canceling statement due to lock timeout\n"
    'CONTEXT:  while updating tuple (41,17) in relation "stock_reservations"',
)  # fmt: skip


def play(d: Day) -> None:
    _outbox(d)
    _carriers(d)
    _lock_timeout(d)
    _corrections(d)
    _refunds(d)
    _golden(d)


def _outbox(d: Day) -> None:
    w, s = d.w, d.s
    d.say("go ahead with the table. Model + migration first, relay after")
    w.write("orders_service/models/outbox_event.py", OUTBOX_MODEL)
    w.write("migrations/0062_outbox_events.py", OUTBOX_MIGRATION)
    w.run("alembic upgrade head", o.alembic("0061 -> 0062, Outbox for order events."), seconds=4)
    w.run("alembic downgrade -1 && alembic upgrade head", o.alembic("0062 -> 0061, Outbox for order events.", "0061 -> 0062, Outbox for order events."), seconds=7)
    w.commit("ORD-420: add the outbox table")
    s.reply("Table `outbox_events` with a partial index over unsent rows, migration 0062, downgrade was run.")
    d.say("Do we need something like Celery for sending? Devs of the shop team use it everywhere")
    s.think("Trade-off: Celery needs a broker (Redis or RabbitMQ) plus beat. The relay is a loop with FOR UPDATE SKIP LOCKED. Recommend the loop.")
    s.reply("Not needed: a loop that takes a batch with FOR UPDATE SKIP LOCKED, sends, and marks is some eighty lines. Celery would add a queue in front of a queue.")
    d.say("Agreed, no Celery for the relay. Ops refuses to run another broker, and a plain loop we can debug at 3 am.", "no-celery", after=60)
    w.write("orders_service/relay.py", RELAY)
    w.write("tests/unit/test_relay.py", RELAY_TESTS)
    w.edit("orders_service/events.py", '"""Order events: today they are sent straight from the request."""', '"""Order events: written to the outbox with the change that they tell of; relay.py sends them."""')
    w.edit("orders_service/events.py", 'def publish(kind: str, key: str, data: dict[str, Any]) -> None:\n    """Send an event and forget it. If the broker is away the event is lost, and only the log knows."""\n    body = {"kind": kind, "at": datetime.now(timezone.utc).isoformat(), "data": data}\n    try:\n        producer().produce(get_settings().events_topic, key=key.encode(), value=json.dumps(body, default=str).encode())\n        producer().poll(0)\n    except (KafkaException, BufferError) as error:\n        log.error("event.lost", kind=kind, key=key, error=str(error))\n', 'def record(session: AsyncSession, kind: str, key: str, data: dict[str, Any]) -> None:\n    """Add the event to the session\'s transaction."""\n    session.add(OutboxEvent(kind=kind, key=key, body=data))\n')
    w.read("orders_service/events.py")
    for plural, name in (("orders", "order"), ("payments", "payment"), ("refunds", "refund"), ("shipments", "shipment"), ("invoices", "invoice"), ("return_requests", "return_request")):
        w.edit(f"orders_service/services/{plural}.py", f'        events.publish("{name}." + state, key=str(id_), data={{"id": id_, "before": before, "after": state}})\n', "")
        w.edit(f"orders_service/services/{plural}.py", f"            await repository.move({name}, state)\n", f'            await repository.move({name}, state)\n            events.record(session, "{name}." + state, str(id_), {{"id": id_, "before": before, "after": state}})\n')
    w.grep(r"events\.(publish|record)", "*.py")
    w.pytest(*d.tests("relay", "orders", "payments"), failing={"test_events_are_sent_in_order": "E       fixture 'consumed' not found"})
    w.edit("tests/conftest.py", "@pytest.fixture\nasync def redis(", "@pytest.fixture\ndef consumed():\n    from confluent_kafka import Consumer\n\n    consumer = Consumer({\"bootstrap.servers\": \"localhost:19092\", \"group.id\": \"tests\", \"auto.offset.reset\": \"earliest\"})\n    consumer.subscribe([get_settings().events_topic])\n    yield lambda count: [consumer.poll(5.0) for _ in range(count)]\n    consumer.close()\n\n\n@pytest.fixture\nasync def redis(")
    w.pytest(*d.tests("relay", "orders", "payments", "refunds", "shipments", "invoices", "return_requests"), verbose=True, seconds=31)
    w.diff("orders_service/events.py", "orders_service/services/orders.py", "orders_service/services/refunds.py", "tests/conftest.py")
    w.commit("ORD-420: record events in the outbox and relay them")
    s.reply("Services write events into their own transaction, the relay sends them in order and stops a batch at the first failure. The other six services still publish the old way; next commit.")
    d.say("do a kill test. 60 orders, kill the relay in the middle with -9, start again, compare")
    w.run("python -m orders_service.tools.seed --orders 60 --pay & sleep 2; kill -9 $(pgrep -f orders_service.relay); sleep 1; python -m orders_service.relay & sleep 6; psql ... 'select id, kind, key, created_at, sent_at, attempts from outbox_events order by id'", o.outbox_rows(d.dice, 60, sent=True), why="Kill the relay while it sends", seconds=11)
    w.run("rpk topic consume orders.events.v1 -n 63 --format '%k %v{json}\\n' | awk '{print $1}' | sort | uniq -c | awk '$1>1'", "      2 491208\n      2 491219\n      2 491220", why="Look for events that came twice", seconds=4)
    s.reply("None lost; three came twice (sent, not yet marked when killed). That is at-least-once: consumers need the event id to tell them apart. Shall I add it to the body?")
    d.say("yes, as event_id. additive so fine with the freeze, and it isnt /v2 anyway")
    w.edit("orders_service/relay.py", 'body = json.dumps({"kind": event.kind,', 'body = json.dumps({"event_id": event.id, "kind": event.kind,')
    w.pytest("tests/unit/test_relay.py")
    w.commit("ORD-420: add event_id to every event")
    s.reply("Added, tests pass.")


def _carriers(d: Day) -> None:
    w, s = d.w, d.s
    d.say("quick question from the warehouse: why do 20.5 kg parcels to denmark go with parcelo? they say northpost would take them")
    w.read("orders_service/services/shipments.py")
    w.read("orders_service/models/shipment.py")
    w.read("tests/unit/test_shipments.py")
    w.read("orders_service/api/shipments.py")
    s.reply("`choose_carrier` gives northpost only up to 20 kg, and a test pins that (20,001 g goes to parcelo). Whether northpost takes more today is a contract question, not a bug.")
    d.say("right, contract says 20. they want to negotiate. leave. And the return side, is there any weight limit for labels?")
    w.read("orders_service/services/return_requests.py")
    w.read("orders_service/models/return_request.py")
    w.read("tests/unit/test_return_requests.py")
    s.reply("None: a return has units but no weight, the label is always parcelo. A 40 kg bench gets a label that the carrier will refuse.")
    d.say("lol. that explains the pile at the dock. I'll make a ticket")
    w.run("psql ... returns without pickup", o.table("", ("rma", "reason", "units", "sku", "label_sent_at", "days"), [(f"RMA-{d.dice.between(2_100_000, 2_199_999)}", d.dice.pick(("too_big", "broken", "regret")), d.dice.between(1, 3), d.dice.pick(("BENCH-OAK-160", "MOWER-36V", "COMPOST-300L")), f"2025-09-{d.dice.between(1, 30):02d}", d.dice.between(14, 41)) for _ in range(44)]), why="Labels that were never used", seconds=0.5)
    s.reply("44 labels of heavy articles older than two weeks were never scanned; the list is above for the ticket.")


def _lock_timeout(d: Day) -> None:
    w, s = d.w, d.s
    d.say("The load on reservations worries me. Please run the reservation stress script against local and look at what the db logs.", after=300)
    w.read("orders_service/services/stock_reservations.py")
    w.read("orders_service/repositories/stock_reservations.py")
    w.read("orders_service/models/stock_reservation.py")
    d.mark(w.run("python -m orders_service.tools.stress_reservations --baskets 400 --parallel 24", "started 24 workers, 400 baskets, 3 skus\n" + "\n".join(f"  {n * 20:3d} done, {d.dice.between(0, 4)} conflicts, p95 {d.dice.between(120, 1900)} ms" for n in range(1, 14)) + "\nworker 11 died:\n" + LOCK_TRACE + "\n260 done, 140 not started\nexit status 1", error=True, seconds=41), "lock-timeout")
    s.think("Lock timeout of 2 s on one tuple of stock_reservations: all baskets compete for the same sku row? Let me see who holds it.")
    w.run("docker compose logs db --since 2m | tail -60", o.postgres_log(d.dice, 46, s.now - timedelta(minutes=2), {20: 'ERROR:  canceling statement due to lock timeout', 21: 'CONTEXT:  while updating tuple (41,17) in relation "stock_reservations"', 22: "STATEMENT:  UPDATE stock_reservations SET state = $1, version = version + 1, updated_at = now() WHERE id = $2 AND version = $3"}), seconds=0.8)
    w.run("psql ... pg_stat_activity", o.activity(d.dice, 26), seconds=0.3)
    w.grep("FOR UPDATE|with_for_update", "orders_service/*", context=3)
    s.reply("A basket with several SKUs locks them in basket order, and two baskets in opposite order wait for each other until `lock_timeout` (2 s) cancels one. Sorting SKUs before locking removes it.")
    d.say("classic. sort them then. I was thinking, what if we shard the orders by country to get rid of the contention alltogether... no, forget it, we're not doing that.", "country-shards")
    w.edit("orders_service/services/stock_reservations.py", "    taken: dict[str, int] = {}\n", "    taken: dict[str, int] = {}  # filled in a fixed order, so that two baskets lock in the same order\n")
    w.edit("orders_service/services/stock_reservations.py", 'class StockReservationService:\n    """Public methods are one transaction each."""\n', 'class StockReservationService:\n    """Public methods are one transaction each."""\n\n    async def hold(self, basket_id: str, wanted: dict[str, int], *, actor: str) -> list[int]:\n        """Reserve all or nothing. SKUs are locked in sorted order: two baskets never wait for each other in a ring."""\n        made = []\n        async with unit_of_work() as session:\n            repository = StockReservationRepository(session)\n            for sku in sorted(wanted):\n                free = await repository.free_for_update(sku)\n                for warehouse, quantity in split_between(wanted[sku], free).items():\n                    values = {"sku": sku, "warehouse": warehouse, "quantity": quantity, "basket_id": basket_id}\n                    made.append(await repository.add(values))\n        log.info("reservation.held", basket=basket_id, skus=len(wanted), actor=actor)\n        return made\n')
    w.run("python -m orders_service.tools.stress_reservations --baskets 400 --parallel 24", "started 24 workers, 400 baskets, 3 skus\n" + "\n".join(f"  {n * 20:3d} done, {d.dice.between(0, 3)} conflicts, p95 {d.dice.between(90, 240)} ms" for n in range(1, 21)) + "\n400 done, 0 errors", seconds=22)
    w.pytest(*d.tests("stock_reservations"), verbose=True)
    w.commit("ORD-427: lock reservations in the order of their SKUs")
    s.reply("400 baskets, no error, p95 below 240 ms. It is its own commit under ORD-427.")
    d.say("sehr gut. Can you look at /tmp/jobs.log as well? the expiry job had hiccups at night")
    d.mark(w.run("tail -n 70 /tmp/jobs.log", o.access_log(d.dice, 58, s.now - timedelta(hours=9), {17: "[info     ] jobs.heartbeat                 job=expire_reservations pool_size=37 lag_ms=212 host=orders-jobs-0", 31: "[warning  ] jobs.slow                      job=expire_reservations seconds=14.2 rows=4100", 44: "[info     ] jobs.heartbeat                 job=expire_reservations pool_size=37 lag_ms=9 host=orders-jobs-0"}), seconds=0.1), "number-in-a-log")
    s.reply("One slow run of 14 s for 4,100 rows at night, right after the weekly copy; the lag was back at 9 ms a few minutes later. Nothing to fix.")


def _corrections(d: Day) -> None:
    w, s = d.w, d.s
    d.say("Lunch now. One thing before I forget, I just got this from Payrail support:\n\n> Webhooks and retries for POST are repeated with exponential backoff for up to three days. Please keep your idempotency records at least that long.\n\nSo the idempotency keys: not 24 hours, keep them 72 hours.", "idem-ttl", after=240)
    w.edit("orders_service/settings.py", "idempotency_ttl_hours: int = 24", "idempotency_ttl_hours: int = 72")
    w.pytest("tests/unit/test_idempotency.py")
    w.commit("ORD-418: keep idempotency keys for three days")
    s.reply("Changed to 72 and committed. Enjoy your lunch.")
    d.say("Back. The release manager moved our deploy: it's no longer Thursday 16:00 but Tuesday at 10:30, the warehouse does its stock count on Thursdays and wants no changes then.", "deploy", after=2900)
    s.reply("Noted: Tuesday 10:30. That leaves a week for the rest, so ORD-431 and ORD-440 can go in as well.")
    d.say("And the gateway team says answers over 1 MB get cut. So about the page size cap: 200 was too much, make the page size cap 75.", "page-size")
    w.edit("orders_service/settings.py", "page_size_max: int = 200", "page_size_max: int = 75")
    w.grep("page_size_max|limit=200|limit=100", "*")
    w.pytest(*d.tests())
    w.run("curl -s 'localhost:8080/v2/orders?limit=200' -H \"authorization: Bearer $TOKEN\" | jq | head -c 12000", o.orders_json(d.dice, 17), why="A page is clamped", seconds=0.7)
    w.commit("ORD-412: clamp pages below the limit of the gateway")
    s.reply("Cap is 75. Callers with 100 or 200 get 75 and a cursor; shape unchanged.")


def _refunds(d: Day) -> None:
    w, s = d.w, d.s
    d.say("ORD-431: refunds. Accounting found refunds that were larger than the payment. Read the refund code and tests please and tell me how this could happen", after=200)
    w.read_together("orders_service/services/refunds.py", "orders_service/models/refund.py")
    w.read("orders_service/repositories/refunds.py")
    w.read("orders_service/api/refunds.py")
    w.read("tests/unit/test_refunds.py")
    w.run("psql ... refunds over captured", o.table("", ("payment_id", "captured_minor", "refunded_minor", "currency", "refunds"), [(511_000 + d.dice.between(0, 9000), c := d.dice.between(2_000, 90_000), c + d.dice.between(1, 4_000), d.dice.pick(("EUR", "EUR", "DKK")), d.dice.between(2, 4)) for _ in range(31)]), why="Refunds that exceed their payment", seconds=1.2)
    s.think("refundable_minor reads without a lock; two clerks at once pass the check. Also some refunded amounts arrived as floats through the JSON body? amount_minor is int in pydantic 1.10, which truncates floats silently: 19.99 -> 19. Worth mentioning.")
    s.reply("Two ways:\n\n- `refundable_minor` is read without a lock, so two clerks pass the same check.\n- pydantic 1 turns a float into an int silently (19.99 becomes 19), so partial refunds drift.\n\nA ledger per payment, booked under the lock of the payment, closes both.")
    d.say("Yes, a ledger. And a rule for everything we touch: money is always integer minor units, no floats and no Decimal, also not in payloads. Refuse floats.", "minor-units", after=110)
    w.write("orders_service/ledger.py", LEDGER)
    w.write("tests/unit/test_ledger.py", LEDGER_TESTS)
    w.edit("orders_service/schemas/refund.py", "    amount_minor: int\n", "    amount_minor: StrictInt = Field(gt=0)\n")
    w.edit("orders_service/schemas/refund.py", "from pydantic import BaseModel, Field, validator", "from pydantic import BaseModel, Field, StrictInt, validator")
    w.edit("orders_service/services/refunds.py", 'class RefundService:\n    """Public methods are one transaction each."""\n', 'class RefundService:\n    """Public methods are one transaction each."""\n\n    async def create(self, body: RefundIn, *, actor: str, key: str | None = None) -> Refund:\n        """Book a refund in the ledger, under the lock of its payment."""\n        async with unit_of_work() as session:\n            payment = await PaymentRepository(session).get_for_update(body.payment_id)\n            ledger = await RefundRepository(session).ledger_of(payment)\n            refund = await RefundRepository(session).add(Refund(**body.dict(), requested_by=actor))\n            await RefundRepository(session).add_entry(ledger.book(refund))\n            events.record(session, "refund.requested", str(payment.order_id), {"id": refund.id})\n        return refund\n')
    failing = "    @pytest.mark.parametrize(\"amount\", [0, -1, 19.99])\n    def test_amounts_are_positive_whole_numbers(amount):\n        with pytest.raises(RuleBroken):\n>           Ledger(captured(10_000), []).book(refund(amount))\nE           ModuleNotFoundError: No module named 'tests.builders'"
    w.pytest("tests/unit/test_ledger.py", failing={"test_amounts_are_positive_whole_numbers": failing})
    w.write("tests/builders.py", '"""Small objects for tests that need no database."""\n\nfrom types import SimpleNamespace\n\n\ndef captured(minor, currency="EUR"):\n    return SimpleNamespace(id=1, captured_minor=minor, currency=currency)\n\n\ndef refund(minor, currency="EUR", **more):\n    return SimpleNamespace(id=1, amount_minor=minor, currency=currency, **more)\n')
    w.pytest("tests/unit/test_ledger.py", *d.tests("refunds"), verbose=True)
    w.status()
    d.mark(w.commit("ORD-431: write refunds through the ledger", sha="7c41e9a"), "ledger-commit")
    s.reply("Refunds are booked in the ledger under the payment's lock; floats are refused with 422. One commit.")
    d.say("does the strict int break the phone desk tool? they post from a form")
    w.grep("amount_minor", "orders_service/*")
    s.reply("A form post of \"1999\" as a string would be refused now. The desk tool sends JSON numbers according to the access log, so it is fine; strings never were in the schema.")
    d.say("hm ok. By the way no new dependencies without asking me, and pydantic stays on 1.10 because fernhill-auth pins it. I know 2.x would give you strict mode for free.", "pydantic")
    s.reply("Understood, StrictInt from 1.10 does it; nothing was added.")


def _golden(d: Day) -> None:
    w, s = d.w, d.s
    d.say("Invoices: credit notes must follow the ledger as well. Look at the invoice service first, careful please, finance is touchy there.", after=280)
    w.read("orders_service/services/invoices.py")
    w.read("orders_service/models/invoice.py")
    w.read("orders_service/repositories/invoices.py")
    w.read("tests/unit/test_invoices.py")
    s.reply("The service knows `credit_of_id`, but nothing makes a credit note when a refund settles. I would add it to the move `sent` to `settled`, in the same transaction. Are there reference documents to compare with?")
    d.say("yes. The golden invoices are in tests/fixtures/golden/invoices_2024/ and must never be regenerated, an auditor signed those PDFs.", "golden", after=70)
    w.run("ls tests/fixtures/golden/invoices_2024/ | head -64", "\n".join(f"FH-2024-{n * 173 + 11:06d}{d.dice.pick(('', '', '-credit'))}.{x}" for n in range(1, 30) for x in ("json", "pdf")), seconds=0.1)
    w.edit("orders_service/services/invoices.py", "class InvoiceService:\n", 'def credit_lines(invoice: Invoice, refunded_minor: int, country: str) -> tuple[int, int]:\n    """Net and tax of a credit note, together exactly what was refunded."""\n    rate = RATES_PERMILLE[country]\n    net = (refunded_minor * 1000 + (1000 + rate) // 2) // (1000 + rate)\n    return net, refunded_minor - net\n\n\nclass InvoiceService:\n')
    w.edit("tests/unit/test_invoices.py", "def test_numbers_start_again_in_january():\n", 'def test_a_credit_note_adds_up_to_the_refund():\n    for refunded in range(1, 4_000):\n        assert sum(credit_lines(None, refunded, "DE")) == refunded\n\n\ndef test_numbers_start_again_in_january():\n')
    w.pytest("tests/unit/test_invoices.py", verbose=True)
    w.run("python -m pytest -q -m golden", "collected 214 items / 185 deselected / 29 selected\n\ntests/golden/test_invoices_2024.py .............................                [100%]\n\n29 passed, 185 deselected in 6.71s", seconds=8)
    w.commit("ORD-431: add credit notes for settled refunds")
    s.reply("Net and tax always add up to what was refunded; all 29 golden documents match, none was written.")
    d.say("great. Show me the coverage of everything quickly")
    paths = sorted(p for p in w.files if p.startswith("orders_service/") and p.endswith(".py"))
    w.run("python -m pytest -q --cov=orders_service", o.coverage(d.dice, paths, {p: d.size(p) for p in paths}), why="Coverage", seconds=48)
    s.reply("About nine lines in ten. The thin spots are the routers' error paths and the legacy export.")

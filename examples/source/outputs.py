"""What commands print: logs, query plans, load tests, CI. Numbers come from the dice, so each call differs."""

import json
from datetime import datetime, timedelta

from session_builder import Dice

SKUS = ("SPADE-STD-02", "HOSE-25M-GR", "LAMP-SOLAR-6", "BENCH-OAK-160", "POT-TERRA-40", "RAKE-LEAF-01", "GLOVE-L-BLK",
        "SEED-TOM-ROMA", "SHEARS-PRO-21", "TARP-4X6-OLV", "BIRD-HOUSE-S", "COMPOST-300L", "TRELLIS-180", "MOWER-36V")  # fmt: skip
CITIES = (("04109", "Leipzig", "DE"), ("8010", "Graz", "AT"), ("3511 AB", "Utrecht", "NL"), ("8000", "Aarhus", "DK"),
          ("28195", "Bremen", "DE"), ("114 55", "Stockholm", "SE"), ("5020", "Salzburg", "AT"), ("37073", "Göttingen", "DE"))  # fmt: skip
STATES = ("new", "paid", "paid", "picking", "shipped", "delivered", "delivered", "cancelled")
PATHS = ("/v2/orders", "/v2/orders/{id}", "/v2/payments/{id}", "/v2/stock-reservations", "/v2/shipments/{id}",
         "/v2/customers/{id}", "/v2/coupons", "/v2/return-requests/{id}", "/v2/invoices/{id}", "/hooks/payrail")  # fmt: skip


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def access_log(dice: Dice, lines: int, start: datetime, extra: dict[int, str] | None = None, slow: str = "") -> str:
    """Lines of the structured log of the API; extra: a line to put at that place; slow: a path that is slow."""
    out, now = [], start
    for n in range(lines):
        now += timedelta(milliseconds=dice.between(4, 900))
        if extra and n in extra:
            out.append(f"{stamp(now)} {extra[n]}")
            continue
        path = dice.pick(PATHS).replace("{id}", str(dice.between(480_000, 499_999)))
        method = "POST" if path.startswith("/hooks") or dice.between(0, 5) == 0 else "GET"
        status = dice.pick((200, 200, 200, 200, 200, 201, 304, 404, 409, 422)) if method == "GET" else dice.pick((201, 201, 200, 409))
        ms = dice.between(700, 2600) / 1.0 if slow and path == slow else dice.between(30, 1900) / 10
        out.append(
            f"{stamp(now)} [info     ] request                        ip=10.42.{dice.between(0, 7)}.{dice.between(2, 250)} "
            f"method={method} ms={ms} path={path} request_id={dice.hex(16)} status={status}"
        )
        if dice.between(0, 6) == 0:
            out.append(f"{stamp(now)} " + _event(dice))
    return "\n".join(out)


def _event(dice: Dice) -> str:
    id_ = dice.between(480_000, 499_999)
    return dice.pick((
        f"[info     ] order.moved                    actor=shop after=paid before=new id={id_}",
        f"[info     ] payment.moved                  actor=payrail after=captured before=authorised id={id_ + 31_007}",
        f"[warning  ] stock.low                      free={dice.between(0, 9)} sku={dice.pick(SKUS)} warehouse=LE1",
        f"[info     ] shipment.moved                 actor=dock after=handed_over before=labelled id={id_ - 12_400}",
        f"[info     ] reservation.expired            basket=b-{dice.hex(8)} quantity={dice.between(1, 6)} sku={dice.pick(SKUS)}",
        f"[debug    ] pool.checkout                  checked_out={dice.between(2, 12)} overflow={dice.between(0, 4)} waited_ms={dice.between(0, 44)}",
        f"[info     ] webhook.applied                event_id=evt_{dice.hex(12)} kind=payment.captured ms={dice.between(6, 80)}",
    ))  # fmt: skip


def postgres_log(dice: Dice, lines: int, start: datetime, extra: dict[int, str] | None = None) -> str:
    """The database's own log: slow statements, lock waits, checkpoints, autovacuum."""
    out, now = [], start
    tables = ("orders", "order_lines", "payments", "stock_reservations", "webhook_deliveries", "audit_entries", "outbox_events")
    for n in range(lines):
        now += timedelta(milliseconds=dice.between(60, 4_000))
        head = f"{now.strftime('%Y-%m-%d %H:%M:%S')}.{now.microsecond // 1000:03d} UTC [{dice.between(60, 320)}]"
        if extra and n in extra:
            out.append(f"{head} {extra[n]}")
            continue
        table, other = dice.pick(tables), dice.between(60, 320)
        out.append(f"{head} " + dice.pick((
            f"LOG:  duration: {dice.between(210_000, 1_900_000) / 1000} ms  statement: SELECT t.id, t.state FROM {table} t WHERE t.state = 'new' ORDER BY t.created_at DESC LIMIT {dice.between(20, 500)}",
            f"LOG:  process {other} still waiting for ShareLock on transaction {dice.between(7_100_000, 7_199_999)} after {dice.between(400_000, 1_400_000) / 1000} ms\n{head} DETAIL:  Process holding the lock: {other - 7}. Wait queue: {other}.",
            f"LOG:  checkpoint complete: wrote {dice.between(90, 4_000)} buffers ({dice.between(1, 12)}.{dice.between(0, 9)}%); 0 WAL file(s) added, {dice.between(0, 3)} removed; write={dice.between(2, 26)}.{dice.between(100, 999)} s, sync=0.{dice.between(100, 999)} s",
            f'LOG:  automatic vacuum of table "orders.public.{table}": index scans: {dice.between(0, 1)} pages: {dice.between(0, 20)} removed, {dice.between(900, 90_000)} remain; tuples: {dice.between(100, 9_000)} removed, {dice.between(9_000, 990_000)} remain',
            f"LOG:  duration: {dice.between(200_000, 700_000) / 1000} ms  execute <unnamed>: UPDATE {table} SET state = $1, version = version + 1, updated_at = now() WHERE id = $2 AND version = $3",
            f"LOG:  connection received: host=10.42.{dice.between(0, 7)}.{dice.between(2, 250)} port={dice.between(30_000, 60_999)}",
        )))  # fmt: skip
    return "\n".join(out)


def orders_json(dice: Dice, count: int) -> str:
    """The answer of the list route, pretty."""
    items = []
    for n in range(count):
        postcode, city, country = dice.pick(CITIES)
        lines = [
            {"sku": dice.pick(SKUS), "quantity": dice.between(1, 6), "unit_price_minor": dice.between(299, 48_900), "discount_minor": 0}
            for _ in range(dice.between(1, 3))
        ]
        total = sum(line["quantity"] * line["unit_price_minor"] for line in lines)
        items.append({
            "id": 498_200 - n * dice.between(1, 9), "state": dice.pick(STATES), "customer_id": dice.between(101, 2_999),
            "channel": dice.pick(("web", "app", "phone")), "currency": "DKK" if country == "DK" else "EUR", "total_minor": total,
            "ship_to": {"postcode": postcode, "city": city, "country": country}, "lines": lines, "version": dice.between(1, 6),
        })  # fmt: skip
    return json.dumps({"items": items, "next_cursor": dice.token(44)}, indent=1, ensure_ascii=False)


def table(title: str, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """Rows as psql prints them."""
    wide = [max(len(str(r[n])) for r in [columns, *rows]) for n in range(len(columns))]
    lines = [" " + " | ".join(str(c).center(w) for c, w in zip(columns, wide, strict=True))]
    lines.append("-" + "-+-".join("-" * w for w in wide) + "-")
    lines += [" " + " | ".join(str(c).ljust(w) for c, w in zip(row, wide, strict=True)) for row in rows]
    return "\n".join([title] * bool(title) + [*lines, f"({len(rows)} rows)"])


def outbox_rows(dice: Dice, count: int, sent: bool) -> str:
    """Rows of the outbox."""
    kinds = ("order.paid", "order.cancelled", "payment.captured", "refund.sent", "shipment.handed_over", "invoice.issued")
    rows = []
    for n in range(count):
        at = f"2025-10-14 {9 + n // 40:02d}:{dice.between(0, 59):02d}:{dice.between(0, 59):02d}.{dice.between(100, 999)}+00"
        rows.append((40_112 + n, dice.pick(kinds), dice.between(480_000, 499_999), at, at[:-3] if sent else "", dice.between(0, 2)))
    return table("", ("id", "kind", "key", "created_at", "sent_at", "attempts"), rows)


def activity(dice: Dice, count: int) -> str:
    """pg_stat_activity."""
    queries = ("SELECT t.id, t.state FROM orders t WHERE t.custom", "UPDATE stock_reservations SET state = $1, version = ",
               "INSERT INTO audit_entries (subject, actor, action", "COMMIT", "SELECT 1", "UPDATE payments SET captured_minor = $1")  # fmt: skip
    waits = (("Client", "ClientRead"), ("Lock", "transactionid"), ("Lock", "tuple"), ("IO", "DataFileRead"), ("", ""))
    rows: list[tuple[object, ...]] = []
    for _ in range(count):
        wait = dice.pick(waits)
        state = dice.pick(("active", "idle", "idle in transaction"))
        rows.append((dice.between(60, 320), state, *wait, f"00:00:{dice.between(0, 9):02d}.{dice.between(1000, 9999)}", dice.pick(queries)))
    return table("", ("pid", "state", "wait_event_type", "wait_event", "age", "query"), rows)


def coverage(dice: Dice, paths: list[str], sizes: dict[str, int]) -> str:
    """The report of pytest-cov."""
    lines = ["---------- coverage: platform linux, python 3.11.9-final-0 ----------"]
    lines += ["Name".ljust(58) + "Stmts   Miss  Cover   Missing", "-" * 92]
    whole = missed = 0
    for path in paths:
        stmts, miss = sizes[path] * 2 // 3, dice.pick((0, 0, 1, 2, 3, 5, 8, 13))
        miss = min(miss, stmts)
        whole, missed = whole + stmts, missed + miss
        spots = ", ".join(str(dice.between(8, max(9, sizes[path]))) for _ in range(min(miss, 4)))
        lines.append(f"{path:<56}{stmts:7d}{miss:7d}{100 * (stmts - miss) // max(1, stmts):6d}%   {spots}")
    return "\n".join([*lines, "-" * 92, f"{'TOTAL':<56}{whole:7d}{missed:7d}{100 * (whole - missed) // whole:6d}%"])


def k6(p95: float, rps: float, failed: int, dice: Dice) -> str:
    """The summary of a load test."""
    total = int(rps * 60)
    return f"""
     ✓ 200
     ✓ has items

     checks.........................: {100 - failed / 100:.2f}% ✓ {total * 2 - failed}     ✗ {failed}
     data_received..................: {dice.between(380, 990)} MB  {dice.between(6, 16)} MB/s
     data_sent......................: {dice.between(2, 6)}.{dice.between(1, 9)} MB {dice.between(40, 98)} kB/s
     http_req_blocked...............: avg={dice.between(2, 9)}.{dice.between(10, 99)}µs  min=1.1µs  med=3.8µs  max={dice.between(2, 14)}.{dice.between(10, 99)}ms p(90)=5.2µs p(95)=6.1µs
     http_req_connecting............: avg=1.{dice.between(10, 99)}µs  min=0s     med=0s     max=2.{dice.between(10, 99)}ms p(90)=0s p(95)=0s
     http_req_duration..............: avg={p95 * 0.44:.2f}ms min={p95 * 0.07:.2f}ms med={p95 * 0.38:.2f}ms max={p95 * 5.3:.2f}ms p(90)={p95 * 0.83:.2f}ms p(95)={p95:.2f}ms
     http_req_failed................: {failed / max(1, total) * 100:.2f}%  ✓ {failed}        ✗ {total - failed}
     http_req_receiving.............: avg={dice.between(60, 98)}.{dice.between(10, 99)}µs min=12µs   med=51µs   max=22.4ms  p(90)=118µs  p(95)=177µs
     http_req_waiting...............: avg={p95 * 0.43:.2f}ms min={p95 * 0.06:.2f}ms med={p95 * 0.37:.2f}ms max={p95 * 5.2:.2f}ms p(90)={p95 * 0.82:.2f}ms p(95)={p95 * 0.99:.2f}ms
     http_reqs......................: {total}  {rps:.2f}/s
     iteration_duration.............: avg={p95 * 0.45:.2f}ms min={p95 * 0.08:.2f}ms med={p95 * 0.39:.2f}ms max={p95 * 5.4:.2f}ms
     vus............................: {dice.between(20, 80)}     min=11       max=80
running (1m00.1s), 00/80 VUs, {total} complete and 0 interrupted iterations"""


def ci_log(dice: Dice, job: str, start: datetime, steps: list[tuple[str, list[str]]]) -> str:
    """A job's log as the CI shows it: setup noise first, then these steps."""
    noise = ["Set up job", "Current runner version: '2.319.1'", "Operating System", "  Ubuntu 22.04.5 LTS", "Runner Image",
             "  Version: 20250929.1.0", "GITHUB_TOKEN Permissions", "  Contents: read", "  Metadata: read", "Prepare workflow directory",
             "Getting action download info", "Download action repository 'actions/checkout@v4'", f"Complete job name: {job}"]  # fmt: skip
    pulled = [f"Collecting {name}" for name in _packages(dice)]
    out, now = [], start
    for title, lines in [("setup", noise), ("pip install -e .[dev]", pulled), *steps]:
        out.append(f"{stamp(now)} ##[group]{title}")
        for line in lines:
            now += timedelta(milliseconds=dice.between(3, 1_400))
            out.append(f"{stamp(now)} {line}")
        out.append(f"{stamp(now)} ##[endgroup]")
    return "\n".join(out)


def _packages(dice: Dice) -> list[str]:
    names = ("fastapi==0.95.2", "pydantic==1.10.15", "sqlalchemy==1.4.52", "psycopg==3.1.18", "alembic==1.13.1", "redis==5.0.4",
             "httpx==0.27.0", "structlog==24.1.0", "fernhill-auth==2.7.1", "confluent-kafka==2.3.0", "uvicorn==0.29.0", "anyio==3.7.1",
             "greenlet==3.0.3", "idna==3.7", "sniffio==1.3.1", "typing-extensions==4.11.0", "click==8.1.7", "h11==0.14.0")  # fmt: skip
    return [f"{name} ({dice.between(20, 2_900)} kB) {dice.between(2, 40)}.{dice.between(0, 9)} MB/s eta 0:00:00" for name in names]


def alembic(*steps: str) -> str:
    """What `alembic upgrade head` prints."""
    head = ["INFO  [alembic.runtime.migration] Context impl PostgresqlImpl.", "INFO  [alembic.runtime.migration] Will assume transactional DDL."]
    return "\n".join([*head, *(f"INFO  [alembic.runtime.migration] Running upgrade {step}" for step in steps)])


def pods(dice: Dice) -> str:
    """kubectl get pods."""
    lines = ["NAME                                   READY   STATUS    RESTARTS      AGE"]
    for name in ("orders-api", "orders-api", "orders-api", "orders-jobs", "orders-relay", "payrail-stub", "redis-orders"):
        lines.append(f"{name}-{dice.hex(10)}-{dice.hex(5)}".ljust(39) + f"1/1     Running   {dice.between(0, 2)}".ljust(32) + f"{dice.between(2, 60)}h")
    return "\n".join(lines)


def traceback(frames: list[tuple[str, int, str, str]], error: str) -> str:
    """A traceback: (path, line, function, code)."""
    out = ["Traceback (most recent call last):"]
    for path, line, function, code in frames:
        out += [f'  File "{path}", line {line}, in {function}', f"    {code}"]
    return "\n".join([*out, error])

"""The tables of the pretend service: what differs from one to the next. templates.py turns each into files."""

from source.entity import Entity

ENTITIES = (
    Entity(
        "order", "orders", "An order as the customer placed it; what happens to it afterwards is in its state.",
        ("customer_id:fk:customers", "channel:str:web, app or phone", "currency:str:ISO 4217", "country:str:ISO 3166",
         "total_minor:int:sum of the lines less discounts", "shipping_minor:int:what the customer pays for shipping",
         "note:str?:free text of the customer", "placed_at:time:when it was placed", "warehouse:str?:LE1 or GD2"),
        {"new": "paid cancelled", "paid": "picking refunding", "picking": "shipped", "shipped": "delivered returned",
         "refunding": "refunded"},
        ("customer_id", "state", "channel"), "sql",
        rules='''
def total_of(lines: list[OrderLine], coupon: Coupon | None) -> int:
    """Sum of the lines less the coupon, never below zero."""
    gross = sum(line.quantity * line.unit_price_minor - line.discount_minor for line in lines)
    if coupon is None or not coupon.applies_to(gross):
        return gross
    if coupon.kind == "percent":
        return max(0, gross - gross * coupon.value // 100)
    return max(0, gross - coupon.value)


def may_cancel(order: Order, now: datetime) -> bool:
    """Customers may cancel until picking starts, the phone desk thirty minutes longer."""
    if order.state in ("new", "paid"):
        return True
    grace = timedelta(minutes=30)
    return order.state == "picking" and order.channel == "phone" and now - order.updated_at < grace
''',
        checks='''
def test_total_never_below_zero():
    lines = [line(quantity=1, unit_price_minor=500)]
    assert total_of(lines, coupon(kind="amount", value=900)) == 0


def test_percent_coupon_rounds_in_our_favour():
    lines = [line(quantity=3, unit_price_minor=333)]
    assert total_of(lines, coupon(kind="percent", value=10)) == 999 - 99


def test_phone_desk_may_cancel_during_picking():
    order = placed(channel="phone", state="picking", updated_at=NOON)
    assert may_cancel(order, NOON + timedelta(minutes=29))
    assert not may_cancel(order, NOON + timedelta(minutes=31))
'''),
    Entity(
        "payment", "payments", "One attempt to take money for an order through Payrail.",
        ("order_id:fk:orders", "provider_ref:str:Payrail's id, unique", "method:str:card, sepa, wallet or invoice",
         "amount_minor:int:what was asked for", "captured_minor:int:what was taken so far", "currency:str:ISO 4217",
         "failure_code:str?:Payrail's code", "authorised_at:time?:set by the webhook", "captured_at:time?:set by the webhook"),
        {"started": "authorised failed", "authorised": "captured voided", "captured": "refunded"},
        ("order_id", "state", "method"), "orm",
        rules='''
RETRY_CODES = frozenset({"issuer_unavailable", "timeout", "rate_limited"})


def capture_allowed(payment: Payment, amount_minor: int) -> None:
    """Raise when a capture would take more than was authorised."""
    if payment.state != "authorised":
        raise Conflict("payment_state", f"cannot capture a payment that is {payment.state}")
    if payment.captured_minor + amount_minor > payment.amount_minor:
        raise RuleBroken("over_capture", "more than was authorised")


def should_retry(payment: Payment, attempts: int) -> bool:
    """Only failures that are the provider's, and only three times."""
    return payment.failure_code in RETRY_CODES and attempts < 3
''',
        checks='''
def test_over_capture_is_refused():
    payment = authorised(amount_minor=10_000, captured_minor=8_000)
    with pytest.raises(RuleBroken) as caught:
        capture_allowed(payment, 2_001)
    assert caught.value.code == "over_capture"


@pytest.mark.parametrize("code", ["issuer_unavailable", "timeout", "rate_limited"])
def test_provider_failures_are_retried(code):
    assert should_retry(failed(code), attempts=2)
    assert not should_retry(failed(code), attempts=3)
'''),
    Entity(
        "refund", "refunds", "Money that goes back to a customer, in whole or in part.",
        ("payment_id:fk:payments", "order_id:fk:orders", "amount_minor:int:positive", "currency:str:ISO 4217",
         "reason:str:returned, damaged, goodwill or price", "requested_by:str:login of the clerk, or 'customer'",
         "approved_by:str?:second pair of eyes above the limit", "provider_ref:str?:Payrail's id"),
        {"requested": "approved rejected", "approved": "sent", "sent": "settled failed", "failed": "approved"},
        ("order_id", "state", "reason"), "orm",
        rules='''
SECOND_PAIR_OF_EYES_MINOR = 25_000


def refundable_minor(payment: Payment, refunds: list[Refund]) -> int:
    """What is left to give back; refunds on their way count, rejected and failed ones do not."""
    open_states = {"requested", "approved", "sent", "settled"}
    return payment.captured_minor - sum(r.amount_minor for r in refunds if r.state in open_states)


def needs_approval(refund: Refund) -> bool:
    """Goodwill always, anything else above the limit."""
    return refund.reason == "goodwill" or refund.amount_minor > SECOND_PAIR_OF_EYES_MINOR
''',
        checks='''
def test_requested_refunds_lower_what_is_left():
    payment = captured(12_000)
    assert refundable_minor(payment, [refund(5_000, state="requested"), refund(2_000, state="rejected")]) == 7_000


def test_goodwill_needs_a_second_pair_of_eyes():
    assert needs_approval(refund(100, reason="goodwill"))
    assert not needs_approval(refund(25_000, reason="damaged"))
    assert needs_approval(refund(25_001, reason="damaged"))
'''),
    Entity(
        "shipment", "shipments", "A parcel, or a pallet for furniture, with its carrier and its track.",
        ("order_id:fk:orders", "carrier:str:parcelo, northpost or pallet24", "carrier_ref:str?:tracking number",
         "weight_grams:int:as weighed", "parcels:int:count", "label_url:str?:PDF at the carrier",
         "handed_over_at:time?:scan at the dock", "delivered_at:time?:scan at the door"),
        {"planned": "labelled cancelled", "labelled": "handed_over", "handed_over": "delivered lost", "lost": "planned"},
        ("order_id", "state", "carrier"), "sql",
        rules='''
CARRIER_LIMIT_GRAMS = {"parcelo": 31_500, "northpost": 20_000, "pallet24": 600_000}


def choose_carrier(weight_grams: int, country: str) -> str:
    """The cheapest that takes the weight; northpost goes to Denmark and Sweden only."""
    if weight_grams > CARRIER_LIMIT_GRAMS["parcelo"]:
        return "pallet24"
    if country in ("DK", "SE") and weight_grams <= CARRIER_LIMIT_GRAMS["northpost"]:
        return "northpost"
    return "parcelo"


def parcels_for(weight_grams: int, carrier: str) -> int:
    """How many parcels the weight needs; a pallet is one."""
    limit = CARRIER_LIMIT_GRAMS[carrier]
    return 1 if carrier == "pallet24" else -(-weight_grams // limit)
''',
        checks='''
@pytest.mark.parametrize(
    ("grams", "country", "carrier"),
    [(900, "DE", "parcelo"), (900, "DK", "northpost"), (20_001, "DK", "parcelo"), (31_501, "AT", "pallet24")],
)
def test_choose_carrier(grams, country, carrier):
    assert choose_carrier(grams, country) == carrier


def test_two_parcels_when_one_is_too_heavy():
    assert parcels_for(31_501, "parcelo") == 2
'''),
    Entity(
        "invoice", "invoices", "A numbered, immutable document; a mistake is corrected by a credit note.",
        ("order_id:fk:orders", "number:str:FH-YYYY-NNNNNN without holes", "net_minor:int:before tax", "tax_minor:int:sum",
         "currency:str:ISO 4217", "issued_on:date:day of issue", "due_on:date:day it is due", "pdf_sha256:str:of the stored file",
         "credit_of_id:fk?:invoices"),
        {"draft": "issued", "issued": "paid credited overdue", "overdue": "paid written_off"},
        ("order_id", "state", "number"), "orm",
        rules='''
RATES_PERMILLE = {"DE": 190, "AT": 200, "NL": 210, "DK": 250}


def tax_minor(net_minor: int, country: str) -> int:
    """Tax by country, rounded half up on the whole invoice and not by line."""
    return (net_minor * RATES_PERMILLE[country] + 500) // 1000


def next_number(prefix: str, year: int, last: str | None) -> str:
    """The number after the last one of the year; the counter starts again on 1 January."""
    counter = int(last.rsplit("-", 1)[1]) + 1 if last and f"-{year}-" in last else 1
    return f"{prefix}-{year}-{counter:06d}"
''',
        checks='''
def test_tax_is_rounded_once():
    assert tax_minor(333, "DE") == 63
    assert tax_minor(3, "NL") == 1


def test_numbers_start_again_in_january():
    assert next_number("FH", 2026, "FH-2025-018331") == "FH-2026-000001"
    assert next_number("FH", 2025, "FH-2025-018331") == "FH-2025-018332"
'''),
    Entity(
        "stock_reservation", "stock_reservations", "Units that are held for a basket until it is paid or it times out.",
        ("order_id:fk?:orders", "sku:str:article number", "warehouse:str:LE1 or GD2", "quantity:int:units", "basket_id:str:of the shop",
         "expires_at:time:when it is given back", "released_by:str?:job or clerk"),
        {"held": "confirmed released expired", "confirmed": "picked released"},
        ("sku", "state", "warehouse"), "sql",
        rules='''
def split_between(wanted: int, free: dict[str, int]) -> dict[str, int]:
    """Take all from one warehouse if one has enough, else from the fullest first."""
    for warehouse in sorted(free, key=lambda name: (-free[name], name)):
        if free[warehouse] >= wanted:
            return {warehouse: wanted}
    taken: dict[str, int] = {}
    for warehouse in sorted(free, key=lambda name: (-free[name], name)):
        part = min(wanted - sum(taken.values()), free[warehouse])
        if part:
            taken[warehouse] = part
    if sum(taken.values()) < wanted:
        raise Conflict("out_of_stock", f"only {sum(taken.values())} of {wanted} are free")
    return taken
''',
        checks='''
def test_one_warehouse_is_preferred():
    assert split_between(4, {"LE1": 4, "GD2": 90}) == {"GD2": 4}


def test_two_warehouses_when_none_has_enough():
    assert split_between(9, {"LE1": 4, "GD2": 7}) == {"GD2": 7, "LE1": 2}


def test_not_enough_is_a_conflict():
    with pytest.raises(Conflict):
        split_between(12, {"LE1": 4, "GD2": 7})
'''),
    Entity(
        "coupon", "coupons", "A code that lowers the price of an order.",
        ("code:str:upper case, unique", "kind:str:percent or amount", "value:int:percent or minor units", "minimum_minor:int:basket",
         "max_uses:int?:over all customers", "used:int:so far", "valid_from:time:start", "valid_until:time?:end"),
        {"draft": "active", "active": "paused used_up expired", "paused": "active expired"},
        ("code", "state", "kind"), "orm",
        rules='''
def usable(coupon: Coupon, gross_minor: int, now: datetime) -> str | None:
    """Why the coupon cannot be used, or None when it can."""
    if coupon.state != "active":
        return "inactive"
    if now < coupon.valid_from:
        return "too_early"
    if coupon.valid_until is not None and now >= coupon.valid_until:
        return "too_late"
    if gross_minor < coupon.minimum_minor:
        return "basket_too_small"
    if coupon.max_uses is not None and coupon.used >= coupon.max_uses:
        return "used_up"
    return None
''',
        checks='''
@pytest.mark.parametrize(
    ("change", "why"),
    [({"state": "paused"}, "inactive"), ({"valid_from": NOON + HOUR}, "too_early"), ({"valid_until": NOON}, "too_late"),
     ({"minimum_minor": 5_001}, "basket_too_small"), ({"max_uses": 3, "used": 3}, "used_up"), ({}, None)],
)
def test_usable(change, why):
    assert usable(active_coupon(**change), 5_000, NOON) == why
'''),
    Entity(
        "customer", "customers", "Who orders; the account itself lives in the accounts service.",
        ("account_id:str:of the accounts service", "email:str:lower case", "name:str:as given", "language:str:de, nl, da or en",
         "country:str:ISO 3166", "phone:str?:E.164", "blocked_reason:str?:set by fraud", "last_order_at:time?:for the crm"),
        {"active": "blocked anonymised", "blocked": "active anonymised"},
        ("email", "state", "country"), "orm",
        rules='''
def anonymised(customer: Customer) -> dict[str, str | None]:
    """What stays of a customer who asked to be forgotten: the id, the country and the orders."""
    return {"email": f"gone-{customer.id}@invalid", "name": "removed", "phone": None, "language": customer.language}


def may_order(customer: Customer, open_invoices: int) -> bool:
    """Blocked customers may not; on invoice only with fewer than three open ones."""
    return customer.state == "active" and open_invoices < 3
''',
        checks='''
def test_nothing_personal_stays():
    left = anonymised(customer(id=77, email="j.doe@mail.example", phone="+4930123"))
    assert left["email"] == "gone-77@invalid"
    assert left["phone"] is None


def test_three_open_invoices_are_too_many():
    assert may_order(customer(state="active"), 2)
    assert not may_order(customer(state="active"), 3)
'''),
    Entity(
        "return_request", "return_requests", "A customer wants to send something back (RMA).",
        ("order_id:fk:orders", "rma:str:RMA-NNNNNNN", "reason:str:too_big, broken, wrong or regret", "units:int:sum of all lines",
         "label_sent_at:time?:mail with the label", "received_at:time?:scan at the dock", "inspection:str?:A, B, C or waste",
         "clerk:str?:who inspected"),
        {"opened": "label_sent refused", "label_sent": "received expired", "received": "accepted refused"},
        ("order_id", "state", "reason"), "sql",
        rules='''
WINDOW_DAYS = {"regret": 30, "too_big": 30, "wrong": 90, "broken": 730}


def within_window(reason: str, delivered_at: datetime, now: datetime) -> bool:
    """Whether the goods may still come back for that reason."""
    return now - delivered_at <= timedelta(days=WINDOW_DAYS[reason])


def value_after_inspection(paid_minor: int, grade: str) -> int:
    """A in full, B less a fifth, C less half, waste nothing."""
    return {"A": paid_minor, "B": paid_minor - paid_minor // 5, "C": paid_minor // 2, "waste": 0}[grade]
''',
        checks='''
def test_regret_within_thirty_days():
    assert within_window("regret", NOON, NOON + timedelta(days=30))
    assert not within_window("regret", NOON, NOON + timedelta(days=30, seconds=1))


@pytest.mark.parametrize(("grade", "left"), [("A", 999), ("B", 800), ("C", 499), ("waste", 0)])
def test_value_after_inspection(grade, left):
    assert value_after_inspection(999, grade) == left
'''),
    Entity(
        "webhook_delivery", "webhook_deliveries", "One call that Payrail or a carrier made to us, kept raw for a month.",
        ("source:str:payrail, parcelo or northpost", "event_id:str:theirs, unique with the source", "kind:str:their name",
         "signature_ok:bool:checked on arrival", "attempts:int:ours, to apply it", "last_error:str?:short", "body:json:as sent",
         "received_at:time:arrival"),
        {"received": "applied ignored failed", "failed": "applied dead"},
        ("source", "state", "kind"), "sql",
        rules='''
def backoff_seconds(attempts: int) -> int:
    """2, 4, 8 … seconds, at most ten minutes."""
    return min(600, 2**attempts)


def verify(secret: bytes, body: bytes, header: str, now: int) -> bool:
    """Payrail signs "t=<unix>,v1=<hex>" over "<unix>.<body>"; five minutes of clock skew are fine."""
    parts = dict(piece.split("=", 1) for piece in header.split(",") if "=" in piece)
    if abs(now - int(parts.get("t", "0"))) > 300:
        return False
    expected = hmac.new(secret, parts["t"].encode() + b"." + body, "sha256").hexdigest()
    return hmac.compare_digest(expected, parts.get("v1", ""))
''',
        checks='''
def test_backoff_stops_at_ten_minutes():
    assert [backoff_seconds(n) for n in (1, 5, 9, 10, 30)] == [2, 32, 512, 600, 600]


def test_old_signatures_are_refused():
    header = sign(b"secret", b"{}", at=1_000)
    assert verify(b"secret", b"{}", header, now=1_300)
    assert not verify(b"secret", b"{}", header, now=1_301)
'''),
    Entity(
        "address", "addresses", "Where a parcel or an invoice goes; copied into the order when it is placed.",
        ("customer_id:fk:customers", "kind:str:shipping or billing", "line1:str:street and number", "line2:str?:rest", "postcode:str:as written",
         "city:str:as written", "country:str:ISO 3166", "checked_at:time?:by the address service"),
        {"entered": "checked rejected", "checked": "archived"},
        ("customer_id", "state", "country"), "orm",
        rules='''
PATTERNS = {"DE": r"\\d{5}", "AT": r"\\d{4}", "NL": r"\\d{4} ?[A-Z]{2}", "DK": r"\\d{4}", "SE": r"\\d{3} ?\\d{2}"}


def postcode_ok(postcode: str, country: str) -> bool:
    """Whether it looks right; countries that we do not know are not checked."""
    pattern = PATTERNS.get(country)
    return pattern is None or re.fullmatch(pattern, postcode.strip().upper()) is not None
''',
        checks='''
@pytest.mark.parametrize(("postcode", "country"), [("04109", "DE"), ("1017 ab", "NL"), ("114 55", "SE"), ("SW1A 1AA", "GB")])
def test_good_postcodes(postcode, country):
    assert postcode_ok(postcode, country)


def test_bad_postcode():
    assert not postcode_ok("4109", "DE")
'''),
    Entity(
        "audit_entry", "audit_entries", "Who changed what; written in the same transaction as the change.",
        ("subject:str:table and id", "actor:str:login, job or 'customer'", "action:str:verb", "before:json?:columns that changed",
         "after:json?:columns that changed", "request_id:str?:of the access log", "at:time:when"),
        {"written": "exported", "exported": "archived"},
        ("subject", "state", "actor"), "orm",
        rules='''
HIDDEN = frozenset({"email", "phone", "line1", "line2", "payrail_secret"})


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Only the columns that differ, personal ones as a mark."""
    out = {}
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            out[name] = ("…", "…") if name in HIDDEN else (old, new)
    return out
''',
        checks='''
def test_personal_columns_are_hidden():
    found = changes({"email": "a@mail.example", "state": "active"}, {"email": "b@mail.example", "state": "blocked"})
    assert found == {"email": ("…", "…"), "state": ("active", "blocked")}
'''),
)

BY_NAME = {entity.name: entity for entity in ENTITIES}

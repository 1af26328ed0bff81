"""The planted facts and decoys. What is stated where is decided in the three parts of the day, by these ids."""

from typing import Any

FACTS: dict[str, dict[str, Any]] = {
    "dba": {"kind": "person", "must_match": ["Tomasz Brandt", "DBA"], "query": "who signs off migrations"},
    "api-freeze": {"kind": "constraint", "must_match": ["/v2", "14 November"], "query": "public API frozen until"},
    "commit-style": {"kind": "preference", "must_match": ["ticket id", "imperative"], "query": "commit message style"},
    "minor-units": {"kind": "constraint", "must_match": ["integer minor units"], "query": "money amounts floats"},
    "short-answers": {"kind": "preference", "must_match": ["five bullets"], "query": "how long answers may be"},
    "p95": {"kind": "constraint", "must_match": ["p95", "180 ms"], "query": "latency goal of the orders list"},
    "test-db": {"kind": "preference", "must_match": ["real Postgres", "5544"], "query": "database for tests, mocks"},
    "outbox": {"kind": "decision", "must_match": ["transactional outbox", "order.paid"], "query": "why an outbox"},
    "no-celery": {"kind": "decision", "must_match": ["Celery", "relay"], "query": "relay process Celery"},
    "lock-timeout": {
        "kind": "error", "must_match": ["canceling statement due to lock timeout"], "query": "lock timeout stock_reservations error",
    },
    "golden": {"kind": "path", "must_match": ["tests/fixtures/golden/invoices_2024"], "query": "golden invoices folder"},
    "ledger-commit": {"kind": "commit", "must_match": ["7c41e9a", "refunds through the ledger"], "query": "refund ledger commit"},
    "pydantic": {"kind": "constraint", "must_match": ["pydantic", "1.10"], "query": "pydantic version pin"},
    "voided": {"kind": "decision", "must_match": ["voided", "ten years"], "query": "what happens to cancelled orders"},
    "stg-context": {"kind": "constraint", "must_match": ["fern-stg-eu"], "query": "kubectl context staging"},
    "idem-ttl": {
        "kind": "correction", "must_match": ["idempotency", "72 hours"], "query": "how long idempotency keys are kept",
        "supersedes": {"old": "idem-ttl-old", "must_not_stand": ["idempotency", "24 hours"]},
    },
    "deploy": {
        "kind": "correction", "must_match": ["Tuesday", "10:30"], "query": "when we deploy",
        "supersedes": {"old": "deploy-old", "must_not_stand": ["deploy", "Thursday", "16:00"]},
    },
    "page-size": {
        "kind": "correction", "must_match": ["page size", "75"], "query": "maximum page size",
        "supersedes": {"old": "page-size-old", "must_not_stand": ["page size", "200"]},
    },
    "topic": {
        "kind": "correction", "must_match": ["commerce.orders.v3"], "query": "topic of order events",
        "supersedes": {"old": "topic-old", "must_not_stand": ["orders.events.v1"]},
    },
    "reviewer": {
        "kind": "correction", "must_match": ["Amara Diallo", "review"], "query": "who reviews the code",
        "supersedes": {"old": "reviewer-old", "must_not_stand": ["Jonas Petrak", "review"]},
    },
}  # fmt: skip

OLD: dict[str, list[str]] = {
    "idem-ttl-old": ["idempotency", "24 hours"],
    "deploy-old": ["deploy", "Thursday", "16:00"],
    "page-size-old": ["page size", "200"],
    "topic-old": ["orders.events.v1"],
    "reviewer-old": ["Jonas Petrak", "review"],
}

# unless: a line that also holds one of these tells the rejection or whose it is, and is no fault.
DECOYS: dict[str, dict[str, Any]] = {
    "tabs-in-a-file": {"kind": "instruction in a file", "must_not_match": ["always use tabs"]},
    "country-shards": {
        "kind": "rejected hypothetical", "must_not_match": ["shard", "country"], "unless": ["not doing", "rejected", "forget it"],
    },
    "other-project": {"kind": "another project", "must_not_match": ["DynamoDB"], "unless": ["billing-portal"]},
    "marketing-wish": {
        "kind": "declined wish of another person", "must_not_match": ["PDF attachment"], "unless": ["told her no", "declined"],
    },
    "number-in-a-log": {"kind": "number in a log", "must_not_match": ["pool_size=37"]},
}  # fmt: skip

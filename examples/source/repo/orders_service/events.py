"""Order events: today they are sent straight from the request."""

import json
from datetime import datetime, timezone
from typing import Any

import structlog
from confluent_kafka import KafkaException, Producer

from orders_service.settings import get_settings

log = structlog.get_logger()
_producer: Producer | None = None


def producer() -> Producer:
    global _producer
    if _producer is None:
        _producer = Producer({"bootstrap.servers": get_settings().broker_servers, "message.timeout.ms": 3000})
    return _producer


def publish(kind: str, key: str, data: dict[str, Any]) -> None:
    """Send an event and forget it. If the broker is away the event is lost, and only the log knows."""
    body = {"kind": kind, "at": datetime.now(timezone.utc).isoformat(), "data": data}
    try:
        producer().produce(get_settings().events_topic, key=key.encode(), value=json.dumps(body, default=str).encode())
        producer().poll(0)
    except (KafkaException, BufferError) as error:
        log.error("event.lost", kind=kind, key=key, error=str(error))

"""Idempotency-Key: the same request twice gives the first answer twice."""

import hashlib
import json
from typing import Any

from redis.asyncio import Redis

from orders_service.errors import Conflict
from orders_service.settings import get_settings

PENDING = b"pending"


def fingerprint(body: dict[str, Any]) -> str:
    """A hash of the body, so that a key that is used for another request is refused."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()


class IdempotencyStore:
    """Keys in Redis: absent, pending, or the stored answer."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis

    def _name(self, customer_id: int, key: str) -> str:
        return f"idem:{customer_id}:{key}"

    async def begin(self, customer_id: int, key: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """None when this request is the first; its stored answer when it was done; Conflict while it runs."""
        name = self._name(customer_id, key)
        if await self.redis.set(name, PENDING, nx=True, ex=60):
            return None
        stored = await self.redis.get(name)
        if stored is None or stored == PENDING:
            raise Conflict("request_in_progress", "the first request with this key still runs")
        answer = json.loads(stored)
        if answer["fingerprint"] != fingerprint(body):
            raise Conflict("key_reused", "this key was used for another request")
        return answer["response"]

    async def finish(self, customer_id: int, key: str, body: dict[str, Any], response: dict[str, Any]) -> None:
        value = json.dumps({"fingerprint": fingerprint(body), "response": response}, default=str)
        await self.redis.set(self._name(customer_id, key), value)

    async def abandon(self, customer_id: int, key: str) -> None:
        await self.redis.delete(self._name(customer_id, key))

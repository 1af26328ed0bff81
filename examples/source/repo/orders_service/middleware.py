"""A request id on every request, and one access line for each."""

import time
import uuid
from collections.abc import Awaitable, Callable

import structlog
from fastapi import Request, Response
from starlette.middleware.base import BaseHTTPMiddleware

log = structlog.get_logger("access")
Next = Callable[[Request], Awaitable[Response]]


class RequestId(BaseHTTPMiddleware):
    async def dispatch(self, request: Request, call_next: Next) -> Response:
        request_id = request.headers.get("x-request-id") or uuid.uuid4().hex[:16]
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = await call_next(request)
        response.headers["x-request-id"] = request_id
        structlog.contextvars.clear_contextvars()
        return response


class AccessLog(BaseHTTPMiddleware):
    async def dispatch(self, request: Request, call_next: Next) -> Response:
        began = time.perf_counter()
        response = await call_next(request)
        log.info(
            "request",
            method=request.method,
            path=request.url.path,
            status=response.status_code,
            ms=round((time.perf_counter() - began) * 1000, 1),
        )
        return response

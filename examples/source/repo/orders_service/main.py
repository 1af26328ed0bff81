"""The application: routers, middleware, and what happens at start and stop."""

from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from orders_service import api
from orders_service.database import engine
from orders_service.errors import Conflict, Forbidden, NotFound, RuleBroken
from orders_service.middleware import AccessLog, RequestId
from orders_service.settings import get_settings

log = structlog.get_logger()


@asynccontextmanager
async def lifespan(app: FastAPI):
    settings = get_settings()
    log.info("service.start", page_size_max=settings.page_size_max, lock_timeout_ms=settings.lock_timeout_ms)
    yield
    await engine.dispose()
    log.info("service.stop")


app = FastAPI(title="orders-service", version="5.3.2", lifespan=lifespan)
app.add_middleware(AccessLog)
app.add_middleware(RequestId)
for router in api.routers:
    app.include_router(router, prefix="/v2")


@app.exception_handler(NotFound)
async def not_found(request: Request, error: NotFound) -> JSONResponse:
    return JSONResponse({"code": "not_found", "detail": str(error)}, status_code=404)


@app.exception_handler(Conflict)
async def conflict(request: Request, error: Conflict) -> JSONResponse:
    return JSONResponse({"code": error.code, "detail": str(error)}, status_code=409)


@app.exception_handler(RuleBroken)
async def rule_broken(request: Request, error: RuleBroken) -> JSONResponse:
    return JSONResponse({"code": error.code, "detail": str(error)}, status_code=422)


@app.exception_handler(Forbidden)
async def forbidden(request: Request, error: Forbidden) -> JSONResponse:
    return JSONResponse({"code": "forbidden", "detail": "not allowed"}, status_code=403)


@app.get("/healthz", include_in_schema=False)
async def healthz() -> dict[str, str]:
    return {"status": "ok"}

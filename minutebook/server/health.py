"""Whether the process is alive, whether its store answers, and the numbers of both. Outside of /v1, without a token."""

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.requests import Request

from minutebook.server.house import House
from minutebook.server.metrics import CONTENT_TYPE
from minutebook.server.routing import Answer, refusals
from minutebook.server.shapes import HealthAnswer
from minutebook.server.tokens import TOKENS


def health_routes(house: House) -> APIRouter:
    """/healthz, /readyz and /metrics of this house."""
    router = APIRouter(responses={**refusals()})

    @router.get("/healthz", response_model=HealthAnswer)
    async def healthz() -> Answer:
        """The process answers."""
        return Answer({"ok": True})

    @router.get("/readyz", response_model=HealthAnswer)
    def readyz() -> Answer:
        """The store answers; 503 where it does not."""
        house.store.changes(TOKENS)
        return Answer({"ok": True})

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    def metrics(request: Request) -> Response:
        """Prometheus' text form; for this machine itself, or with a token."""
        return Response(house.metrics.text(), media_type=CONTENT_TYPE)

    return router

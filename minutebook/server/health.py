"""Whether the process is alive, whether its store answers, and the numbers of both. Outside of /v1, without a token."""

from fastapi import FastAPI, Request
from fastapi.responses import Response

from minutebook.server.house import House
from minutebook.server.metrics import CONTENT_TYPE
from minutebook.server.routing import VISIT, Answer, refusals
from minutebook.server.shapes import HealthAnswer
from minutebook.server.tokens import TOKENS

PROMETHEUS = {"description": "Prometheus' text form.", "content": {"text/plain": {"schema": {"type": "string"}}}}


def add_health_routes(app: FastAPI, house: House) -> None:
    """/healthz, /readyz and /metrics of this house."""

    async def healthz() -> Answer:
        """The process answers."""
        return Answer({"ok": True})

    def readyz() -> Answer:
        """The store answers and is there; 503 where it does not, or is not."""
        house.check_store()
        house.store.changes(TOKENS)
        return Answer({"ok": True})

    def metrics(request: Request) -> Response:
        """The numbers of this process and of the store's board; for this machine itself, or with a token."""
        if not request.scope[VISIT].is_local():
            request.scope[VISIT].caller()
        return Response(house.metrics.text(), media_type=CONTENT_TYPE)

    app.add_api_route("/healthz", healthz, response_model=HealthAnswer, responses=refusals())
    app.add_api_route("/readyz", readyz, response_model=HealthAnswer, responses=refusals())
    app.add_api_route("/metrics", metrics, response_class=Response, responses={**refusals(), 200: PROMETHEUS})

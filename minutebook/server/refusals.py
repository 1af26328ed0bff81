"""What the door says when it does not do what was asked: one shape, `{error, message, request_id}`, and no insides."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from minutebook.errors import (
    BadInput,
    BoxDiverged,
    MinutebookError,
    NotFound,
    StoreBusy,
    StoreFull,
    StoreGone,
    StoreUnreachable,
)
from minutebook.store import codec

NOTHING_HERE = "there is nothing by that name for this token"
"""Of what is unknown, another's, of another project, or purged: the same words, so that nobody learns which."""
PURGED = "purged:"
"""How the message begins that receive_sources and receive_memory raise for a purged session of the user's own."""
RETRY_SECONDS = 5
MESSAGE_CHARACTERS = 500
logger = logging.getLogger(__name__)


@dataclass(eq=False)  # not frozen: frameworks set what every exception has
class Refusal(Exception):
    """An answer that is an error. error: one word for programs. headers: besides those of every answer."""

    status: int
    error: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self, request_id: str) -> bytes:
        """The answer's body."""
        return codec.to_json({"error": self.error, "message": self.message, "request_id": request_id}).encode()


class Hidden(Exception):
    """Unknown, foreign or forbidden: answered as NOTHING_HERE."""


def not_found() -> Refusal:
    """The one answer to whatever this token may not see."""
    return Refusal(404, "not_found", NOTHING_HERE)


def invalid(message: str) -> Refusal:
    """What was sent cannot be used."""
    return Refusal(422, "invalid", message[:MESSAGE_CHARACTERS])


def refusal_of(error: BaseException) -> Refusal:
    """The answer to an error that was raised inside; of one that nobody expected, only that there was one."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, NotFound) and str(error).startswith(PURGED):
        return Refusal(410, "purged", "the session was purged here; it is not taken in again")
    if isinstance(error, (Hidden, NotFound)):
        return not_found()
    if isinstance(error, BoxDiverged):
        return Refusal(409, "diverged", str(error)[:MESSAGE_CHARACTERS])
    if isinstance(error, BadInput):
        return invalid(str(error))
    if isinstance(error, RecursionError):
        return invalid("the body is nested too deeply")
    if isinstance(error, MinutebookError):
        return _of_store(error)
    return Refusal(500, "internal", "this is a fault of Minutebook; the request id is in its log")


def _of_store(error: MinutebookError) -> Refusal:
    """Their messages name files and addresses; the log has them, the answer does not."""
    later = {"Retry-After": str(RETRY_SECONDS)}
    if isinstance(error, StoreUnreachable):
        return Refusal(503, "store_unreachable", "the store does not answer; try again later", later)
    if isinstance(error, StoreBusy):
        return Refusal(503, "store_busy", "the store is busy; try again", later)
    if isinstance(error, StoreGone):
        return Refusal(503, "store_gone", "the store was removed from under the box; who runs it has to look", later)
    if isinstance(error, StoreFull):
        return Refusal(503, "store_full", "the store is full; try again later", later)
    return Refusal(503, "store_failed", "the store cannot be used just now; try again later", later)


def log_failure(request_id: str, error: Exception, refusal: Refusal) -> None:
    """What went wrong in here, for who runs the box; a traceback where nobody expected it."""
    if refusal.status >= 500:
        logger.error("request %s: %s", request_id, error, exc_info=error if refusal.status == 500 else None)

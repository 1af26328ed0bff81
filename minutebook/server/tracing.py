"""Spans for OpenTelemetry where its API is installed; otherwise nothing at all."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


@cache
def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("minutebook")


def span(name: str) -> AbstractContextManager[Callable[..., None]]:
    """A span around a request; call what it gives with attributes (route, status, request id), never with contents."""
    tracer = _tracer()
    return nullcontext(_ignored) if tracer is None else _Span(tracer.start_as_current_span(name))


def _ignored(**attributes: object) -> None:
    """Nobody listens."""


class _Span(AbstractContextManager[Callable[..., None]]):
    def __init__(self, opened: AbstractContextManager[Any]) -> None:
        self._opened = opened

    def __enter__(self) -> Callable[..., None]:
        current = self._opened.__enter__()

        def note(**attributes: object) -> None:
            for name, value in attributes.items():
                current.set_attribute(f"minutebook.{name}", value)

        return note

    def __exit__(self, *error: Any) -> None:
        self._opened.__exit__(*error)

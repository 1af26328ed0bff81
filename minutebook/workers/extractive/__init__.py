"""The mind without a model: deterministic, offline, and quoting instead of inventing."""

from minutebook.workers.extractive.mind import ExtractiveMind

__all__ = ["ExtractiveMind"]

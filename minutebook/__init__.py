"""Minutebook keeps long coding-agent sessions coherent across compaction."""

from minutebook.version import __version__

__all__ = ["Session", "__version__"]


def __getattr__(name: str) -> object:
    """`minutebook.Session` is loaded when it is asked for: `import minutebook` costs nothing, in a hook too."""
    if name != "Session":
        raise AttributeError(f"module 'minutebook' has no attribute {name!r}")
    from importlib import import_module

    found: object = import_module("minutebook.hosts.python_api").Session
    return found

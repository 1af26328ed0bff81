"""Minutebook keeps long coding-agent sessions coherent across compaction."""

LAZY = {"Session": "minutebook.hosts.python_api", "__version__": "minutebook.version"}
__all__ = ["Session", "__version__"]


def __getattr__(name: str) -> object:
    """`import minutebook` costs nothing, in a hook too: what it exports is loaded on use."""
    if name not in LAZY:
        raise AttributeError(f"module 'minutebook' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(LAZY[name]), name)  # type: ignore[no-any-return]

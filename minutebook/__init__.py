"""Minutebook keeps long coding-agent sessions coherent across compaction."""

__version__ = "0.1.0"

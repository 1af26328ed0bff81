"""The store: an append-only log, JSON documents and a job board behind one set of numbered promises (kernel.py)."""

"""Tests that drive the real programs: collected by `make test-hosts` alone (MINUTEBOOK_HOSTS)."""

import os

collect_ignore_glob = [] if os.environ.get("MINUTEBOOK_HOSTS") else ["test_*.py"]

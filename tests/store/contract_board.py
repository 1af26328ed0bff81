"""Promises 10 and 11 of the store: the board. Part of contract_suite.StoreContract."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from contract_values import JOB, ODD_TEXTS, Behind, claimed, items, take

from minutebook.store.kernel import Claim, Dirty, Document, Job, Put, Store, Tip

"""A process that appends until the store says no: python filling_process.py PATH.

Prints the error's class and how many appends returned.

A process of its own, because memory that is mapped from a full file system may end in SIGBUS.
"""

import sys
from pathlib import Path

from minutebook.errors import StoreError
from minutebook.store.kernel import Item
from minutebook.store.sqlite import SqliteStore

store = SqliteStore(Path(sys.argv[1]), busy_seconds=1, create=True)
count = 0
try:
    while True:
        store.append("s", [Item(str(count), "k", 1, "x" * 5000)], advance={"m": count + 1})
        count += 1
except StoreError as error:
    sys.stdout.write(f"{type(error).__name__} {count}\n")

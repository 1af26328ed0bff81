"""A process that forks while its store is open: python forking_process.py URL. Parent and child append, by turns."""

import os
import sys

from minutebook.store.kernel import Item
from minutebook.store.opening import open_store

store = open_store(sys.argv[1])
store.append("s", [Item("before", "k", 1, "")])
child = os.fork()
name = "parent" if child else "child"
for number in range(40):
    store.append(name, [Item(str(number), "k", 1, "")], expect={"m": number}, advance={"m": number + 1})
    assert store.tip(name).length == number + 1
if not child:
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

"""A process that holds a SQLite file's write lock until its input ends: python lock_holder.py PATH."""

import os
import sqlite3
import sys

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
os.write(1, b"locked\n")
sys.stdin.read()

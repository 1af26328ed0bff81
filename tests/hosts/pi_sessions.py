"""A Pi session as its extension knows it: entries in a tree, its file, and the child that is told of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minutebook.hosts.pi.child import Child
from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.sessions import find_session
from minutebook.records import Branch
from minutebook.store.kernel import Store
from minutebook.store.opening import open_store

TIME = "2026-01-01T10:{:02}:00.000Z"
MODEL = {"provider": "scripted", "id": "main", "window": 100_000, "max_tokens": 4_096, "reasoning": False}
Row = dict[str, Any]


class PiSession:
    """rows: every entry, in the order of the file. leaf: id of the newest one of the branch."""

    def __init__(self, folder: Path, name: str = "s1", *, file: bool = True) -> None:
        self.name, self.project = name, folder / "project"
        self.project.mkdir(exist_ok=True)
        self.file = folder / f"{name}.jsonl"
        self.writes = file
        started = TIME.format(0)
        self.header = {"type": "session", "version": 3, "id": name, "timestamp": started, "cwd": str(self.project)}
        self.rows: list[Row] = []
        self.leaf: str | None = None
        self._write(self.header)

    def _write(self, row: Row) -> None:
        if self.writes:
            with self.file.open("a") as out:
                out.write(json.dumps(row) + "\n")

    def add(self, kind: str, **fields: Any) -> str:
        """An entry at the leaf; its id."""
        own = f"{self.name}-{len(self.rows):04}"
        time = TIME.format(len(self.rows) % 60)
        self.rows.append({"type": kind, "id": own, "parentId": self.leaf, "timestamp": time, **fields})
        self.leaf = own
        self._write(self.rows[-1])
        return own

    def say(self, text: str, role: str = "user", **fields: Any) -> str:
        """A message; its id."""
        return self.add("message", message={"role": role, "content": [{"type": "text", "text": text}], **fields})

    def turns(self, count: int, words: int = 40) -> list[str]:
        """So many prompts, each with an answer; the ids."""
        made = []
        for number in range(count):
            made.append(self.say(f"prompt {len(self.rows)} " + "word " * words))
            made.append(self.say(f"answer {number} " + "word " * words, "assistant"))
        return made

    def compact(self, kept: str, details: Any = None) -> str:
        """Pi's own record of a compaction."""
        fields = {"summary": "S", "firstKeptEntryId": kept, "tokensBefore": 1, "fromHook": details is not None}
        return self.add("compaction", **fields, details=details)

    def branch_ids(self) -> list[str]:
        """From the root to the leaf."""
        by_id = {row["id"]: row for row in self.rows}
        found, at = [], self.leaf
        while at is not None:
            found.append(at)
            at = by_id[at]["parentId"]
        return found[::-1]

    def branched(self, folder: Path, name: str) -> "PiSession":
        """A clone: another session with a copy of this branch."""
        other = PiSession(folder, name)
        for row in self.rows:
            if row["id"] in self.branch_ids():
                other.rows.append(row)
                other._write(row)
        other.leaf = self.leaf
        return other


class Talk:
    """A child in this process, and what the extension keeps of it. sent: lines that it wrote by itself."""

    def __init__(self, store_path: Path, session: PiSession) -> None:
        self.session = session
        self.lines: list[Mapping[str, Any]] = []
        self.child = Child(str(store_path), self.lines.append)
        self.store_path = store_path
        self.cursor = 0
        self._number = 0

    def open(self) -> Row:
        """As at session_start; what the child has already is not handed over again."""
        last = self.session.rows[-1]["id"] if self.session.rows else None
        fields = {"header": self.session.header, "file": str(self.session.file), "model": MODEL}
        opened = self.ask("open", **fields, last=last, bare=True)
        self.cursor = len(self.session.rows) if opened.get("cursor") else 0
        return opened

    def ask(self, kind: str, *, bare: bool = False, **fields: Any) -> Row:
        """A request with the entries that are new (not when bare), and its result."""
        if not bare:
            fresh = self.session.rows[self.cursor :]
            self.cursor = len(self.session.rows)
            fields = {"entries": fresh, "last": fresh[-1]["id"] if fresh else None, **fields}
        self._number += 1
        self.child.handle({"type": kind, "id": self._number, **fields})
        return next(dict(line) for line in reversed(self.lines) if line.get("id") == self._number)

    def turn(self) -> Row:
        """As at turn_end."""
        return self.ask("entries")

    def compact(self, kept: str, **fields: Any) -> Row:
        """As at session_before_compact."""
        branch = self.session.branch_ids()
        at = branch.index(kept) if kept in branch else len(branch)
        asked = {"first_kept": kept, "tokens_before": 4_321, "leaf": branch[:-33:-1], "kept": [kept, *branch[at:][:31]]}
        return self.ask("compact", **{**asked, **fields})

    def store(self) -> Store:
        """The store, opened once more; the test's own to close."""
        return open_store(str(self.store_path))


def branch_of(store: Store, name: str = "s1") -> Branch:
    """The branch on which the session's next entry arrives."""
    session = find_session(store, f"pi:{name}")
    assert session is not None
    return load_branch(store, session.branch)


def ids_in(store: Store, branch: Branch) -> list[str]:
    """The source entries of a branch."""
    return [placed.entry.id for placed in BranchPath(store, branch).read()]

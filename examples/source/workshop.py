"""A pretend repository, and the tools of a coding agent that work on it for real: what it reads is what it wrote.

Reads, greps, edits, diffs and commits are computed from the files in memory, so the session stays coherent: an edit
that does not fit its file fails here, when the example is built.
"""

import difflib
import fnmatch
import re
from hashlib import sha1

from session_builder import Call, Session

TEST = re.compile(r"^    ?(?:    )?(?:async )?def (test_\w+)|^(?:async )?def (test_\w+)", re.M)


class Workshop:
    """The tools over one repository; every method is one tool call unless it says otherwise."""

    def __init__(self, session: Session, files: dict[str, str]) -> None:
        self.session = session
        self.files = dict(files)
        self.committed = dict(files)
        self.log: list[tuple[str, str, str]] = []
        self.seconds = 0.4

    # files

    def full(self, path: str) -> str:
        return f"{self.session.cwd}/{path}"

    def _read_call(self, path: str, offset: int = 1, limit: int | None = None) -> Call:
        lines = self.files[path].splitlines()
        end = len(lines) if limit is None else min(len(lines), offset - 1 + limit)
        shown = "\n".join(f"{n:6d}→{lines[n - 1]}" for n in range(offset, end + 1))
        asked: dict[str, object] = {"file_path": self.full(path)}
        if limit is not None:
            asked |= {"offset": offset, "limit": limit}
        extra = {"filePath": self.full(path), "numLines": end - offset + 1, "startLine": offset, "totalLines": len(lines)}
        return Call("Read", asked, shown, extra={"type": "text", "file": extra}, seconds=0.1)

    def read(self, path: str, offset: int = 1, limit: int | None = None) -> str:
        return self.session.tool(self._read_call(path, offset, limit))[0]

    def read_together(self, *paths: str) -> list[str]:
        """Several reads in one reply (parallel tool calls)."""
        return self.session.tool(*(self._read_call(path) for path in paths))

    def read_around(self, path: str, needle: str, lines: int = 40) -> str:
        """A read of the part of a file around a text."""
        at = self.files[path][: self.files[path].index(needle)].count("\n") + 1
        return self.read(path, max(1, at - lines // 3), lines)

    def edit(self, path: str, old: str, new: str) -> str:
        text = self.files[path]
        if text.count(old) != 1:
            raise ValueError(f"{path}: the text to replace occurs {text.count(old)} times: {old[:60]!r}")
        self.files[path] = text.replace(old, new)
        self.session.touched(path)
        at = text[: text.index(old)].count("\n")
        lines = self.files[path].splitlines()
        low, high = max(0, at - 3), min(len(lines), at + new.count("\n") + 4)
        shown = "\n".join(f"{n + 1:6d}→{lines[n]}" for n in range(low, high))
        result = f"The file {self.full(path)} has been updated. Here's the result of running `cat -n` on a snippet:\n{shown}"
        asked = {"file_path": self.full(path), "old_string": old, "new_string": new, "replace_all": False}
        extra = {"filePath": self.full(path), "userModified": False, "replaceAll": False}
        return self.session.tool(Call("Edit", asked, result, extra=extra, seconds=0.2))[0]

    def write(self, path: str, text: str) -> str:
        fresh = path not in self.files
        self.files[path] = text
        self.session.touched(path)
        result = f"File {'created' if fresh else 'updated'} successfully at: {self.full(path)}"
        extra = {"type": "create" if fresh else "update", "filePath": self.full(path)}
        return self.session.tool(
            Call("Write", {"file_path": self.full(path), "content": text}, result, extra=extra, seconds=0.2)
        )[0]

    def grep(self, pattern: str, glob: str = "*", context: int = 0, limit: int = 60) -> str:
        found = self._matches(pattern, glob, context)[:limit]
        result = "\n".join(found) if found else "No matches found"
        asked: dict[str, object] = {"pattern": pattern, "output_mode": "content", "glob": glob, "-n": True}
        if context:
            asked["-C"] = context
        extra = {"mode": "content", "numLines": len(found)}
        return self.session.tool(Call("Grep", asked, result, extra=extra, seconds=0.2))[0]

    def _matches(self, pattern: str, glob: str, context: int) -> list[str]:
        wanted, found = re.compile(pattern), []
        for path in sorted(self.files):
            if not fnmatch.fnmatch(path, glob):
                continue
            lines = self.files[path].splitlines()
            hits = [n for n, line in enumerate(lines) if wanted.search(line)]
            shown = sorted({m for n in hits for m in range(max(0, n - context), min(len(lines), n + context + 1))})
            found += [f"{path}{':' if n in hits else '-'}{n + 1}{':' if n in hits else '-'}{lines[n]}" for n in shown]
        return found

    # shell

    def run(self, command: str, output: str, *, why: str = "", error: bool = False, seconds: float = 2.0) -> str:
        asked = {"command": command, "description": why or command.split()[0]}
        extra = {"stdout": output if len(output) < 300 else output[:280] + "…", "stderr": "", "interrupted": False}
        extra |= {"isImage": False}
        return self.session.tool(Call("Bash", asked, output, error, extra, seconds))[0]

    def tests_in(self, path: str) -> list[str]:
        """The names of a file's tests (no tool call)."""
        return [a or b for a, b in TEST.findall(self.files[path])]

    def pytest(self, *paths: str, failing: dict[str, str] | None = None, verbose: bool = False, seconds: float = 9) -> str:
        """Run the tests in these files; failing: test name → what pytest prints about it."""
        failing, every = failing or {}, [(p, t) for p in paths for t in self.tests_in(p)]
        head = [
            "============================= test session starts ==============================",
            "platform linux -- Python 3.11.9, pytest-7.4.4, pluggy-1.5.0",
            f"rootdir: {self.session.cwd}", "configfile: pyproject.toml", "plugins: anyio-3.7.1, cov-4.1.0, randomly-3.15.0",
            f"collected {len(every)} items", "",
        ]  # fmt: skip
        body = self._verbose(every, failing) if verbose else self._quiet(paths, failing)
        tail = ["=================================== FAILURES ==================================="] if failing else []
        for name, trace in failing.items():
            tail += [name.center(80, "_"), "", trace]
        if failing:
            tail += ["=========================== short test summary info ============================"]
            tail += [f"FAILED {p}::{t} - {failing[t].strip().splitlines()[-1]}" for p, t in every if t in failing]
        counts = f"{len(failing)} failed, " * bool(failing) + f"{len(every) - len(failing)} passed in {seconds:.2f}s"
        output = "\n".join([*head, *body, "", *tail, counts.center(80, "=")])
        flags = "-v" if verbose else "-q"
        command = f"python -m pytest {flags} {' '.join(paths) if len(paths) < 4 else 'tests/unit tests/api'}"
        return self.run(command, output, why="Run the tests", error=bool(failing), seconds=seconds + 1)

    def _verbose(self, every: list[tuple[str, str]], failing: dict[str, str]) -> list[str]:
        done = range(1, len(every) + 1)
        return [
            f"{p}::{t} {'FAILED' if t in failing else 'PASSED'}".ljust(74) + f"[{100 * n // len(every):3d}%]"
            for n, (p, t) in zip(done, every, strict=True)
        ]

    def _quiet(self, paths: tuple[str, ...], failing: dict[str, str]) -> list[str]:
        marks = {p: "".join("F" if t in failing else "." for t in self.tests_in(p)) for p in paths}
        return [f"{p} {dots}" for p, dots in marks.items()]

    # git

    def changed(self) -> list[str]:
        """Paths that differ from the last commit (no tool call)."""
        return sorted(p for p in self.files if self.files[p] != self.committed.get(p))

    def diff_text(self, *paths: str) -> str:
        """The diff against the last commit (no tool call)."""
        out = []
        for path in paths or self.changed():
            old, new = self.committed.get(path, "").splitlines(), self.files[path].splitlines()
            out.append(f"diff --git a/{path} b/{path}")
            out += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="", n=3)
        return "\n".join(out)

    def diff(self, *paths: str) -> str:
        return self.run("git diff " + " ".join(paths), self.diff_text(*paths), why="Show the working tree diff", seconds=0.3)

    def status(self) -> str:
        changed = self.changed()
        old = [f"\tmodified:   {p}" for p in changed if p in self.committed]
        new = [f"\t{p}" for p in changed if p not in self.committed]
        lines = [f"On branch {self.session.branch}"]
        if old:
            lines += ["Changes not staged for commit:", '  (use "git add <file>..." to update what will be committed)', *old]
        if new:
            lines += ["Untracked files:", '  (use "git add <file>..." to include in what will be committed)', *new]
        return self.run("git status", "\n".join(lines), why="Show working tree status", seconds=0.2)

    def commit(self, message: str, sha: str = "") -> str:
        changed = self.changed()
        if not changed:
            raise ValueError(f"nothing to commit: {message}")
        text = self.diff_text()
        plus = sum(line.startswith("+") and not line.startswith("+++") for line in text.splitlines())
        minus = sum(line.startswith("-") and not line.startswith("---") for line in text.splitlines())
        sha = sha or sha1((message + text).encode()).hexdigest()[:7]
        made = [f" create mode 100644 {p}" for p in changed if p not in self.committed]
        counts = f" {len(changed)} file{'s' * (len(changed) > 1)} changed, {plus} insertions(+), {minus} deletions(-)"
        self.committed = dict(self.files)
        self.log.append((sha, message, self.session.now.strftime("%a %b %d %H:%M:%S %Y +0000")))
        output = "\n".join([f"[{self.session.branch} {sha}] {message}", counts, *made])
        return self.run(f'git add -A && git commit -m "{message}"', output, why="Commit", seconds=0.8)

    def git_log(self, count: int = 12) -> str:
        shown = [f"{sha} {message}" for sha, message, _ in reversed(self.log[-count:])]
        return self.run(f"git log --oneline -{count}", "\n".join(shown), why="Show recent commits", seconds=0.2)

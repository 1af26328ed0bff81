"""Hooks as an agent runs them: a console script in a venv of nothing but this package, each a process of its own."""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import minutebook
from benchmarks import flat, sessionfiles
from benchmarks.bench import Bench
from benchmarks.table import Row, Timed, at_most, medians, ratio_row
from minutebook.hosts.bell import remove_handover, wake_path
from minutebook.hosts.claims import forget_claims
from minutebook.hosts.delivering import deliver
from minutebook.pipeline.branches import Path as SourcePath
from minutebook.pipeline.intake import own_branch
from minutebook.pipeline.outcomes import append_memory, memory_entry
from minutebook.store.opening import open_store

PACKAGE = Path(minutebook.__file__).parent
STOP_TIMES, FLAT_TIMES, ANSWER_MILLISECONDS = 3.0, 1.15, 250.0
BACKLOG_BYTES = 50_000
SESSION = "3b9aca00-0000-4000-8000-000000000000"
"""Of the session file."""
SCRIPT = """#!{python}
import sys
from minutebook.hosts.hook import main
if __name__ == '__main__':
    sys.exit(main())
"""
"""As pip 26 and uv write it; older ones import re in it."""
WITH_RE = SCRIPT.replace("import sys\n", "import re\nimport sys\n")


@dataclass(frozen=True, slots=True)
class Installed:
    """A venv with this package and nothing else. home: of Minutebook."""

    folder: Path
    home: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def script(self, name: str, text: str) -> str:
        """A console script in it."""
        path = self.folder / "bin" / name
        path.write_text(text.format(python=self.python))
        path.chmod(0o755)
        return str(path)

    def run(self, *command: str, given: str = "", store: str = "") -> bytes:
        """What a process printed that was given this on stdin."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "MINUTEBOOK_HOME": str(self.home)}
        if store:
            environment["MINUTEBOOK_STORE"] = store
        done = subprocess.run(
            command, input=given.encode(), env=environment, stdout=subprocess.PIPE, check=True, cwd=self.home
        )
        return done.stdout


def installed(folder: Path) -> Installed:
    """Made without the network: the package's files and the script, as an installer puts them there."""
    made = Installed(folder / "venv", folder / "home")
    made.home.mkdir(parents=True)
    venv.create(made.folder, with_pip=False, symlinks=True)
    purelib = made.folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    shutil.copytree(PACKAGE, purelib / "minutebook")  # what is compiled already, too
    made.script("om-hook", SCRIPT)
    made.script("om-hook-with-re", WITH_RE)
    return made


@contextmanager
def listening(store: str) -> Iterator[None]:
    """Somebody listens, so that no hook starts a worker."""
    path = Path(wake_path(store))
    if not path.exists():
        os.mkfifo(path, 0o600)
    handle = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield
    finally:
        os.close(handle)


def payload(transcript: Path, **more: str) -> str:
    """What Claude Code gives a hook."""
    about = {"session_id": SESSION, "transcript_path": str(transcript), "cwd": sessionfiles.FOLDER}
    return json.dumps({**about, "permission_mode": "default", "last_assistant_message": "done " * 200, **more})


def rows(bench: Bench) -> Iterator[Row]:
    """A Stop hook against a bare interpreter, beside stores of different sizes, and a hook that answers."""
    env = installed(bench.folder / "hooks")
    hook, stop = str(env.folder / "bin" / "om-hook"), payload(env.home / "none.jsonl")
    sizes = bench.scale.small, bench.scale.large
    small, large = (bench.flat(count)[0].url.removeprefix("sqlite:///") for count in sizes)
    runs = min(bench.scale.runs, 100)
    with listening(small), listening(large):
        found = medians(
            runs,
            {
                "bare": lambda: env.run(env.python, "-I", "-c", "pass", given=stop),
                "small": lambda: env.run(hook, "claude-code", "Stop", given=stop, store=small),
                "large": lambda: env.run(hook, "claude-code", "Stop", given=stop, store=large),
                "re": lambda: env.run(f"{hook}-with-re", "claude-code", "Stop", given=stop, store=small),
            },
        )
    yield ratio_row("a Stop hook against `python -I -c pass`, same venv", found["small"], found["bare"], STOP_TIMES)
    yield ratio_row("  with a console script of an older pip", found["re"], found["bare"], None)
    name = f"a Stop hook, {bench.scale.large:,} against {bench.scale.small:,} entries in the store"
    yield ratio_row(name, found["large"], found["small"], FLAT_TIMES)
    yield from answer_rows(bench, env, found["bare"])


def answer_rows(bench: Bench, env: Installed, bare: float) -> Iterator[Row]:
    """SessionStart(compact): reads what was said since, composes, prints. Each time from the same store and file."""
    transcript = sessionfiles.written(bench.folder, "Claude Code", min(bench.scale.file_bytes, 1_000_000))
    before, store = bench.folder / "answering-before.sqlite", str(bench.folder / "answering.sqlite")
    remembered(before, transcript)
    given = payload(transcript, source="compact")
    hook = str(env.folder / "bin" / "om-hook")
    printed: list[int] = []

    def as_before() -> None:
        remove_handover(store, "claude_code", SESSION)
        forget_claims(store, "claude_code", SESSION)
        for path in Path(store).parent.glob(f"{Path(store).name}-*"):
            path.unlink()
        shutil.copy(before, store)

    def answer() -> None:
        printed.append(len(env.run(hook, "claude-code", "SessionStart", given=given, store=store)))

    with listening(store):
        work = Timed(run=answer, before=as_before)
        work.seconds()
        times = [work.seconds() for _ in range(max(2, bench.scale.marks))]
    p95 = quantiles(times, n=20)[-1] * 1e3
    more = f"median {median(times) * 1e3:.0f} ms, {median(times) / bare:.1f} x"
    if late := printed.count(0):
        more += f"; {late} were not done within a second"
    yield at_most("a hook that answers with 50 KB to read, p95", p95, ANSWER_MILLISECONDS, "ms", more)


def remembered(path: Path, transcript: Path) -> None:
    """A store in which all but the last 50 KB of a session is taken in, with its memory."""
    whole = transcript.read_bytes()
    cut = whole.rindex(b"\n", 0, max(len(whole) - BACKLOG_BYTES, len(whole) // 2)) + 1
    transcript.write_bytes(whole[:cut])
    with closing(open_store(str(path))) as store:
        done = deliver(store, "claude_code", transcript)
        branch = own_branch(store, done.session)
        count = SourcePath(store, branch).length()
        append_memory(store, branch, [memory_entry(entry) for entry in flat.memory(count)])
    transcript.write_bytes(whole)

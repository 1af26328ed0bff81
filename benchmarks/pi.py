"""The real Pi: how long a compaction takes with our extension, and with one that just returns a text of that size."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

from benchmarks.bench import Bench
from benchmarks.table import Row, at_most
from minutebook.hosts.delivering import deliver
from minutebook.hosts.edits import OwnFile, Target
from minutebook.hosts.pi import wiring
from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.branches import load_branch
from minutebook.pipeline.outcomes import Entry, append_memory, memory_entry
from minutebook.pipeline.sessions import list_sessions
from minutebook.pipeline.shapes import counted_observation, observation_data
from minutebook.records import OBSERVATIONS, Observation, observation_id
from minutebook.store.opening import open_store
from tests.real.pi_rpc import OFFLINE, Rpc
from tests.real.programs import pi_if_there

BAR_MILLISECONDS = 10.0
ENTRIES = 10_000
RUNS = 15
OBSERVED_EVERY = 25
NO_OP = """\
export default function (pi) {
  pi.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => {
    const summary = "x".repeat(Number(process.env.NO_OP_CHARACTERS));
    return { compaction: { summary, firstKeptEntryId, tokensBefore, details: { type: "no-op" } } };
  });
}
"""
WORDS = "Some words of a turn that weighs about as much as one of a person does. " * 6


def rows(bench: Bench) -> Iterator[Row]:
    """compaction_start to compaction_end, as another process sees them. The two take turns."""
    count = min(ENTRIES, bench.scale.large)
    name = f"Pi compacts {count:,} entries: longer than a no-op extension"
    program, node = pi_if_there()
    if not (program and node):
        yield Row(name=name, measured="(Pi is not here)")
        return
    folder = (bench.folder / "pi").resolve()
    ours, theirs = _Home(folder / "ours", [node, program], count), _Home(folder / "no-op", [node, program], count)
    ours.remember()
    with ExitStack() as ending:
        with_memory = ending.enter_context(ours.start())
        characters = len(ours.compact(with_memory)[1])
        no_op = ending.enter_context(theirs.start(NO_OP_CHARACTERS=str(characters)))
        theirs.compact(no_op)
        times: dict[str, list[float]] = {"ours": [], "no-op": []}
        for _ in range(min(RUNS, bench.scale.runs)):
            times["no-op"].append(theirs.compact(no_op)[0])
            times["ours"].append(ours.compact(with_memory)[0])
    took, base = median(times["ours"]), median(times["no-op"])
    more = f"{took:.1f} / {base:.1f} ms, {characters:,} characters"
    yield at_most(name, took - base, BAR_MILLISECONDS, "ms", more)


class _Home:
    """A home of Pi with a session of so many entries, and an extension."""

    def __init__(self, root: Path, command: list[str], count: int) -> None:
        self.root, self.agent, self.project = root, root / "agent", root / "project"
        self.data, self.session = root / "data", root / "session.jsonl"
        for folder in (self.agent, self.project, self.data, root / "tmp"):
            folder.mkdir(parents=True)
        self.command = [*command, "--mode", "rpc", "--model", "none/none", "--session", str(self.session)]
        model = {"id": "none", "input": ["text"], "reasoning": False, "contextWindow": 10**8, "maxTokens": 4_096}
        served = {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
        self._write("models.json", {"providers": {"none": served}})
        self._write("settings.json", {"compaction": {"keepRecentTokens": 50, "reserveTokens": 1_000}})
        self.session.write_text("".join(json.dumps(row) + "\n" for row in _rows(count, self.project)))

    def _write(self, name: str, value: object) -> None:
        (self.agent / name).write_text(json.dumps(value))

    def remember(self) -> None:
        """Our extension, and a ledger in which memory covers all but the last entries."""
        om_hook = Path(sys.executable).parent / "om-hook"
        package = Path(wiring.__file__).parents[1]
        target = Target(
            host="pi",
            om="",
            om_hook=str(om_hook),
            folder=self.agent,
            home=self.root,
            state_file=Path(),
            package=package,
        )
        for edit in wiring.wiring(target).edits:
            assert isinstance(edit, OwnFile)
            edit.file.parent.mkdir(parents=True, exist_ok=True)
            edit.file.write_bytes(edit.content)
        (self.data / "minutebook.toml").write_text("passive = true\n")
        with closing(open_store(str(self.data / "minutebook.sqlite"))) as store:
            deliver(store, "pi", self.session)
            branch = load_branch(store, list_sessions(store)[0].branch)
            covers = BranchPath(store, branch).length() - 20
            noted = [observation_data(_observation(at)) for at in range(0, covers, OBSERVED_EVERY)]
            entry = Entry(kind=OBSERVATIONS, since=0, covers=covers, data={"observations": noted})
            append_memory(store, branch, [memory_entry(entry)])

    def start(self, **more: str) -> Rpc:
        """Pi, once it has loaded the session."""
        extension = []
        if more:
            (self.root / "no-op.ts").write_text(NO_OP)
            extension = ["-e", str(self.root / "no-op.ts")]
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "TMPDIR": str(self.root / "tmp"),
            "PI_CODING_AGENT_DIR": str(self.agent),
            "MINUTEBOOK_HOME": str(self.data),
            **OFFLINE,
            **more,
        }
        pi = Rpc([*self.command, *extension], self.project, environ)
        pi.call("get_state")
        return pi

    def compact(self, pi: Rpc) -> tuple[float, str]:
        """Milliseconds of a compaction after two commands of a person, and its text."""
        for _ in range(2):
            pi.call("bash", command="seq 150")
        since = pi.mark()
        text = str(pi.call("compact")["data"]["summary"])
        begin = pi.wait(lambda event: event["type"] == "compaction_start", since)
        end = pi.wait(lambda event: event["type"] == "compaction_end", since)
        return (end["_at"] - begin["_at"]) * 1e3, text


def _rows(count: int, project: Path) -> Iterator[dict[str, object]]:
    time, parent = "2026-01-01T10:00:00.000Z", None
    yield {
        "type": "session",
        "version": 3,
        "id": "01234567-0000-7000-8000-000000000000",
        "timestamp": time,
        "cwd": str(project),
    }
    for at in range(count):
        own, role = f"{at:08x}", "assistant" if at % 2 else "user"
        said = {"role": role, "content": [{"type": "text", "text": f"{at}: {WORDS}"}], "timestamp": 1_767_261_600_000}
        if role == "assistant":
            cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
            usage = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": cost}
            model = {"api": "openai-completions", "provider": "none", "model": "none"}
            said |= {**model, "usage": usage, "stopReason": "stop"}
        yield {"type": "message", "id": own, "parentId": parent, "timestamp": time, "message": said}
        parent = own


def _observation(at: int) -> Observation:
    content, minute, sources = (
        f"Turn {at}: what was said there, in about a dozen words.",
        "2026-01-01 10:00",
        (f"{at:08x}",),
    )
    key = observation_id(content, minute, sources)
    made = Observation(id=key, content=content, timestamp=minute, relevance="high", source_ids=sources)
    return counted_observation(made)

"""Run the commands that the docs show, and put what they print into the pages: `make docs`.

A block to refresh follows a comment `<!-- output: NAME -->`. Times and paths of this machine are the only things
changed: the checkout's path becomes ~/minutebook.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from minutebook.settings_reference import reference_markdown

ROOT = Path(__file__).resolve().parents[1]
OM = Path(sys.executable).with_name("om")
EXAMPLE = "examples/orders-service.jsonl"
EXAMPLE_SESSION = "8997d5de"
BOX_LINES = 9
WORDS = ("page", "size", "cap")
BLOCK = re.compile(r"(<!-- output: (?P<name>[^>]+) -->\n```\n).*?(```\n)", re.DOTALL)


def run(*arguments: str, **variables: str) -> str:
    """What `om` prints on a page of 110 columns."""
    environ = {"COLUMNS": "110", "HOME": "/", **variables}
    done = subprocess.run([str(OM), *arguments], cwd=ROOT, capture_output=True, text=True, check=True, env=environ)
    return done.stdout.replace(str(ROOT), "~/minutebook").rstrip() + "\n"


def evaluated() -> str:
    """The totals of the prompt test set for the extractive mind."""
    done = subprocess.run([sys.executable, "-m", "evals"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.rpartition("\n\n")[2].rstrip() + "\n"


def boxed(folder: str) -> str:
    """What the second of two laptops is given by a box, at first."""
    box = f"{folder}/box.sqlite"
    token = run("token", "create", "--user", "alice", "--store", box).strip()
    command = [str(OM), "serve", "--store", box, "--set", "serve_port=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"HOME": folder}) as door:
        assert door.stdout is not None
        url = door.stdout.readline().split()[-1]
        one, other = (
            {"MINUTEBOOK_HOME": f"{folder}/{name}", "MINUTEBOOK_BOX_URL": url, "MINUTEBOOK_BOX_TOKEN": token}
            for name in ("one", "other")
        )
        run("ingest", EXAMPLE, **one)
        run("sync", "--once", **one)
        run("worker", "--until-idle", "--store", box)
        came = run("sync", "--once", **other)
        door.terminate()
    shown = run("compact", **other).splitlines(keepends=True)[:BOX_LINES]
    return f"$ om sync --once\n{came}\n$ om compact | head -{BOX_LINES}\n{''.join(shown)}"


def installed(folder: str) -> str:
    """What a person sees of an install into an agent that is on PATH."""
    program = Path(folder) / "bin" / "claude"
    program.parent.mkdir()
    program.touch(0o755)
    environ = {"HOME": folder, "PATH": str(program.parent)}
    done = subprocess.run(
        [str(OM), "install", "claude-code"], stdout=-1, stderr=subprocess.STDOUT, text=True, check=True, env=environ
    )
    return f"$ om install claude-code\n{done.stdout}"


def agent(folder: str) -> str:
    """The example agent, offline, for four hundred turns."""
    command = [sys.executable, "examples/agent.py", "--turns", "400"]
    environ = {"HOME": folder, "MINUTEBOOK_HOME": folder}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environ)
    lines = done.stdout.splitlines(keepends=True)
    told = [at for at, line in enumerate(lines) if line.startswith("  turn ")]
    few = [*lines[:3], "…\n", *lines[told[0] - 3 : told[0] + 3], "  …\n", *lines[told[-1] - 4 :]]
    return f"$ python {' '.join(command[1:])}\n{''.join(few)}"


def asked(store: str, session: str, calls: Sequence[tuple[str, dict[str, object]]]) -> str:
    """What `om mcp` answers to these calls of its tools."""
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "docs", "version": "1"}}
    messages: list[dict[str, object]] = [
        {"id": 0, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        *(
            {"id": at, "method": "tools/call", "params": {"name": n, "arguments": a}}
            for at, (n, a) in enumerate(calls, 1)
        ),
    ]
    command = [str(OM), "mcp", "--store", store, "--session", session]
    answers: dict[int, str] = {}
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env={"HOME": "/"}) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.writelines(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages)
        server.stdin.flush()
        while len(answers) < len(calls):
            answer = json.loads(server.stdout.readline())
            if answer["id"]:
                answers[answer["id"]] = answer["result"]["content"][0]["text"]
        server.stdin.close()
    return (
        "\n\n".join(f"> {name} {json.dumps(given)}\n{answers[at]}" for at, (name, given) in enumerate(calls, 1)) + "\n"
    )


def outputs() -> dict[str, str]:
    """Name of a block → its text."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store.sqlite"
        demo = run("replay", "--step", "--store", store, EXAMPLE).replace(store, "demo.sqlite")
        found = run("search", "--store", store, "--limit", "3", *WORDS)
        record = re.search(r"\[([0-9a-f]{12})\] observation", found)
        assert record is not None
        source = run("recall", "--store", store, record[1])
        status = run("status", "--store", store)
        box = boxed(folder)
        install = installed(folder)
        calls = [("memory_search", {"words": " ".join(WORDS), "limit": 2}), ("recall", {"id": record[1]})]
        tools = asked(store, EXAMPLE_SESSION, calls)
        program = agent(folder)
    shown = f"$ om search {' '.join(WORDS)}\n{found}\n$ om recall {record[1]}\n{source}"
    texts = {"make demo": demo, "om search, om recall": shown, "om status": status, "om sync": box}
    texts |= {"om mcp": tools, "examples/agent.py": program}
    return {**texts, "om install": install, "make eval": evaluated()}


def main() -> None:
    """Refresh README.md, the pages with output of commands and the settings reference."""
    texts = outputs()
    for page in (ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("mcp", "prompts", "python"))):
        page.write_text(BLOCK.sub(lambda match: match[1] + texts[match["name"]] + match[3], page.read_text()))
    (ROOT / "docs" / "settings.md").write_text(reference_markdown())


if __name__ == "__main__":
    main()

"""Real Pi and Codex: private spans, ignored files and paused turns are not in the store, though the agent saw them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from scripted_server import Answer

from minutebook.pipeline.sessions import list_sessions
from minutebook.store.opening import open_store
from tests.real.codex_api import Reply, ScriptedResponses
from tests.real.codex_lab import CodexLab, wait_until
from tests.real.codex_lab import shell as codex_shell
from tests.real.pi_lab import PiLab, bash, until

SECRET = "qzxjv"
IGNORE = 'ignore = ["secrets"]\n'
PROMPT = f"Deploy with <private>{SECRET}-span</private>, please."
READ = "cat secrets/prod.env"


def om(project: Path, environ: Mapping[str, str], *arguments: str) -> None:
    program = Path(sys.executable).with_name("om")
    subprocess.run([program, *arguments], cwd=project, env=environ, check=True, capture_output=True)


def plant(project: Path, minutebook: Path) -> None:
    """A file that is ignored."""
    (project / "secrets").mkdir()
    (project / "secrets" / "prod.env").write_text(f"KEY={SECRET}-file\n")
    with (minutebook / "minutebook.toml").open("a") as file:
        file.write(IGNORE)


def stored(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def taken_in(store: Path) -> tuple[int, dict[str, int]]:
    """Prompts of the latest session, and what was left out of it."""
    if not store.exists():
        return 0, {}
    opened = open_store(str(store))
    try:
        sessions = list_sessions(opened)
    finally:
        opened.close()
    left = {kind: sessions[0].skipped.get(kind, 0) for kind in ("paused", "ignored")} if sessions else {}
    return (sessions[0].prompts, left) if sessions else (0, {})


def test_pi(pi_lab: PiLab) -> None:
    plant(pi_lab.project, pi_lab.minutebook)
    environ = {**os.environ, **pi_lab.environ()}
    pi_lab.agent.queue += [bash(READ), Answer(text="I have read it.")]
    with pi_lab.rpc() as pi:
        pi.prompt(PROMPT)
        until(lambda: taken_in(pi_lab.store_path)[0] == 1, "the prompt")
        om(pi_lab.project, environ, "pause")
        pi.prompt(f"While paused: {SECRET}-paused.")
        om(pi_lab.project, environ, "resume")
        pi.prompt("And on.")
        until(lambda: taken_in(pi_lab.store_path)[0] == 2, "the prompt after the pause")
    asked = str([message.text for message in pi_lab.server.requests[-1].messages])
    assert all(f"{SECRET}-{kind}" in asked for kind in ("span", "file", "paused"))
    assert taken_in(pi_lab.store_path)[1] == {"paused": 2, "ignored": 2}
    assert SECRET.encode() not in stored(pi_lab.minutebook)


def test_codex(codex_lab: CodexLab, codex_api: ScriptedResponses) -> None:
    codex_lab.configure()
    codex_lab.install()
    plant(codex_lab.project, codex_lab.minutebook)
    codex_api.script.extend([Reply("", [codex_shell(READ)]), Reply("I have read it.")])
    thread = codex_lab.exec(PROMPT).thread
    codex_lab.om("pause")
    codex_lab.exec(f"While paused: {SECRET}-paused.", resume=thread)
    codex_lab.om("resume")
    codex_lab.exec("And on.", resume=thread)
    wait_until(lambda: taken_in(codex_lab.store)[0] == 2)
    assert all(f"{SECRET}-{kind}" in codex_api.requests[-1].text for kind in ("span", "file", "paused"))
    assert taken_in(codex_lab.store)[1].get("ignored") == 2
    assert SECRET.encode() not in stored(codex_lab.minutebook)

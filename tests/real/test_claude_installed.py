"""Real Claude Code: beside what a person has set up, out again, and what must not be recorded is not."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.intake import own_branch
from minutebook.pipeline.sessions import find_session
from minutebook.pipeline.sourcetext import entry_text
from minutebook.store.kernel import Store
from tests.real.claude_lab import PROGRAMS, SECONDS, ClaudeLab, claude_lab, said, shell, words

SECRET = "qzxjv"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ClaudeLab]:
    with claude_lab(tmp_path) as found:
        yield found


def om(lab: ClaudeLab, *arguments: str, code: int = 0) -> str:
    """What an `om` command prints in the project."""
    path = f"{PROGRAMS}:{Path(lab.program).parent}:/usr/bin:/bin"
    done = subprocess.run(
        [PROGRAMS / "om", *arguments],
        cwd=lab.project,
        env=lab.environ(PATH=path),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def texts(lab: ClaudeLab, session: str) -> list[str]:
    with lab.opened() as store:
        path = BranchPath(store, own_branch(store, f"claude_code:{session}"))
        return [entry_text(placed.entry) for placed in path.read()]


def has(session: str, prompts: int) -> "Took":
    return Took(session, prompts)


class Took:
    """Whether so many prompts of a session were taken in."""

    def __init__(self, session: str, prompts: int) -> None:
        self.key, self.prompts = f"claude_code:{session}", prompts

    def __call__(self, store: Store) -> bool:
        found = find_session(store, self.key)
        return found is not None and found.prompts >= self.prompts


def stored(lab: ClaudeLab) -> bytes:
    return b"".join(file.read_bytes() for file in lab.minutebook.rglob("*") if file.is_file())


@pytest.mark.parametrize("way", ["--user", "--plugin"])
def test_beside_a_persons_own_hooks_and_out_again(lab: ClaudeLab, way: str) -> None:
    ran = lab.root / "ran"
    hook = {"hooks": [{"type": "command", "command": f"echo mine >> {ran}"}]}
    settings = lab.folder / "settings.json"
    settings.write_text(json.dumps({"hooks": {"Stop": [hook]}, "cleanupPeriodDays": 99}, indent=4))
    before = settings.read_bytes()
    lab.install(way)
    session = lab.prompt("Hello.").session
    lab.wait_for(has(session, 1))
    assert ran.read_text() == "mine\n" and "✗" not in om(lab, "doctor")
    om(lab, "uninstall", "claude-code")
    assert settings.read_bytes() == before
    assert "om-hook" not in json.dumps(json.loads((lab.home / ".claude.json").read_text()).get("mcpServers", {}))
    if way == "--plugin":
        return
    size = len(texts(lab, session))
    lab.prompt("Hello again.", session=session)
    assert ran.read_text() == "mine\n" * 2 and len(texts(lab, session)) == size
    assert not any(file.name.startswith(session) for file in _bells(lab))
    lab.install("--user")
    lab.prompt("And again.", session=session)
    lab.wait_for(has(session, 3))


def _bells(lab: ClaudeLab) -> list[Path]:
    folder = Path(f"{lab.store}.bells")
    return list(folder.iterdir()) if folder.is_dir() else []


def test_a_minutebook_that_was_removed_harms_nothing(lab: ClaudeLab) -> None:
    """Its files are gone, its hooks are still there; or they are there, and cannot run."""
    lab.install("--user")
    settings = lab.folder / "settings.json"
    gone = str(lab.root / "gone")
    settings.write_text(settings.read_text().replace(str(PROGRAMS), gone))
    run = lab.prompt("Hello.")
    assert run.errors == "" and not lab.store.exists()
    Path(gone).mkdir()
    (Path(gone) / "om-hook").write_text("#!/nowhere/python\n")
    (Path(gone) / "om-hook").chmod(0o755)
    assert lab.prompt("Hello again.", session=run.session).errors == ""
    assert gone in om(lab, "doctor", code=1)
    assert all(gone not in words(asked) for asked in lab.asked)


def test_what_must_not_be_recorded_is_not_there(lab: ClaudeLab) -> None:
    """A private span, an ignored file and a pause, in one session; the agent itself sees all of it."""
    lab.install("--user")
    (lab.project / "secrets").mkdir()
    (lab.project / "secrets" / "prod.env").write_text(f"KEY={SECRET}-file\n")
    with (lab.minutebook / "minutebook.toml").open("a") as file:
        file.write('ignore = ["secrets"]\n')
    lab.script = [shell("cat secrets/prod.env"), said("I have read it.")]
    session = lab.prompt(f"Deploy with <private>{SECRET}-span</private>, please.").session
    om(lab, "pause")
    lab.prompt(f"While paused: {SECRET}-paused.", session=session)
    om(lab, "resume")
    lab.prompt("And on.", session=session)
    lab.wait_for(has(session, 2))
    shown = words(lab.asked[-1])
    assert all(f"{SECRET}-{kind}" in shown for kind in ("span", "file", "paused"))
    recorded = texts(lab, session)
    assert recorded[0] == "Deploy with [private: left out], please." and recorded[-2:-1] == ["And on."]
    assert any("ignored path" in text for text in recorded)
    assert SECRET.encode() not in stored(lab)
    assert "Kept out" in om(lab, "status")

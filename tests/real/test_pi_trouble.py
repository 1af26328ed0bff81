"""Real Pi when something is amiss: the child dies or sleeps, om-hook is gone, Pi is killed. The agent is unharmed."""

import json
import os
import shutil
import signal
import stat
import sys
from pathlib import Path

import pytest
from builders import observed, remember
from scripted_server import Answer

from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.ledger import read_memory
from minutebook.records import FOLD
from minutebook.settings import Settings
from tests.real.pi_lab import OWN_SUMMARY, PROGRAMS, PiLab, Rpc, until

FILLER = "Some words that weigh something. " * 20


def turn(lab: PiLab, pi: Rpc, name: str = "x") -> None:
    lab.agent.queue.append(Answer(text=f"Answer {name}. {FILLER}"))
    pi.prompt(f"Prompt {name}. {FILLER}")


def know(lab: PiLab, words: str) -> None:
    """Wait until the session is known, and remember something."""
    until(lab.has_session, "the session")
    with lab.store() as store:
        remember(store, lab.branch(), observations=[observed(words, sources=("x",))])


def answered(pi: Rpc) -> None:
    """Wait until the child has done all that it was asked before."""
    since = pi.mark()
    pi.prompt("/om:status")
    pi.told("Observations ", since)


def program(folder: Path, text: str) -> Path:
    """A program that stands where om-hook should."""
    path = folder / "other-hook"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_child_is_killed_pi_summarizes_and_the_next_turn_starts_another(pi_lab: PiLab) -> None:
    pi_lab.settings("passive = true\n")
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi, "one")
        turn(pi_lab, pi, "two")
        know(pi_lab, "The port is 8443.")
        child = pi_lab.child(pi)
        os.kill(child, signal.SIGKILL)
        # Until then it is a zombie, and Pi does not know.
        until(lambda: not os.path.exists(f"/proc/{child}"), "Pi to have seen it go")  # noqa: PTH110
        turn(pi_lab, pi, "three")
        answered(pi)
        other = pi_lab.child(pi)
        assert other != child
        assert "The port is 8443." in pi.call("compact")["data"]["summary"]
        os.kill(other, signal.SIGSTOP)  # alive, and silent
        turn(pi_lab, pi, "four")
        turn(pi_lab, pi, "five")
        assert OWN_SUMMARY in pi.call("compact")["data"]["summary"]
        assert pi.told("no memory in time") == "warning: Minutebook: no memory in time, so Pi's own summary is used"
        os.kill(other, signal.SIGCONT)
        turn(pi_lab, pi, "six")
        answered(pi)
        assert pi_lab.sessions()[0].prompts == 6
        with pi_lab.store() as store:
            folds = [entry for entry in read_memory(store, pi_lab.branch()) if entry.kind == FOLD]
        assert len(folds) == 1  # what came too late was given up
        assert not [event for event in pi.events if event["type"] == "extension_error"]
    assert pi_lab.processes("om-hook") == []


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_what_a_child_that_had_to_be_given_up_did_not_take_in_is_left_to_a_worker(pi_lab: PiLab, number: int) -> None:
    """Nobody has to open the session again."""
    pi_lab.settings("passive = true\n")
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi, "one")
        until(pi_lab.has_session, "the session")
        child = pi_lab.child(pi)
        os.kill(child, signal.SIGSTOP)
        turn(pi_lab, pi, "two")
        os.kill(child, number)
    until(lambda: pi_lab.sessions()[0].prompts == 2, "the last turn")
    until(lambda: pi_lab.sessions()[0].ended, "the end of the session")
    pi_lab.stop_workers()
    assert pi_lab.processes("om-hook") == []


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "import time; time.sleep(60)", "print('rubbish'); print({})"])
def test_a_program_that_is_not_om_hook_harms_nothing(pi_lab: PiLab, tmp_path: Path, text: str) -> None:
    pi_lab.install(program(tmp_path, text))
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi)
        turn(pi_lab, pi)
        assert OWN_SUMMARY in pi.call("compact")["data"]["summary"]
        assert not [event for event in pi.events if event["type"] == "extension_error"]
    assert pi.process.returncode == 0
    assert pi_lab.processes("other-hook") == []


def test_a_program_whose_python_is_gone_is_said_once(pi_lab: PiLab, tmp_path: Path) -> None:
    gone = program(tmp_path, "")
    gone.write_text("#!/nowhere/python\n")
    pi_lab.install(gone)
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi)
        turn(pi_lab, pi)
        (notice,) = pi.notices()
    assert notice.startswith(f"warning: Minutebook: {gone} does not run, so nothing is remembered here")


def test_wrong_settings_are_said_at_once_and_the_session_is_taken_in_later_003_126(pi_lab: PiLab) -> None:
    pi_lab.configure(**{"observational-memory": {"observeAfterTokens": "many"}})
    with pi_lab.rpc() as pi:
        assert 'observeAfterTokens = "many" is not allowed' in pi.told("turns are taken in once that is mended")
        turn(pi_lab, pi)
        turn(pi_lab, pi)
        assert len(pi.notices()) == 1
    pi_lab.configure()
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi)
    until(lambda: sorted(session.prompts for session in pi_lab.sessions()) == [1, 2], "both sessions in the ledger")


def test_without_om_hook_it_is_said_once(pi_lab: PiLab) -> None:
    pi_lab.install("/nowhere/om-hook")
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi)
        turn(pi_lab, pi)
        assert [notice for notice in pi.notices() if "om-hook was not found" in notice] == pi.notices()
        assert len(pi.notices()) == 1


def test_om_hook_is_found_on_the_path(pi_lab: PiLab) -> None:
    pi_lab.install("/nowhere/om-hook")
    (pi_lab.root / "bin").mkdir()
    (pi_lab.root / "bin" / "om-hook").symlink_to(PROGRAMS / "om-hook")
    with pi_lab.rpc(PATH=f"{pi_lab.environ()['PATH']}:{pi_lab.root / 'bin'}") as pi:
        turn(pi_lab, pi)
        until(pi_lab.has_session, "the session")
        assert pi.notices() == []


def test_pi_is_killed_and_nothing_is_left_but_the_last_turn_is_there(pi_lab: PiLab) -> None:
    pi_lab.settings("passive = true\n")
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi, "one")
        pi.process.kill()
        pi.process.wait(5)
        until(lambda: not pi_lab.processes("om-hook"), "the child to leave")
    (session,) = pi_lab.sessions()
    assert session.prompts == 1


def test_print_mode_remembers_and_sends_no_notice_003_138(pi_lab: PiLab) -> None:
    pi_lab.settings('compact_after_tokens = 100\nmodel = "extractive"\n')
    pi_lab.agent.queue.append(Answer(text=f"Answer. {FILLER}"))
    done = pi_lab.run("-p", f"Prompt. {FILLER}")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, f"Answer. {FILLER}".strip(), "")
    (session,) = pi_lab.sessions()
    assert (session.prompts, session.ended) == (1, True)
    assert pi_lab.processes("om-hook") == []
    shown = pi_lab.run("-p", "-c", "/om:status")
    assert "Observations " in shown.stderr  # where Pi prints what is no answer


def test_a_session_that_pi_does_not_keep_is_not_kept(pi_lab: PiLab) -> None:
    pi_lab.run("-p", "--no-session", "Keep this to yourself.")
    assert not pi_lab.store_path.exists()


def test_switched_off_nothing_is_started_or_kept(pi_lab: PiLab) -> None:
    with pi_lab.rpc(MINUTEBOOK_OFF="yes") as pi:
        turn(pi_lab, pi)
        turn(pi_lab, pi)
        assert OWN_SUMMARY in pi.call("compact")["data"]["summary"]
        assert pi_lab.processes() == []
        assert pi.notices() == []
    assert not pi_lab.store_path.exists()


def test_a_compaction_that_is_cancelled_leaves_the_next_boundary_free(pi_lab: PiLab, tmp_path: Path) -> None:
    """The person gives up while the child is silent."""
    pi_lab.settings("passive = true\n")
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi, "one")
        turn(pi_lab, pi, "two")
        know(pi_lab, "The port is 8443.")
        child = pi_lab.child(pi)
        os.kill(child, signal.SIGSTOP)
        since = pi.mark()
        pi.send("compact")
        pi.wait(lambda event: event["type"] == "compaction_start", since)
        pi.send("abort")
        end = pi.wait(lambda event: event["type"] == "compaction_end", since)
        assert end["aborted"] is True
        os.kill(child, signal.SIGCONT)
        turn(pi_lab, pi, "three")
        answered(pi)
        assert "The port is 8443." in pi.call("compact")["data"]["summary"]


def test_another_boundary_while_one_is_open_is_cancelled_and_said_once_003_079(pi_lab: PiLab) -> None:
    """As when another Pi has the same session open and is compacting."""
    pi_lab.settings("passive = true\n")
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi, "one")
        turn(pi_lab, pi, "two")
        know(pi_lab, "The port is 8443.")
        with pi_lab.store() as store:
            assert compose_memory(store, pi_lab.branch(), 1, Settings()) is not None
        for _ in range(2):
            refused = pi.call("compact")
            assert (refused["success"], refused["error"]) == (False, "Compaction cancelled")
        told = [notice for notice in pi.notices() if "is still open" in notice]
        assert len(told) == 1
        assert pi_lab.agent.summaries == []


def test_an_older_pi_is_told_once_and_the_rest_works_003_060(pi_lab: PiLab) -> None:
    """Before 0.81.0 nothing says that Pi has settled. (Here it only says another version.)"""
    trigger = pi_lab.install() / "trigger.ts"
    text = trigger.read_text()
    trigger.write_text(text.replace("(pi as { VERSION?: string }).VERSION", '"0.80.10"'))
    assert trigger.read_text() != text
    pi_lab.settings("passive = true\n")
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi, "one")
        turn(pi_lab, pi, "two")
        know(pi_lab, "The port is 8443.")
        assert "The port is 8443." in pi.call("compact")["data"]["summary"]
        assert len([notice for notice in pi.notices() if "older than 0.81.0" in notice]) == 1
        assert len(pi.notices()) == 1


def test_which_pi_is_too_old_003_060(pi_lab: PiLab, tmp_path: Path) -> None:
    extension = pi_lab.install()
    versions = ["0.80.9", "0.81.0", "0.81.0-beta.1", "0.9.99", "1.0.0", "1.6.0", "0.100.0"]
    (tmp_path / "asks.ts").write_text(
        f"import {{ isTooOld }} from {json.dumps(str(extension / 'trigger.ts'))};\n"
        f"const old = {json.dumps(versions)}.filter((each) => isTooOld(each));\n"
        'export default (pi) => pi.on("session_start", (_event, ctx) => ctx.ui.notify(`old ${old}`, "info"));\n'
    )
    with pi_lab.rpc("-e", str(tmp_path / "asks.ts")) as pi:
        assert pi.told("old ") == "info: old 0.80.9,0.9.99"


def test_installed_for_the_user_and_in_the_project_it_works_once(pi_lab: PiLab) -> None:
    """Else its child and its commands would be there twice."""
    copies = [pi_lab.agent_folder / "extensions" / "minutebook", pi_lab.install(project=True)]
    for copy in copies:
        assert (copy / "index.ts").exists()
    with pi_lab.rpc("--approve") as pi:
        turn(pi_lab, pi)
        until(pi_lab.has_session, "the session")
        assert pi_lab.child(pi)
        assert pi.call("new_session")["success"]
        turn(pi_lab, pi)
        until(lambda: len(pi_lab.sessions()) == 2, "the other session")
        assert pi_lab.child(pi)
        commands = [command["name"] for command in pi.call("get_commands")["data"]["commands"]]
        assert commands.count("om:status") == 1


def test_installed_in_a_project_it_is_there_once_the_project_is_trusted(pi_lab: PiLab) -> None:
    shutil.rmtree(pi_lab.agent_folder / "extensions")
    pi_lab.install(project=True)
    with pi_lab.rpc() as pi:
        turn(pi_lab, pi)
    assert not pi_lab.store_path.exists()
    with pi_lab.rpc("--approve") as pi:
        turn(pi_lab, pi)
        until(pi_lab.has_session, "the session")

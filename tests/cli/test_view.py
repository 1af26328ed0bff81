"""`om view`, `om compact` and the clipboard."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from builders import concluded, deliver, observed, remember, reply, say
from commands import Om, data_of

from minutebook.cli import clipboard
from minutebook.pipeline.branches import Path as BranchPath
from minutebook.pipeline.compaction import compose_memory
from minutebook.pipeline.folds import confirm_fold, read_proposal
from minutebook.records import Branch
from minutebook.settings import Settings
from minutebook.store.kernel import Store

OLD, NEW, GONE = observed("old thing"), observed("new thing", "high"), observed("gone thing", "low")
FIRST, SECOND = concluded("first rule", OLD), concluded("second rule", NEW)
NOT_COMPACTED = "No compaction has been confirmed yet, so nothing is visible; `om view --full` shows what is recorded."

EMPTY = """\
## Digest of older reflections
(no digest is {word})

## Reflections (0)
(no reflection is {word})

## Observations (0)
(no observation is {word})
"""

FULL = f"""\
## Digest of older reflections, up to [{FIRST.id}], ~2 tokens
in short

## Reflections (1)
[{SECOND.id}] second rule

## Observations (2)
[{OLD.id}] 2026-05-02 10:30 [medium] old thing
[{NEW.id}] 2026-05-02 10:30 [high] new thing
"""


def compacted(store: Store, branch: Branch, boundary: int) -> None:
    assert compose_memory(store, branch, boundary, Settings()) is not None
    assert confirm_fold(store, branch)


def test_empty_views_003_107(om: Om, store: Store) -> None:
    deliver(store, [say("one", id="e1")])
    assert om("view", code=0).stdout == f"{EMPTY.format(word='visible')}\n{NOT_COMPACTED}\n"
    assert om("view", "--full", code=0).stdout == EMPTY.format(word="recorded")


def test_a_bare_home_views_nothing_003_111(om: Om) -> None:
    assert om("view", "--full", code=0).stdout == EMPTY.format(word="recorded")
    assert om("view", code=0).stdout.startswith(EMPTY.format(word="visible"))


def test_the_full_view_has_no_dropped_observation_003_106_003_107(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1")])
    remember(store, branch, observations=[OLD, NEW, GONE], reflections=[FIRST, SECOND], dropped=[GONE])
    remember(store, branch, digest=("in short", FIRST))
    assert om("view", "--full", code=0).stdout == FULL


def test_the_visible_view_is_what_the_last_compaction_showed_003_106(om: Om, store: Store) -> None:
    """Drift of every kind: recorded since, dropped since, a reflection since."""
    branch = deliver(store, [say("one", id="e1"), reply("two", id="e2")])
    remember(store, branch, observations=[OLD, GONE], reflections=[FIRST])
    compacted(store, branch, 2)
    remember(store, branch, observations=[NEW], reflections=[SECOND], dropped=[GONE])
    shown = om("view", code=0).stdout
    assert "old thing" in shown and "gone thing" in shown and "first rule" in shown
    assert "new thing" not in shown and "second rule" not in shown and NOT_COMPACTED not in shown
    full = om("view", "--full", code=0).stdout
    assert "new thing" in full and "second rule" in full and "gone thing" not in full


def test_any_other_argument_is_usage_003_110(om: Om, store: Store) -> None:
    result = om("view", "all", code=2)
    assert "Usage: om view" in result.stderr and result.stdout == ""


# -- the clipboard -------------------------------------------------------------------------------------------------


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of fake clipboard programs, the only one on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "platform", "linux")
    return folder


def fake(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(stat.S_IRWXU)


def test_the_clipboard_gets_exactly_the_memory_003_108(om: Om, store: Store, programs: Path, tmp_path: Path) -> None:
    deliver(store, [say("one", id="e1")])
    fake(programs, "wl-copy", f"/bin/cat > {tmp_path}/copied")
    result = om("view", "--copy", code=0)
    assert (tmp_path / "copied").read_text() + "\n" == EMPTY.format(word="visible")
    assert result.stderr == "Copied to the clipboard.\n" and "Copied" not in result.stdout


def test_no_copy_into_a_pipe_unless_asked(om: Om, store: Store, programs: Path, tmp_path: Path) -> None:
    deliver(store, [say("one", id="e1")])
    fake(programs, "wl-copy", f"/bin/cat > {tmp_path}/copied")
    assert om("view", code=0).stderr == ""
    assert not (tmp_path / "copied").exists()


def test_programs_in_order_until_one_works_003_109(programs: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    fake(programs, "wl-copy", f"echo wl-copy >> {log}; exit 1")
    fake(programs, "xclip", f'echo xclip "$@" >> {log}; exit 2')
    fake(programs, "xsel", f'echo xsel "$@" >> {log}; /bin/cat > {tmp_path}/copied')
    fake(programs, "termux-clipboard-set", f"echo termux >> {log}")
    assert clipboard.copy("grüße")
    assert log.read_text().splitlines() == ["wl-copy", "xclip -selection clipboard", "xsel --clipboard --input"]
    assert (tmp_path / "copied").read_text() == "grüße"


def test_one_that_hangs_is_killed_003_109(programs: Path, tmp_path: Path) -> None:
    fake(programs, "wl-copy", f"echo $$ > {tmp_path}/pid; exec /bin/sleep 60")
    fake(programs, "xclip", f"/bin/cat > {tmp_path}/copied")
    assert clipboard.copy("text", seconds=3)
    assert (tmp_path / "copied").read_text() == "text"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_none_works_003_109(om: Om, store: Store, programs: Path) -> None:
    """A headless box: the memory is printed all the same, with a warning, and the exit code is 0."""
    deliver(store, [say("one", id="e1")])
    result = om("view", "--full", "--copy", code=0)
    assert result.stdout == EMPTY.format(word="recorded")
    assert result.stderr.startswith("om: not copied: no clipboard program worked")


def test_the_programs_of_each_platform_003_109() -> None:
    assert clipboard.SECONDS == 2.0
    assert clipboard.programs("darwin") == (("pbcopy",),)
    assert clipboard.programs("win32") == (("clip",),)
    assert [command[0] for command in clipboard.programs("linux")] == [
        "wl-copy",
        "xclip",
        "xsel",
        "termux-clipboard-set",
    ]


def test_a_terminal_gets_a_copy_by_default(store: Store, store_path: Path, tmp_path: Path) -> None:
    """On a pseudo-terminal, the real console script."""
    import pty

    deliver(store, [say("one", id="e1")])
    folder = tmp_path / "bin"
    folder.mkdir()
    fake(folder, "pbcopy" if sys.platform == "darwin" else "wl-copy", f"/bin/cat > {tmp_path}/copied")
    main, other = pty.openpty()
    env = {"PATH": str(folder), "HOME": str(tmp_path), "MINUTEBOOK_STORE": str(store_path), "TERM": "xterm"}
    script = Path(sys.executable).with_name("om")
    done = subprocess.run([script, "view"], stdout=other, stderr=subprocess.PIPE, env=env, text=True, timeout=60)
    os.close(other)
    os.close(main)
    assert (done.returncode, done.stderr) == (0, "Copied to the clipboard.\n")
    assert (tmp_path / "copied").read_text() + "\n" == EMPTY.format(word="visible")


# -- om compact ----------------------------------------------------------------------------------------------------


def test_compact_is_a_look(om: Om, store: Store) -> None:
    branch = deliver(store, [say("one", id="e1"), reply("x" * 400, id="e2")])
    remember(store, branch, observations=[OLD, NEW])
    before = store.tip("m:neutral:s1")
    result = om("compact", code=0)
    assert result.stdout.startswith("<minutebook-memory>\n") and result.stdout.endswith("</minutebook-memory>\n")
    assert "tokens in place of 2 entries. Nothing was recorded." in result.stderr
    assert (store.tip("m:neutral:s1"), read_proposal(store, branch)) == (before, None)
    data = data_of(om("compact", "--json", "--boundary", "1"))
    assert (data["boundary"], data["entries"]) == (1, 2)
    assert data["composition"]["text"] + "\n" == om("compact", "--boundary", "1").stdout


def test_compact_keeps_so_many_tokens(om: Om, store: Store) -> None:
    from minutebook.pipeline.viewing import boundary_keeping

    branch = deliver(store, [reply("x" * 400, id=f"e{number}") for number in range(10)])
    path = BranchPath(store, branch)
    assert [boundary_keeping(path, keep) for keep in (0, 99, 100, 250, 1000, 5000)] == [10, 10, 9, 8, 0, 0]
    remember(store, branch, observations=[OLD])
    assert data_of(om("compact", "--json", "--keep", "250"))["boundary"] == 8


def test_compact_without_memory_says_so(om: Om, store: Store) -> None:
    deliver(store, [say("one", id="e1")])
    result = om("compact", code=0)
    assert (result.stdout, result.stderr) == ("", "No memory before entry 1: the host's own summary would be used.\n")
    assert data_of(om("compact", "--json"))["composition"] is None


@pytest.mark.parametrize("args", [("--boundary", "5"), ("--boundary", "1", "--keep", "1"), ("--keep", "-1")])
def test_compact_refuses_what_cannot_be_meant(om: Om, store: Store, args: tuple[str, ...]) -> None:
    deliver(store, [say("one", id="e1")])
    assert om("compact", *args, code=2).stdout == ""

"""`om pause` and `om resume`."""

import json
from pathlib import Path

import pytest
from builders import deliver, say
from commands import Om, data_of

from minutebook.hosts.bell import is_paused
from minutebook.store.kernel import Store


def test_a_project_is_paused_for_hooks_and_for_intake(om: Om, store_path: Path, project: Path) -> None:
    assert om("pause", "--status", code=0).stdout == "Nothing is paused.\n"
    assert not store_path.exists()
    assert om("pause", code=0).stderr.startswith(f"Paused: project {project}, since 20")
    assert is_paused(str(store_path), "pi", "s1", str(project / "deep"))
    assert not is_paused(str(store_path), "pi", "s1", str(project.parent))
    assert om("pause", "--status", code=0).stdout.startswith(f"Paused: project {project}")
    assert "Paused already" in om("pause", code=0).stderr
    assert om("resume", code=0).stderr.startswith("Recording again: project ")
    assert not is_paused(str(store_path), "pi", "s1", str(project))
    assert om("resume", code=0).stderr == "There was nothing to resume.\n"


def test_everything_and_a_session(om: Om, store: Store, store_path: Path) -> None:
    deliver(store, [say("one", id="e1")], session="abc")
    om("pause", "--session", "abc", code=0)
    om("pause", "--session", "pi:not-there-yet", code=0)
    assert is_paused(str(store_path), "neutral", "abc", "/w") and is_paused(str(store_path), "pi", "not-there-yet", "")
    assert not is_paused(str(store_path), "neutral", "abcd", "/w")
    om("pause", "--all", code=0)
    assert is_paused(str(store_path), "neutral", "abcd", "/w")
    said = om("resume", "--session", "abc", code=0).stderr.splitlines()
    assert [line.partition(",")[0] for line in said] == [
        "Recording again: session neutral:abc",
        "Still paused: session pi:not-there-yet",
        "Still paused: everything",
    ]
    om("resume", "--all", code=0)
    assert data_of(om("pause", "--status", "--json", code=0)) == {"paused": []}
    assert not is_paused(str(store_path), "neutral", "abc", "/w")


def test_a_folder_in_a_paused_one_is_resumed_by_resuming_that(om: Om, store_path: Path, project: Path) -> None:
    om("pause", "--project", str(project.parent), code=0)
    assert om("resume", code=0).stderr.startswith(f"Recording again: project {project.parent}")


def test_what_befell_the_file_is_mended(om: Om, store_path: Path, project: Path) -> None:
    om("pause", code=0)
    paused = store_path.with_name(f"{store_path.name}.paused")
    assert paused.stat().st_mode & 0o777 == 0o600
    paused.write_text("rubbish")
    om("pause", code=0)
    assert json.loads(paused.read_text())["pauses"][0]["name"] == str(project)
    paused.unlink()
    om("resume", code=0)
    assert not paused.exists()


@pytest.mark.parametrize("args", [["--all", "--session", "pi:1"], ["--all", "--project", "."], ["--session", "nope"]])
def test_wrong_command_lines(om: Om, store_path: Path, args: list[str]) -> None:
    assert om("pause", *args, code=2).stderr.startswith("om: ")


def test_sessions_and_status_tell_what_is_paused_and_kept_out(om: Om, store: Store, project: Path) -> None:
    from minutebook.hosts.delivering import deliver_reading
    from minutebook.pipeline.deliveries import Reading, SessionHead

    om("pause", code=0)
    om("resume", code=0)
    om("pause", code=0)
    head = SessionHead(host="neutral", session="s1", project=str(project))
    later = "2999-01-01T00:00:00Z"
    deliver_reading(store, Reading(head=head, events=[say("one", id="e1"), say("two", id="e2", time=later)]))
    result = om("sessions", code=0)
    assert f"Paused: project {project}" in result.stderr
    assert "Kept out of neutral:s1: 1 entry of a paused time" in result.stderr
    assert data_of(om("sessions", "--json", code=0))[0]["paused"] == 1
    status = om("status", code=0)
    assert "Kept out: 1 entry of a paused time." in status.stdout and f"Paused: project {project}" in status.stderr


def test_a_store_on_a_server_has_no_hooks_to_be_told(om: Om, store_path: Path) -> None:
    assert om("pause", "--store", "redis://127.0.0.1:1/0", code=1).stderr.startswith("om: ")

"""Machines in other time zones, and nights in which clocks change."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from surroundings import om, talk

MACHINES = ("UTC", "America/St_Johns", "Asia/Kolkata")
AUTUMN = ("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z")  # both are 02:30 in Berlin
SPRING = ("2026-03-29T00:59:00Z", "2026-03-29T01:00:00Z")  # 01:59 and 03:00


DECISIONS = (
    "invoices are stored in Postgres",
    "the gateway speaks HTTP/2",
    "reports go to Ada",
    "we deploy on Mondays",
)


def session(path: Path, times: Sequence[str], zone: str) -> Path:
    """A decision at each of the times, and after it enough words for the worker to come."""
    rows: list[dict[str, Any]] = []
    if zone:
        rows.append({"type": "minutebook.session", "version": 1, "session": path.stem, "zone": zone})
    for at, time in enumerate(times):
        rows.append({"id": f"e{at}", "role": "user", "text": f"Decision: {DECISIONS[at]}.", "time": time})
        rows.append({"id": f"a{at}", "role": "assistant", "text": "The weather is mild today. " * 300, "time": time})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def decisions(store: Path) -> list[str]:
    """The lines of the memory that tell of them."""
    return [line for line in om("view", "--full", "--store", store).stdout.splitlines() if "Decision: " in line]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns"])
def test_a_replay_gives_the_same_memory_on_any_machine(tmp_path: Path, zone: str) -> None:
    """The session says its zone; the machine's does not matter."""
    file = talk(tmp_path / "s1.jsonl", 60, zone=zone)
    shown = set()
    for machine in MACHINES:
        store, env = tmp_path / f"{machine.replace('/', '-')}.sqlite", {"TZ": machine}
        assert om("replay", "--step", "--scale", "0.1", "--store", store, file, env=env).returncode == 0
        shown.add(om("view", "--full", "--store", store, env=env).stdout + om("compact", "--store", store).stdout)
    assert len(shown) == 1 and "Decision: service" in shown.pop()


def test_a_store_reads_the_same_on_any_machine(tmp_path: Path) -> None:
    file, store = session(tmp_path / "s1.jsonl", (*SPRING, *AUTUMN), "Europe/Berlin"), tmp_path / "s.sqlite"
    assert om("ingest", "--wait", "--store", store, file, env={"TZ": "Asia/Kolkata"}).returncode == 0
    id_ = om("view", "--full", "--store", store).stdout.partition("\n[")[2][:12]
    for command in (["view", "--full"], ["compact"], ["status"], ["sessions"], ["search", "invoices"], ["recall", id_]):
        assert len({om(*command, "--store", store, env={"TZ": machine}).stdout for machine in MACHINES}) == 1, command


@pytest.mark.parametrize(("times", "local"), [(AUTUMN, ["02:30", "02:30"]), (SPRING, ["01:59", "03:00"])])
def test_a_night_in_which_the_clocks_change(tmp_path: Path, times: Sequence[str], local: Sequence[str]) -> None:
    """Records keep the order of the session, whatever their local time looks like."""
    file, store = session(tmp_path / "s1.jsonl", times, "Europe/Berlin"), tmp_path / "s.sqlite"
    assert om("ingest", "--wait", "--store", store, file, env={"TZ": "America/St_Johns"}).returncode == 0
    lines = decisions(store)
    assert [line.split()[2] for line in lines] == list(local)
    assert [what in line for what, line in zip(DECISIONS, lines, strict=False)] == [True, True]


@pytest.mark.parametrize(
    ("machine", "local"), [("Asia/Kolkata", "06:00"), ("America/St_Johns", "22:00"), ("", "00:30")]
)
def test_a_session_without_a_zone_has_the_machine_s_for_good(tmp_path: Path, machine: str, local: str) -> None:
    file, store = session(tmp_path / "s1.jsonl", AUTUMN[:1], ""), tmp_path / "s.sqlite"
    assert om("ingest", "--wait", "--store", store, file, env={"TZ": machine or "UTC"}).returncode == 0
    assert decisions(store)[0].split()[2] == local


def test_a_zone_that_does_not_exist_is_utc(tmp_path: Path) -> None:
    file, store = session(tmp_path / "s1.jsonl", AUTUMN[:1], ""), tmp_path / "s.sqlite"
    assert om("ingest", "--wait", "--store", store, file, env={"TZ": "Atlantis/Harbour"}).returncode == 0
    assert decisions(store)[0].split()[2] == "00:30"

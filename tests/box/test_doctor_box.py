"""What `om doctor` on a laptop says of its box."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import say
from commands import run
from doors import RunningDoor
from machines import BOXED, Laptops, Machine, think
from raw_box import RawBox, Script, answer

from minutebook.box.behind import Behind
from minutebook.cli.check import Check
from minutebook.cli.checks_box import box_checks, clock, in_step, version
from minutebook.cli.place import Place
from minutebook.store.kernel import Store
from minutebook.version import __version__

TOKEN = "mb_0123abcd_secretsecretsecret"
ME = {"user": "alice", "projects": ["*"]}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MINUTEBOOK_BOX_TOKEN", TOKEN)
    return tmp_path / "home"


def asked(url: str, store: str = "") -> dict[str, Check]:
    """The checks by name."""
    place = Place(project=Path.cwd(), named_store=store or None, flags={"box_url": url})
    return {check.name: check for check in box_checks(place)}


@pytest.fixture
def laptop(laptops: Laptops, door: RunningDoor, monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = laptops()
    monkeypatch.setenv("MINUTEBOOK_BOX_TOKEN", laptops.tokens["alice"])
    return found


def of_laptop(laptop: Machine) -> dict[str, Check]:
    return asked(laptop.client.url, laptop.store.url)


def test_without_a_box_it_says_nothing() -> None:
    assert not list(box_checks(Place(project=Path.cwd(), flags={})))


def test_a_box_that_is_well_and_in_step(laptop: Machine) -> None:
    laptop.deliver([say("one", id="e1")])
    laptop.in_step()
    found = of_laptop(laptop)
    assert {name: check.verdict for name, check in found.items()} == {"box": "ok", "in step": "ok"}
    assert found["box"].said == f"{laptop.client.url} answers; the token is alice's, for *"
    assert found["in step"].said == "1 branch as on the box"


def test_how_far_a_laptop_is_behind(laptop: Machine, box: Store) -> None:
    laptop.deliver([say("one", id="e1")])
    laptop.in_step()
    laptop.deliver([say("two", id="e2"), say("three", id="e3")])
    think(box, BOXED, "seen there")
    found = of_laptop(laptop)["in step"]
    assert (found.verdict, found.fix) == ("info", "")  # somebody was in step a moment ago: `om sync` runs
    assert found.said.startswith("1 of 1 branch not: the box lacks 2 source entries, this machine lacks 1 memory entry")
    laptop.in_step()
    assert of_laptop(laptop)["in step"].verdict == "ok"


def test_a_laptop_that_never_synced_is_told_to(laptop: Machine) -> None:
    laptop.deliver([say("one", id="e1")])
    laptop.deliver([say("private", id="p1")], "s2", project="github.com/else/where")
    found = of_laptop(laptop)["in step"]
    assert (found.verdict, found.fix) == ("fail", "om sync (never in step yet; no `om sync` runs)")
    assert found.said == "2 of 2 branches not: the box lacks 2 source entries"


def test_doctor_changes_nothing(laptop: Machine, box: Store) -> None:
    laptop.deliver([say("one", id="e1")])
    before = list(laptop.store.documents("box"))
    of_laptop(laptop)
    assert laptop.store.documents("box") == before
    assert not list(box.documents("branches"))


def test_the_token_of_another_user(laptops: Laptops, laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    laptop.in_step()
    monkeypatch.setenv("MINUTEBOOK_BOX_TOKEN", laptops.door.token("bob"))
    found = of_laptop(laptop)["token of the box"]
    assert found.verdict == "fail" and found.said == "this store was synced as alice, not as bob"


def test_a_home_without_a_store_gets_none(laptop: Machine, home: Path) -> None:
    assert set(asked(laptop.client.url)) == {"box"}
    assert not list(home.rglob("*.sqlite*"))


@pytest.mark.parametrize(
    ("script", "said", "fix"),
    [
        (answer({"error": "unauthorized", "message": "no"}, 401), "the token is not accepted", "om token create"),
        (answer({"error": "not_found", "message": "no such page"}, 404), "404: no such page", "is box_url the address"),
        (answer(b"<html>"), "no JSON", "is box_url the address"),
        (answer({**ME, "time": "noon"}), "no usable time", "is box_url the address"),
        (answer({**ME, "time": 10**400}), "no usable time", "is box_url the address"),
        (answer({"error": "busy", "message": "later"}, 503), "busy or away (503): later", "is `om serve` running"),
    ],
)
def test_each_way_a_box_fails_has_a_fix(script: Script, said: str, fix: str) -> None:
    with RawBox() as box:
        box.script.append(script)
        found = asked(box.url)
    assert set(found) == {"box"} and len(box.asked) == 1
    assert found["box"].verdict == "fail" and said in found["box"].said and fix in found["box"].fix
    assert TOKEN not in str(found)


def test_a_box_that_is_not_there() -> None:
    away = asked("http://127.0.0.1:1")["box"]
    assert away.verdict == "fail" and "does not answer" in away.said and "is `om serve` running" in away.fix


def test_a_token_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINUTEBOOK_BOX_TOKEN")
    found = asked("http://127.0.0.1:1")["box"]
    assert found.verdict == "fail" and "no such file" in found.said + found.fix and "chmod 600" in found.fix


def test_an_older_box_that_tells_neither_version_nor_clock() -> None:
    with RawBox() as box:
        box.script.append(answer(ME))
        assert {name: check.verdict for name, check in asked(box.url).items()} == {"box": "ok"}


def test_versions_and_clocks_are_said_where_they_differ() -> None:
    assert not [*version(__version__), *version(""), *clock(59), *clock(-59)]
    assert [check.said for check in version("9.9")] == [f"9.9 there, {__version__} here"]
    (ahead,) = clock(7_200.4)
    assert (ahead.verdict, ahead.said) == ("info", "7,200 s ahead of this machine's: set one of them")
    assert "3,600 s behind" in next(clock(-3_600)).said


def test_what_waits_to_be_placed_is_counted() -> None:
    found = in_step(Behind(branches=3, apart=1, offers=2), "", runs=False)
    assert found == Check("in step", "fail", "1 of 3 branches not: 2 notes or folds still to be placed", "om sync")


def test_the_command_fails_with_it(home: Path) -> None:
    done = run("doctor", "--json", "--set", "box_url=http://127.0.0.1:1", code=1)
    found: list[dict[str, Any]] = json.loads(done.stdout)["checks"]
    assert [each["verdict"] for each in found if each["name"] == "box"] == ["fail"]

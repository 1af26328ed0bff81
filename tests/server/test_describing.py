"""The OpenAPI description, and every route held to it by requests that are made from it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from doors import RunningDoor, laptop_session, push, some_entries

EXAMPLES = os.environ.get("MINUTEBOOK_SCHEMA_EXAMPLES", "3")
"""Random requests for each route, besides those that try each limit of the description."""
NOT_HELD = "positive_data_acceptance"
"""That what fits the description is taken: rows have rules of their own, which are in docs/formats.md."""
PROGRAM = Path(sys.executable).with_name("schemathesis")
KEY_OF_EXAMPLES = "3f2a8c51"


@pytest.fixture(scope="module")
def description(door: RunningDoor) -> Any:
    return door.get("/openapi.json").data


def test_the_description_is_whole_and_loads_nothing_from_elsewhere(description: Any) -> None:
    assert description["openapi"].startswith("3.")
    for path, methods in description["paths"].items():
        for method, about in methods.items():
            assert about["summary"] and about["description"], (path, method)
            assert {"400", "401", "404", "422", "429", "503"} <= set(about["responses"])
            if path.startswith("/v1/"):
                assert about["security"] == [{"HTTPBearer": []}]
    assert {"403", "409", "410"} <= set(description["paths"]["/v1/sources"]["post"]["responses"])
    assert not re.search(r"https?://", str(description))


def test_a_wrong_method_names_the_right_ones(door: RunningDoor, alice: str) -> None:
    for path, allowed in {"/v1/memory": "GET, POST", "/v1/me": "GET", "/v1/lengths": "POST", "/healthz": "GET"}.items():
        got = door.ask("PATCH", path, alice)
        assert (got.status, got.error, got.headers["allow"]) == (405, "method_not_allowed", allowed)


def test_every_route_keeps_to_its_description(door: RunningDoor, alice: str, tmp_path: Path) -> None:
    """Schemathesis: no server error, answers as described, nothing taken that does not fit, no way past the token."""
    push(door, alice, laptop_session(KEY_OF_EXAMPLES), some_entries(3))
    address, header = f"http://127.0.0.1:{door.port}/openapi.json", f"Authorization: Bearer {alice}"
    held = ["--checks", "all", "--exclude-checks", NOT_HELD, "--max-examples", EXAMPLES, "--generation-deterministic"]
    done = subprocess.run(
        [str(PROGRAM), "run", address, "-H", header, "--no-color", *held], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert re.search(r"17 selected / 17 total", done.stdout), done.stdout

"""`om token`: a token's text is shown once, and never again."""

import json
from pathlib import Path

from commands import Om, data_of

from minutebook.server.tokens import token_of
from minutebook.store.kernel import Store


def test_a_token_is_made_listed_and_revoked(om: Om, store: Store) -> None:
    made = om("token", "create", "--user", "alice", "--project", "github.com/acme/*", "--days", "90", code=0)
    text = made.stdout.strip()
    found = token_of(store, text)
    assert found is not None and (found.user, found.projects) == ("alice", ("github.com/acme/*",))
    assert "not shown again" in made.stderr and found.id in made.stderr
    listed = om("token", "list", code=0)
    assert "alice" in listed.stdout and "valid" in listed.stdout and text not in listed.output
    assert found.sha256 not in om("token", "list", "--json", code=0).output
    om("token", "revoke", found.id, code=0)
    assert token_of(store, text) is None
    (row,) = data_of(om("token", "list", "--json", code=0))["tokens"]
    assert row["state"] == "revoked" and row["revoked"]


def test_a_token_for_programs(om: Om, store: Store) -> None:
    made = json.loads(om("token", "create", "--user", "bob", "--json", code=0).stdout)
    assert token_of(store, made.pop("token")) is not None
    assert (made["user"], made["projects"], made["expires"], made["state"]) == ("bob", ["*"], None, "valid")


def test_the_first_token_makes_the_store(om: Om, store_path: Path) -> None:
    om("token", "create", "--user", "alice", code=0)
    assert store_path.exists()


def test_projects_are_shared_by_name(om: Om, store: Store) -> None:
    om("token", "share", "github.com/acme/orders", code=0)
    assert "github.com/acme/orders" in om("token", "list", code=0).stdout
    assert "was not shared" not in om("token", "unshare", "github.com/acme/orders", code=0).stderr
    assert "was not shared" in om("token", "unshare", "github.com/acme/orders", code=0).stderr
    assert data_of(om("token", "list", "--json", code=0)) == {"tokens": [], "shared": []}


def test_bad_names_are_one_line(om: Om, store: Store) -> None:
    for args in (("create", "--user", "A b"), ("create", "--user", "a", "--project", "../x"), ("share", "..")):
        failed = om("token", *args, code=2)
        assert failed.stderr.startswith("om: ") and failed.stderr.count("\n") == 1
    assert "om token list" in om("token", "revoke", "nothing", code=1).stderr
